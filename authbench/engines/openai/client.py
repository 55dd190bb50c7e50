"""One request to an OpenAI-compatible server, tried again for as long as that may help.

Imports the library `openai` (0.7 s), so it is itself imported when an engine is loaded.
"""

from __future__ import annotations

import asyncio
import json
import math
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from email.utils import parsedate_to_datetime
from typing import Any, TypeVar

import httpx2
import openai

from authbench.engines.openai.protocol import Dialect, Passing, Refusal, is_page, message_of, read_response
from authbench.engines.openai.servers import Pool, Server
from authbench.engines.openai.settings import Settings
from authbench.errors import EngineError
from authbench.runtime.messages import Request, Response

T = TypeVar("T")

#: Statuses that say the server is there, but has too much to do or is starting.
_OVERLOAD = frozenset({429, 502, 503, 529})
#: Longest pause that a server may ask for, in seconds.
_LONGEST_PAUSE = 600.0
#: Requests in a row that fail in every try: then it is the server, and the run stops.
_GIVEN_UP = 8


class NotFound(EngineError):
    """The address, or the model on it, does not exist."""


class Client:
    """Sends requests to the servers of the settings.

    Attributes:
        pool: the servers.
        dialect: what they take; set by the probe.
        sent: how many requests were sent, and how many of them again.
    """

    def __init__(self, settings: Settings) -> None:
        key, seconds = settings.api_key, settings.timeout
        http = openai.DefaultAsyncHttpxClient(
            limits=httpx2.Limits(max_connections=None, max_keepalive_connections=None),
            timeout=openai.Timeout(seconds, connect=min(10.0, seconds), pool=None),
            follow_redirects=False,  # a POST that is redirected becomes a GET
        )
        apis = [
            openai.AsyncOpenAI(api_key=key or "none", base_url=url, max_retries=0, http_client=http)
            for url in settings.base_url
        ]
        self.settings = settings
        self.pool = Pool(
            Server(api, url, settings.concurrency, seconds)
            for api, url in zip(apis, settings.base_url, strict=True)
        )
        self.dialect = Dialect(settings.model or "", omit=settings.omit)
        self.sent = {"requests": 0, "again": 0}
        self._headers: dict[str, str | openai.Omit] = {} if key else {"Authorization": openai.Omit()}
        self._trouble_since: float | None = None  # the moment since which no server has answered
        self._given_up = 0  # requests in a row that failed in every try

    async def close(self) -> None:
        """Close all connections."""
        for server in self.pool.servers:
            await server.api.close()

    async def ask(self, request: Request, first: int = 0) -> Response:
        """The response to a request, from the sample with the number `first` on.

        Raises:
            Refusal: this request cannot be answered.
            EngineError: none can: a wrong key, or no server for `max_wait` seconds.
        """
        wanted = request.sampling.n
        if wanted == 1 or self.dialect.samples:
            return await self._ask(request, wanted, first)
        parts = await asyncio.gather(*(self._ask(request, 1, first + k) for k in range(wanted)))
        samples = tuple(sample for part in parts for sample in part.samples)
        return replace(parts[0], samples=samples, seconds=max(part.seconds for part in parts))

    async def _ask(self, request: Request, n: int, first: int) -> Response:
        body = self.dialect.body(request, n, first)
        response, seconds = await self.post(body, lambda answer: read_response(request, answer, n))
        return replace(response, seconds=seconds)

    async def post(self, body: Mapping[str, Any], read: Callable[[object], T]) -> tuple[T, float]:
        """Send a body to a server with a free place until `read` can make something of the answer.

        Returns:
            What `read` made of it, and the seconds that the last try took.

        Raises:
            Refusal, EngineError: as `ask` does.
        """
        tries, first_failure = 0, math.inf
        while True:
            try:
                async with self.pool.place() as server:
                    self.sent["requests"] += 1
                    started = time.monotonic()
                    result = read(await self.call(server, "/chat/completions", body))
                    now = time.monotonic()
                    self._trouble_since, self._given_up = None, 0
                    server.success(now - started, now)
                    return result, now - started
            except Passing as failure:
                tries += failure.counted
                first_failure = min(first_failure, time.monotonic())
                self._give_up(failure, tries, time.monotonic() - first_failure)
                pause = 0.5 * 2 ** min(tries, 5) if failure.counted else 0.0
            self.sent["again"] += 1
            await asyncio.sleep(pause * random.uniform(0.5, 1.0))

    def _give_up(self, failure: Passing, tries: int, seconds: float) -> None:
        """Raise if it is time to."""
        limit = self.settings.max_wait
        if self._trouble_since is not None and time.monotonic() - self._trouble_since > limit:
            raise EngineError(
                f"no server has answered for {limit:.0f} seconds ({', '.join(self.settings.base_url)}): "
                f"{failure}\n"
                "what had finished is kept; start the server and run the same command again "
                "(engine.max_wait=SECONDS waits longer)"
            )
        if tries > self.settings.retries:
            self._given_up += 1
            if self._given_up >= _GIVEN_UP:
                raise EngineError(
                    f"{_GIVEN_UP} requests in a row failed in every try, the last with: {failure}\n"
                    "what had finished is kept; see to the server and run the same command again"
                )
            raise Refusal(f"failed {tries} times, the last time with: {failure}")
        if not failure.counted and seconds > 2 * limit + self.settings.timeout:
            raise Refusal(f"refused for {seconds:.0f} seconds: {failure}")

    async def call(
        self, server: Server, path: str, body: object = None, timeout: float | None = None
    ) -> object:
        """The decoded answer of a server's path or a whole address, in one try.

        `timeout` is in seconds, that of the settings by default.

        Raises:
            Passing: what failed may pass.
            Refusal: the request is refused.
            EngineError: every request would be.
        """
        content = None if body is None else json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        options: openai.RequestOptions = {"headers": self._headers}
        if timeout is not None:
            options["timeout"] = timeout
        try:
            if content is None:
                answer = await server.api.get(path, cast_to=object, options=options)
            else:
                answer = await server.api.post(path, content=content, cast_to=object, options=options)
            if isinstance(answer, str) and not is_page(answer):  # the server does not call it JSON
                answer = json.loads(answer)
        except openai.APIStatusError as error:
            raise self._status(server, error.status_code, error.body, error.response.headers) from error
        except openai.APIConnectionError as error:
            raise self._lost(server, error, timeout or self.settings.timeout) from error
        except (ValueError, RecursionError) as error:
            raise Passing("the answer is broken JSON") from error
        if is_page(answer):
            raise EngineError(
                f"{server.url} is no OpenAI-compatible server: it answers with {message_of(answer)}\n"
                "check engine.base_url (it ends in /v1 for most servers), and whether it needs a login"
            )
        if isinstance(answer, Mapping) and answer.get("error") and not answer.get("choices"):
            # Some gateways pass on what failed behind them with status 200 and the status as a code.
            code = answer["error"].get("code") if isinstance(answer["error"], Mapping) else None
            status = code if isinstance(code, int) and 400 <= code < 600 else 200
            raise self._status(server, status, answer["error"], {})
        return answer

    def _lost(self, server: Server, error: openai.APIConnectionError, seconds: float) -> Passing:
        """What a failed connection means: no server, or one that let this request down."""
        cause = error.__cause__ or error
        why = " ".join(str(cause).split())[:120] or type(cause).__name__
        if isinstance(cause, (httpx2.ConnectError, httpx2.ConnectTimeout)):
            server.unreachable(self._trouble())
            return Passing(f"no connection ({why})", counted=False)
        if isinstance(error, openai.APITimeoutError):
            server.overload(self._trouble(), 0.0)
            return Passing(f"no answer within {seconds:g} seconds")
        return Passing(f"the connection broke ({why})")

    def _status(self, server: Server, status: int, error: object, headers: Mapping[str, str]) -> Exception:
        """What a status means, with the error in its body."""
        message, settings = message_of(error), self.settings
        passing = f"status {status}: {message}"
        if status in _OVERLOAD and "insufficient_quota" not in str(error):
            server.overload(self._trouble(), retry_after(headers))
            return Passing(passing, counted=False)
        if status in (200, 408, 409, 425) or (status >= 500 and status != 501):
            return Passing(passing)
        if status in (401, 403):
            return EngineError(
                f"{server.url} refuses access (status {status}): {'a wrong' if settings.api_key else 'no'} "
                f"key in the environment variable {settings.api_key_env}\n"
                "set it, or name another with engine.api_key_env=NAME"
            )
        if status in (402, 429):
            return EngineError(f"{server.url} refuses for lack of credit (status {status}): {message}")
        if status == 404 or 300 <= status < 400:
            return NotFound(
                f"{server.url} does not offer what is asked for (status {status}): {message}\n"
                "check engine.base_url (it ends in /v1 for most servers) and engine.model"
            )
        self._trouble_since = None  # the server is there
        return Refusal(f"the server refuses the request (status {status}): {message}", error)

    def _trouble(self) -> float:
        """This moment, from which on no server has answered unless one does."""
        now = time.monotonic()
        self._trouble_since = self._trouble_since or now
        return now


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds that the server wants to be left alone (`Retry-After`, a number or a date) or None."""
    value = headers.get("retry-after", "")
    try:
        seconds = float(value)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(value).timestamp() - time.time()
        except ValueError:
            return None
    return min(max(0.0, seconds), _LONGEST_PAUSE)
