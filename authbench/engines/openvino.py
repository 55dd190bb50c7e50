"""A GGUF model on the CPU, through OpenVINO GenAI's continuous batching pipeline.

The engine owns the step loop: it decides what is handed to a pipeline before each step, and yields each
answer after the step in which it ended. It is built so that a greedy answer does not depend on what else
is asked at the same time; docs/engines.md has the measurements.
"""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from authbench.engines.encoding import PromptEncoder
from authbench.engines.gguf import locate_gguf, read_gguf
from authbench.engines.openvino_admission import Admission, Constraints, Limits, Ticket
from authbench.engines.openvino_settings import OpenVinoSettings
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

if TYPE_CHECKING:
    from authbench.engines.openvino_lane import Lane, Running
    from authbench.engines.openvino_scoring import Scorer

_CAPABILITIES = Capabilities(True, frozenset({"json", "regex", "choice"}), True, True)


class OpenVinoEngine(Engine):
    """The engine `openvino`. Settings: see `OpenVinoSettings`.

    It has up to three pipelines, each loaded when it is first needed. Most requests go through the one
    with a prefix cache. A prompt that was asked before goes through one without: the library lets equal
    prompts share a block of the KV cache that each of them writes into. Log-probabilities of targets are
    a matter of their own (`Scorer`).

    Raises `EngineError` if the model's file is not there, `ConfigError` for a wrong setting.
    """

    name = "openvino"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any]) -> None:
        self._settings = OpenVinoSettings.parse(settings)
        self._model = model
        self._path = locate_gguf(model)
        self._gguf = read_gguf(self._path)
        self._template = self._gguf.template(model.chat_template_kwargs)
        self._limits = Limits(self._settings, self._gguf)
        self._constraints = Constraints()
        self._tokenizer: Any = None
        self._lanes: dict[bool, Lane] = {}
        self._scorer: Scorer | None = None
        self._new: list[Job] = []
        self._scoring: deque[Ticket] = deque()
        self._asked: set[int] = set()
        self._totals = {"requests": 0, "failed": 0, "prompt_tokens": 0, "output_tokens": 0}

    @property
    def identity(self) -> ModelIdentity:
        """The revision is the hash of the file, the precision its quantisation."""
        precision = self._settings.model_precision(self._gguf.precision)
        return ModelIdentity(self._model.id, f"gguf-{self._gguf.sha256[:32]}", precision, "openvino")

    @property
    def capabilities(self) -> Capabilities:
        """Everything."""
        return _CAPABILITIES

    @property
    def context_length(self) -> int | None:
        """As the file says, and not more than one step may hold."""
        limits = [self._gguf.context_length, self._settings.max_num_batched_tokens]
        return min((limit for limit in limits if limit is not None), default=None)

    @property
    def rendering(self) -> Mapping[str, Any]:
        """The chat template of the file."""
        return self._template.as_dict()

    def render(self, request: Request) -> RenderedPrompt:
        """Fill in the chat template of the file."""
        return self._template.render(request.messages)

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int]:
        """Exact; the first call loads the tokenizer, which takes seconds."""
        return [len(ids) for ids in self._encoder().encode(prompts)]

    def load(self) -> None:
        """Load the weights. Raises `EngineError` if OpenVINO cannot read the file."""
        self._lane(self._settings.prefix_caching)

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take on work; it is tokenised when the loop goes on."""
        self._new += jobs

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop jobs, those that run included."""
        unwanted = set(numbers)
        self._new = [job for job in self._new if job.number not in unwanted]
        self._scoring = deque(ticket for ticket in self._scoring if ticket.job.number not in unwanted)
        for lane in self._lanes.values():
            lane.remove(unwanted)

    def completions(self) -> Iterator[Completion]:
        """Yield answers as they end; requests for log-probabilities of a target run in between."""
        while True:
            yield from self._take_on()
            busy = [lane for lane in self._lanes.values() if lane.busy]
            if not busy and not self._scoring:
                break
            for lane in busy:
                finished, refused = lane.step()
                for running in finished:
                    yield self._complete(running)
                for ticket in self._refused_everywhere(lane, refused):
                    yield self._refuse(ticket.job, self._constraints.refusal(ticket.job.request.constraint))
            if self._scoring:
                yield self._score(self._scoring.popleft())
        for lane in self._lanes.values():
            lane.rest()

    def _refused_everywhere(self, lane: Lane, refused: list[Ticket]) -> list[Ticket]:
        """What a lane refused, and what waits in the others with the same constraint."""
        if refused:
            constraint = refused[0].job.request.constraint
            for other in self._lanes.values():
                if other is not lane and constraint is not None:
                    refused = [*refused, *other.withdraw(constraint)]
        return refused

    def info(self) -> Mapping[str, Any]:
        """Versions, device, settings, what the file is, and what was done."""
        import openvino
        import openvino_genai

        facts: dict[str, Any] = {
            "openvino": openvino.__version__,
            "openvino_genai": openvino_genai.__version__,
            "device": "CPU",
            "cpu": openvino.Core().get_property("CPU", "FULL_DEVICE_NAME"),
            "settings": self._settings.as_dict(),
            "gguf": {
                "file": self._path.name,
                "sha256": self._gguf.sha256,
                "architecture": self._gguf.architecture,
                "tensor_types": list(self._gguf.tensor_types),
            },
            "totals": {
                **self._totals,
                "steps": sum(lane.steps for lane in self._lanes.values()),
                "step_seconds": round(sum(lane.seconds for lane in self._lanes.values()), 3),
            },
            "prefix_cache_hit_rate": None,  # the library does not say
        }
        if self._lanes:
            usage = max(lane.most_cache_usage for lane in self._lanes.values())
            facts["most_cache_usage_percent"] = round(usage, 2)
        return facts

    def close(self) -> None:
        """Drop weights and tokenizer."""
        for lane in self._lanes.values():
            lane.close()
        if self._scorer is not None:
            self._scorer.close()
        self._lanes = {}
        self._scorer = self._tokenizer = None
        self._new, self._scoring = [], deque()

    def _encoder(self) -> PromptEncoder:
        from authbench.engines import openvino_runtime as runtime

        if self._tokenizer is None:
            self._tokenizer = runtime.load_tokenizer(self._path, self._gguf)
        return PromptEncoder(runtime.encode_batch(self._tokenizer), plain=self._gguf.chat_template is None)

    def _lane(self, prefixes: bool) -> Lane:
        """The lane with or without a prefix cache."""
        from authbench.engines import openvino_runtime as runtime
        from authbench.engines.openvino_lane import Lane

        if prefixes not in self._lanes:
            filler = self._encoder().encode_text("Once upon a time there was a")
            self._lanes[prefixes] = Lane(
                lambda: runtime.load_pipeline(
                    self._path, self._gguf, self._tokenizer, self._settings, prefixes=prefixes
                ),
                Admission(self._limits, self._constraints, prefixes=prefixes),
                self._constraints,
                filler,
                companion=self._settings.companion,
            )
        return self._lanes[prefixes]

    def _take_on(self) -> Iterator[Completion]:
        """Tokenise what was submitted; refuse what cannot be asked."""
        while self._new:
            jobs, self._new = self._new, []
            encoder = self._encoder()
            for job, ids in zip(jobs, encoder.encode([job.prompt for job in jobs]), strict=True):
                target = job.request.score_target
                ticket = Ticket(job, ids, [] if target is None else encoder.encode_text(target))
                refusal = self._constraints.refusal(job.request.constraint) or self._limits.refusal(ticket)
                if refusal is not None:
                    yield self._refuse(job, refusal)
                elif target is not None:
                    self._scoring.append(ticket)
                else:
                    self._lane(self._may_share(ticket)).add(ticket)

    def _may_share(self, ticket: Ticket) -> bool:
        """Whether a request may use the prefix cache: not if its prompt is asked twice."""
        if not self._settings.prefix_caching:
            return False
        known = hash(tuple(ticket.ids))
        if ticket.separate or known in self._asked:
            return False
        self._asked.add(known)
        return True

    def _refuse(self, job: Job, error: str | None) -> Completion:
        self._totals["failed"] += 1
        return Completion(job.number, error=error or "refused")

    def _complete(self, running: Running) -> Completion:
        ticket = running.ticket
        outputs = [handle.read_all() for handle in running.handles]
        if not all(outputs):
            return self._refuse(ticket.job, "the request does not fit into the KV cache")
        if ticket.job.request.labels:
            samples: tuple[Sample, ...] = (self._label_sample(ticket, outputs[0]),)
        else:
            samples = self._samples(running, [output for group in outputs for output in group])
        return self._respond(ticket, samples, running.started)

    def _respond(self, ticket: Ticket, samples: tuple[Sample, ...], started: float) -> Completion:
        self._totals["requests"] += 1
        self._totals["prompt_tokens"] += len(ticket.ids)
        self._totals["output_tokens"] += sum(sample.output_tokens for sample in samples)
        seconds = time.perf_counter() - started
        return Completion(ticket.job.number, Response(samples, len(ticket.ids), 0, seconds))

    def _samples(self, running: Running, outputs: Sequence[Any]) -> tuple[Sample, ...]:
        from authbench.engines.openvino_runtime import was_cut

        rows = [list(output.generated_ids) for output in outputs]
        # The library sorts samples by probability: the first few would not be a fair draw.
        order = list(range(len(rows)))
        random.Random(running.seed).shuffle(order)
        texts = self._tokenizer.decode(rows)
        stops = running.ticket.job.request.sampling.stop
        return tuple(_sample(texts[k], was_cut(outputs[k]), len(rows[k]), stops) for k in order)

    def _label_sample(self, ticket: Ticket, outputs: Sequence[Any]) -> Sample:
        """Log-probabilities of labels that are one token each, minus infinity for others."""
        drawn = {output.generated_ids[0]: output.generated_log_probs[0] for output in outputs}
        labels = ticket.job.request.labels
        logprobs = []
        for label in labels:
            ids = self._encoder().encode_text(label)
            if len(ids) != 1:
                logprobs.append(float("-inf"))
            elif ids[0] in drawn:
                logprobs.append(min(0.0, drawn[ids[0]]))
            else:
                logprobs.append(self._target_logprob(ticket.ids, ids))
        best = max(range(len(labels)), key=logprobs.__getitem__)
        return Sample(labels[best], "length", 1, label_logprobs=tuple(logprobs))

    def _score(self, ticket: Ticket) -> Completion:
        started = time.perf_counter()
        total = self._target_logprob(ticket.ids, ticket.target)
        return self._respond(ticket, (Sample("", "stop", 0, target_logprob=total),), started)

    def _target_logprob(self, ids: Sequence[int], target: Sequence[int]) -> float:
        from authbench.engines.openvino_scoring import Scorer

        if self._scorer is None:
            self._scorer = Scorer(self._path, self._gguf, self._tokenizer, self._settings)
        return self._scorer.logprob(ids, target)


def _sample(text: str, cut: bool, tokens: int, stops: Sequence[str]) -> Sample:
    """Text up to the first stop string."""
    finish: FinishReason = "length" if cut else "stop"
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    if ends:
        text, finish = text[: min(ends)], "stop"
    return Sample(text, finish, tokens)
