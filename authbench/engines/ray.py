"""Many GPUs or machines through Ray: actors that hold an inner engine each, fed as they free up."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from importlib import import_module
from typing import Any

from authbench.engines.ray_cluster import Cluster, Slot
from authbench.engines.ray_options import RayOptions
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

    Settings: see `authbench.engines.ray_options.RayOptions`. What the model is, how prompts are rendered
    and what can be asked is the inner engine's, and its answers in the store are shared.
    """

    name = "ray"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._options = RayOptions.parse(settings or {})
        self._inner_settings = {**model.engine.get(self._options.inner, {}), **self._options.settings}
        self._cluster: Cluster | None = None
        self._longest: Callable[[], int] | None = None
        self._waiting: deque[Job] = deque()
        self._losses: dict[int, int] = {}
        self._failed: list[Completion] = []
        self._counts = {"jobs": 0, "calls": 0, "lost_actors": 0, "handed_over_again": 0}

    @cached_property
    def _inner(self) -> Engine:
        """An engine of the inner kind that never loads: it knows model, template and capabilities."""
        spec = ENGINES[self._options.inner]
        made: Engine = getattr(import_module(spec.module), spec.cls)(self._model, self._inner_settings)
        return made

    @property
    def identity(self) -> ModelIdentity:
        """The inner engine's."""
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
        if self._cluster is None:
            counts = self._longest if self._options.inner == "vllm" else None  # the others take no limit
            longest = None if counts is None else counts()
            cluster = Cluster(self._options, self._model, self._inner_settings, longest)
            try:
                cluster.start()
            except BaseException:
                cluster.close()
                raise
            self._cluster = cluster

    def submit(self, jobs: Sequence[Job]) -> None:
        """Put jobs in line for the actors."""
        self._waiting.extend(jobs)
        self._counts["jobs"] += len(jobs)

    def completions(self) -> Iterator[Completion]:
        """Yield jobs as actors finish them."""
        cluster = self._cluster
        if cluster is None:
            if self._waiting:
                raise EngineError("the ray engine is not loaded")
            return
        while self._waiting or self._failed or any(slot.jobs for slot in cluster.slots):
            while self._failed:
                yield self._failed.pop()
            self._hand_out(cluster)
            for slot, work in cluster.wait():
                for completion in work.completions:
                    if slot.jobs.pop(completion.number, None) is not None:
                        self._losses.pop(completion.number, None)
                        yield completion
                if work.error is not None:
                    cluster.give_up(slot, work.error)
            for slot in cluster.lost():
                self._take_back(slot)
            cluster.check()

    def _hand_out(self, cluster: Cluster) -> None:
        """Give waiting jobs to those with room, fewest first, in chunks that shrink towards the end.

        Guided self-scheduling (Polychronopoulos and Kuck 1987): a share of what is left, so that all
        end at about the same time.
        """
        ready = [slot for slot in cluster.slots if slot.ready]
        for slot in sorted(ready, key=lambda slot: len(slot.jobs)):
            chunk: list[Job] = []
            room = min(self._options.window - len(slot.jobs), _CHUNK)
            room = min(room, max(1, len(self._waiting) // (2 * len(ready))))
            while self._waiting and len(chunk) < room:
                chunk.append(self._waiting.popleft())
            self._counts["calls"] += cluster.call(slot, chunk)

    def _take_back(self, slot: Slot) -> None:
        """Put the jobs of a lost actor at the head of the line, unless they were lost too often."""
        self._counts["lost_actors"] += 1
        for number, job in slot.jobs.items():
            self._losses[number] = self._losses.get(number, 0) + 1
            if self._losses[number] >= _MOST_LOSSES:
                self._failed.append(
                    Completion(number, error=f"{_MOST_LOSSES} actors were lost while they had this request")
                )
            else:
                self._counts["handed_over_again"] += 1
                self._waiting.appendleft(job)
        slot.jobs.clear()

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop jobs: those in line here at once, those at an actor with the next call to it."""
        dropped = set(numbers)
        self._waiting = deque(job for job in self._waiting if job.number not in dropped)
        for slot in self._cluster.slots if self._cluster is not None else ():
            for number in dropped & slot.jobs.keys():
                del slot.jobs[number]
                slot.cancelled.append(number)

    def info(self) -> Mapping[str, Any]:
        """Ray's version, nodes and actors, what was lost, and the inner engines' facts."""
        if self._cluster is None:
            return {}
        return {"inner": self._options.inner, **self._counts, **self._cluster.info()}

    def close(self) -> None:
        """End the actors, and the cluster if this run started it."""
        cluster, self._cluster = self._cluster, None
        self._waiting.clear()
        if cluster is not None:
            cluster.close()
        self.__dict__.pop("_inner", None)
