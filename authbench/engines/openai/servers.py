"""How many requests are in flight at which server: bounded, and adapted to what the server bears.

Additive increase, multiplicative decrease, as TCP does it (Chiu and Jain 1989): each server begins at the
bound, comes down when it refuses for load or its answers take long, and creeps up again with success.
All of it runs in one event loop; moments are those of `time.monotonic`, in seconds.
"""

from __future__ import annotations

import asyncio
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from openai import AsyncOpenAI

#: What the number in flight is multiplied with when a server is overloaded.
_DECREASE = 0.7
#: Longest pause that no server has asked for, in seconds: so soon is it noticed that one is back.
_LONGEST_PAUSE = 5.0
#: Share of the time-out above which the usual time of an answer counts as overload.
_SLOW = 0.5


@dataclass
class Server:
    """One server: its client, its address, the most requests in flight, and seconds a request may take."""

    api: AsyncOpenAI
    url: str
    bound: int
    timeout: float
    limit: float = field(init=False)  #: requests in flight allowed now, at least 1
    in_flight: int = 0
    paused_until: float = 0.0  #: no request is sent before this moment
    failures: int = 0  #: failed connections, or rounds with a refusal for load, in a row
    latency: float = 0.0  #: usual seconds of an answer, a moving average; 0 before the first
    lowered: int = 0  #: how often the limit was lowered
    _lowered_at: float = 0.0

    def __post_init__(self) -> None:
        self.limit = float(self.bound)

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
            self.overload(now, 0.0)
        else:
            self.limit = min(float(self.bound), self.limit + 1.0 / self.limit)

    def overload(self, now: float, pause: float | None) -> None:
        """The server had too much: fewer in flight, once for each round of answers, and a pause.

        A pause of None is of about one round, and doubles with every round that has no success.
        """
        if now - self._lowered_at > (self.latency or 1.0):
            self.limit = max(1.0, self.limit * _DECREASE)
            self._lowered_at = now
            self.lowered += 1
            self.failures += 1
        if pause is None:
            pause = self._doubled(min(self.latency or 1.0, 1.0)) * random.uniform(0.25, 0.75)
        self.paused_until = max(self.paused_until, now + pause)

    def unreachable(self, now: float) -> None:
        """No connection: a pause that doubles. Failures of one moment count once."""
        if now >= self.paused_until:
            self.failures += 1
            self.paused_until = now + self._doubled(0.25)

    def _doubled(self, pause: float) -> float:
        return float(min(pause * 2 ** min(self.failures, 10), _LONGEST_PAUSE))


class Pool:
    """Servers of the same model; gives each request the one with the largest share free."""

    def __init__(self, servers: Iterable[Server]) -> None:
        self.servers = list(servers)
        self._waiters: deque[asyncio.Future[Server]] = deque()
        self._timer: asyncio.TimerHandle | None = None

    @asynccontextmanager
    async def place(self) -> AsyncIterator[Server]:
        """Wait for a free place at a server and hold it; the first to wait is the first to get one."""
        waiter: asyncio.Future[Server] = asyncio.get_running_loop().create_future()
        self._waiters.append(waiter)
        self._give()
        try:
            yield await waiter
        finally:
            if waiter.done() and not waiter.cancelled():
                waiter.result().in_flight -= 1
                self._give()

    def _give(self) -> None:
        """Give free places to those who wait; look again when the next pause ends."""
        now = time.monotonic()
        while self._waiters:
            if self._waiters[0].done():  # cancelled
                self._waiters.popleft()
                continue
            best = max(self.servers, key=lambda server: server.free(now))
            if best.free(now) <= 0:
                self._look_again(now)
                return
            best.in_flight += 1
            self._waiters.popleft().set_result(best)

    def _look_again(self, now: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        ends = [server.paused_until for server in self.servers if server.paused_until > now]
        if ends:
            self._timer = asyncio.get_running_loop().call_later(min(ends) - now + 0.001, self._give)
