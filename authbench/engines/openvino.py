"""A GGUF model on the CPU, through OpenVINO GenAI's continuous batching pipeline.

The engine owns the step loop: it decides what is handed to the pipeline before each step, and yields
each answer after the step in which it ended. It is built so that a greedy answer does not depend on what
else is asked at the same time; docs/engines.md has the measurements.
"""

from __future__ import annotations

import hashlib
import random
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from authbench.engines.encoding import PromptEncoder
from authbench.engines.gguf import locate_gguf, read_gguf
from authbench.engines.openvino_admission import Admission, Ticket
from authbench.engines.openvino_scoring import Scorer
from authbench.engines.openvino_settings import OpenVinoSettings
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

_CAPABILITIES = Capabilities(True, frozenset({"json", "regex", "choice"}), True, True)

#: Tokens of a companion before another one takes its place.
_COMPANION = 256


@dataclass(slots=True, eq=False)
class _Running:
    """A request in the pipeline: one handle, or one for each label.

    Of the labels, the first goes by itself and puts the prompt into the prefix cache; `pending` are those
    that follow. `label_tokens` are the labels' tokens, None for labels of more than one.
    """

    ticket: Ticket
    handles: list[Any]
    seed: int
    started: float
    label_tokens: list[int | None] = field(default_factory=list)
    pending: list[str] = field(default_factory=list)


