"""The engine `fake`: reads a prompt, and answers in the format that it asks for."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from authbench.engines.chat import ChatTemplate
from authbench.engines.fake.oracle import TOKEN, Oracle
from authbench.engines.fake.prompts import Asked, read_prompt
from authbench.engines.fake.settings import FakeSettings
from authbench.runtime.engine import (
    Capabilities,
    Completion,
    Engine,
    Job,
    ModelConfig,
    ModelIdentity,
    RenderedPrompt,
)
from authbench.runtime.messages import FinishReason, Request, Response, Sample

_CAPABILITIES = Capabilities(True, frozenset({"json", "regex", "choice"}), True, True)


class FakeEngine(Engine):
    """The engine `fake`. Settings: see `FakeSettings`."""

    name = "fake"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any]) -> None:
        self._settings = FakeSettings.parse(settings)
        self._model = model
        self._oracle = Oracle(model.id, self._settings)
        self._template = ChatTemplate(None)
        self._waiting: deque[Job] = deque()
        self._cancelled: set[int] = set()

    @property
    def identity(self) -> ModelIdentity:
        """The revision is a hash over the settings that decide answers."""
        return ModelIdentity(self._model.id, self._settings.digest(), "none", "fake")

    @property
    def capabilities(self) -> Capabilities:
        """Everything."""
        return _CAPABILITIES

    @property
    def rendering(self) -> Mapping[str, Any]:
        """No chat template: the prompt is the content."""
        return self._template.as_dict()

    def render(self, request: Request) -> RenderedPrompt:
        """The content as it is."""
        return self._template.render(request.messages)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take on work."""
        self._waiting.extend(jobs)

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop jobs that were not answered yet."""
        self._cancelled.update(numbers)

    def completions(self) -> Iterator[Completion]:
        """Answer in the order asked."""
        while self._waiting:
            job = self._waiting.popleft()
            if job.number in self._cancelled:
                self._cancelled.discard(job.number)
                continue
            if self._settings.latency:
                time.sleep(self._settings.latency)
            yield self._complete(job)

    def info(self) -> Mapping[str, Any]:
        """The settings; a truth by its size only."""
        truth = self._settings.truth
        shown = self._settings.model_dump(exclude={"truth"})
        return {"settings": {**shown, "truth": "a function" if callable(truth) else len(truth)}}

    def _complete(self, job: Job) -> Completion:
        request, text = job.request, job.prompt.text
        settings = self._settings
        if settings.errors and self._oracle.draw("error", text) < settings.errors:
            return Completion(job.number, error="made to fail by engine.errors")
        try:
            samples = self._samples(job, read_prompt(request.messages[-1].content))
        except ValueError as error:
            return Completion(job.number, error=str(error))
        tokens = -(-len(text) // TOKEN)
        return Completion(job.number, Response(samples, tokens, 0, settings.latency))

    def _samples(self, job: Job, asked: Asked) -> tuple[Sample, ...]:
        request, text, oracle = job.request, job.prompt.text, self._oracle
        if request.score_target is not None:
            logprob = oracle.target_logprob(asked, request.score_target)
            return (Sample("", "stop", 0, target_logprob=logprob),)
        if request.labels:
            logprobs = oracle.label_logprobs(asked, request.labels)
            best = request.labels[max(range(len(logprobs)), key=logprobs.__getitem__)]
            return (Sample(best, "length", 1, label_logprobs=logprobs),)
        if request.sampling.temperature == 0:
            return tuple(self._sample(request, asked, text, None) for _ in range(request.sampling.n))
        start = job.first if job.seed is None else job.seed
        return tuple(
            self._sample(request, asked, text, index) for index in range(start, start + request.sampling.n)
        )

    def _sample(self, request: Request, asked: Asked, text: str, index: int | None) -> Sample:
        if request.constraint is not None:
            answer, finish = self._oracle.constrained(
                asked, request.constraint.kind, request.constraint.value
            )
            return _cut(answer, finish, request)
        kind = self._bad_kind(text, index) if self._settings.bad else None
        answer, finish = self._oracle.answer(asked, kind, index)
        return _cut(answer, finish, request)

    def _bad_kind(self, text: str, index: int | None) -> str | None:
        drawn = self._oracle.draw("bad", f"{index}{text}")
        for kind, rate in self._settings.bad.items():
            drawn -= rate
            if drawn < 0:
                return kind
        return None


def _cut(text: str, finish: FinishReason, request: Request) -> Sample:
    """The answer up to a stop string, and not longer than `max_tokens`."""
    sampling = request.sampling
    for stop in sampling.stop:
        at = text.find(stop)
        if at >= 0:
            text, finish = text[:at], "stop"
    if len(text) > TOKEN * sampling.max_tokens:
        text, finish = text[: TOKEN * sampling.max_tokens], "length"
    return Sample(text, finish, -(-len(text) // TOKEN))
