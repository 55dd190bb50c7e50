"""Settings of the engine `ray`: which engine the actors hold, how many there are, and what each takes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any, ClassVar, Self

from pydantic import Field, PositiveInt, field_validator

from authbench.engines.registry import ENGINES
from authbench.engines.settings import EngineSettings
from authbench.errors import ConfigError, did_you_mean


class Settings(EngineSettings):
    """Settings of the engine `ray`.

    Attributes:
        inner: the engine that each actor holds.
        actors: how many there are; None for as many as the cluster has GPUs for, or nodes without GPUs.
        address: of a running cluster, `auto` for the one on this machine; None starts one for this run.
        num_cpus: cores that Ray reserves for each actor.
        num_gpus: GPUs for each actor; None for what the inner engine's parallelism needs, 0 without GPUs.
        window: most jobs that an actor has at a time; its engine should never wait.
        restarts: how often a lost actor is restarted.
        start_timeout: seconds to wait for the first actor to have loaded its model.
        settings: of the inner engine.
    """

    engine: ClassVar[str] = "ray"

    inner: str = "vllm"
    actors: PositiveInt | None = None
    address: str | None = None
    num_cpus: float = Field(1.0, ge=0)
    num_gpus: float | None = Field(None, ge=0)
    window: PositiveInt = 256
    restarts: int = Field(3, ge=0)
    start_timeout: float = Field(1800.0, ge=0)
    settings: dict[str, Any] = Field(default_factory=dict)

    @field_validator("inner")
    @classmethod
    def _no_ray_in_ray(cls, name: str) -> str:
        known = [engine for engine in ENGINES if engine != "ray"]
        if name not in known:
            raise ValueError(f"inner '{name}' is not one of {', '.join(known)}{did_you_mean(name, known)}")
        return name

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Self:
        """Check settings; `ConfigError` of a line or two."""
        try:
            return super().parse(settings)
        except ConfigError as error:
            for key in settings.keys() - cls.model_fields.keys():
                hint = f"settings of the inner engine go into engine.settings, as engine.settings.{key}"
                raise ConfigError(f"{error}\n{hint}") from None
            raise

    def gpus_per_actor(self, inner_settings: Mapping[str, Any], cluster_gpus: float) -> float:
        """GPUs for each actor: said, or a whole copy of the model by the inner engine's parallelism."""
        if self.num_gpus is not None:
            return self.num_gpus
        if self.inner != "vllm" or cluster_gpus == 0:
            return 0.0
        kinds = ("tensor_parallel_size", "pipeline_parallel_size", "data_parallel_size")
        return float(prod(int(inner_settings.get(kind, 1)) for kind in kinds))

    def actor_count(self, gpus_per_actor: float, cluster_gpus: float, nodes: int) -> int:
        """How many actors there are to be, at least one."""
        return self.actors or max(1, int(cluster_gpus // gpus_per_actor) if gpus_per_actor > 0 else nodes)
