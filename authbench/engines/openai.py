"""Any OpenAI-compatible server: vLLM's, llama.cpp's, a provider's."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

from authbench.engines.chat import ChatTemplate
from authbench.engines.openai_client import Client, Refusal
from authbench.engines.openai_limits import Endpoint, Pool
from authbench.engines.openai_options import OpenAIOptions
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

#: The text of a chat for the store's keys: the server renders the prompt, so this is never sent.
_CANONICAL = (
    "{% if arguments %}<|arguments|>{{ arguments }}\n{% endif %}"
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}\n{% endfor %}"
)

#: An estimate at four characters a token is that much too high at most: five of English prose.
_SURELY = 1.25


class OpenAIEngine(Engine):
    """Sends chats to servers; an event loop in a thread keeps many requests in flight.

    Settings: see `authbench.engines.openai_options.OpenAIOptions`.
    """

    name = "openai"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._options = OpenAIOptions.parse(settings or {})
        self._client: Client | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._tasks: dict[int, asyncio.Task[None]] = {}
        self._finished: queue.SimpleQueue[tuple[int, Completion | EngineError]] = queue.SimpleQueue()
        self._in_flight: set[int] = set()
        self._server: dict[str, Any] = {}
        self._longest: Callable[[], int] | None = None

    @property
    def identity(self) -> ModelIdentity:
        """Model, with revision and precision where the configuration knows them."""
        options = self._options
        return ModelIdentity(self._model.id, options.revision, options.identity_precision(), self.name)

    @property
    def capabilities(self) -> Capabilities:
        """What the protocol offers; after `load`, what the server was found to take.

        Several samples can always be had: a server that takes no `n` is asked several times.
        """
        dialect = self._client.dialect if self._client is not None else None
        if dialect is None:
            return Capabilities(True, frozenset({"json", "choice", "regex"}), label_logprobs=True)
        return Capabilities(
            True, frozenset(dialect.constraints or ()), label_logprobs=dialect.logprobs, prompt_logprobs=False
        )

    @cached_property
    def _template(self) -> ChatTemplate:
        kwargs = dict(self._model.chat_template_kwargs)
        return ChatTemplate(_CANONICAL, {"arguments": json.dumps(kwargs, sort_keys=True)} if kwargs else {})

    def render(self, request: Request) -> RenderedPrompt:
        """A text of the chat that stands for it in keys; the server renders the prompt itself."""
        return self._template.render(request.messages)

    @property
    def rendering(self) -> Mapping[str, Any]:
        """How `render` makes that text."""
        return self._template.as_dict()

    @property
    def context_length(self) -> int | None:
        """From the settings or the model's file."""
        return self._options.context_length or self._model.context_length

    def expect(self, longest: Callable[[], int]) -> None:
        """The plan's longest request, held against the server's limit where it says one."""
        self._longest = longest

    def load(self) -> None:
        """Connect, and find out what the server takes.

        Raises:
            EngineError: no server, a wrong key, another model, too short a limit, or a plain request refused.
        """
        if self._client is not None:
            return
        loop = asyncio.new_event_loop()
        self._loop = loop
        self._thread = threading.Thread(target=loop.run_forever, name="openai", daemon=True)
        self._thread.start()
        try:
            self._client = self._call(self._connect())
        except BaseException:
            self.close()
            raise

    async def _connect(self) -> Client:
        from authbench.engines.openai_probe import find_dialect, find_model

        options = self._options
        endpoints = [Endpoint(url, options.concurrency, options.timeout) for url in options.base_urls]
        client = Client(options, _http_client(options), Pool(endpoints))
        try:
            served = await find_model(client, options.model or self._model.id)
            self._check_length(served.limit)
            client.dialect = await find_dialect(client, served.name, self._model.chat_template_kwargs)
            self._server = await _describe_server(client)
        except BaseException:
            await client.http.aclose()
            raise
        return client

    def _check_length(self, limit: int | None) -> None:
        """Refuse a plan whose longest request is surely over the server's limit, before anything is asked.

        Lengths are estimates here, so one that is nearly right is left to the server.
        """
        if limit is None or self._longest is None:
            return
        longest = self._longest()
        if longest > _SURELY * limit:
            raise EngineError(
                f"the plan's longest prompt and answer take about {longest:,} tokens, and the server's limit "
                f"is {limit:,}\nstart it with a longer one, or have texts cut: "
                f"--set engine.context_length={limit} --set overflow=truncate"
            )

    def _call(self, coroutine: Any) -> Any:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop).result()

    def submit(self, jobs: Sequence[Job]) -> None:
        """Put requests in line for the servers.

        Raises:
            EngineError: a request needs what the server was found not to take.
        """
        assert self._loop is not None
        capabilities = self.capabilities
        for job in jobs:
            lacking = capabilities.lacking(job.request)
            if lacking is not None:
                raise EngineError(
                    f"the server at {self._options.base_urls[0]} takes no {lacking}: it refused or "
                    "ignored it when tried\nuse vLLM's server or --engine vllm, or leave the option out"
                )
        self._in_flight.update(job.number for job in jobs)
        self._loop.call_soon_threadsafe(self._start, list(jobs))

    def _start(self, jobs: Sequence[Job]) -> None:
        assert self._loop is not None
        for job in jobs:
            self._tasks[job.number] = self._loop.create_task(self._answer(job))

    async def _answer(self, job: Job) -> None:
        assert self._client is not None
        result: Completion | EngineError
        try:
            result = Completion(job.number, await self._client.ask(job.request, job.first))
        except Refusal as error:
            result = Completion(job.number, error=str(error))
        except EngineError as error:
            result = error
        finally:
            self._tasks.pop(job.number, None)
        self._finished.put((job.number, result))

    def completions(self) -> Iterator[Completion]:
        """Yield answers as they come."""
        while self._in_flight:
            try:
                number, result = self._finished.get(timeout=1.0)
            except queue.Empty:
                self._check_alive()
                continue
            if number not in self._in_flight:
                continue
            self._in_flight.discard(number)
            if isinstance(result, EngineError):
                raise result
            yield result

    def _check_alive(self) -> None:
        if self._thread is None or not self._thread.is_alive():
            raise EngineError("the thread that talks to the server has ended; run the same command again")

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop requests; a server sees the connection close and stops."""
        dropped = [number for number in numbers if number in self._in_flight]
        self._in_flight.difference_update(dropped)
        if dropped and self._loop is not None:
            self._loop.call_soon_threadsafe(self._cancel_tasks, dropped)

    def _cancel_tasks(self, numbers: Sequence[int]) -> None:
        for number in numbers:
            task = self._tasks.pop(number, None)
            if task is not None:
                task.cancel()

    def info(self) -> Mapping[str, Any]:
        """The servers, what they take, how many requests were sent and what the limits came to."""
        if self._client is None:
            return {}
        dialect, pool = self._client.dialect, self._client.pool
        return {
            "served_model": dialect.model,
            **self._server,
            "takes": {
                "n": dialect.samples,
                "logprobs": dialect.logprobs,
                "constraints": dict(dialect.constraints or {}),
                "length_field": dialect.length_field,
            },
            **self._client.tries,
            "servers": [
                {
                    "base_url": endpoint.url,
                    "concurrency": int(endpoint.limit),
                    "lowered": endpoint.decreases,
                    "seconds_per_answer": round(endpoint.latency, 3),
                }
                for endpoint in pool.endpoints
            ],
        }

    def close(self) -> None:
        """Drop what is in flight, close connections and end the thread."""
        loop, self._loop = self._loop, None
        if loop is None or self._thread is None:
            return
        client, self._client = self._client, None
        self._in_flight.clear()
        asyncio.run_coroutine_threadsafe(self._shut_down(client), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join(timeout=10)
        self._thread = None
        loop.close()

    async def _shut_down(self, client: Client | None) -> None:
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._tasks.clear()
        if client is not None:
            await client.http.aclose()


def _http_client(options: OpenAIOptions) -> Any:
    import httpx

    headers = {"Content-Type": "application/json"}
    if options.api_key:
        headers["Authorization"] = f"Bearer {options.api_key}"
    return httpx.AsyncClient(
        headers=headers,
        timeout=httpx.Timeout(options.timeout, connect=min(10.0, options.timeout), pool=None),
        limits=httpx.Limits(max_connections=None, max_keepalive_connections=None),
    )


async def _describe_server(client: Client) -> dict[str, Any]:
    """The server's version where it says it (vLLM)."""
    import httpx

    url = client.pool.endpoints[0].url.removesuffix("/v1") + "/version"
    try:
        answer = await client.http.get(url, timeout=5.0)
        version = json.loads(answer.content).get("version") if answer.status_code == 200 else None
    except (httpx.TransportError, ValueError, AttributeError):
        return {}
    return {"server_version": str(version)} if version else {}
