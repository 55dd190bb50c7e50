"""Results folders of something else, damaged or gone: refused or named, and nothing in them lost."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import Run, prepared, refused, runner


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(tmp_path, monkeypatch)


@pytest.fixture
def run(at: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def test_results_of_something_else_are_refused_with_the_difference(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    before = {path: path.read_bytes() for path in (at / "results/x/fake").iterdir()}
    again = "use --fresh to replace it, or another --results folder"
    refused(run("run", "x.yaml", "--set", "dataset.lists=4"), 2, "dataset.lists: 3 there, 4 here", again)
    refused(run("run", "x.yaml", "--set", "engine.seed=4"), 2, "another model (revision: ", again)
    refused(run("run", "x.yaml", "--limit", "2"), 2, "holds a whole run, and --limit 2 would replace it")
    assert {path: path.read_bytes() for path in (at / "results/x/fake").iterdir()} == before
    file = at / "results/x/fake/run.json"
    facts = json.loads(file.read_text())
    file.write_text(json.dumps({**facts, "format": 0, "authbench": "0.0.1"}))
    refused(run("run", "x.yaml"), 2, "was written by authbench 0.0.1 (format 0), this is", "(format 1)")
    refused(run("score", "results"), 2, "has format 0, this authbench reads 1", "the version that wrote it")
    for words in (("table", "results"), ("report", "results", "-o", "r.html"), ("audit", "results")):
        refused(
            run(*words), 3, "run.json was written by authbench 0.0.1 (format 0)", "run the experiment again"
        )


@pytest.mark.parametrize(
    "damage",
    ["{", "[]", "{}", '{"format": 1}', '{"format": 1, "config": 3}', "\xff", "[" * 100_000],
    ids=lambda text: text[:20],
)
def test_a_damaged_run_file_is_named(at: Path, run: Run, damage: str) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    file = at / "results/x/fake/run.json"
    file.write_bytes(damage.encode("latin-1"))
    for words in (("run", "x.yaml"), ("score", "results")):
        refused(run(*words), 3, "run.json is damaged", "remove it and run the experiment again")
    if not damage.endswith("}"):  # those are facts enough for a table
        refused(run("table", "results"), 3, "run.json: ", "run the experiment again")
    file.unlink()
    status, _, said = run("run", "x.yaml")
    assert status == 0 and "33 stored" in said, "the answers were kept"


def test_a_configuration_that_is_not_understood_any_more(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    file = at / "results/x/fake/run.json"
    facts = json.loads(file.read_text())
    facts["config"]["judges"] = ["oracle"]
    file.write_text(json.dumps(facts))
    refused(run("score", "results"), 2, "run.json: config.judges.0 is not understood")


def test_score_goes_on_after_a_run_that_it_cannot_measure(at: Path, run: Run) -> None:
    for results in ("results/a", "results/b"):
        assert run("run", "x.yaml", "-q", "--results", results)[0] == 0
    (at / "results/a/x/fake/run.json").write_text("{")
    (at / "results/b/x/fake/cells.json").unlink()
    status, out, said = run("score", "results")
    assert status == 3 and "Table 1" in out and "results/a/x/fake/run.json is damaged" in said
    assert (at / "results/b/x/fake/cells.json").exists()


def test_runs_that_are_not_there(at: Path, run: Run) -> None:
    refused(run("score", "nowhere"), 3, "nowhere holds no run (no run.json)", "results/EXPERIMENT/MODEL")
    refused(run("store", "stats", "--results", "nowhere"), 3, "no answers in nowhere", "--results")
    assert run("run", "x.yaml", "-q")[0] == 0
    (at / "results/responses.sqlite").unlink()
    refused(run("score", "results"), 3, "no store at results/responses.sqlite")
