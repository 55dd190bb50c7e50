"""Feeds one engine from thousands of procedures at once.

Procedures start lazily and are kept in flight by the thousand, so the engine never waits for one of
them. What a procedure asks is answered from the store where it is known; equal requests in flight are
merged; the rest goes to the engine, and a procedure goes on the moment its last answer arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Generic, TypeVar

from authbench.errors import ConfigError
from authbench.runtime.engine import Completion, Engine, Job, RenderedPrompt
from authbench.runtime.keys import KeyMaker
from authbench.runtime.messages import Outcome, Procedure, Request, Response
from authbench.runtime.store import Store

U = TypeVar("U")

#: Most procedures in flight, and most requests that wait for an engine, before no new one is started.
MAX_PROCEDURES = 4096
MAX_WAITING = 16384


@dataclass(frozen=True, slots=True)
class Call:
    """A request as it was answered for one procedure."""

    key: bytes
    response: Response


@dataclass(frozen=True, slots=True)
class Finished(Generic[U]):
    """A procedure that has ended: with an outcome, or with the error of a request that failed."""

    unit: U
    outcome: Outcome | None
    calls: tuple[Call, ...]
    error: str | None = None


@dataclass(slots=True)
class Progress:
    """Counters for whoever watches a run. Written by the scheduler only."""

    procedures: int = 0  #: ended
    calls: int = 0  #: asked by procedures
    from_store: int = 0  #: of these, answered by the store
    merged: int = 0  #: of these, answered by a request of another procedure in flight
    submitted: int = 0  #: sent to the engine
    answered: int = 0  #: of these, answered
    failed: int = 0  #: of these, failed
    answers: int = 0  #: answers that procedures have read
    invalid: int = 0  #: of these, invalid
    prompt_tokens: int = 0  #: read by the engine
    cached_tokens: int = 0  #: of these, out of the engine's prefix cache
    output_tokens: int = 0  #: written by the engine


@dataclass(slots=True, eq=False)
class _Live(Generic[U]):
    """A procedure in flight, and what it waits for."""

    unit: U
    procedure: Procedure[Outcome]
    calls: list[Call] = field(default_factory=list)
    slots: list[Call | None] = field(default_factory=list)
    missing: int = 0
    dead: bool = False


@dataclass(slots=True, eq=False)
class _Asked:
    """A request in flight, and everyone who waits for it."""

    key: bytes
    request: Request
    prompt: RenderedPrompt
    first: int
    waiters: list[tuple[_Live[object], int, Request]]


class Scheduler:
    """One engine, one store, one model. Make one for each model.

    Args:
        engine: loaded at the first request that the store cannot answer.
        store: where answers come from and go to.
        model: the model's number in the store (`Store.register`).
        fresh: ask again what the store knows; what this scheduler has asked counts as known.
    """

    def __init__(self, engine: Engine, store: Store, model: int, *, fresh: bool = False) -> None:
        self.progress = Progress()
        self._engine = engine
        self._store = store
        self._model = model
        self._key = KeyMaker(engine.identity)
        self._fresh: set[bytes] | None = set() if fresh else None
        self._loaded = False
        self._next_job = 0
        self._jobs: dict[int, _Asked] = {}
        self._in_flight: dict[bytes, _Asked] = {}
        self._live = 0
        self._ready: deque[tuple[_Live[object], list[Response] | None]] = deque()
        self._finished: deque[Finished[object]] = deque()

    def run(self, units: Iterable[U], start: Callable[[U], Procedure[Outcome]]) -> Iterator[Finished[U]]:
        """Run a procedure for each unit and yield them as they end, in no particular order.

        Args:
            units: taken one by one as there is room; may be a generator over millions.
            start: makes a unit's procedure.

        Raises:
            ConfigError: a procedure needs what the engine cannot do.
            EngineError: the engine died; whatever was answered before is in the store.
        """
        source = iter(units)
        try:
            while True:
                self._fill(source, start)
                yield from self._drain()
                if not self._jobs:
                    return
                for completion in self._engine.completions():
                    self._deliver(completion)
                    self._fill(source, start)
                    yield from self._drain()
        finally:
            self._store.flush()

    def _drain(self) -> Iterator[Finished[U]]:
        while self._finished:
            yield self._finished.popleft()  # type: ignore[misc]

    def _fill(self, source: Iterator[U], start: Callable[[U], Procedure[Outcome]]) -> None:
        """Start procedures while there is room, and let every procedure that can go on do so."""
        while True:
            self._advance()
            room = min(MAX_PROCEDURES - self._live, MAX_WAITING - len(self._jobs), 256)
            if room <= 0 or len(self._finished) >= MAX_PROCEDURES:
                return
            started = 0
            for unit in source:
                self._ready.append((_Live(unit, start(unit)), None))
                self._live += 1
                started += 1
                if started >= room:
                    break
            if not started:
                return

    def _advance(self) -> None:
        """Resume all that are ready, answer from the store what is known, submit the rest."""
        while self._ready:
            questions: list[tuple[_Live[object], int, Request]] = []
            while self._ready:
                self._resume(*self._ready.popleft(), questions)
            self._resolve(questions)

    def _resume(
        self,
        live: _Live[object],
        responses: list[Response] | None,
        questions: list[tuple[_Live[object], int, Request]],
    ) -> None:
        try:
            requests = next(live.procedure) if responses is None else live.procedure.send(responses)
        except StopIteration as stop:
            self._end(live, stop.value)
            return
        live.slots = [None] * len(requests)
        live.missing = len(requests)
        self.progress.calls += len(requests)
        if not requests:
            self._ready.append((live, []))
        questions.extend((live, slot, request) for slot, request in enumerate(requests))

    def _resolve(self, questions: list[tuple[_Live[object], int, Request]]) -> None:
        prompts = [self._engine.render(request) for _, _, request in questions]
        keys = [self._key(q[2], prompt) for q, prompt in zip(questions, prompts, strict=True)]
        known = self._store.get([k for k in dict.fromkeys(keys) if self._may_read(k)])
        jobs: list[Job] = []
        for (live, slot, request), key, prompt in zip(questions, keys, prompts, strict=True):
            if live.dead:
                continue
            response = known.get(key)
            have = 0 if response is None else len(response.samples)
            if response is not None and have >= request.sampling.n:
                self.progress.from_store += 1
                self._fill_slot(live, slot, key, response, request)
            elif (asked := self._in_flight.get(key)) is not None:
                self.progress.merged += 1
                asked.waiters.append((live, slot, request))
            else:
                jobs.append(self._ask(live, slot, request, key, prompt, have))
        if jobs:
            self._submit(jobs)

    def _may_read(self, key: bytes) -> bool:
        return self._fresh is None or key in self._fresh

    def _ask(
        self, live: _Live[object], slot: int, request: Request, key: bytes, prompt: RenderedPrompt, have: int
    ) -> Job:
        lacking = self._engine.capabilities.lacking(request)
        if lacking is not None:
            raise ConfigError(
                f"the engine {self._engine.name!r} cannot do what this run asks for: {lacking}; "
                "`authbench list engines` shows which engines can"
            )
        asked = _Asked(key, request, prompt, have, [(live, slot, request)])
        self._in_flight[key] = asked
        number = self._next_job
        self._next_job += 1
        self._jobs[number] = asked
        wanted = request.sampling.n - have
        if wanted != request.sampling.n:
            request = replace(request, sampling=replace(request.sampling, n=wanted))
        return Job(number, request, prompt)

    def _submit(self, jobs: list[Job]) -> None:
        if not self._loaded:
            self._engine.load()
            self._loaded = True
        self.progress.submitted += len(jobs)
        self._engine.submit(jobs)

    def _deliver(self, completion: Completion) -> None:
        asked = self._jobs.pop(completion.number, None)
        if asked is None:
            return
        del self._in_flight[asked.key]
        response = completion.response
        if response is None:
            self.progress.failed += 1
            for live, _, _ in asked.waiters:
                self._fail(live, completion.error or "the engine gave no answer")
            return
        self._count(response)
        if self._fresh is not None and asked.key not in self._fresh:
            self._store.forget([asked.key])
            self._fresh.add(asked.key)
        self._store.put(asked.key, self._model, asked.prompt.text, response, asked.first)
        if asked.first:
            response = self._store.get([asked.key])[asked.key]
        again = []
        for live, slot, request in asked.waiters:
            if live.dead:
                continue
            if len(response.samples) >= request.sampling.n:
                self._fill_slot(live, slot, asked.key, response, request)
            else:
                again.append((live, slot, request))
        self._resolve(again)

    def _count(self, response: Response) -> None:
        progress = self.progress
        progress.answered += 1
        progress.prompt_tokens += response.prompt_tokens
        progress.cached_tokens += response.cached_tokens
        progress.output_tokens += sum(sample.output_tokens for sample in response.samples)

    def _fill_slot(
        self, live: _Live[object], slot: int, key: bytes, response: Response, request: Request
    ) -> None:
        if len(response.samples) > request.sampling.n:
            response = replace(response, samples=response.samples[: request.sampling.n])
        live.slots[slot] = Call(key, response)
        live.missing -= 1
        if live.missing == 0:
            calls = [call for call in live.slots if call is not None]
            live.calls.extend(calls)
            self._ready.append((live, [call.response for call in calls]))

    def _end(self, live: _Live[object], outcome: Outcome) -> None:
        self._live -= 1
        progress = self.progress
        progress.procedures += 1
        progress.answers += len(outcome.answers)
        progress.invalid += sum(not answer.valid for answer in outcome.answers)
        self._finished.append(Finished(live.unit, outcome, tuple(live.calls)))

    def _fail(self, live: _Live[object], error: str) -> None:
        if live.dead:
            return
        live.dead = True
        live.procedure.close()
        self._live -= 1
        self.progress.procedures += 1
        self._finished.append(Finished(live.unit, None, tuple(live.calls), error))
