"""How many requests are in flight at which server: bounded, and adapted to what the server bears.

Additive increase, multiplicative decrease, as TCP does it (Chiu and Jain 1989): each server begins at the
bound, comes down when it refuses for load or its answers take long, and creeps up again with success.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field

#: What the bound is multiplied with when a server is overloaded.
_DECREASE = 0.7
#: Longest pause after failed connections, in seconds: so soon is it noticed that a server is back.
_LONGEST_PAUSE = 5.0
#: Share of the time-out above which the usual time of an answer counts as overload.
_SLOW = 0.5


@dataclass
class Endpoint:
    """One server.

    Attributes:
        url: its base URL.
        bound: most requests in flight.
        timeout: seconds that a request may take.
        limit: requests in flight allowed now, at least 1.
        in_flight: requests in flight.
        paused_until: no request is sent before this moment (`time.monotonic`).
        failures: failed connections in a row.
        latency: usual seconds of an answer, a moving average; 0 before the first.
        decreases: how often the limit was lowered.
    """

    url: str
    bound: int
    timeout: float
    limit: float = 0.0
    in_flight: int = 0
    paused_until: float = 0.0
    failures: int = 0
    latency: float = 0.0
    decreases: int = 0
    _decreased_at: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        self.limit = self.limit or float(self.bound)

    def free(self, now: float) -> float:
        """Share of the allowed requests that is free, 0 if none or paused."""
        if now < self.paused_until or self.in_flight >= int(self.limit):
            return 0.0
        return 1.0 - self.in_flight / self.limit

    def success(self, seconds: float, now: float) -> None:
        """An answer came: one more request in flight for each round of answers."""
        self.failures = 0
        self.latency = seconds if self.latency == 0 else 0.9 * self.latency + 0.1 * seconds
        if self.latency > _SLOW * self.timeout:
            self.overload(now)
        else:
            self.limit = min(float(self.bound), self.limit + 1.0 / self.limit)

    def overload(self, now: float, pause: float = 0.0) -> None:
        """The server had too much: fewer in flight, once for each round, and a pause if it asks for one."""
        if now - self._decreased_at > max(self.latency, 1.0):
            self.limit = max(1.0, self.limit * _DECREASE)
            self._decreased_at = now
            self.decreases += 1
        self.paused_until = max(self.paused_until, now + pause)

    def unreachable(self, now: float) -> None:
        """No connection: a pause that doubles. Failures of one moment count once."""
        if now >= self.paused_until:
            self.failures += 1
            self.paused_until = now + min(0.25 * 2**self.failures, _LONGEST_PAUSE)


class Pool:
    """Servers of the same model; gives each request the one with the largest share free.

    All methods are called in one event loop. `trouble_since` is the moment since which nothing has
    succeeded anywhere, None while all is well.
    """

    def __init__(self, endpoints: Sequence[Endpoint]) -> None:
        self.endpoints = list(endpoints)
        self.trouble_since: float | None = None
        self.given_up = 0  # requests in a row that failed in every try
        self._waiters: deque[asyncio.Future[Endpoint]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    async def acquire(self) -> Endpoint:
        """Wait for a free place at a server; the first to wait is the first to get one."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[Endpoint] = loop.create_future()
        self._waiters.append(waiter)
        self._give()
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled():
                self.release(waiter.result())
            raise

    def release(self, endpoint: Endpoint) -> None:
        """Give a place back."""
        endpoint.in_flight -= 1
        self._give()

    def success(self, endpoint: Endpoint, seconds: float) -> None:
        """A request succeeded."""
        self.trouble_since = None
        self.given_up = 0
        endpoint.success(seconds, time.monotonic())

    def answered(self) -> None:
        """A server answered, though with a refusal of this request alone: it is there."""
        self.trouble_since = None

    def overload(self, endpoint: Endpoint, pause: float) -> None:
        """A server refused for load and wants a pause of so many seconds."""
        now = time.monotonic()
        self._trouble(now)
        endpoint.overload(now, pause)

    def unreachable(self, endpoint: Endpoint) -> None:
        """A server could not be reached."""
        now = time.monotonic()
        self._trouble(now)
        endpoint.unreachable(now)

    def troubled_for(self) -> float:
        """Seconds since when nothing has succeeded; 0 while all is well."""
        return 0.0 if self.trouble_since is None else time.monotonic() - self.trouble_since

    def _trouble(self, now: float) -> None:
        if self.trouble_since is None:
            self.trouble_since = now

    def _give(self) -> None:
        """Give free places to those who wait; look again when the next pause ends."""
        now = time.monotonic()
        while self._waiters:
            if self._waiters[0].done():  # cancelled
                self._waiters.popleft()
                continue
            best = max(self.endpoints, key=lambda endpoint: endpoint.free(now))
            if best.free(now) <= 0:
                self._look_again(now)
                return
            best.in_flight += 1
            self._waiters.popleft().set_result(best)

    def _look_again(self, now: float) -> None:
        ends = [endpoint.paused_until for endpoint in self.endpoints if endpoint.paused_until > now]
        if not ends:
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer = asyncio.get_running_loop().call_later(min(ends) - now + 0.001, self._give)
