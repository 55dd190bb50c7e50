"""What runs inside a Ray actor: an inner engine, fed and emptied in short calls."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from authbench.engines.registry import make_engine
from authbench.errors import EngineError
from authbench.runtime.engine import Completion, Engine, Job, ModelConfig

#: Seconds after which a call gives what it has.
_SLICE = 0.2

#: Environment variables that an actor needs as its driver has them, by how they begin.
_PASSED_ON = ("AUTHBENCH_", "HF_", "VLLM_", "OMP_")


def environment_to_pass() -> dict[str, str]:
    """The variables of this process that actors on other machines are given."""
    return {name: value for name, value in os.environ.items() if name.startswith(_PASSED_ON)}


class Worker:
    """Holds an engine. Calls come one after another, so the engine is never touched by two.

    Ray makes it anew, without its engine, when it restarts the actor.
    """

    def __init__(
        self,
        engine: str,
        model: ModelConfig,
        settings: Mapping[str, Any],
        environment: Mapping[str, str],
        longest: int | None = None,
    ) -> None:
        """`longest`: tokens of the plan's longest request, or None where the engine makes no use of it."""
        os.environ.update(environment)
        self._made_with = engine, model, settings
        self._longest = longest
        self._engine: Engine | None = None
        self._flow: Iterator[Completion] = iter(())
        self._left: set[int] = set()

    def load(self) -> tuple[str, str | None]:
        """Load the weights unless they are; gives the node, and what went wrong or None."""
        import ray

        node = str(ray.get_runtime_context().get_node_id())
        try:
            self._loaded()
        except EngineError as error:
            return node, str(error)
        return node, None

    def _loaded(self) -> Engine:
        if self._engine is None:
            engine = make_engine(*self._made_with)
            if (longest := self._longest) is not None:
                engine.expect(lambda: longest)
            engine.load()
            self._engine = engine
        return self._engine

    def work(self, jobs: Sequence[Job]) -> tuple[list[Completion], str | None]:
        """Take on jobs, and go on with all there are until some have finished and a moment has passed.

        Gives what has finished, and what the engine died of or None.
        """
        done: list[Completion] = []
        started = time.monotonic()
        try:
            engine = self._loaded()
            engine.submit(jobs)
            self._left.update(job.number for job in jobs)
            while self._left and (not done or time.monotonic() - started < _SLICE):
                completion = next(self._flow, None)
                if completion is None:
                    self._flow = engine.completions()
                    continue
                self._left.discard(completion.number)
                done.append(completion)
        except EngineError as error:
            return done, str(error)
        return done, None

    def info(self) -> Mapping[str, Any]:
        """The inner engine's facts."""
        return dict(self._engine.info()) if self._engine is not None else {}

    def close(self) -> None:
        """Free the engine."""
        if self._engine is not None:
            self._engine.close()
            self._engine = None
