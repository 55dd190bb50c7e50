"""One request to an OpenAI-compatible server, tried again for as long as that may help."""

from __future__ import annotations

import asyncio
import email.utils
import json
import random
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

from authbench.engines.openai_limits import Endpoint, Pool
from authbench.engines.openai_messages import BrokenAnswer, Dialect, read_response
from authbench.engines.openai_options import OpenAIOptions
from authbench.errors import EngineError
from authbench.runtime.messages import Request, Response

if TYPE_CHECKING:
    import httpx

T = TypeVar("T")

#: Statuses that say the server is there, but has too much to do or is starting.
_OVERLOAD = frozenset({429, 502, 503, 529})
#: Statuses of failures that may pass.
_TEMPORARY = frozenset({408, 409, 425, 500, 504})
#: Longest wait before a further try, in seconds.
_LONGEST_WAIT = 20.0
#: Requests in a row that fail in every try: then it is the server, and the run stops.
_GIVEN_UP = 8


class Refusal(ValueError):
    """The server refuses this request, or failed at it again and again; others may go on."""


@dataclass(frozen=True, slots=True)
class _Failure:
    """A try that failed for a reason that may pass.

    `counted`: the request may be at fault, so tries are bounded; otherwise the server is, and time is.
    """

    reason: str
    counted: bool


class Client:
    """Sends requests to the servers of a pool.

    Attributes:
        dialect: what the servers take; set by the probe.
        tries: how many requests were sent, and how many of them again.
    """

    def __init__(self, options: OpenAIOptions, http: httpx.AsyncClient, pool: Pool) -> None:
        self.options = options
        self.http = http
        self.pool = pool
        self.dialect = Dialect(options.model or "")
        self.tries = {"requests": 0, "again": 0}

    async def ask(self, request: Request, first: int = 0) -> Response:
        """The response to a request, from the sample with the number `first` on.

        Raises:
            Refusal: this request cannot be answered.
            EngineError: none can: a wrong key, or no server for `max_wait` seconds.
        """
        wanted = request.sampling.n
        if wanted > 1 and not self.dialect.samples:
            return _merge(await asyncio.gather(*(self._ask(request, 1, first + k) for k in range(wanted))))
        return await self._ask(request, wanted, first)

    async def _ask(self, request: Request, n: int, first: int) -> Response:
        body = self.dialect.body(request, n, first)
        return await self.post(body, lambda answer, seconds: read_response(request, answer, n, seconds))

    async def post(self, body: Mapping[str, Any], read: Callable[[Any, float], T]) -> T:
        """Send a body to a server with a free place until `read` can make something of the answer."""
        content = json.dumps(body, ensure_ascii=False).encode("utf-8", "replace")
        attempts, first_failure = 0, None
        while True:
            endpoint = await self.pool.acquire()
            started = time.monotonic()
            try:
                outcome = await self._once(endpoint, content, read, started)
            finally:
                self.pool.release(endpoint)
            if not isinstance(outcome, _Failure):
                return outcome
            first_failure = first_failure or started
            attempts += outcome.counted
            self.tries["again"] += 1
            self._give_up(outcome, attempts, time.monotonic() - first_failure)
            if outcome.counted:
                await asyncio.sleep(min(0.5 * 2**attempts, _LONGEST_WAIT) * random.uniform(0.5, 1.0))

    def _give_up(self, failure: _Failure, attempts: int, seconds: float) -> None:
        """Raise if it is time to."""
        limit = self.options.max_wait
        if self.pool.troubled_for() > limit:
            raise EngineError(
                f"no server has answered for {limit:.0f} seconds: {failure.reason}\n"
                "what had finished is kept; start the server and run the same command again "
                "(engine.max_wait=SECONDS waits longer)"
            )
        if attempts > self.options.retries:
            self.pool.given_up += 1
            if self.pool.given_up >= _GIVEN_UP:
                raise EngineError(
                    f"{_GIVEN_UP} requests in a row failed in every try, the last with: {failure.reason}\n"
                    "what had finished is kept; see to the server and run the same command again"
                )
            raise Refusal(f"failed {attempts} times, the last time with: {failure.reason}")
        if not failure.counted and seconds > 2 * limit + self.options.timeout:
            raise Refusal(f"refused for {seconds:.0f} seconds: {failure.reason}")

    async def _once(
        self, endpoint: Endpoint, content: bytes, read: Callable[[Any, float], T], started: float
    ) -> T | _Failure:
        self.tries["requests"] += 1
        answer = await self._send(endpoint, content)
        if isinstance(answer, _Failure):
            return answer
        if answer.status_code != 200:
            return self._refused(endpoint, answer)
        seconds = time.monotonic() - started
        try:
            result = read(json.loads(answer.content), seconds)
        except BrokenAnswer as error:
            return _Failure(str(error), counted=True)
        except ValueError:
            return _Failure("the answer is broken JSON", counted=True)
        self.pool.success(endpoint, seconds)
        return result

    async def _send(self, endpoint: Endpoint, content: bytes) -> httpx.Response | _Failure:
        import httpx

        try:
            return await self.http.post(f"{endpoint.url}/chat/completions", content=content)
        except (httpx.ConnectError, httpx.ConnectTimeout) as error:
            self.pool.unreachable(endpoint)
            return _Failure(f"{endpoint.url} cannot be reached ({describe(error)})", counted=False)
        except httpx.TimeoutException:
            self.pool.overload(endpoint, 0.0)
            return _Failure(f"no answer within {self.options.timeout:g} seconds", counted=True)
        except httpx.TransportError as error:
            return _Failure(f"the connection broke ({describe(error)})", counted=True)

    def _refused(self, endpoint: Endpoint, answer: httpx.Response) -> _Failure:
        """What a status means: a failure that may pass is returned, anything else raised."""
        status, message = answer.status_code, self.message(answer)
        if status in _OVERLOAD and "insufficient_quota" not in answer.text:
            self.pool.overload(endpoint, _retry_after(answer))
            return _Failure(f"status {status}: {message}", counted=False)
        if status in _TEMPORARY:
            return _Failure(f"status {status}: {message}", counted=True)
        raise_for_everyone(status, message, endpoint.url, self.options)
        self.pool.answered()
        raise Refusal(f"the server refuses the request (status {status}): {message}")

    def message(self, answer: httpx.Response) -> str:
        """A server's error message in one line, without the key."""
        try:
            body = json.loads(answer.content)
        except ValueError:
            body = answer.text
        if isinstance(body, Mapping):
            error = body.get("error", body)
            body = error.get("message") or error if isinstance(error, Mapping) else error
        text = " ".join(str(body).split())[:300] or "no message"
        key = self.options.api_key
        return text.replace(key, "***") if key else text


