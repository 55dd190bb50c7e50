"""Will a model fit a GPU? Weights and KV cache held against its memory."""

from __future__ import annotations

import math
import subprocess
from dataclasses import dataclass

from authbench.runtime.engine import ModelConfig

#: Share of a GPU's memory that vLLM takes by default.
UTILISATION = 0.9
#: Memory for activations and CUDA graphs, in bytes: an allowance, not a measurement.
ALLOWANCE = 3e9
#: Tokens of KV cache below which an engine has too little to batch with.
LEAST_TOKENS = 16_384


@dataclass(frozen=True, slots=True)
class Gpu:
    """A GPU as the driver describes it; memory in bytes."""

    name: str
    memory: float


@dataclass(frozen=True, slots=True)
class Fit:
    """How a model and GPUs of one kind go together.

    Attributes:
        weights: bytes of weights in 16-bit precision.
        gpus: how many GPUs (`tensor_parallel_size`, a power of two) it needs; None if more than 64.
        tokens: tokens of KV cache that fit beside the weights on that many.
    """

    weights: float
    gpus: int | None
    tokens: int


def find_gpus() -> list[Gpu]:
    """NVIDIA GPUs of this machine; empty where there is no driver."""
    query = ["nvidia-smi", "--query-gpu=name,memory.total", "--format=csv,noheader,nounits"]
    try:
        done = subprocess.run(query, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return []
    if done.returncode != 0:
        return []
    gpus = []
    for line in done.stdout.splitlines():
        name, _, mebibytes = line.rpartition(",")
        if mebibytes.strip().isdigit():
            gpus.append(Gpu(name.strip(), int(mebibytes) * 2**20))
    return gpus


def fit(model: ModelConfig, memory: float) -> Fit | None:
    """How many GPUs of `memory` bytes a model needs in 16-bit precision; None if its size is unknown."""
    if model.parameters is None or model.kv_bytes_per_token is None:
        return None
    weights = 2.0 * model.parameters
    for power in range(7):
        gpus = 2**power
        free = gpus * (UTILISATION * memory - ALLOWANCE) - weights
        tokens = math.floor(free / model.kv_bytes_per_token)
        if tokens >= min(LEAST_TOKENS, model.context_length or LEAST_TOKENS):
            return Fit(weights, gpus, tokens)
    return Fit(weights, None, 0)
