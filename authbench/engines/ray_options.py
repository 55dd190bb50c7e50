"""Settings of the ray engine: which engine the actors hold, how many there are, and what each takes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any

from authbench.engines.registry import ENGINES
from authbench.errors import ConfigError, did_you_mean


@dataclass(frozen=True, slots=True)
class RayOptions:
    """Settings of the ray engine.

    Attributes:
        inner: the engine that each actor holds.
        actors: how many there are; None for as many as the cluster has GPUs for, or nodes without GPUs.
        address: of a running cluster, `auto` for the one on this machine; None starts one for this run.
        num_cpus: cores that Ray reserves for each actor.
        num_gpus: GPUs for each actor; None for what the inner engine's parallelism needs, 0 without GPUs.
        window: most jobs that an actor has at a time; its engine should never wait.
        restarts: how often a lost actor is replaced.
        start_timeout: seconds to wait for the first actor to have loaded its model.
        settings: of the inner engine.
    """

    inner: str = "vllm"
    actors: int | None = None
    address: str | None = None
    num_cpus: float = 1.0
    num_gpus: float | None = None
    window: int = 256
    restarts: int = 3
    start_timeout: float = 1800.0
    settings: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> RayOptions:
        """Check settings; `ConfigError` with the nearest known one."""
        known = [f.name for f in fields(cls)]
        for key in settings:
            if key not in known:
                raise ConfigError(
                    f"engine.{key}: the ray engine has no such setting{did_you_mean(key, known)}\n"
                    f"settings of the inner engine go into engine.settings.{key}"
                )
        options = cls(**settings)
        options._check()
        return options

    def _check(self) -> None:
        inner = [name for name in ENGINES if name != "ray"]
        if self.inner not in inner:
            raise ConfigError(f"engine.inner: {self.inner!r} is none of {', '.join(inner)}")
        for name, least in (("actors", 1), ("window", 1), ("restarts", 0)):
            value = getattr(self, name)
            if value is None and name == "actors":
                continue
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"engine.{name}: must be a whole number of at least {least}, not {value!r}")
        for name in ("num_cpus", "num_gpus", "start_timeout"):
            value = getattr(self, name)
            if value is None and name == "num_gpus":
                continue
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value < 0:
                raise ConfigError(f"engine.{name}: must be a number of at least 0, not {value!r}")
        if not isinstance(self.settings, Mapping):
            raise ConfigError("engine.settings: must be a mapping, of the inner engine's settings")

    def gpus_per_actor(self, settings: Mapping[str, Any], cluster_gpus: float) -> float:
        """GPUs for each actor: said, or a whole copy of the model by the inner engine's parallelism."""
        if self.num_gpus is not None:
            return float(self.num_gpus)
        if self.inner != "vllm" or cluster_gpus == 0:
            return 0.0
        names = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        gpus = 1
        for name in names:
            gpus *= int(settings.get(name, 1))
        return float(gpus)

    def actor_count(self, gpus_per_actor: float, cluster_gpus: float, nodes: int) -> int:
        """How many actors there are to be, at least one."""
        if self.actors is not None:
            return self.actors
        if gpus_per_actor > 0:
            return max(1, int(cluster_gpus // gpus_per_actor))
        return max(1, nodes)
