"""A pipeline of OpenVINO GenAI with its queue: what is handed over, stepped, and taken out."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from authbench.engines.openvino import library
from authbench.engines.openvino.tickets import BLOCK, Limits, Ticket
from authbench.errors import EngineError
from authbench.runtime.messages import Constraint

#: What is known of constraints: None for one that compiled, else why a pipeline could not take it.
Constraints = dict[Constraint, str | None]

#: Prompts are taken to begin alike if so many tokens are equal: whole blocks of the prefix cache.
_PREFIX = 96

#: Tokens of a companion before another one takes its place.
_COMPANION = 256


class Lane:
    """A pipeline that is driven step by step. Requests come in their order, but for two reasons to wait.

    Of several that begin alike with tokens not seen before, one goes first: the others then find them in
    the prefix cache. And of constraints not seen before only one is tried at a time: one that cannot be
    compiled makes the pipeline unusable, and so it is known which it was.

    Args:
        load: makes the pipeline; called again if it became unusable.
        limits: what may run together.
        constraints: shared by the lanes of an engine.
        filler: tokens of a short prompt for throw-away sequences.
        prefixes: whether there is a prefix cache to wait for.
        companion: let a throw-away sequence run beside a request that runs alone.
    """

    def __init__(
        self,
        load: Callable[[], Any],
        limits: Limits,
        constraints: Constraints,
        filler: Sequence[int],
        *,
        prefixes: bool,
        companion: bool,
    ) -> None:
        self._load = load
        self._limits = limits
        self._constraints = constraints
        self._filler = filler
        self._prefixes = prefixes
        self._use_companion = companion
        self._pipeline = load()
        self._base = self._pipeline.get_config()
        self._waiting: deque[Ticket] = deque()
        self._running: list[Ticket] = []
        self._seen: set[int] = set()
        self._companion: Any = None
        self._next_id = 0
        self.steps = 0
        self.seconds = 0.0

    @property
    def busy(self) -> bool:
        """True if something waits or runs."""
        return bool(self._waiting or self._running)

    @property
    def most_cache_usage(self) -> float:
        """Percent of the KV cache that was in use at most."""
        return float(self._pipeline.get_metrics().max_cache_usage)

    def add(self, ticket: Ticket) -> None:
        """Queue a request."""
        self._waiting.append(ticket)

    def remove(self, numbers: set[int]) -> None:
        """Drop requests, those that run included."""
        for ticket in self._running:
            if ticket.job.number in numbers:
                for handle in ticket.handles:
                    handle.cancel()
        self._waiting = deque(ticket for ticket in self._waiting if ticket.job.number not in numbers)
        self._running = [ticket for ticket in self._running if ticket.job.number not in numbers]

    def step(self) -> list[Ticket]:
        """One step: the requests that ended, and with their `error` those whose constraint is impossible.

        Raises `EngineError` if the pipeline fails for another reason.
        """
        refused = self._refuse()
        group, trial = self._choose()
        for ticket in group:
            self._start(ticket)
        if not self._running:
            return refused
        self._add_company(group)
        started = time.perf_counter()
        self.steps += 1
        try:
            self._pipeline.step()
        except library.ERRORS as error:
            self._restart(trial, library.explain(error))
            return refused
        finally:
            self.seconds += time.perf_counter() - started
        if trial is not None:
            self._constraints[trial] = None
        ended = [ticket for ticket in self._running if not any(map(library.is_running, ticket.handles))]
        self._running = [ticket for ticket in self._running if ticket not in ended]
        return refused + ended

    def rest(self) -> None:
        """Leave nothing behind in the pipeline."""
        if self._companion is not None:
            self._companion.cancel()
            self._companion = None
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()

    def close(self) -> None:
        """Drop requests and weights."""
        self.remove({ticket.job.number for ticket in self._running})
        self.rest()
        self._pipeline = None

    def _refuse(self) -> list[Ticket]:
        """Take out what waits with a constraint that this or another lane found impossible."""
        if not any(self._constraints.values()):
            return []
        for ticket in self._waiting:
            if ticket.job.request.constraint is not None:
                ticket.error = self._constraints.get(ticket.job.request.constraint)
        refused = [ticket for ticket in self._waiting if ticket.error is not None]
        self._waiting = deque(ticket for ticket in self._waiting if ticket.error is None)
        return refused

    def _choose(self) -> tuple[list[Ticket], Constraint | None]:
        """The requests to hand over before the next step, and the constraint that is tried with them."""
        group: list[Ticket] = []
        passed: list[Ticket] = []
        fresh: set[int] = set()
        trial: Constraint | None = None
        while self._waiting and self._limits.room([*self._running, *group], group, self._waiting[0]):
            ticket = self._waiting.popleft()
            constraint, prefix = ticket.job.request.constraint, self._unseen_prefix(ticket)
            untried = constraint is not None and constraint not in self._constraints
            if prefix in fresh or (untried and trial not in (None, constraint)):
                passed.append(ticket)
                continue
            if prefix is not None:
                fresh.add(prefix)
            if untried:
                trial = constraint
            group.append(ticket)
        self._waiting.extendleft(reversed(passed))
        self._seen |= fresh
        return group, trial

    def _unseen_prefix(self, ticket: Ticket) -> int | None:
        """A hash of how a prompt begins, None if that is short, was seen, or is not cached."""
        if not self._prefixes or len(ticket.ids) <= _PREFIX:
            return None
        prefix = hash(tuple(ticket.ids[:_PREFIX]))
        return None if prefix in self._seen else prefix

    def _start(self, ticket: Ticket) -> None:
        request = ticket.job.request
        ticket.seed, ticket.started = ticket.draw_seed(), time.perf_counter()
        if request.labels:
            configs = [library.labels_config(self._base, request.labels)]
        elif ticket.separate:
            draw, one = random.Random(ticket.seed), replace(request.sampling, n=1)
            configs = [
                library.generation_config(self._base, one, request.constraint, draw.getrandbits(62))
                for _ in range(request.sampling.n)
            ]
        else:
            configs = [
                library.generation_config(self._base, request.sampling, request.constraint, ticket.seed)
            ]
        ticket.handles = [self._put(ticket.ids, config) for config in configs]
        self._running.append(ticket)

    def _add_company(self, group: Sequence[Ticket]) -> None:
        """A step over a single token would be computed by other kernels than one over several."""
        if not self._use_companion:
            return
        if len(group) == 1 and len(group[0].ids) % BLOCK == 1:
            self._put(self._filler, library.filler(self._base, 1))
        alone = len(self._running) == 1
        if alone and (self._companion is None or not library.is_running(self._companion)):
            self._companion = self._put(self._filler, library.filler(self._base, _COMPANION))

    def _put(self, ids: Sequence[int], config: Any) -> Any:
        self._next_id += 1
        return self._pipeline.add_request(self._next_id, library.tensor(ids), config)

    def _restart(self, trial: Constraint | None, message: str) -> None:
        """Begin anew in another pipeline, without the constraint that made this one unusable."""
        if trial is None:
            raise EngineError(f"OpenVINO failed: {message}")
        self._constraints[trial] = f"the {trial.kind} constraint is not supported: {message}"
        for ticket in reversed(self._running):
            ticket.handles = []
            self._waiting.appendleft(ticket)
        self._running = []
        self._pipeline = self._companion = None
        self._pipeline = self._load()
