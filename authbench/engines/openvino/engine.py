"""The engine `openvino`: the loop that feeds pipelines, and answers out of what they give."""

from __future__ import annotations

import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from authbench.engines.encoding import PromptEncoder
from authbench.engines.gguf import locate_gguf, read_gguf
from authbench.engines.openvino.settings import OpenVinoSettings
from authbench.engines.openvino.tickets import Limits, Ticket
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
from authbench.runtime.messages import FinishReason, Request, Response, Sample

if TYPE_CHECKING:
    from authbench.engines.openvino.lane import Constraints, Lane
    from authbench.engines.openvino.library import Model

_CAPABILITIES = Capabilities(True, frozenset({"json", "regex", "choice"}), True, True)


class OpenVinoEngine(Engine):
    """The engine `openvino`. Settings: see `OpenVinoSettings`.

    Raises `EngineError` if the model's file is not there, `ConfigError` for a wrong setting.
    """

    name = "openvino"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any]) -> None:
        self._settings = OpenVinoSettings.parse(settings)
        self._config = model
        self._path = locate_gguf(model)
        self._gguf = read_gguf(self._path)
        self._template = self._gguf.template(model.chat_template_kwargs)
        self._limits = Limits(self._settings, self._gguf)
        self._constraints: Constraints = {}
        self._loaded: Model | None = None
        self._lanes: dict[bool, Lane] = {}
        self._echo: Any = None
        self._new: list[Job] = []
        self._scoring: deque[Ticket] = deque()
        self._asked: set[int] = set()
        self._totals = {"requests": 0, "failed": 0, "prompt_tokens": 0, "output_tokens": 0}

    @property
    def identity(self) -> ModelIdentity:
        """The revision is the hash of the file, the precision its quantisation."""
        precision = self._settings.model_precision(self._gguf.precision)
        return ModelIdentity(self._config.id, f"gguf-{self._gguf.sha256[:32]}", precision, self.name)

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
                for ticket in lane.step():
                    yield self._complete(ticket)
            if self._scoring:
                yield self._score(self._scoring.popleft())
        for lane in self._lanes.values():
            lane.rest()

    def info(self) -> Mapping[str, Any]:
        """Versions, device, settings, what the file is, and what was done."""
        from authbench.engines.openvino.library import versions

        lanes = self._lanes.values()
        facts: dict[str, Any] = {
            **versions(),
            "settings": self._settings.model_dump(),
            "gguf": {
                "file": self._path.name,
                "sha256": self._gguf.sha256,
                "architecture": self._gguf.architecture,
                "tensor_types": list(self._gguf.tensor_types),
            },
            "totals": {
                **self._totals,
                "steps": sum(lane.steps for lane in lanes),
                "step_seconds": round(sum(lane.seconds for lane in lanes), 3),
            },
            "prefix_cache_hit_rate": None,  # the library does not say
        }
        if lanes:
            facts["most_cache_usage_percent"] = round(max(lane.most_cache_usage for lane in lanes), 2)
        return facts

    def close(self) -> None:
        """Drop weights and tokenizer."""
        for lane in self._lanes.values():
            lane.close()
        self._lanes = {}
        self._echo = self._loaded = None
        self._new, self._scoring = [], deque()

    # What is loaded, each when it is first needed.

    def _model(self) -> Model:
        from authbench.engines.openvino.library import Model

        if self._loaded is None:
            self._loaded = Model(self._path, self._gguf, self._settings)
        return self._loaded

    def _encoder(self) -> PromptEncoder:
        return PromptEncoder(self._model().encode, plain=self._gguf.chat_template is None)

    def _lane(self, prefixes: bool) -> Lane:
        """The lane with or without a prefix cache."""
        from authbench.engines.openvino.lane import Lane

        if prefixes not in self._lanes:
            model = self._model()
            self._lanes[prefixes] = Lane(
                lambda: model.pipeline(prefixes=prefixes),
                self._limits,
                self._constraints,
                self._encoder().encode_text("Once upon a time there was a"),
                prefixes=prefixes,
                companion=self._settings.companion,
            )
        return self._lanes[prefixes]

    # Work.

    def _take_on(self) -> Iterator[Completion]:
        """Tokenise what was submitted; refuse what cannot be asked."""
        while self._new:
            jobs, self._new = self._new, []
            encoder = self._encoder()
            for job, ids in zip(jobs, encoder.encode([job.prompt for job in jobs]), strict=True):
                target = job.request.score_target
                ticket = Ticket(job, ids, [] if target is None else encoder.encode_text(target))
                ticket.error = self._limits.refusal(ticket)
                if ticket.error is not None:
                    yield self._complete(ticket)
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

    def _complete(self, ticket: Ticket) -> Completion:
        outputs = [handle.read_all() for handle in ticket.handles]
        if ticket.error is None and not all(outputs):
            ticket.error = "the request does not fit into the KV cache"
        if ticket.error is not None:
            self._totals["failed"] += 1
            return Completion(ticket.job.number, error=ticket.error)
        if ticket.job.request.labels:
            return self._respond(ticket, (self._label_sample(ticket, outputs[0]),))
        return self._respond(ticket, self._samples(ticket, [one for some in outputs for one in some]))

    def _respond(self, ticket: Ticket, samples: tuple[Sample, ...]) -> Completion:
        self._totals["requests"] += 1
        self._totals["prompt_tokens"] += len(ticket.ids)
        self._totals["output_tokens"] += sum(sample.output_tokens for sample in samples)
        seconds = time.perf_counter() - ticket.started
        return Completion(ticket.job.number, Response(samples, len(ticket.ids), 0, seconds))

    def _samples(self, ticket: Ticket, outputs: Sequence[Any]) -> tuple[Sample, ...]:
        from authbench.engines.openvino.library import was_cut

        rows = [list(output.generated_ids) for output in outputs]
        # The library sorts samples by probability: the first few would not be a fair draw.
        order = list(range(len(rows)))
        random.Random(ticket.seed).shuffle(order)
        texts = self._model().decode(rows)
        stops = ticket.job.request.sampling.stop
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
        ticket.started = time.perf_counter()
        total = self._target_logprob(ticket.ids, ticket.target)
        return self._respond(ticket, (Sample("", "stop", 0, target_logprob=total),))

    def _target_logprob(self, ids: Sequence[int], target: Sequence[int]) -> float:
        """The sum over the target's tokens after the prompt, in nats, by a pipeline that echoes prompts.

        One prompt at a time, since the library reads the wrong rows where echoing and other requests meet
        in one step.
        """
        from authbench.engines.openvino import library

        if self._echo is None:
            self._echo = self._model().echo_pipeline()
        config = library.echoed(self._echo.get_config())
        try:
            handle = self._echo.add_request(0, library.tensor([*ids, *target]), config)
            while self._echo.has_non_finished_requests():
                self._echo.step()
            logprobs = handle.read_all()[0].generated_log_probs
        except library.ERRORS as error:
            raise EngineError(f"OpenVINO failed: {library.explain(error)}") from error
        # One for each prompt token (the first has none and counts as 1), and one for the token made.
        end = len(ids) + len(target)
        if len(logprobs) != end + 1:
            raise EngineError(f"OpenVINO gave {len(logprobs)} log-probabilities for {end} tokens")
        return min(0.0, float(sum(logprobs[len(ids) : end])))


def _sample(text: str, cut: bool, tokens: int, stops: Sequence[str]) -> Sample:
    """Text up to the first stop string."""
    finish: FinishReason = "length" if cut else "stop"
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    if ends:
        text, finish = text[: min(ends)], "stop"
    return Sample(text, finish, tokens)
