"""What a run with vLLM leaves in `run.json`."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

#: Resolved values worth keeping, and where vLLM's configuration has them.
_RESOLVED = {
    "model_config": ("max_model_len", "dtype", "quantization", "enforce_eager"),
    "cache_config": ("block_size", "enable_prefix_caching", "cache_dtype", "num_gpu_blocks",
                     "gpu_memory_utilization"),
    "scheduler_config": ("max_num_seqs", "max_num_batched_tokens"),
    "parallel_config": ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size"),
}  # fmt: skip


def loaded_facts(config: Any, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Versions, device, and what vLLM made of its arguments: its own defaults are part of the record.

    Args:
        config: vLLM's resolved configuration.
        arguments: what its engine was given.
    """
    import torch

    gpu = torch.cuda.get_device_properties(0) if torch.cuda.is_available() else None
    parts = [(getattr(config, part, None), names) for part, names in _RESOLVED.items()]
    facts = {
        "torch": str(torch.__version__),
        "cuda": torch.version.cuda,
        "gpu": gpu.name if gpu else None,
        "gpu_memory": gpu.total_memory if gpu else None,
        "gpus": torch.cuda.device_count() if gpu else 0,
        "process": "own" if os.environ.get("VLLM_ENABLE_V1_MULTIPROCESSING", "1") == "1" else "inner",
        "batch_invariant": os.environ.get("VLLM_BATCH_INVARIANT", "0") == "1",
        "arguments": arguments,
        "resolved": {n: getattr(part, n) for part, names in parts for n in names if hasattr(part, n)},
    }
    plain: dict[str, Any] = json.loads(json.dumps(facts, default=str))
    return plain


def usage_facts(usage: Mapping[str, float]) -> dict[str, Any]:
    """What was counted, with rates.

    `prefix_cache_hit_rate` is the share of prompt tokens that came out of the prefix cache; tokens per
    second are over the time spent in the engine, of prompts and answers apart.
    """
    seconds, prompt = usage["generation_seconds"], usage["prompt_tokens"]

    def ratio(part: float, whole: float, digits: int) -> float | None:
        return round(part / whole, digits) if whole else None

    return {
        **{name: round(count, 3) for name, count in usage.items()},
        "prefix_cache_hit_rate": ratio(usage["cached_tokens"], prompt, 4),
        "prompt_tokens_per_second": ratio(prompt, seconds, 1),
        "output_tokens_per_second": ratio(usage["output_tokens"], seconds, 1),
    }
