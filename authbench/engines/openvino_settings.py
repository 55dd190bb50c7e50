"""Settings of the engine `openvino`, and what they mean for OpenVINO GenAI."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from types import NoneType
from typing import Any

from authbench.errors import ConfigError, did_you_mean

_PRECISIONS = ("f32", "bf16", "f16")
_KV_PRECISIONS = ("u8", "f16", "bf16", "f32")

#: Bytes of the KV cache for one number, scales included (blocks of 32 tokens, heads of 64 or more).
_KV_BYTES = {"u8": 1.3, "f16": 2.0, "bf16": 2.0, "f32": 4.0}


@dataclass(frozen=True, slots=True)
class OpenVinoSettings:
    """Settings of the engine `openvino`. The defaults were measured, see docs/engines.md.

    Attributes:
        cache_size: of the KV cache, in GB.
        max_num_seqs: most sequences in flight.
        max_num_batched_tokens: most prompt tokens of one step; None for the model's context length. A
            prompt that is longer is refused.
        prefix_caching: keep the KV cache of prompts for those that begin alike.
        dynamic_split_fuse: cut long prompts and mix them with decoding. Answers then depend on what else
            is asked at the same time.
        precision: of the arithmetic: `f32`, `bf16` or `f16`. With `bf16` answers depend on batch size.
        kv_cache_precision: `u8`, `f16`, `bf16` or `f32`.
        threads: number of threads, 0 for OpenVINO's choice.
        companion: let a throw-away sequence run beside a request that would run alone, so that its
            answer is the same as in company.
    """

    cache_size: int = 1
    max_num_seqs: int = 64
    max_num_batched_tokens: int | None = None
    prefix_caching: bool = True
    dynamic_split_fuse: bool = False
    precision: str = "f32"
    kv_cache_precision: str = "u8"
    threads: int = 0
    companion: bool = True

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> OpenVinoSettings:
        """Settings out of YAML. Raises `ConfigError` naming the setting that is wrong."""
        for key, value in settings.items():
            kinds = _TYPES.get(key)
            if kinds is None:
                hint = did_you_mean(key, tuple(_TYPES))
                raise ConfigError(
                    f"engine openvino: unknown setting '{key}'{hint}; known: {', '.join(_TYPES)}"
                )
            if type(value) not in kinds:
                wanted = " or ".join(kind.__name__ for kind in kinds if kind is not NoneType)
                raise ConfigError(f"engine openvino: {key} is {value!r}, and must be of type {wanted}")
        parsed = cls(**settings)
        parsed._check()
        return parsed

    def _check(self) -> None:
        for key, least in {"cache_size": 1, "max_num_seqs": 2, "threads": 0}.items():
            if getattr(self, key) < least:
                raise ConfigError(
                    f"engine openvino: {key} is {getattr(self, key)}, and must be {least} or more"
                )
        if self.max_num_batched_tokens is not None and self.max_num_batched_tokens < 32:
            raise ConfigError("engine openvino: max_num_batched_tokens must be 32 or more")
        for key, known in {"precision": _PRECISIONS, "kv_cache_precision": _KV_PRECISIONS}.items():
            if getattr(self, key) not in known:
                hint = did_you_mean(getattr(self, key), known)
                raise ConfigError(
                    f"engine openvino: {key} '{getattr(self, key)}' is not one of {', '.join(known)}{hint}"
                )

    def as_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return asdict(self)

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
        found: dict[str, Any] = {
            "INFERENCE_PRECISION_HINT": self.precision,
            "KV_CACHE_PRECISION": self.kv_cache_precision,
            # Two engines on one machine would else sit on the same cores.
            "ENABLE_CPU_PINNING": False,
        }
        if self.threads:
            found["INFERENCE_NUM_THREADS"] = self.threads
        return found

    def batched_tokens(self, context_length: int | None) -> int:
        """Most prompt tokens of one step."""
        return self.max_num_batched_tokens or context_length or 8192

    def cache_tokens(self, kv_elements: int | None) -> int | None:
        """How many tokens the KV cache holds, rounded down with some room; None where it is not known."""
        if not kv_elements:
            return None
        return int(self.cache_size * 2**30 / (kv_elements * _KV_BYTES[self.kv_cache_precision]))


_TYPES: dict[str, tuple[type, ...]] = {
    "cache_size": (int,),
    "max_num_seqs": (int,),
    "max_num_batched_tokens": (int, NoneType),
    "prefix_caching": (bool,),
    "dynamic_split_fuse": (bool,),
    "precision": (str,),
    "kv_cache_precision": (str,),
    "threads": (int,),
    "companion": (bool,),
}
