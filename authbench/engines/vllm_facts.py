"""What a run with vLLM leaves in `run.json`."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

from authbench.engines import vllm_installed
from authbench.engines.models import ModelFiles

#: Resolved values worth keeping, and where vLLM's configuration has them.
_RESOLVED = (
    ("model_config", ("max_model_len", "dtype", "quantization", "enforce_eager")),
    ("cache_config", ("block_size", "enable_prefix_caching", "cache_dtype", "num_gpu_blocks",
                      "gpu_memory_utilization")),
    ("scheduler_config", ("max_num_seqs", "max_num_batched_tokens")),
    ("parallel_config", ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")),
)  # fmt: skip


def facts(
    driver: Any,
    arguments: Mapping[str, Any],
    counts: Mapping[str, int],
    seconds: Mapping[str, float],
    files: ModelFiles,
) -> dict[str, Any]:
    """Versions, device, arguments and rates; of a session that loaded no model, the versions alone.

    `prefix_cache_hit_rate` is the share of prompt tokens that came out of the prefix cache; tokens per
    second are over the time spent in the engine, of prompts and answers apart.
    """
    found: dict[str, Any] = {"vllm": vllm_installed.version(), "revision": files.revision}
    if driver is None:
        return found
    found |= device()
    found["process"] = "own" if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING", "1") == "1" else "inner"
    found["batch_invariant"] = os.environ.get("VLLM_BATCH_INVARIANT", "0") == "1"
    found["arguments"] = {key: _plain(value) for key, value in arguments.items()}
    found["resolved"] = resolved(driver.config)
    found |= counts
    found["prefix_cache_hit_rate"] = _ratio(counts["cached_tokens"], counts["prompt_tokens"], 4)
    generation = seconds["generation"]
    found["load_seconds"] = round(seconds["load"], 2)
    found["generation_seconds"] = round(generation, 3)
    found["prompt_tokens_per_second"] = _ratio(counts["prompt_tokens"], generation, 1)
    found["output_tokens_per_second"] = _ratio(counts["output_tokens"], generation, 1)
    return found


def device() -> dict[str, Any]:
    """Versions of torch and CUDA, and the GPU's name and memory in bytes; None without one."""
    import torch

    found: dict[str, Any] = {"torch": str(torch.__version__), "cuda": torch.version.cuda}
    if torch.cuda.is_available():
        properties = torch.cuda.get_device_properties(0)
        found |= {"gpu": properties.name, "gpu_memory": properties.total_memory}
        found["gpus"] = torch.cuda.device_count()
    else:
        found |= {"gpu": None, "gpu_memory": None, "gpus": 0}
    return found


def resolved(config: Any) -> dict[str, Any]:
    """What vLLM made of the arguments: its own defaults are part of the record."""
    return {
        name: _plain(getattr(getattr(config, part), name))
        for part, names in _RESOLVED
        if hasattr(config, part)
        for name in names
        if hasattr(getattr(config, part), name)
    }


def _plain(value: Any) -> Any:
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    return str(value)


def _ratio(part: float, whole: float, digits: int) -> float | None:
    return round(part / whole, digits) if whole else None
