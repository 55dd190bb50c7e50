"""A request on its way through a pipeline, and what it may be at most."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from authbench.engines.gguf import GgufInfo
from authbench.engines.openvino.settings import OpenVinoSettings
from authbench.runtime.engine import Job

#: Tokens of a block of the KV cache.
BLOCK = 32

_ENTROPY = random.SystemRandom()


@dataclass(slots=True, eq=False)
class Ticket:
    """A job with the tokens of its prompt, and of its target where it has one.

    Attributes:
        handles: the library's, while it runs: one, or one for each sample (`separate`).
        seed: of its draws.
        started: when it was handed over, of `time.perf_counter`.
        error: why it is not answered.
    """

    job: Job
    ids: list[int]
    target: list[int] = field(default_factory=list)
    handles: list[Any] = field(default_factory=list)
    seed: int = 0
    started: float = 0.0
    error: str | None = None

    @property
    def separate(self) -> bool:
        """Whether its samples are asked one by one.

        The library keeps one state of a constraint for all samples of a request, which garbles them.
        """
        return self.job.request.constraint is not None and self.job.request.sampling.n > 1

    @property
    def sequences(self) -> int:
        """How many sequences it becomes in a pipeline."""
        return 1 if self.job.request.labels else self.job.request.sampling.n

    @property
    def prompt_tokens(self) -> int:
        """How many prompt tokens it adds to a step."""
        return len(self.ids) * (self.sequences if self.separate else 1)

    @property
    def cache_tokens(self) -> int:
        """Most tokens that it keeps in the KV cache, in whole blocks."""
        new = 1 if self.job.request.labels else self.job.request.sampling.max_tokens
        prompts = self.sequences if self.separate else 1
        return BLOCK * (prompts * -(-len(self.ids) // BLOCK) + self.sequences * (1 + -(-new // BLOCK)))

    def draw_seed(self) -> int:
        """Its seed mixed with its prompt, so that prompts do not share draws; chance where it has none."""
        if self.job.request.sampling.temperature == 0:
            return 0
        if self.job.seed is None:
            return _ENTROPY.getrandbits(62)
        plain = f"{self.job.seed}\0{self.ids}".encode()
        return int.from_bytes(hashlib.blake2b(plain, digest_size=7).digest(), "big")


class Limits:
    """What a request, and all that run together, may be at most."""

    def __init__(self, settings: OpenVinoSettings, info: GgufInfo) -> None:
        self._context = info.context_length
        self._step_tokens = settings.step_tokens(info.context_length)
        self._sequences = settings.max_num_seqs
        self._cache = settings.cache_tokens(info.kv_elements)

    def refusal(self, ticket: Ticket) -> str | None:
        """Why a request cannot be asked at all, or None."""
        request = ticket.job.request
        tokens, new = len(ticket.ids) + len(ticket.target), request.sampling.max_tokens
        if not ticket.ids or (request.score_target is not None and not ticket.target):
            return "the prompt has no tokens"
        if self._context is not None and tokens + new > self._context:
            return f"{tokens} prompt tokens and {new} new ones exceed the context of {self._context}"
        if tokens > self._step_tokens:
            return f"{tokens} prompt tokens exceed engine.max_num_batched_tokens, {self._step_tokens}"
        if ticket.sequences > self._sequences:
            return f"{ticket.sequences} samples of one request exceed engine.max_num_seqs, {self._sequences}"
        if self._cache is not None and ticket.cache_tokens > self._cache:
            return (
                f"{ticket.cache_tokens} tokens do not fit into the KV cache of {self._cache}: "
                "raise engine.cache_size"
            )
        return None

    def room(self, running: Sequence[Ticket], group: Sequence[Ticket], ticket: Ticket) -> bool:
        """Whether one more fits beside what runs; `group` of it comes with the same step.

        So the KV cache never overflows, and the library never has to throw out and compute anew. What
        would not fit by itself goes alone.
        """
        if not running:
            return True
        cache = self._cache
        return (
            sum(other.sequences for other in running) + ticket.sequences <= self._sequences
            and sum(other.prompt_tokens for other in group) + ticket.prompt_tokens <= self._step_tokens
            and (cache is None or sum(other.cache_tokens for other in running) + ticket.cache_tokens <= cache)
        )