def raise_for_everyone(status: int, message: str, url: str, options: OpenAIOptions) -> None:
    """Raise `EngineError` for a status that every request would get."""
    if status in (401, 403):
        problem = "a wrong key" if options.api_key else "no key"
        raise EngineError(
            f"{url} refuses access (status {status}): {problem} in the environment variable "
            f"{options.api_key_env}\nset it, or name another with engine.api_key_env=NAME"
        )
    if status in (402, 429):
        raise EngineError(f"{url} refuses for lack of credit (status {status}): {message}")
    if status == 404 or 300 <= status < 400:
        raise EngineError(
            f"{url} does not offer what is asked for (status {status}): {message}\n"
            "check engine.base_url (it ends in /v1 for most servers) and engine.model"
        )


def describe(error: Exception) -> str:
    """An exception of the HTTP library in few words."""
    return " ".join(str(error).split())[:120] or type(error).__name__


def _retry_after(answer: httpx.Response) -> float:
    """Seconds that the server wants to be left alone: `Retry-After`, a number or a date; else about one."""
    value = answer.headers.get("retry-after", "")
    try:
        return max(0.0, min(float(value), 600.0))
    except ValueError:
        pass
    date = email.utils.parsedate_tz(value)
    if date is not None:
        return max(0.0, min(email.utils.mktime_tz(date) - time.time(), 600.0))
    return random.uniform(0.5, 1.5)


def _merge(parts: list[Response]) -> Response:
    """Answers that were asked for one by one, as the answers to one request."""
    return Response(
        samples=tuple(sample for part in parts for sample in part.samples),
        prompt_tokens=parts[0].prompt_tokens,
        cached_tokens=parts[0].cached_tokens,
        seconds=max(part.seconds for part in parts),
    )
