"""What runs inside a Ray actor: an inner engine, fed and emptied in short calls."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authbench.errors import EngineError
from authbench.runtime.engine import Completion, Engine, Job, ModelConfig

#: Seconds after which a call gives what it has.
_SLICE = 0.2

#: Environment variables that an actor needs as its driver has them, by how they begin.
ENVIRONMENT = ("AUTHBENCH_", "HF_", "VLLM_", "OMP_")


@dataclass(frozen=True, slots=True)
class Work:
    """What one call gives.

    Attributes:
        completions: finished jobs.
        left: jobs that the actor still has.
        error: why the engine is dead, or None.
    """

    completions: list[Completion]
    left: int
    error: str | None = None


class Worker:
    """Holds an engine. Calls come one after another, so the engine is never touched by two."""

    def __init__(
        self,
        engine: str,
        model: ModelConfig,
        settings: Mapping[str, Any],
        environment: Mapping[str, str],
        longest: int | None = None,
    ) -> None:
        os.environ.update(environment)
        self._name, self._model, self._settings = engine, model, settings
        self._longest = longest
        self._engine: Engine | None = None
        self._flow: Iterator[Completion] | None = None
        self._left: set[int] = set()

    def load(self) -> dict[str, Any]:
        """Load the weights; gives the node and the process, or `error`."""
        import ray

        from authbench.engines.registry import make_engine

        facts = {"node": ray.get_runtime_context().get_node_id(), "pid": os.getpid(), "error": None}
        try:
            self._engine = make_engine(self._name, self._model, self._settings)
            if (longest := self._longest) is not None:
                self._engine.expect(lambda: longest)
            self._engine.load()
        except EngineError as error:
            facts["error"] = str(error)
        return facts

    def work(self, jobs: Sequence[Job], cancelled: Sequence[int]) -> Work:
        """Take on jobs, and go on with all there are until some have finished and a moment has passed."""
        engine = self._engine
        if engine is None:
            return Work([], 0, "the engine is not loaded")
        done: list[Completion] = []
        started = time.monotonic()
        try:
            if jobs:
                engine.submit(jobs)
                self._left.update(job.number for job in jobs)
            if cancelled:
                engine.cancel(cancelled)
                self._left.difference_update(cancelled)
            while self._left:
                self._flow = self._flow or engine.completions()
                completion = next(self._flow, None)
                if completion is None:
                    self._flow = None
                    self._left.clear()
                    break
                self._left.discard(completion.number)
                done.append(completion)
                if time.monotonic() - started > _SLICE:
                    break
        except EngineError as error:
            return Work(done, len(self._left), str(error))
        return Work(done, len(self._left))

    def info(self) -> dict[str, Any]:
        """The inner engine's facts."""
        return dict(self._engine.info()) if self._engine is not None else {}

    def close(self) -> None:
        """Free the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None


def environment_to_pass() -> dict[str, str]:
    """The variables that actors on other machines are given.

    The log of a vLLM on this machine is none of theirs.
    """
    ours = {"AUTHBENCH_VLLM_LOG", "VLLM_LOGGING_CONFIG_PATH"} if "AUTHBENCH_VLLM_LOG" in os.environ else set()
    return {
        name: value for name, value in os.environ.items() if name.startswith(ENVIRONMENT) and name not in ours
    }
