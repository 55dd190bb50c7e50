"""What procedures ask and what they are told: requests, responses, parsed answers and outcomes.

A procedure is a generator. It yields a list of requests, is sent the list of responses in the same
order, may yield again, and returns an outcome. It knows no engine, no cache and no other item.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

FinishReason = Literal["stop", "length", "refused"]


@dataclass(frozen=True, slots=True)
class Message:
    """One turn of a chat. `content` is data: chat markup inside it is text, never a control token."""

    role: Literal["system", "user", "assistant"]
    content: str


@dataclass(frozen=True, slots=True)
class Sampling:
    """How an answer is drawn. `n` is not part of a request's identity: samples are kept one by one.

    Attributes:
        max_tokens: most tokens of one answer, at least 1 (0 only with `score_target`).
        temperature: 0 for greedy decoding.
        top_p: nucleus mass in (0, 1].
        n: answers wanted, at least 1; more than one needs a temperature above 0.
        seed: of the first answer; the next ones have the numbers that follow (`seed_of`). None leaves the
            draw to the engine, which is faster in vLLM.
        stop: strings that end an answer; they are not part of its text.
    """

    max_tokens: int
    temperature: float = 0.0
    top_p: float = 1.0
    n: int = 1
    seed: int | None = None
    stop: tuple[str, ...] = ()

    def seed_of(self, sample: int) -> int | None:
        """The seed of the answer with this number, from 0; None where there is no seed.

        vLLM counts likewise for the answers of one request, so that four answers and six more are the ten
        that one request would have had.
        """
        return None if self.seed is None else self.seed + sample


@dataclass(frozen=True, slots=True)
class Constraint:
    """A limit on what can be decoded: a JSON schema (as text), a regular expression, or literal choices."""

    kind: Literal["json", "regex", "choice"]
    value: str | tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Request:
    """One question to a model.

    Attributes:
        messages: the chat, ending with a user turn.
        sampling: how the answer is drawn.
        constraint: limit on decoding, or None (the papers' protocol).
        labels: if not empty, the log-probability of each of these strings as the next token is wanted
            (`Sample.label_logprobs`); needs `Capabilities.label_logprobs`.
        score_target: if not None, nothing is generated; the log-probability of this text as the
            assistant's answer is wanted (`Sample.target_logprob`); needs `Capabilities.prompt_logprobs`.
    """

    messages: tuple[Message, ...]
    sampling: Sampling
    constraint: Constraint | None = None
    labels: tuple[str, ...] = ()
    score_target: str | None = None


def user(content: str, sampling: Sampling, **options: Any) -> Request:
    """A request of one user turn: what every prompt of the two papers is."""
    return Request((Message("user", content),), sampling, **options)


@dataclass(frozen=True, slots=True)
class Sample:
    """One answer. `output_tokens` is 0 where the engine does not say.

    `label_logprobs` is parallel to `Request.labels` (minus infinity where the engine gave none);
    `target_logprob` is the sum over the target's tokens, in nats.
    """

    text: str
    finish_reason: FinishReason
    output_tokens: int = 0
    label_logprobs: tuple[float, ...] | None = None
    target_logprob: float | None = None


@dataclass(frozen=True, slots=True)
class Response:
    """The answers to one request, as many as `Sampling.n` asked for.

    Attributes:
        samples: in a fixed order, the same each time the request is asked of the same store.
        prompt_tokens: length of the prompt; 0 where the engine does not say.
        cached_tokens: how many of them came out of the engine's prefix cache.
        seconds: from submission to the end, the wait for others in a batch included; 0 where not measured.
    """

    samples: tuple[Sample, ...]
    prompt_tokens: int = 0
    cached_tokens: int = 0
    seconds: float = 0.0

    @property
    def text(self) -> str:
        """The text of the first sample."""
        return self.samples[0].text

    @property
    def truncated(self) -> bool:
        """True if the first sample was cut off at `max_tokens`."""
        return self.samples[0].finish_reason == "length"


Status = Literal[
    "ok",
    "repaired",
    "missing_ids",
    "extra_ids",
    "duplicate_ids",
    "out_of_range",
    "wrong_format",
    "truncated",
    "empty",
    "refused",
]

#: Every status an answer can have, the good ones first.
STATUSES: tuple[Status, ...] = Status.__args__  # type: ignore[attr-defined]

#: Statuses whose value may be used.
VALID: frozenset[str] = frozenset({"ok", "repaired"})


@dataclass(frozen=True, slots=True)
class Parsed:
    """What was read out of one answer: a value where the status is valid, else None."""

    status: Status
    value: Any = None

    @property
    def valid(self) -> bool:
        """True if `value` may be used."""
        return self.status in VALID


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a procedure makes of its answers.

    Attributes:
        answers: one per response the procedure was sent, in the order asked (all rounds), so that
            statuses can be counted and each answer shown beside how it was read.
        values: JSON-able facts for the measures; each procedure's docstring says which.
    """

    answers: tuple[Parsed, ...]
    values: Mapping[str, Any] = field(default_factory=dict)

    @property
    def valid(self) -> bool:
        """True if every answer is."""
        return all(answer.valid for answer in self.answers)


T = TypeVar("T")

#: A procedure that ends in a `T`: most end in an `Outcome`.
Procedure = Generator[Sequence[Request], Sequence[Response], T]
