"""Which requests the engine `openvino` hands to a pipeline before a step."""

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
        return _BLOCK * (prompts * -(-len(self.ids) // _BLOCK) + self.sequences * (1 + -(-new // _BLOCK)))


class Constraints:
    """What is known of constraints: those that were compiled, and those that cannot be."""

    def __init__(self) -> None:
        self._proven: set[Constraint] = set()
        self._refused: dict[Constraint, str] = {}

    def is_new(self, constraint: Constraint | None) -> bool:
        """True if it was never handed to a pipeline."""
        return constraint is not None and constraint not in self._proven and constraint not in self._refused

    def prove(self, constraint: Constraint) -> None:
        """A step with it went well."""
        self._proven.add(constraint)

    def refuse(self, constraint: Constraint, message: str) -> None:
        """It made a pipeline fail."""
        self._refused[constraint] = f"the {constraint.kind} constraint is not supported: {message}"

    def refusal(self, constraint: Constraint | None) -> str | None:
        """What is wrong with a constraint, as far as it is known or can be seen; None if it may be asked."""
        if constraint is None or constraint in self._proven:
            return None
        if constraint in self._refused or not isinstance(constraint.value, str):
            return self._refused.get(constraint)
        try:
            if constraint.kind == "json":
                json.loads(constraint.value)
            elif constraint.kind == "regex":
                re.compile(constraint.value)
        except (ValueError, re.error) as error:
            return f"the {constraint.kind} constraint is not valid: {error}"
        return None


class Limits:
    """What a request may be at most."""

    def __init__(self, settings: OpenVinoSettings, info: GgufInfo) -> None:
        self.context = info.context_length
        self.step_tokens = settings.batched_tokens(info.context_length)
        self.sequences = settings.max_num_seqs
        self.cache = settings.cache_tokens(info.kv_elements)

    def refusal(self, ticket: Ticket) -> str | None:
        """Why a request cannot be asked at all, or None."""
        request = ticket.job.request
        tokens, new = len(ticket.ids) + len(ticket.target), request.sampling.max_tokens
        if not ticket.ids or (request.score_target is not None and not ticket.target):
            return "the prompt has no tokens"
        if self.context is not None and tokens + new > self.context:
            return f"{tokens} prompt tokens and {new} new ones exceed the context of {self.context}"
        if tokens > self.step_tokens:
            return f"{tokens} prompt tokens exceed engine.max_num_batched_tokens, {self.step_tokens}"
        if ticket.sequences > self.sequences:
            return f"{ticket.sequences} samples of one request exceed engine.max_num_seqs, {self.sequences}"
        if self.cache is not None and ticket.cache_tokens > self.cache:
            return (
                f"{ticket.cache_tokens} tokens do not fit into the KV cache of {self.cache}: "
                "raise engine.cache_size"
            )
        return None


class Admission:
    """A queue that gives the group of requests for the next step.

    Requests come in their order, but for two reasons to wait. Of several that begin alike with tokens
    not seen before, one goes first: the others then find them in the prefix cache. And of constraints
    not seen before only one is tried at a time: one that cannot be compiled makes the pipeline unusable,
    and so it is known which it was.

    Args:
        prefixes: whether there is a prefix cache to wait for.
    """

    def __init__(self, limits: Limits, constraints: Constraints, *, prefixes: bool) -> None:
        self._limits = limits
        self._constraints = constraints
        self._prefixes = prefixes
        self._waiting: deque[Ticket] = deque()
        self._sequences = 0
        self._cached = 0
        self._seen: set[tuple[int, ...]] = set()
        #: The constraint that is tried in the step to come.
        self.on_trial: Constraint | None = None

    def __bool__(self) -> bool:
        return bool(self._waiting)

    def add(self, ticket: Ticket) -> None:
        """Queue a request."""
        self._waiting.append(ticket)

    def remove(self, numbers: set[int]) -> None:
        """Drop requests that wait."""
        self._waiting = deque(ticket for ticket in self._waiting if ticket.job.number not in numbers)

    def take(self, constraint: Constraint) -> list[Ticket]:
        """Take out all requests that wait and have this constraint."""
        taken = [ticket for ticket in self._waiting if ticket.job.request.constraint == constraint]
        self.remove({ticket.job.number for ticket in taken})
        return taken

    def release(self, ticket: Ticket) -> None:
        """A request has left the pipeline."""
        self._sequences -= ticket.sequences
        self._cached -= ticket.cache_tokens

    def stepped(self) -> None:
        """A step has gone well: what was tried is proven."""
        if self.on_trial is not None:
            self._constraints.prove(self.on_trial)
            self.on_trial = None

    def next_group(self) -> list[Ticket]:
        """The requests to hand over before the next step, possibly none."""
        group: list[Ticket] = []
        passed: list[Ticket] = []
        fresh: set[tuple[int, ...]] = set()
        tokens = 0
        while self._waiting and len(passed) < _LOOK_AHEAD:
            ticket = self._waiting[0]
            if not self._fits(ticket, tokens):
                break
            self._waiting.popleft()
            if self._has_to_wait(ticket, fresh):
                passed.append(ticket)
                continue
            tokens += ticket.prompt_tokens
            self._sequences += ticket.sequences
            self._cached += ticket.cache_tokens
            group.append(ticket)
        self._waiting.extendleft(reversed(passed))
        if len(self._seen) < _MOST_PREFIXES:
            self._seen |= fresh
        return group

    def _fits(self, ticket: Ticket, tokens: int) -> bool:
        """Whether there is room for one more; what would not fit by itself goes alone."""
        if self._sequences == 0:
            return True
        cache = self._limits.cache
        return (
            self._sequences + ticket.sequences <= self._limits.sequences
            and tokens + ticket.prompt_tokens <= self._limits.step_tokens
            and (cache is None or self._cached + ticket.cache_tokens <= cache)
        )

    def _has_to_wait(self, ticket: Ticket, fresh: set[tuple[int, ...]]) -> bool:
        constraint = ticket.job.request.constraint
        untried = constraint != self.on_trial and self._constraints.is_new(constraint)
        if untried and self.on_trial is not None:
            return True
        if self._prefixes and len(ticket.ids) > _PREFIX:
            prefix = tuple(ticket.ids[:_PREFIX])
            if prefix in fresh:
                return True
            if prefix not in self._seen:
                fresh.add(prefix)
        if untried:
            self.on_trial = constraint
        return False
