"""vLLM in this program: the papers' tables at full speed, on GPUs or with vLLM's CPU build."""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from authbench.engines import vllm_installed
from authbench.engines.chat import ChatTemplate
from authbench.engines.encoding import PromptEncoder, batch_encoder, load_tokenizer
from authbench.engines.models import ModelFiles, find_model
from authbench.engines.vllm_failures import explain
from authbench.engines.vllm_options import VllmOptions
from authbench.engines.vllm_order import waiting_place
from authbench.engines.vllm_sampling import (
    Prepared,
    RequestError,
    capabilities,
    parameters,
    prepare,
    to_response,
)
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


class VllmEngine(Engine):
    """vLLM with the step loop in `completions`, so that every finished answer is given at once.

    Settings: see `authbench.engines.vllm_options.VllmOptions`.
    """

    name = "vllm"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._options = VllmOptions.parse(settings or {})
        self._driver: Any = None
        self._log: Path | None = None
        self._gpu = False
        self._waiting: list[tuple[Any, int, Prepared]] = []
        self._refused: list[Completion] = []
        self._running: dict[int, tuple[Prepared, float]] = {}
        self._sequences = 0  # of what runs
        self._unstarted: set[int] = set()  # numbers of what waits and is still wanted
        self._arrivals = 0
        self._longest: Callable[[], int] | None = None
        self._loaded_with: dict[str, Any] = {}
        self._counts = {"requests": 0, "prompt_tokens": 0, "cached_tokens": 0, "output_tokens": 0}
        self._seconds = {"load": 0.0, "generation": 0.0}

    # What is known without weights.

    @cached_property
    def files(self) -> ModelFiles:
        """Where the model's files are; small ones are fetched from the hub if need be."""
        return find_model(self._model, self._options.path)

    @cached_property
    def _template(self) -> ChatTemplate:
        return self.files.chat_template(self._model.chat_template_kwargs, self._options.chat_template)

    @cached_property
    def _encoder(self) -> PromptEncoder:
        encode_batch = batch_encoder(load_tokenizer(self.files.folder))
        return PromptEncoder(encode_batch, plain=self._template.template is None)

    @cached_property
    def identity(self) -> ModelIdentity:
        """Model, hub commit or content hash, and type or quantisation of the weights."""
        files = self.files
        return ModelIdentity(
            self._model.id, self._options.revision(files), self._options.precision(files), self.name
        )

    @property
    def capabilities(self) -> Capabilities:
        """What the installed vLLM can do."""
        return capabilities()

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
        chosen = self._options.passed.get("max_model_len")
        known = [n for n in (chosen, self._model.context_length or self.files.context_length) if n]
        return min(known) if known else None

    def expect(self, longest: Callable[[], int]) -> None:
        """Where `max_model_len` is not set, the plan sets it.

        A shorter limit than the model's own leaves more of the memory for the cache, and lets a model load
        whose own context would not fit. Rounded up, so that small changes of a plan make no difference.
        """
        self._longest = longest

    def _arguments(self) -> dict[str, Any]:
        """Arguments of vLLM's engine."""
        arguments = self._options.arguments(self.files)
        if self._longest is not None and "max_model_len" not in arguments:
            wanted = self._longest() + _LENGTH_SLACK
            rounded = max(_LEAST_LENGTH, -(-wanted // _LENGTH_GRAIN) * _LENGTH_GRAIN)
            arguments["max_model_len"] = min(rounded, self.context_length or rounded)
        return arguments

    # Loading.

    def load(self) -> None:
        """Load the weights."""
        if self._driver is not None:
            return
        if vllm_installed.package_folder() is None:
            raise EngineError(
                "vLLM is not installed\npip install 'authbench[vllm]' on a machine with a GPU, "
                "scripts/setup_vllm_cpu.sh without; or use another engine: --engine openvino"
            )
        _ = self.files, self._template  # their errors come before seconds of importing
        started = time.monotonic()
        self._driver = self._start()
        self._check_tokenizer()
        self._seconds["load"] = time.monotonic() - started

    def _start(self) -> Any:
        from authbench.engines.vllm_drivers import AsyncDriver, StepDriver, engine_failures
        from authbench.engines.vllm_environment import gpu_present, output_to_log, prepare_environment

        arguments = self._loaded_with = self._arguments()
        try:
            self._gpu = gpu_present()
            self._log = prepare_environment(self._options, self._gpu)
            driver = AsyncDriver if self._options.data_parallel_size > 1 else StepDriver
            with output_to_log(self._log):
                return driver(arguments, _lora_request(self._options.lora))
        except engine_failures() as error:
            raise explain(error, "load", self._gpu, self._log) from error

    def _check_tokenizer(self) -> None:
        """Use vLLM's own tokenizer if it disagrees with the file's: some are mended as they are loaded."""
        tokenizer = self._driver.tokenizer
        if tokenizer is None or self._template.template is None:
            return
        probe = '  Rate 10 sites: [1] example.org\n\n\t{"é": 3.14} 中文, it\'s <b>so</b>!'
        ours = self._encoder.encode_text(probe)
        theirs = list(tokenizer.encode(probe, add_special_tokens=False))
        if ours != theirs:
            self.__dict__["_encoder"] = PromptEncoder(batch_encoder(tokenizer))

    # Work.

    def submit(self, jobs: Sequence[Job]) -> None:
        """Tokenise a batch of prompts and put them in order among what waits."""
        encoded = self._encoder.encode([job.prompt for job in jobs])
        limit = self._driver.max_model_len if self._driver is not None else self.context_length
        for job, tokens in zip(jobs, encoded, strict=True):
            try:
                prepared = prepare(job, tokens, self._encoder, limit)
            except RequestError as error:
                self._refused.append(Completion(job.number, error=str(error)))
                continue
            self._arrivals += 1
            self._unstarted.add(job.number)
            place = waiting_place(self._options.order, prepared.tokens, self._arrivals)
            heapq.heappush(self._waiting, (place, self._arrivals, prepared))

    def completions(self) -> Iterator[Completion]:
        """Step the engine until nothing is left, giving each answer as it is finished."""
        from authbench.engines.vllm_drivers import engine_failures

        while self._refused or self._waiting or self._running:
            while self._refused:
                yield self._refused.pop()
            try:
                self._hand_over()
                if not self._running:
                    continue
                started = time.monotonic()
                finished = list(self._driver.step())
            except engine_failures() as error:
                raise explain(error, "run", self._gpu, self._log) from error
            now = time.monotonic()
            self._seconds["generation"] += now - started
            for name, output in finished:
                entry = self._forget(int(name))
                if entry is not None:
                    yield self._complete(*entry, output, now)

    def _hand_over(self) -> None:
        """Give vLLM of what waits, the first in order first, up to a bounded number of sequences."""
        window = _WINDOW * self._driver.max_num_seqs
        while self._waiting and self._sequences < window:
            prepared = heapq.heappop(self._waiting)[2]
            number = prepared.job.number
            if number not in self._unstarted:
                continue
            self._unstarted.discard(number)
            try:
                self._driver.add(str(number), prepared.tokens, parameters(prepared))
            except (ValueError, TypeError, NotImplementedError) as error:  # this request alone is at fault
                self._refused.append(Completion(number, error=f"vLLM refuses the request: {_line(error)}"))
                continue
            self._running[number] = (prepared, time.monotonic())
            self._sequences += prepared.sequences

    def _forget(self, number: int) -> tuple[Prepared, float] | None:
        """Take a job off what runs; None if it was cancelled."""
        entry = self._running.pop(number, None)
        if entry is not None:
            self._sequences -= entry[0].sequences
        return entry

    def _complete(self, prepared: Prepared, submitted: float, output: Any, now: float) -> Completion:
        if isinstance(output, (ValueError, TypeError, NotImplementedError)):
            return Completion(prepared.job.number, error=f"vLLM refuses the request: {_line(output)}")
        if isinstance(output, Exception):
            raise explain(output, "run", self._gpu, self._log) from output
        response = to_response(prepared, output, now - submitted)
        if isinstance(response, str):
            return Completion(prepared.job.number, error=response)
        self._counts["requests"] += 1
        self._counts["prompt_tokens"] += response.prompt_tokens
        self._counts["cached_tokens"] += response.cached_tokens
        self._counts["output_tokens"] += sum(sample.output_tokens for sample in response.samples)
        return Completion(prepared.job.number, response)

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop jobs: those that wait are never started, those that run are aborted."""
        self._unstarted.difference_update(numbers)
        running = [number for number in numbers if self._forget(number) is not None]
        if running:
            self._driver.abort([str(number) for number in running])

    def info(self) -> Mapping[str, Any]:
        """Versions, device, engine arguments, prefix-cache hit rate and tokens per second."""
        from authbench.engines.vllm_facts import facts

        return facts(self._driver, self._loaded_with, self._counts, self._seconds, self.files)

    def close(self) -> None:
        """Free the model's memory."""
        if self._driver is None:
            return
        from authbench.engines.vllm_drivers import engine_failures
        from authbench.engines.vllm_environment import discard_log

        driver, self._driver = self._driver, None
        self._waiting, self._running, self._refused = [], {}, []
        self._unstarted, self._sequences = set(), 0
        try:
            driver.close()
        except engine_failures():
            return  # a dead engine: its log is kept
        discard_log(self._log)


def _lora_request(folder: str | None) -> Any:
    if folder is None:
        return None
    from vllm.lora.request import LoRARequest

    return LoRARequest("adapter", 1, str(Path(folder).expanduser()))


def _line(error: BaseException) -> str:
    return " ".join(str(error).split())[:400] or type(error).__name__
