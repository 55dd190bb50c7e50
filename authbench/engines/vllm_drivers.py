"""Two ways to drive vLLM: its step loop in this thread, or its asynchronous engine for copies of a model.

Both take jobs by name and give finished outputs one by one, so that each reaches the store at once.
"""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
from collections.abc import Iterator, Mapping, Sequence
from pickle import PickleError
from typing import Any, Protocol

from authbench.errors import EngineError

#: Seconds without any output after which the driver looks whether its engine is still alive.
_PATIENCE = 1.0


class Driver(Protocol):
    """What the engine needs of vLLM."""

    max_model_len: int  #: most tokens of prompt and answer together
    max_num_seqs: int  #: most sequences that are generated at the same time
    tokenizer: Any  #: vLLM's own tokenizer
    config: Any  #: vLLM's resolved configuration

    def add(self, name: str, tokens: list[int], parameters: Any) -> None:
        """Hand a request over. `ValueError` if vLLM refuses it."""

    def step(self) -> Iterator[tuple[str, Any]]:
        """Finished requests by name with vLLM's output, or the exception that it ended with."""

    def abort(self, names: Sequence[str]) -> None:
        """Drop requests."""

    def close(self) -> None:
        """Free memory and end processes."""


class StepDriver:
    """vLLM's engine with its step loop in this thread; the model in this process or one of its own."""

    def __init__(self, arguments: Mapping[str, Any], lora: Any = None) -> None:
        from vllm import EngineArgs, LLMEngine
        from vllm.usage.usage_lib import UsageContext

        # The context decides vLLM's defaults for sequences and batched tokens: those of `LLM`, offline.
        self._engine: Any = LLMEngine.from_engine_args(
            EngineArgs(**arguments), usage_context=UsageContext.LLM_CLASS
        )
        self._lora = lora
        self.config = self._engine.vllm_config
        self.max_model_len = int(self.config.model_config.max_model_len)
        self.max_num_seqs = int(self.config.scheduler_config.max_num_seqs)
        self.tokenizer = _tokenizer(self._engine)
        self._closed = threading.Event()
        _watch(self._engine.engine_core, self._closed)

    def add(self, name: str, tokens: list[int], parameters: Any) -> None:
        """Hand a request over. `ValueError` if vLLM refuses it."""
        self._engine.add_request(name, _prompt(tokens), parameters, lora_request=self._lora)

    def step(self) -> Iterator[tuple[str, Any]]:
        """One step of the model; what finished with it."""
        for output in self._engine.step():
            if output.finished:
                yield output.request_id, output

    def abort(self, names: Sequence[str]) -> None:
        """Drop requests."""
        self._engine.abort_request(list(names))

    def close(self) -> None:
        """Free memory and end processes."""
        self._closed.set()
        shutdown = getattr(getattr(self._engine, "engine_core", None), "shutdown", None)
        if shutdown is not None:
            shutdown()
        self._engine = None
        _clean_up()


