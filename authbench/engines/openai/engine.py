"""The openai engine: an event loop in a thread keeps many requests in flight."""

from __future__ import annotations

import asyncio
import json
import queue
import threading
from collections.abc import Callable, Coroutine, Iterator, Mapping, Sequence
from concurrent.futures import Future
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, TypeVar

from authbench.engines.chat import ChatTemplate
from authbench.engines.openai.protocol import Refusal
from authbench.engines.openai.settings import Settings, advise_omit
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
from authbench.runtime.messages import Request, Response

if TYPE_CHECKING:
    from authbench.engines.openai.client import Client

T = TypeVar("T")

#: The text of a chat for the store's keys: the server renders the prompt, so this is never sent.
_CANONICAL = (
    "{% if arguments %}<|arguments|>{{ arguments }}\n{% endif %}"
    "{% for message in messages %}<|{{ message.role }}|>\n{{ message.content }}\n{% endfor %}"
)

#: An estimate at four characters a token is that much too high at most: five of English prose.
_SURELY = 1.25


class OpenAIEngine(Engine):
    """Sends chats to servers; settings as `authbench.engines.openai.settings.Settings` has them."""

    name = "openai"

    def __init__(self, model: ModelConfig, settings: Mapping[str, Any] | None = None) -> None:
        self._model = model
        self._settings = Settings.parse(settings or {})
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._client: Client | None = None
        self._server: dict[str, str] = {}
        self._in_flight: dict[int, Future[Response]] = {}
        self._finished: queue.SimpleQueue[tuple[int, Future[Response]]] = queue.SimpleQueue()
        self._longest: Callable[[], int] | None = None

    @property
    def identity(self) -> ModelIdentity:
        """Model, with revision and precision where the configuration knows them."""
        settings = self._settings
        return ModelIdentity(self._model.id, settings.revision, settings.identity_precision(), self.name)

    @property
    def capabilities(self) -> Capabilities:
        """What the protocol offers; after `load`, what the server was found to take.

        Several samples can always be had: a server that takes no `n` is asked several times.
        """
        if self._client is None:
            return Capabilities(True, frozenset({"json", "choice", "regex"}), label_logprobs=True)
        dialect = self._client.dialect
        return Capabilities(True, dialect.constraints, label_logprobs=dialect.logprobs)

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
        return self._settings.context_length or self._model.context_length

    def expect(self, longest: Callable[[], int]) -> None:
        """The plan's longest request, held against the server's limit where it says one."""
        self._longest = longest

    def load(self) -> None:
        """Connect, and find out what the server takes.

        Raises:
            EngineError: no server, a wrong key, another model, too short a limit, or a plain request refused.
        """
        if self._loop is not None:
            return
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="openai", daemon=True)
        self._thread.start()
        try:
            self._run(self._connect()).result()
        except EngineError as error:
            self.close()
            raise self._shown(error) from None
        except BaseException:
            self.close()
            raise

    async def _connect(self) -> None:
        from authbench.engines.openai.client import Client
        from authbench.engines.openai.probe import find_dialect, find_model, find_version

        self._client = client = Client(self._settings)
        name, limit = await find_model(client, self._settings.model or self._model.id)
        self._check_length(limit)
        client.dialect = await find_dialect(client, name, self._model.chat_template_kwargs)
        self._server = await find_version(client)

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

    def submit(self, jobs: Sequence[Job]) -> None:
        """Put requests in line for the servers.

        Raises:
            EngineError: a request needs what the server was found not to take.
        """
        assert self._client is not None
        for job in jobs:
            self._check_taken(job.request)
        for job in jobs:
            future = self._run(self._client.ask(job.request, job.first))
            self._in_flight[job.number] = future
            future.add_done_callback(partial(self._finish, job.number))

    def _finish(self, number: int, future: Future[Response]) -> None:
        self._finished.put((number, future))

    def _check_taken(self, request: Request) -> None:
        assert self._client is not None
        dialect = self._client.dialect
        lacking = self.capabilities.lacking(request)
        way_out = "use vLLM's server or --engine vllm, or leave the option out"
        if lacking is None and dialect.refused:
            lacking = next((name for name in dialect.body(request, 1) if name in dialect.refused), None)
            way_out = advise_omit(*dialect.omit, lacking or "")
        if lacking is not None:
            raise EngineError(
                f"the server at {self._settings.base_url[0]} takes no {lacking}: "
                f"it refused or ignored it when tried\n{way_out}"
            )

    def completions(self) -> Iterator[Completion]:
        """Yield answers as they come."""
        while self._in_flight:
            number, future = self._finished.get()
            if self._in_flight.pop(number, None) is None:
                continue  # cancelled
            try:
                completion = Completion(number, future.result())
            except Refusal as refusal:
                completion = Completion(number, error=self._settings.mask(str(refusal)))
            except EngineError as error:
                raise self._shown(error) from None
            yield completion

    def _shown(self, error: EngineError) -> EngineError:
        return EngineError(self._settings.mask(str(error)))

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop requests; a server sees the connection close and stops."""
        for number in numbers:
            future = self._in_flight.pop(number, None)
            if future is not None:
                future.cancel()

    def info(self) -> Mapping[str, Any]:
        """The servers, what they take, how many requests were sent and what the limits came to."""
        if self._client is None:
            return {}
        dialect = self._client.dialect
        return {
            "served_model": dialect.model,
            **self._server,
            "takes": {
                "n": dialect.samples,
                "logprobs": dialect.logprobs,
                "constraints": sorted(dialect.constraints),
                "length_field": dialect.length_field,
                "refused": sorted(dialect.refused),
            },
            "omitted": list(dialect.omit),
            **self._client.sent,
            "servers": [
                {
                    "base_url": server.url,
                    "concurrency": int(server.limit),
                    "lowered": server.lowered,
                    "seconds_per_answer": round(server.latency, 3),
                }
                for server in self._client.pool.servers
            ],
        }

    def close(self) -> None:
        """Drop what is in flight, close connections and end the thread."""
        loop = self._loop
        if loop is None or self._thread is None:
            return
        self._in_flight.clear()
        self._run(self._shut_down()).result()
        loop.call_soon_threadsafe(loop.stop)
        self._thread.join()
        loop.close()
        self._loop = self._thread = self._client = None

    async def _shut_down(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._client is not None:
            await self._client.close()

    def _run(self, coroutine: Coroutine[Any, Any, T]) -> Future[T]:
        assert self._loop is not None
        return asyncio.run_coroutine_threadsafe(coroutine, self._loop)
