"""Two ways to drive vLLM: its step loop in this thread, or its asynchronous engine for copies of a model.

Both take jobs by name and give finished outputs one by one, so that each reaches the store at once.
"""

from __future__ import annotations

import asyncio
import gc
import queue
import threading
from collections.abc import Coroutine, Iterator, Mapping
from typing import Any

#: Seconds without any output after which a driver looks whether its engine is still alive.
_PATIENCE = 1.0


class StepDriver:
    """vLLM's engine with its step loop in this thread; the model in this process or one of its own.

    Attributes:
        config: vLLM's resolved configuration.
        max_model_len: most tokens of prompt and answer together.
        max_num_seqs: most sequences that are generated at the same time, over all copies of the model.
        tokenizer: vLLM's own tokenizer, or None.
    """

    def __init__(self, arguments: Mapping[str, Any], lora: Any = None) -> None:
        self._lora = lora
        self._closed = threading.Event()
        self._engine = self._start(arguments)
        self.config = self._engine.vllm_config
        self.max_model_len = int(self.config.model_config.max_model_len)
        copies = int(self.config.parallel_config.data_parallel_size)
        self.max_num_seqs = int(self.config.scheduler_config.max_num_seqs) * copies
        self.tokenizer = self._engine.tokenizer

    def _start(self, arguments: Mapping[str, Any]) -> Any:
        from vllm import EngineArgs, LLMEngine
        from vllm.usage.usage_lib import UsageContext

        # The context decides vLLM's defaults for sequences and batched tokens: those of `LLM`, offline.
        engine = LLMEngine.from_engine_args(EngineArgs(**arguments), usage_context=UsageContext.LLM_CLASS)
        threading.Thread(target=self._watch, args=(engine.engine_core,), daemon=True).start()
        return engine

    def _watch(self, core: Any) -> None:
        """Wake the step loop if the engine's own process is killed.

        vLLM notices, but its blocking client (of 0.32) waits on for outputs that will never come.
        """
        outputs, resources = getattr(core, "outputs_queue", None), getattr(core, "resources", None)
        while outputs is not None and not self._closed.wait(_PATIENCE):
            if getattr(resources, "engine_dead", False):
                outputs.put_nowait(RuntimeError("the engine's process ended"))
                return

    def add(self, name: str, tokens: list[int], parameters: Any) -> None:
        """Hand a request over. vLLM's refusal is raised, or comes out of `step`."""
        self._engine.add_request(name, _prompt(tokens), parameters, lora_request=self._lora)

    def step(self) -> Iterator[tuple[str, Any]]:
        """Go on for a moment; what finished, by name: vLLM's output, or the exception that it ended with."""
        return ((output.request_id, output) for output in self._engine.step() if output.finished)

    def close(self) -> None:
        """Free memory and end processes, so that another model can be loaded in this one."""
        from vllm.distributed import cleanup_dist_env_and_memory

        self._closed.set()
        self._engine.engine_core.shutdown()
        self._engine = None
        cleanup_dist_env_and_memory()
        gc.collect()


class AsyncDriver(StepDriver):
    """vLLM's asynchronous engine, which spreads requests over copies of the model in their own processes.

    Its event loop has a thread, since that of a notebook's caller may have a loop of its own.
    """

    def _start(self, arguments: Mapping[str, Any]) -> Any:
        from vllm import AsyncEngineArgs
        from vllm.usage.usage_lib import UsageContext
        from vllm.v1.engine.async_llm import AsyncLLM

        async def start() -> Any:
            made = AsyncEngineArgs(**arguments)
            return AsyncLLM.from_engine_args(made, usage_context=UsageContext.LLM_CLASS)

        self._finished: queue.Queue[tuple[str, Any]] = queue.Queue()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=self._loop.run_forever, name="vllm-async", daemon=True).start()
        return self._in_loop(start())

    def _in_loop(self, coroutine: Coroutine[Any, Any, Any]) -> Any:
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def add(self, name: str, tokens: list[int], parameters: Any) -> None:
        """Hand a request over."""
        asyncio.run_coroutine_threadsafe(self._generate(name, tokens, parameters), self._loop)

    async def _generate(self, name: str, tokens: list[int], parameters: Any) -> None:
        answers = self._engine.generate(_prompt(tokens), parameters, name, lora_request=self._lora)
        try:
            async for output in answers:
                if output.finished:
                    self._finished.put((name, output))
        except Exception as error:  # noqa: BLE001 - handed on: vLLM promises no class of its own
            self._finished.put((name, error))

    def step(self) -> Iterator[tuple[str, Any]]:
        """Wait a moment for what finishes, and give all that has."""
        try:
            yield self._finished.get(timeout=_PATIENCE)
        except queue.Empty:
            if self._engine.errored:
                raise self._engine.dead_error from None
        while not self._finished.empty():
            yield self._finished.get_nowait()

    def close(self) -> None:
        """Free memory and end processes, so that another model can be loaded in this one."""
        self._in_loop(_cancel_others())  # vLLM aborts what its caller cancels
        super().close()
        self._loop.call_soon_threadsafe(self._loop.stop)


async def _cancel_others() -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)


def _prompt(tokens: list[int]) -> Any:
    """Token ids as the engine's own input; releases that have it render anything else one by one."""
    import vllm.inputs

    make = getattr(vllm.inputs, "tokens_input", None)
    return make(tokens) if make is not None else {"prompt_token_ids": tokens}
