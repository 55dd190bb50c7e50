"""Which requests the engine `openvino` hands to its pipeline before a step."""

from __future__ import annotations

import json
import re
from collections import deque
from dataclasses import dataclass, field

from authbench.engines.gguf import GgufInfo
from authbench.engines.openvino_settings import OpenVinoSettings
from authbench.runtime.engine import Job
from authbench.runtime.messages import Constraint

#: Prompts are taken to begin alike if so many tokens are equal: whole blocks of the prefix cache.
_PREFIX = 96
_BLOCK = 32
_MOST_PREFIXES = 100_000

#: How far to look past requests that have to wait.
_LOOK_AHEAD = 512


@dataclass(slots=True, eq=False)
class Ticket:
    """A job with the tokens of its prompt, and of its target where it has one."""

    job: Job
    ids: list[int]
    target: list[int] = field(default_factory=list)

    @property
    def sequences(self) -> int:
        """How many sequences it becomes in the pipeline."""
        return len(self.job.request.labels) or self.job.request.sampling.n

    @property
    def cache_tokens(self) -> int:
        """Most tokens that it keeps in the KV cache, in whole blocks."""
        new = 1 if self.job.request.labels else self.job.request.sampling.max_tokens
        prompts = self.sequences if self.job.request.labels else 1
        prompt_blocks = prompts * -(-len(self.ids) // _BLOCK)
        return _BLOCK * (prompt_blocks + self.sequences * (1 + -(-new // _BLOCK)))


class Admission:
    """A queue that gives the group of requests for the next step.

    Requests come in their order, but for two reasons to wait. Of several that begin alike with tokens
    not seen before, one goes first: the others then find them in the prefix cache. And of constraints
    not seen before only one is tried at a time: one that cannot be compiled makes the pipeline unusable,
    and so it is known which it was.
    """

    def __init__(self, settings: OpenVinoSettings, info: GgufInfo) -> None:
        self._settings = settings
        self._context = info.context_length
        self._step_tokens = settings.batched_tokens(info.context_length or 8192)
        self._cache = settings.cache_tokens(info.kv_elements)
        self._waiting: deque[Ticket] = deque()
        self._sequences = 0
        self._cached = 0
        self._seen: set[tuple[int, ...]] = set()
        self._proven: set[Constraint] = set()
        self._refused: dict[Constraint, str] = {}
        #: The constraint that is tried in the step to come.
        self.on_trial: Constraint | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def refusal(self, ticket: Ticket) -> str | None:
        """Why a request cannot be asked at all, or None."""
        request = ticket.job.request
        if request.constraint is not None and (bad := self._bad_constraint(request.constraint)):
            return bad
        if len(ticket.ids) == 0 or (request.score_target is not None and not ticket.target):
            return "the prompt has no tokens"
        return self._too_large(ticket)

    def _too_large(self, ticket: Ticket) -> str | None:
        tokens, new = len(ticket.ids) + len(ticket.target), ticket.job.request.sampling.max_tokens
        if self._context is not None and tokens + new > self._context:
            return f"{tokens} prompt tokens and {new} new ones exceed the context of {self._context}"
        if tokens > self._step_tokens:
            return f"{tokens} prompt tokens exceed engine.max_num_batched_tokens, {self._step_tokens}"
        if self._cache is not None and ticket.cache_tokens > self._cache:
            return (
                f"{ticket.cache_tokens} tokens do not fit into the KV cache of {self._cache}: "
                "raise engine.cache_size"
            )
        if ticket.sequences > self._settings.max_num_seqs:
            return f"{ticket.sequences} sequences of one request exceed engine.max_num_seqs"
        return None

    def _bad_constraint(self, constraint: Constraint) -> str | None:
        """What is wrong with a constraint, as far as it can be seen without compiling it."""
        if constraint in self._refused:
            return self._refused[constraint]
        if constraint in self._proven or not isinstance(constraint.value, str):
            return None
        try:
            if constraint.kind == "json":
                json.loads(constraint.value)
            elif constraint.kind == "regex":
                re.compile(constraint.value)
        except (ValueError, re.error) as error:
            return f"the {constraint.kind} constraint is not valid: {error}"
        return None

    def add(self, ticket: Ticket) -> None:
        """Queue a request."""
        self._waiting.append(ticket)

    def remove(self, numbers: set[int]) -> None:
        """Drop requests that wait."""
        self._waiting = deque(ticket for ticket in self._waiting if ticket.job.number not in numbers)

    def release(self, ticket: Ticket) -> None:
        """A request has left the pipeline."""
        self._sequences -= ticket.sequences
        self._cached -= ticket.cache_tokens

    def refuse(self, constraint: Constraint, message: str) -> None:
        """A constraint made the pipeline fail: its requests are refused from now on."""
        self._refused[constraint] = f"the {constraint.kind} constraint is not supported: {message}"
        self.on_trial = None

    def stepped(self) -> None:
        """A step has gone well: what was tried is proven."""
        if self.on_trial is not None:
            self._proven.add(self.on_trial)
            self.on_trial = None

    def next_group(self) -> list[Ticket]:
        """The requests to hand over before the next step, possibly none."""
        group: list[Ticket] = []
        passed: list[Ticket] = []
        fresh: set[tuple[int, ...]] = set()
        tokens = 0
        while self._waiting and len(passed) < _LOOK_AHEAD:
            ticket = self._waiting[0]
            tokens += len(ticket.ids)
            if not self._fits(ticket, tokens, bool(group)):
                break
            self._waiting.popleft()
            if self._has_to_wait(ticket, fresh):
                tokens -= len(ticket.ids)
                passed.append(ticket)
                continue
            self._sequences += ticket.sequences
            self._cached += ticket.cache_tokens
            group.append(ticket)
        self._waiting.extendleft(reversed(passed))
        if len(self._seen) < _MOST_PREFIXES:
            self._seen |= fresh
        return group

    def _fits(self, ticket: Ticket, tokens: int, more: bool) -> bool:
        """Whether there is room; what would not fit by itself goes alone."""
        if self._sequences == 0 and not more:
            return True
        return (
            self._sequences + ticket.sequences <= self._settings.max_num_seqs
            and tokens <= self._step_tokens
            and (self._cache is None or self._cached + ticket.cache_tokens <= self._cache)
        )

    def _has_to_wait(self, ticket: Ticket, fresh: set[tuple[int, ...]]) -> bool:
        constraint = ticket.job.request.constraint
        untried = constraint is not None and constraint not in self._proven and constraint != self.on_trial
        if untried and self.on_trial is not None:
            return True
        if self._settings.prefix_caching and len(ticket.ids) > _PREFIX:
            prefix = tuple(ticket.ids[:_PREFIX])
            if prefix in fresh:
                return True
            if prefix not in self._seen:
                fresh.add(prefix)
        if untried:
            self.on_trial = constraint
        return False
