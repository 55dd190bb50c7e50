"""Settings of the engine `openvino`, and what they mean for OpenVINO GenAI."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Literal

from pydantic import Field

from authbench.engines.settings import EngineSettings

#: Bytes of the KV cache for one number, scales included (blocks of 32 tokens, heads of 64 or more).
_KV_BYTES = {"u8": 1.3, "f16": 2.0, "bf16": 2.0, "f32": 4.0}


class OpenVinoSettings(EngineSettings):
    """Settings of the engine `openvino`. The defaults were measured, see docs/engines.md.

    Attributes:
        cache_size: of the KV cache, in GB.
        max_num_seqs: most sequences in flight.
        max_num_batched_tokens: most prompt tokens of one step; None for the model's context length. A
            prompt that is longer is refused.
        prefix_caching: keep the KV cache of prompts for those that begin alike.
        dynamic_split_fuse: cut long prompts and mix them with decoding. Answers then depend on what else
            is asked at the same time.
        precision: of the arithmetic. With `bf16` answers depend on batch size.
        kv_cache_precision: of what the KV cache holds.
        threads: number of threads, 0 for OpenVINO's choice.
        companion: let a throw-away sequence run beside a request that would run alone, so that its
            answer is the same as in company.
    """

    engine: ClassVar[str] = "openvino"

    cache_size: Annotated[int, Field(ge=1)] = 1
    max_num_seqs: Annotated[int, Field(ge=2)] = 64
    max_num_batched_tokens: Annotated[int, Field(ge=32)] | None = None
    prefix_caching: bool = True
    dynamic_split_fuse: bool = False
    precision: Literal["f32", "bf16", "f16"] = "f32"
    kv_cache_precision: Literal["u8", "f16", "bf16", "f32"] = "u8"
    threads: Annotated[int, Field(ge=0)] = 0
    companion: bool = True

    def model_precision(self, weights: str) -> str:
        """What an identity says: the quantisation of the weights, and arithmetic that is not the default."""
        parts = [weights]
        if self.precision != "f32":
            parts.append(self.precision)
        if self.kv_cache_precision != "u8":
            parts.append(f"kv-{self.kv_cache_precision}")
        return "+".join(parts)

    def properties(self) -> dict[str, Any]:
        """Properties for OpenVINO's CPU plugin."""
        threads = {"INFERENCE_NUM_THREADS": self.threads} if self.threads else {}
        return {
            "INFERENCE_PRECISION_HINT": self.precision,
            "KV_CACHE_PRECISION": self.kv_cache_precision,
            # Two engines on one machine would else sit on the same cores.
            "ENABLE_CPU_PINNING": False,
            **threads,
        }

    def step_tokens(self, context_length: int | None) -> int:
        """Most prompt tokens of one step."""
        return self.max_num_batched_tokens or context_length or 8192

    def cache_tokens(self, kv_elements: int | None) -> int | None:
        """How many tokens the KV cache holds, rounded down with some room; None where it is not known.

        `kv_elements` is how many numbers it keeps for one token.
        """
        if not kv_elements:
            return None
        return int(self.cache_size * 2**30 / (kv_elements * _KV_BYTES[self.kv_cache_precision]))
