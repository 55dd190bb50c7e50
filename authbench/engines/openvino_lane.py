"""A pipeline of the engine `openvino` with its queue: what is handed over, stepped, and taken out."""

from __future__ import annotations

import hashlib
import random
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from authbench.engines import openvino_runtime as runtime
from authbench.engines.openvino_admission import Admission, Constraints, Ticket
from authbench.errors import EngineError
from authbench.runtime.messages import Constraint

#: Tokens of a companion before another one takes its place.
_COMPANION = 256
_BLOCK = 32

_ENTROPY = random.SystemRandom()


@dataclass(slots=True, eq=False)
class Running:
    """A request in the pipeline, as one handle, or as one for each sample (`Ticket.separate`)."""

    ticket: Ticket
    handles: list[Any]
    seed: int
    started: float

    @property
    def ended(self) -> bool:
        """True if all its handles have."""
        return not any(runtime.is_running(handle) for handle in self.handles)


class Lane:
    """A pipeline that is driven step by step.

    Args:
        load: makes the pipeline; called again if it became unusable.
        admission: its queue.
        constraints: shared by the lanes of an engine.
        filler: tokens of a short prompt for throw-away sequences.
        companion: let a throw-away sequence run beside a request that runs alone.
    """

    def __init__(
        self,
        load: Callable[[], Any],
        admission: Admission,
        constraints: Constraints,
        filler: Sequence[int],
        *,
        companion: bool,
    ) -> None:
        self._load = load
        self._admission = admission
        self._constraints = constraints
        self._filler = filler
        self._use_companion = companion
        self._pipeline = load()
        self._base = self._pipeline.get_config()
        self._running: dict[int, Running] = {}
        self._companion: Any = None
        self._next_id = 0
        self.steps = 0
        self.seconds = 0.0

    @property
    def busy(self) -> bool:
        """True if something waits or runs."""
        return bool(self._admission or self._running)

    @property
    def most_cache_usage(self) -> float:
        """Percent of the KV cache that was in use at most."""
        return float(self._pipeline.get_metrics().max_cache_usage)

    def add(self, ticket: Ticket) -> None:
        """Queue a request."""
        self._admission.add(ticket)

    def remove(self, numbers: set[int]) -> None:
        """Drop requests, those that run included."""
        self._admission.remove(numbers)
        for number in numbers & self._running.keys():
            running = self._running.pop(number)
            self._admission.release(running.ticket)
            for handle in running.handles:
                handle.cancel()

    def withdraw(self, constraint: Constraint) -> list[Ticket]:
        """Take out what waits with a constraint that another lane found impossible."""
        return self._admission.take(constraint)

    def step(self) -> tuple[list[Running], list[Ticket]]:
        """One step: the requests that ended, and those whose constraint turned out not to compile.

        Raises `EngineError` if the pipeline fails for another reason.
        """
        self._hand_over()
        started = time.perf_counter()
        self.steps += 1
        try:
            self._pipeline.step()
        except runtime.ERRORS as error:
            return [], self._recover(runtime.explain(error))
        finally:
            self.seconds += time.perf_counter() - started
        self._admission.stepped()
        ended = [number for number, running in self._running.items() if running.ended]
        finished = [self._running.pop(number) for number in ended]
        for running in finished:
            self._admission.release(running.ticket)
        return finished, []

    def rest(self) -> None:
        """Leave nothing behind in the pipeline."""
        if self._companion is not None:
            self._companion.cancel()
            self._companion = None
        while self._pipeline.has_non_finished_requests():
            self._pipeline.step()

    def close(self) -> None:
        """Drop requests and weights."""
        self.remove({*self._running})
        self.rest()
        self._pipeline = None

    def _hand_over(self) -> None:
        group = self._admission.next_group()
        for ticket in group:
            self._running[ticket.job.number] = self._start(ticket)
        if not self._use_companion:
            return
        # A step over a single token would be computed by other kernels than one over several.
        if len(group) == 1 and len(group[0].ids) % _BLOCK == 1:
            self._put(self._filler, runtime.filler(self._base, 1))
        alone = len(self._running) == 1
        if alone and (self._companion is None or not runtime.is_running(self._companion)):
            self._companion = self._put(self._filler, runtime.filler(self._base, _COMPANION))

    def _start(self, ticket: Ticket) -> Running:
        request, seed, started = ticket.job.request, _seed(ticket), time.perf_counter()
        if request.labels:
            config = runtime.labels_config(self._base, request.labels)
            return Running(ticket, [self._put(ticket.ids, config)], seed, started)
        sampling, seeds = request.sampling, [seed]
        if ticket.separate:
            draw = random.Random(seed)
            sampling, seeds = replace(sampling, n=1), [draw.getrandbits(62) for _ in range(sampling.n)]
        configs = [runtime.generation_config(self._base, sampling, request.constraint, s) for s in seeds]
        return Running(ticket, [self._put(ticket.ids, config) for config in configs], seed, started)

    def _put(self, ids: Sequence[int], config: Any) -> Any:
        self._next_id += 1
        return self._pipeline.add_request(self._next_id, runtime.tensor(ids), config)

    def _recover(self, message: str) -> list[Ticket]:
        """A constraint that cannot be compiled makes the pipeline unusable: start another without it."""
        constraint = self._admission.on_trial
        if constraint is None:
            raise EngineError(f"OpenVINO failed: {message}")
        self._admission.on_trial = None
        self._constraints.refuse(constraint, message)
        tickets = [running.ticket for running in self._running.values()]
        self._running = {}
        self._pipeline = self._companion = None
        self._pipeline = self._load()
        for ticket in tickets:
            self._admission.release(ticket)
        refused = [ticket for ticket in tickets if ticket.job.request.constraint == constraint]
        refused += self._admission.take(constraint)
        for ticket in tickets:
            if ticket.job.request.constraint != constraint:
                self._admission.add(ticket)
        return refused


def _seed(ticket: Ticket) -> int:
    """A request's own seed mixed with its prompt, so that prompts do not share their draws."""
    sampling = ticket.job.request.sampling
    if sampling.temperature == 0:
        return 0
    if ticket.job.seed is None:
        return _ENTROPY.getrandbits(62)
    plain = f"{ticket.job.seed}\0{ticket.ids}".encode()
    return int.from_bytes(hashlib.blake2b(plain, digest_size=7).digest(), "big")
