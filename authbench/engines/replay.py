"""Recorded answers as an engine: for regression tests, and for measuring again without a model."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from authbench.engines.chat import ChatTemplate
from authbench.errors import ConfigError, DataError, did_you_mean
from authbench.runtime.engine import (
    Capabilities,
    Completion,
    Engine,
    Job,
    ModelConfig,
    ModelIdentity,
    RenderedPrompt,
)
from authbench.runtime.export import read_export
from authbench.runtime.keys import KeyMaker
from authbench.runtime.messages import Request, Response
from authbench.runtime.store import ModelRecord

#: A recording can hold answers to anything its engine could do.
_EVERYTHING = Capabilities(True, frozenset({"json", "regex", "choice"}), True, True)


class RecordedEngine(Engine):
    """A model that is not on this machine: prompts are rendered and keys made as its engine did.

    Args:
        record: the model's identity, and what its prompts are rendered from.
        answers: by key, 64 hexadecimal digits; what is not among them fails.
    """

    name = "replay"

    def __init__(self, record: ModelRecord, answers: Mapping[str, Response]) -> None:
        self._record = record
        self._template = ChatTemplate.from_dict({"template": None, **record.rendering})
        self._answers = answers
        self._key = KeyMaker(record.identity)
        self._waiting: list[Job] = []

    @property
    def identity(self) -> ModelIdentity:
        """That of the recorded model, its engine's family included: equal keys."""
        return self._record.identity

    @property
    def capabilities(self) -> Capabilities:
        """Everything: what was not recorded fails by itself."""
        return _EVERYTHING

    @property
    def rendering(self) -> Mapping[str, Any]:
        """As recorded."""
        return self._record.rendering

    def render(self, request: Request) -> RenderedPrompt:
        """As the recorded engine rendered it."""
        return self._template.render(request.messages)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take on look-ups."""
        self._waiting += jobs

    def completions(self) -> Iterator[Completion]:
        """Yield recorded answers; an error for a request that was not recorded."""
        while self._waiting:
            waiting, self._waiting = self._waiting, []
            for job in waiting:
                yield self._answer(job)

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop look-ups."""
        unwanted = set(numbers)
        self._waiting = [job for job in self._waiting if job.number not in unwanted]

    def _answer(self, job: Job) -> Completion:
        response = self._answers.get(self._key(job.request, job.prompt).hex())
        end = job.first + job.request.sampling.n
        if response is None or len(response.samples) < end:
            lines = job.request.messages[-1].content.splitlines() or [""]
            return Completion(
                job.number, error=f"no recorded answer to a prompt that begins {lines[0][:60]!r}"
            )
        return Completion(
            job.number,
            Response(response.samples[job.first : end], response.prompt_tokens, response.cached_tokens),
        )


class ReplayEngine(RecordedEngine):
    """The engine `replay`: answers out of a file of `authbench store export`.

    Settings: `path`, the file. The model is the recording's one with the experiment's model id; a recording
    of a single model serves any.
    """

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any]) -> None:
        for key in settings:
            if key != "path":
                raise ConfigError(f"engine replay: unknown setting '{key}'{did_you_mean(key, ['path'])}")
        if not settings.get("path"):
            raise ConfigError("engine replay: give the recorded answers with --set engine.path=FILE.jsonl.gz")
        path = Path(str(settings["path"])).expanduser()
        export = read_export(path)
        super().__init__(_choose(export.models, model, path), export.answers)


def _choose(records: Sequence[ModelRecord], model: ModelConfig, path: Path) -> ModelRecord:
    """The model asked for; where it was recorded with several chat templates, the one of its arguments."""
    same = [record for record in records if record.identity.model == model.id]
    if not same and len({record.identity for record in records}) == 1:
        same = list(records)
    if not same:
        names = ", ".join(record.identity.model for record in records) or "none"
        raise DataError(f"{path} has no answers of {model.id}; it has those of: {names}")
    wanted = dict(model.chat_template_kwargs)
    return next((record for record in same if record.rendering.get("kwargs", {}) == wanted), same[0])
