"""Feeds one engine from thousands of procedures at once.

Procedures start lazily and are kept in flight by the thousand, so the engine never waits for one of
them. What a procedure asks is answered from the store where it is known; equal requests in flight are
merged; the rest goes to the engine, and a procedure goes on the moment its last answer arrives.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Generic, TypeVar

from authbench.errors import ConfigError, EngineError
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
    asked: int = 0  #: requests that went to the engine for it


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
    asked: int = 0
    dead: bool = False


@dataclass(slots=True, eq=False)
class _Source(Generic[U]):
    """Units that have not started yet."""

    units: Iterator[U]
    start: Callable[[U], Procedure[Outcome]]
    empty: bool = False

    def take(self, most: int) -> list[_Live[U]]:
        """Up to so many procedures, begun but not yet asked."""
        taken = [_Live(unit, self.start(unit)) for unit in islice(self.units, most)]
        self.empty = len(taken) < most
        return taken


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
        since: Unix time; answers that are older do not count as known, and are replaced when the request
            has been asked again (`--fresh`).
    """

    def __init__(self, engine: Engine, store: Store, model: int, *, since: float | None = None) -> None:
        self.progress = Progress()
        self._engine = engine
        self._store = store
        self._model = model
        self._key = KeyMaker(engine.identity)
        self._since = since
        self._loaded = False
        self._next_job = 0
        self._jobs: dict[int, _Asked] = {}
        self._in_flight: dict[bytes, _Asked] = {}
        self._live = 0
        self._ready: deque[tuple[_Live[object], list[Response] | None]] = deque()
        self._finished: deque[Finished[object]] = deque()

    def run(
        self, units: Iterable[U], start: Callable[[U], Procedure[Outcome]]
    ) -> Generator[Finished[U], None, None]:
        """Run a procedure for each unit and yield them as they end, in no particular order.

        Args:
            units: taken one by one as there is room; may be a generator over millions.
            start: makes a unit's procedure.

        Whatever was answered is in the store when this ends, be it by an error or because it is closed.

        Raises:
            ConfigError: a procedure needs what the engine cannot do.
            EngineError: the engine died, or ended without having answered everything.
            DataError: the store cannot be written.
        """
        source = _Source(iter(units), start)
        try:
            while True:
                self._fill(source)
                yield from self._drain()
                if self._jobs:
                    yield from self._listen(source)
                elif source.empty and not self._live:
                    return
        finally:
            self._store.flush()

    def load(self) -> None:
        """Load the engine, once; done by itself before the first request that the store cannot answer."""
        if not self._loaded:
            self._engine.load()
            self._loaded = True

    def _listen(self, source: _Source[U]) -> Iterator[Finished[U]]:
        """Take what the engine answers until it has nothing in flight."""
        heard = False
        for completion in self._engine.completions():
            heard = self._deliver(completion) or heard
            if self._ready or not source.empty:
                self._fill(source)
            if self._finished:
                yield from self._drain()
        if self._jobs and not heard:
            raise EngineError(
                f"the engine {self._engine.name!r} ended with {len(self._jobs)} requests unanswered; "
                "what was answered is kept, the same command asks the rest"
            )

    def _drain(self) -> Iterator[Finished[U]]:
        while self._finished:
            yield self._finished.popleft()  # type: ignore[misc]

    def _fill(self, source: _Source[U]) -> None:
        """Start procedures while there is room, and let every procedure that can go on do so."""
        self._advance()
        while not source.empty and len(self._finished) < MAX_PROCEDURES:
            room = min(MAX_PROCEDURES - self._live, MAX_WAITING - len(self._jobs), 256)
            if room <= 0:
                return
            started = source.take(room)
            self._live += len(started)
            self._ready.extend((live, None) for live in started)  # type: ignore[misc]
            self._advance()

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
        known = self._store.get(list(dict.fromkeys(keys)), self._since)
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

    def _ask(
        self, live: _Live[object], slot: int, request: Request, key: bytes, prompt: RenderedPrompt, have: int
    ) -> Job:
        lacking = self._engine.capabilities.lacking(request)
        if lacking is not None:
            raise ConfigError(
                f"the engine {self._engine.name!r} cannot do what this run asks for: {lacking}; "
                "`authbench list engines` shows which engines can"
            )
        live.asked += 1
        asked = _Asked(key, request, prompt, have, [(live, slot, request)])
        self._in_flight[key] = asked
        number = self._next_job
        self._next_job += 1
        self._jobs[number] = asked
        wanted = request.sampling.n - have
        if wanted != request.sampling.n:
            request = replace(request, sampling=replace(request.sampling, n=wanted))
        return Job(number, request, prompt, have)

    def _submit(self, jobs: list[Job]) -> None:
        self.load()
        self.progress.submitted += len(jobs)
        self._engine.submit(jobs)

    def _deliver(self, completion: Completion) -> bool:
        """Keep an answer and hand it to everyone who waits for it; False if nobody does."""
        asked = self._jobs.pop(completion.number, None)
        if asked is None:
            return False
        del self._in_flight[asked.key]
        response = completion.response
        if response is None or not response.samples:
            self.progress.failed += 1
            for live, _, _ in asked.waiters:
                self._fail(live, completion.error or "the engine gave no answer")
            return True
        self._count(response)
        replaces = self._since is not None and not asked.first
        self._store.put(asked.key, self._model, asked.prompt.text, response, asked.first, replaces=replaces)
        if asked.first:
            response = self._store.get([asked.key], self._since)[asked.key]
        again = []
        for live, slot, request in asked.waiters:
            if live.dead:
                continue
            if len(response.samples) >= request.sampling.n:
                self._fill_slot(live, slot, asked.key, response, request)
            else:
                again.append((live, slot, request))
        if again:
            self._resolve(again)
        return True

    def _count(self, response: Response) -> None:
        progress = self.progress
        progress.answered += 1
        progress.prompt_tokens += response.prompt_tokens
        progress.cached_tokens += response.cached_tokens
        for sample in response.samples:
            progress.output_tokens += sample.output_tokens

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

    def _end(self, live: _Live[object], outcome: object) -> None:
        if not isinstance(outcome, Outcome):
            raise TypeError(f"the procedure of {live.unit!r} ended with {outcome!r}, not with an Outcome")
        self._live -= 1
        progress = self.progress
        progress.procedures += 1
        progress.answers += len(outcome.answers)
        progress.invalid += sum(not answer.valid for answer in outcome.answers)
        self._finished.append(Finished(live.unit, outcome, tuple(live.calls), None, live.asked))

    def _fail(self, live: _Live[object], error: str) -> None:
        if live.dead:
            return
        live.dead = True
        live.procedure.close()
        self._live -= 1
        self.progress.procedures += 1
        self._finished.append(Finished(live.unit, None, tuple(live.calls), error, live.asked))