class OpenVinoEngine(Engine):
    """The engine `openvino`. Settings: see `OpenVinoSettings`.

    Raises `EngineError` if the model's file is not there, `ConfigError` for a wrong setting.
    """

    name = "openvino"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any]) -> None:
        self._settings = OpenVinoSettings.parse(settings)
        self._model = model
        self._path = locate_gguf(model)
        self._gguf = read_gguf(self._path)
        self._template = self._gguf.template(model.chat_template_kwargs)
        self._tokenizer: Any = None
        self._pipeline: Any = None
        self._scorer: Scorer | None = None
        self._admission = Admission(self._settings, self._gguf)
        self._new: list[Job] = []
        self._scoring: deque[Ticket] = deque()
        self._running: dict[int, _Running] = {}
        self._companion: Any = None
        self._next_id = 0
        self._entropy = random.SystemRandom()
        self._totals = {"requests": 0, "failed": 0, "prompt_tokens": 0, "output_tokens": 0, "steps": 0}
        self._seconds = 0.0

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
        if self._pipeline is None:
            from authbench.engines import openvino_runtime as runtime

            self._encoder()
            self._pipeline = runtime.load_pipeline(
                self._path, self._gguf, self._tokenizer, self._settings, scoring=False
            )
            self._base = self._pipeline.get_config()

    def submit(self, jobs: Sequence[Job]) -> None:
        """Take on work; it is tokenised when the loop goes on."""
        self._new += jobs

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop jobs, those that run included."""
        unwanted = set(numbers)
        self._new = [job for job in self._new if job.number not in unwanted]
        self._scoring = deque(ticket for ticket in self._scoring if ticket.job.number not in unwanted)
        self._admission.remove(unwanted)
        for number in unwanted & self._running.keys():
            for handle in self._running.pop(number).handles:
                handle.cancel()

    def completions(self) -> Iterator[Completion]:
        """Yield answers as they end; requests for log-probabilities of a target run in between."""
        while True:
            yield from self._take_on()
            if self._admission or self._running:
                self._admit()
                yield from self._step()
            elif not self._scoring:
                break
            if self._scoring:
                yield self._score(self._scoring.popleft())
        self._rest()

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
            "totals": {**self._totals, "seconds": round(self._seconds, 3)},
            "prefix_cache_hit_rate": None,  # the library does not say
        }
        if self._pipeline is not None:
            facts["most_cache_usage_percent"] = round(self._pipeline.get_metrics().max_cache_usage, 2)
        return facts

    def close(self) -> None:
        """Drop weights and tokenizer."""
        self.cancel([*self._running])
        if self._pipeline is not None:
            self._rest()
        if self._scorer is not None:
            self._scorer.close()
        self._pipeline = self._scorer = self._tokenizer = None

    def _encoder(self) -> PromptEncoder:
        from authbench.engines import openvino_runtime as runtime

        if self._tokenizer is None:
            self._tokenizer = runtime.load_tokenizer(self._path, self._gguf)
        return PromptEncoder(runtime.encode_batch(self._tokenizer), plain=self._gguf.chat_template is None)

    def _take_on(self) -> Iterator[Completion]:
        """Tokenise what was submitted; refuse what cannot be asked."""
        while self._new:
            jobs, self._new = self._new, []
            encoder = self._encoder()
            for job, ids in zip(jobs, encoder.encode([job.prompt for job in jobs]), strict=True):
                target = job.request.score_target
                ticket = Ticket(job, ids, [] if target is None else encoder.encode_text(target))
                refused = self._admission.refusal(ticket)
                if refused is not None:
                    self._totals["failed"] += 1
                    yield Completion(job.number, error=refused)
                elif target is not None:
                    self._scoring.append(ticket)
                else:
                    self._admission.add(ticket)

    def _admit(self) -> None:
        """Hand to the pipeline what the next step is to take in."""
        from authbench.engines import openvino_runtime as runtime

        group = self._admission.next_group()
        for ticket in group:
            self._running[ticket.job.number] = self._start(ticket)
        # A step over a single token would be computed by other kernels than one over several.
        if len(group) == 1 and len(group[0].ids) % 32 == 1 and self._settings.companion:
            self._add(self._filler_ids(), runtime.filler(self._base, 1))
        if len(self._running) == 1 and self._settings.companion and not self._has_companion():
            self._companion = self._add(self._filler_ids(), runtime.filler(self._base, _COMPANION))

    def _start(self, ticket: Ticket) -> _Running:
        from authbench.engines import openvino_runtime as runtime

        request = ticket.job.request
        seed = self._seed(ticket)
        started = time.perf_counter()
        if not request.labels:
            config = runtime.generation_config(self._base, request.sampling, request.constraint, seed)
            return _Running(ticket, [self._add(ticket.ids, config)], seed, started)
        encoded = [self._encoder().encode_text(label) for label in request.labels]
        tokens = [ids[0] if len(ids) == 1 else None for ids in encoded]
        single = [label for label, token in zip(request.labels, tokens, strict=True) if token is not None]
        handles = [self._add(ticket.ids, runtime.forced(self._base, label)) for label in single[:1]]
        return _Running(ticket, handles, seed, started, tokens, single[1:])

    def _seed(self, ticket: Ticket) -> int:
        """A request's own seed mixed with its prompt, so that prompts do not share their draws."""
        sampling = ticket.job.request.sampling
        if sampling.temperature == 0:
            return 0
        if sampling.seed is None:
            return self._entropy.getrandbits(62)
        plain = f"{sampling.seed}\0{ticket.ids}".encode()
        return int.from_bytes(hashlib.blake2b(plain, digest_size=7).digest(), "big")

    def _add(self, ids: Sequence[int], config: Any) -> Any:
        from authbench.engines import openvino_runtime as runtime

        self._next_id += 1
        return self._pipeline.add_request(self._next_id, runtime.tensor(ids), config)

    def _step(self) -> Iterator[Completion]:
        from authbench.engines import openvino_runtime as runtime

        started = time.perf_counter()
        try:
            self._pipeline.step()
        except runtime.ERRORS as error:
            yield from self._recover(runtime.explain(error))
            return
        finally:
            self._seconds += time.perf_counter() - started
            self._totals["steps"] += 1
        self._admission.stepped()
        ended = [number for number, running in self._running.items() if _ended(running)]
        for running in [self._running.pop(number) for number in ended if not self._follow_up(number)]:
            self._admission.release(running.ticket)
            yield self._complete(running)

    def _follow_up(self, number: int) -> bool:
        """Ask for the labels that are left, if any."""
        from authbench.engines import openvino_runtime as runtime

        running = self._running[number]
        labels, running.pending = running.pending, []
        running.handles += [
            self._add(running.ticket.ids, runtime.forced(self._base, label)) for label in labels
        ]
        return bool(labels)

    def _recover(self, message: str) -> Iterator[Completion]:
        """A constraint that cannot be compiled makes the pipeline unusable: start another without it."""
        constraint = self._admission.on_trial
        if constraint is None:
            raise EngineError(f"OpenVINO failed: {message}")
        self._admission.refuse(constraint, message)
        running, self._running = list(self._running.values()), {}
        self._pipeline = self._companion = None
        self.load()
        self._new += [entry.ticket.job for entry in running]
        for entry in running:
            self._admission.release(entry.ticket)
        self._admission.stepped()
        yield from self._take_on()

    def _complete(self, running: _Running) -> Completion:
        ticket = running.ticket
        outputs = [handle.read_all() for handle in running.handles]
        self._totals["requests"] += 1
        self._totals["prompt_tokens"] += len(ticket.ids)
        if not all(outputs):
            self._totals["failed"] += 1
            return Completion(ticket.job.number, error="the prompt does not fit into the KV cache")
        samples = self._samples(running, outputs)
        self._totals["output_tokens"] += sum(sample.output_tokens for sample in samples)
        seconds = time.perf_counter() - running.started
        return Completion(ticket.job.number, Response(samples, len(ticket.ids), 0, seconds))

    def _samples(self, running: _Running, handled: Sequence[Sequence[Any]]) -> tuple[Sample, ...]:
        request = running.ticket.job.request
        if request.labels:
            return (self._label_sample(running, [outputs[0] for outputs in handled]),)
        outputs = handled[0]
        rows = [list(output.generated_ids) for output in outputs]
        # The library sorts samples by probability: the first few would not be a fair draw.
        order = list(range(len(rows)))
        random.Random(running.seed).shuffle(order)
        texts = self._tokenizer.decode(rows)
        cut = [str(output.finish_reason).endswith("LENGTH") for output in outputs]
        return tuple(_sample(texts[k], cut[k], len(rows[k]), request.sampling.stop) for k in order)

    def _label_sample(self, running: _Running, outputs: Sequence[Any]) -> Sample:
        """Log-probabilities of labels that are one token each, minus infinity for others."""
        given = iter(outputs)
        labels = running.ticket.job.request.labels
        logprobs = []
        for token in running.label_tokens:
            if token is None:
                logprobs.append(float("-inf"))
                continue
            output = next(given)
            if output.generated_ids[0] == token:
                logprobs.append(min(0.0, output.generated_log_probs[0]))
            else:  # the label was begun with a shorter token
                logprobs.append(self._target_logprob([*running.ticket.ids], [token]))
        best = max(range(len(labels)), key=logprobs.__getitem__)
        return Sample(labels[best], "length", 1, label_logprobs=tuple(logprobs))

    def _score(self, ticket: Ticket) -> Completion:
        started = time.perf_counter()
        total = self._target_logprob(ticket.ids, ticket.target)
        self._totals["requests"] += 1
        self._totals["prompt_tokens"] += len(ticket.ids)
        sample = Sample("", "stop", 0, target_logprob=total)
        seconds = time.perf_counter() - started
        return Completion(ticket.job.number, Response((sample,), len(ticket.ids), 0, seconds))

    def _target_logprob(self, ids: Sequence[int], target: Sequence[int]) -> float:
        if self._scorer is None:
            self._scorer = Scorer(self._path, self._gguf, self._tokenizer, self._settings)
        return self._scorer.logprob(ids, target)

    def _filler_ids(self) -> list[int]:
        return self._encoder().encode_text("Once upon a time there was a")

    def _has_companion(self) -> bool:
        return self._companion is not None and str(self._companion.get_status()).endswith("RUNNING")

    def _rest(self) -> None:
        """Leave nothing behind in the pipeline."""
        if self._companion is not None:
            self._companion.cancel()
            self._companion = None
        while self._pipeline is not None and self._pipeline.has_non_finished_requests():
            self._pipeline.step()


def _ended(running: _Running) -> bool:
    return not any(str(handle.get_status()).endswith("RUNNING") for handle in running.handles)


def _sample(text: str, cut: bool, tokens: int, stops: Sequence[str]) -> Sample:
    """Text up to the first stop string."""
    finish: FinishReason = "length" if cut else "stop"
    ends = [at for stop in stops if (at := text.find(stop)) >= 0]
    if ends:
        text, finish = text[: min(ends)], "stop"
    return Sample(text, finish, tokens)
