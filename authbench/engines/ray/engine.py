"""The engine itself: which job goes to which actor, and what happens to those of a lost one."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from authbench.engines.ray.actors import Actor, connect, living_nodes, place, wait
from authbench.engines.ray.settings import Settings
from authbench.engines.registry import ENGINES
from authbench.errors import EngineError
from authbench.runtime.engine import (
    Capabilities,
    Completion,
    Engine,
    Job,
    ModelConfig,
    ModelIdentity,
    RenderedPrompt,
)
from authbench.runtime.messages import Request

#: Lost actors after which a job is taken to be what kills them.
_MOST_LOSSES = 3
#: Most jobs handed over in one call.
_CHUNK = 64


class RayEngine(Engine):
    """Hands jobs to actors on one or many nodes; a lost actor's jobs go to the others.

    Settings: see `authbench.engines.ray.settings.Settings`.
    """

    name = "ray"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._settings = Settings.parse(settings or {})
        self._inner_settings = {**model.engine.get(self._settings.inner, {}), **self._settings.settings}
        self._longest: Callable[[], int] | None = None
        self._joined = False  # by this engine, which is then to leave again
        self._actors: list[Actor] = []
        self._waiting: deque[Job] = deque()
        self._losses: dict[int, int] = {}
        self._failed: list[Completion] = []
        self._counts = {"jobs": 0, "calls": 0, "lost_actors": 0, "handed_over_again": 0}

    @cached_property
    def _inner(self) -> Engine:
        """An engine of the inner kind that never loads: it knows model, template and capabilities."""
        spec = ENGINES[self._settings.inner]
        made: Engine = getattr(import_module(spec.module), spec.cls)(self._model, self._inner_settings)
        return made

    @property
    def identity(self) -> ModelIdentity:
        """The inner engine's, so that their answers in the store are shared."""
        return self._inner.identity

    @property
    def capabilities(self) -> Capabilities:
        """The inner engine's."""
        return self._inner.capabilities

    def render(self, request: Request) -> RenderedPrompt:
        """By the inner engine."""
        return self._inner.render(request)

    @property
    def rendering(self) -> Mapping[str, Any]:
        """The inner engine's."""
        return self._inner.rendering

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        """By the inner engine."""
        return self._inner.count_tokens(prompts)

    @property
    def context_length(self) -> int | None:
        """The inner engine's."""
        return self._inner.context_length

    def expect(self, longest: Callable[[], int]) -> None:
        """The plan's longest request, for the engines of the actors."""
        self._longest = longest

    def load(self) -> None:
        """Join or start the cluster, and wait for the first actor; the others join as they are ready.

        Raises:
            EngineError: no cluster, no room in it, or a model that no actor can load.
        """
        if self._actors:
            return
        counts = self._longest if self._settings.inner == "vllm" else None  # the others take no limit
        longest = None if counts is None else counts()
        self._joined = connect(self._settings.address)
        try:
            self._actors = place(self._settings, self._model, self._inner_settings, longest)
            deadline = time.monotonic() + self._settings.start_timeout
            while not any(actor.ready for actor in self._actors):
                list(wait(self._actors))
                if time.monotonic() > deadline:
                    raise EngineError(
                        f"no actor was ready within {self._settings.start_timeout:.0f} seconds\n"
                        "lower engine.num_cpus or engine.num_gpus if there is no room for one, "
                        "or raise engine.start_timeout"
                    )
        except BaseException:
            self.close()
            raise

    def submit(self, jobs: Sequence[Job]) -> None:
        """Put jobs in line for the actors."""
        self._waiting.extend(jobs)
        self._counts["jobs"] += len(jobs)

    def completions(self) -> Iterator[Completion]:
        """Yield jobs as actors finish them."""
        if self._waiting and not self._actors:
            raise EngineError("the ray engine is not loaded")
        while self._waiting or self._failed or any(actor.jobs for actor in self._actors):
            while self._failed:
                yield self._failed.pop()
            self._hand_out([actor for actor in self._actors if actor.ready])
            for actor, completions, lost in wait(self._actors):
                for completion in completions:
                    if actor.jobs.pop(completion.number, None) is not None:  # else another one had it first
                        self._losses.pop(completion.number, None)
                        yield completion
                if lost:
                    self._take_back(actor)

    def _hand_out(self, ready: Sequence[Actor]) -> None:
        """Give waiting jobs to those with room, fewest first, in chunks that shrink towards the end.

        Guided self-scheduling (Polychronopoulos and Kuck 1987): a share of what is left, so that all
        end at about the same time.
        """
        for actor in sorted(ready, key=lambda actor: len(actor.jobs)):
            share = max(1, len(self._waiting) // (2 * len(ready)))
            room = min(share, _CHUNK, self._settings.window - len(actor.jobs), len(self._waiting))
            chunk = [self._waiting.popleft() for _ in range(room)]
            self._counts["calls"] += actor.call(chunk)

    def _take_back(self, actor: Actor) -> None:
        """Put the jobs of a lost actor at the head of the line, unless they were lost too often."""
        self._counts["lost_actors"] += 1
        for number, job in actor.jobs.items():
            self._losses[number] = self._losses.get(number, 0) + 1
            if self._losses[number] >= _MOST_LOSSES:
                error = f"{_MOST_LOSSES} actors were lost while they had this request"
                self._failed.append(Completion(number, error=error))
            else:
                self._counts["handed_over_again"] += 1
                self._waiting.appendleft(job)
        actor.jobs.clear()

    def info(self) -> Mapping[str, Any]:
        """Ray's version, nodes and actors, what was lost, and the inner engines' facts."""
        if not self._actors:
            return {}
        import ray

        return {
            "inner": self._settings.inner,
            **self._counts,
            "ray": ray.__version__,
            "nodes": living_nodes(),
            "actors": [actor.facts() for actor in self._actors],
        }

    def close(self) -> None:
        """End the actors, and leave the cluster, which ends if it was started for this run."""
        actors, self._actors = self._actors, []
        self._waiting.clear()
        if self._joined or actors:
            import ray

            ends = [actor.handle.close.remote() for actor in actors if actor.ready]
            if ends:
                ray.wait(ends, num_returns=len(ends), timeout=20)
            for actor in actors:
                actor.kill()
        if self._joined:
            ray.shutdown()
            self._joined = False
        self.__dict__.pop("_inner", None)
