"""An engine for tests of the scheduler: answers from a function, out of order if asked, and can die."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import pytest

from authbench.engines.fake import FakeEngine
from authbench.errors import EngineError
from authbench.runtime.engine import (
    Capabilities,
    Completion,
    Engine,
    Job,
    ModelIdentity,
    RenderedPrompt,
)
from authbench.runtime.messages import Request, Response, Sample


def text_of(request: Request) -> str:
    return request.messages[-1].content


class DoubleEngine(Engine):
    """Answers `answer(prompt, sample)`; newest job first, which is the least expected order."""

    name = "double"

    def __init__(
        self,
        answer: Callable[[str, int], str] = lambda prompt, sample: f"{prompt}/{sample}",
        *,
        fails: Callable[[str], bool] = lambda prompt: False,
        dies_after: int | None = None,
        capabilities: Capabilities | None = None,
    ) -> None:
        self.answer = answer
        self.fails = fails
        self.dies_after = dies_after
        self.loads = 0
        self.asked: list[str] = []
        self.in_flight_most = 0
        self._queue: list[Job] = []
        self._capabilities = capabilities or Capabilities()

    @property
    def identity(self) -> ModelIdentity:
        return ModelIdentity("double", "1", "none", "double")

    @property
    def capabilities(self) -> Capabilities:
        return self._capabilities

    def render(self, request: Request) -> RenderedPrompt:
        return RenderedPrompt(text_of(request))

    def load(self) -> None:
        self.loads += 1

    def submit(self, jobs: Sequence[Job]) -> None:
        self._queue += jobs
        self.asked += [job.prompt.text for job in jobs]
        self.in_flight_most = max(self.in_flight_most, len(self._queue))

    def completions(self) -> Iterator[Completion]:
        done = 0
        while self._queue:
            if self.dies_after is not None and done >= self.dies_after:
                raise EngineError("the engine died")
            job = self._queue.pop()
            done += 1
            if self.fails(job.prompt.text):
                yield Completion(job.number, error="this one fails")
                continue
            already = self.asked.count(job.prompt.text) - 1
            samples = tuple(
                Sample(self.answer(job.prompt.text, already * 100 + i), "stop", 1)
                for i in range(job.request.sampling.n)
            )
            yield Completion(job.number, Response(samples, prompt_tokens=3, seconds=0.5))


def watch_lengths(patch: pytest.MonkeyPatch) -> tuple[list[int], list[int]]:
    """Make a token of every character for `FakeEngine`, and keep what it is told to expect as it loads and
    the lengths of what is then asked, with the most that may be answered."""
    told: list[int] = []
    asked: list[int] = []
    expected: list[Callable[[], int]] = []
    submit = FakeEngine.submit

    def watched(self: FakeEngine, jobs: Sequence[Job]) -> None:
        asked.extend(len(job.prompt.text) + job.request.sampling.max_tokens for job in jobs)
        submit(self, jobs)

    patch.setattr(FakeEngine, "count_tokens", lambda self, prompts: [len(p.text) for p in prompts])
    patch.setattr(FakeEngine, "context_length", 10**6)
    patch.setattr(FakeEngine, "expect", lambda self, longest: expected.append(longest))
    patch.setattr(FakeEngine, "load", lambda self: told.append(expected[-1]()))
    patch.setattr(FakeEngine, "submit", watched)
    return told, asked