class AsyncDriver:
    """vLLM's asynchronous engine in a thread of its own: it spreads requests over copies of the model."""

    def __init__(self, arguments: Mapping[str, Any], lora: Any = None) -> None:
        self._finished: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._tasks: dict[str, asyncio.Task[None]] = {}
        self._lora = lora
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="vllm-async", daemon=True)
        self._thread.start()
        try:
            self._engine: Any = self._call(self._start(arguments))
        except BaseException:
            self._stop_loop()
            raise
        self.config = self._engine.vllm_config
        self.max_model_len = int(self.config.model_config.max_model_len)
        copies = int(self.config.parallel_config.data_parallel_size)
        self.max_num_seqs = int(self.config.scheduler_config.max_num_seqs) * copies
        self.tokenizer = _tokenizer(self._engine)

    async def _start(self, arguments: Mapping[str, Any]) -> Any:
        from vllm import AsyncEngineArgs
        from vllm.usage.usage_lib import UsageContext
        from vllm.v1.engine.async_llm import AsyncLLM

        return AsyncLLM.from_engine_args(AsyncEngineArgs(**arguments), usage_context=UsageContext.LLM_CLASS)

    def _call(self, coroutine: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def add(self, name: str, tokens: list[int], parameters: Any) -> None:
        """Hand a request over; a refusal comes out of `step`."""
        self._loop.call_soon_threadsafe(self._add, name, tokens, parameters)

    def _add(self, name: str, tokens: list[int], parameters: Any) -> None:
        self._tasks[name] = self._loop.create_task(self._generate(name, tokens, parameters))

    async def _generate(self, name: str, tokens: list[int], parameters: Any) -> None:
        try:
            async for output in self._engine.generate(
                _prompt(tokens), parameters, name, lora_request=self._lora
            ):
                if output.finished:
                    self._finished.put((name, output))
        except engine_failures() as error:
            self._finished.put((name, error))
        finally:
            self._tasks.pop(name, None)

    def step(self) -> Iterator[tuple[str, Any]]:
        """Wait a moment for what finishes, and give all that has."""
        try:
            yield self._finished.get(timeout=_PATIENCE)
        except queue.Empty:
            if self._engine.errored:
                raise EngineError("vLLM's engine died") from self._engine.dead_error
            return
        while not self._finished.empty():
            yield self._finished.get_nowait()

    def abort(self, names: Sequence[str]) -> None:
        """Drop requests: vLLM aborts what its caller cancels."""

        def cancel() -> None:
            for name in names:
                if name in self._tasks:
                    self._tasks[name].cancel()

        self._loop.call_soon_threadsafe(cancel)

    def close(self) -> None:
        """Free memory and end processes."""
        if self._engine is not None:
            self._call(self._shut_down())
            self._engine = None
            self._stop_loop()
            _clean_up()

    async def _shut_down(self) -> None:
        for task in list(self._tasks.values()):
            task.cancel()
        await asyncio.gather(*self._tasks.values(), return_exceptions=True)
        self._engine.shutdown()

    def _stop_loop(self) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(timeout=30)
        if not self._thread.is_alive():
            self._loop.close()


def _watch(core: Any, closed: threading.Event) -> None:
    """Wake the step loop if the engine's own process is killed.

    vLLM notices, but its blocking client (of 0.32) waits on for outputs that will never come.
    """
    outputs, resources = getattr(core, "outputs_queue", None), getattr(core, "resources", None)
    if outputs is None or resources is None or not hasattr(resources, "engine_dead"):
        return

    def watch() -> None:
        while not closed.wait(_PATIENCE):
            if resources.engine_dead:
                outputs.put_nowait(RuntimeError("the engine's process ended"))
                return

    threading.Thread(target=watch, name="vllm-watch", daemon=True).start()


def engine_failures() -> tuple[type[Exception], ...]:
    """What vLLM may raise when it cannot start or has died; it promises no class of its own."""
    failures: list[type[Exception]] = [
        ArithmeticError, AssertionError, AttributeError, EOFError, ImportError, LookupError, MemoryError,
        OSError, PickleError, RuntimeError, TypeError, ValueError,
    ]  # fmt: skip
    for module, name in (
        ("vllm.v1.engine.exceptions", "EngineDeadError"),
        ("vllm.v1.engine.exceptions", "EngineGenerateError"),
        ("safetensors", "SafetensorError"),  # of a file that was cut off
    ):
        found = _optional(module, name)
        if found is not None:
            failures.append(found)
    return tuple(failures)


def _optional(module: str, name: str) -> Any:
    """A class that not every release of vLLM or of its libraries has, or None."""
    import importlib
    import sys

    if "vllm" not in sys.modules:
        return None
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def _prompt(tokens: list[int]) -> Any:
    """Token ids as the engine's own input; newer releases render anything else one by one."""
    make = _optional("vllm.inputs", "tokens_input")
    return make(tokens) if make is not None else {"prompt_token_ids": tokens}


def _tokenizer(engine: Any) -> Any:
    for name in ("get_tokenizer", "tokenizer"):
        found = getattr(engine, name, None)
        if callable(found) and name == "get_tokenizer":
            made = found()
            if asyncio.iscoroutine(made):
                made.close()
                continue
            return made
        if found is not None:
            return found
    return None


def _clean_up() -> None:
    """Let another model be loaded in this process."""
    clean = _optional("vllm.distributed", "cleanup_dist_env_and_memory")
    if clean is not None:
        clean()
    gc.collect()
