"""Between authbench's requests and the chat-completions protocol: bodies out, answers back."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from authbench.runtime.messages import Constraint, FinishReason, Request, Response, Sample

_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "refused"}

#: Most alternatives per token that the protocol allows.
TOP_LOGPROBS = 20


class BrokenAnswer(ValueError):
    """An answer that does not keep to the protocol; asking again may help."""


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server was found to take.

    Attributes:
        model: the model's name on it.
        length_field: `max_tokens`, or `max_completion_tokens` for servers that refuse that.
        constraints: for each kind of constraint how it is said: `response_format`,
            `structured_outputs` or `guided`; a kind that is missing is not taken.
        samples: whether several answers to one request can be asked for (`n`).
        logprobs: whether alternatives of a token can be had.
        extra: further fields of every request.
    """

    model: str
    length_field: str = "max_tokens"
    constraints: Mapping[str, str] | None = None
    samples: bool = True
    logprobs: bool = True
    extra: Mapping[str, Any] | None = None

    def body(self, request: Request, n: int, first: int = 0) -> dict[str, Any]:
        """The body of a request for `n` answers, from the one with the number `first` on."""
        sampling = request.sampling
        body: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": m.role, "content": m.content} for m in request.messages],
            self.length_field: max(sampling.max_tokens, 1),
            # Said even where they are usual: servers have defaults of their own.
            "temperature": sampling.temperature,
            "top_p": sampling.top_p,
        }
        if n > 1:
            body["n"] = n
        seed = sampling.seed_of(first)
        if seed is not None:
            body["seed"] = seed
        if sampling.stop:
            body["stop"] = list(sampling.stop)
        if request.labels:
            body |= {"logprobs": True, "top_logprobs": TOP_LOGPROBS}
        if request.constraint is not None:
            body |= constraint_fields(request.constraint, (self.constraints or {})[request.constraint.kind])
        return body | dict(self.extra or {})


def constraint_fields(constraint: Constraint, way: str) -> dict[str, Any]:
    """The fields of a body that say a constraint in one of the ways of `Dialect.constraints`."""
    value: Any = constraint.value
    if constraint.kind == "choice":
        value = list(constraint.value)
    if way == "response_format":
        schema = {"name": "answer", "schema": json.loads(value), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    if constraint.kind == "json":
        value = json.loads(value)
    if way == "structured_outputs":
        return {"structured_outputs": {constraint.kind: value}}
    return {f"guided_{constraint.kind}": value}


def read_response(request: Request, body: Any, wanted: int, seconds: float) -> Response:
    """The response in a server's answer.

    With several samples the server tells their tokens in sum; each is given an equal share.

    Raises:
        BrokenAnswer: it is not what the protocol says, or holds fewer answers than were asked for.
    """
    if not isinstance(body, Mapping):
        raise BrokenAnswer("the answer is no JSON object")
    choices = body.get("choices")
    if not isinstance(choices, list) or len(choices) < wanted:
        count = len(choices) if isinstance(choices, list) else 0
        raise BrokenAnswer(f"the answer holds {count} choices, not {wanted}")
    usage = body.get("usage")
    usage = usage if isinstance(usage, Mapping) else {}
    shares = _shares(_number(usage.get("completion_tokens")), wanted)
    samples = tuple(
        _sample(request, choice, tokens) for choice, tokens in zip(choices[:wanted], shares, strict=True)
    )
    details = usage.get("prompt_tokens_details")
    cached = details.get("cached_tokens") if isinstance(details, Mapping) else 0
    return Response(
        samples,
        prompt_tokens=_number(usage.get("prompt_tokens")),
        cached_tokens=_number(cached),
        seconds=seconds,
    )


def _sample(request: Request, choice: Any, tokens: int) -> Sample:
    message = choice.get("message") if isinstance(choice, Mapping) else None
    if not isinstance(message, Mapping):
        raise BrokenAnswer("a choice holds no message")
    reason = choice.get("finish_reason")
    if reason not in _FINISH:
        raise BrokenAnswer(f"an answer ended with '{reason}'")
    finish = _FINISH[reason]
    text = message.get("content") or ""
    if message.get("refusal"):
        text, finish = str(message["refusal"]), "refused"
    if not isinstance(text, str):
        raise BrokenAnswer("the content of an answer is no text")
    labels = _label_logprobs(request, choice) if request.labels else None
    return Sample(text, finish, output_tokens=tokens, label_logprobs=labels)


def _label_logprobs(request: Request, choice: Mapping[str, Any]) -> tuple[float, ...]:
    """Of each label as the first token; minus infinity for one that is not among the likeliest."""
    content = (choice.get("logprobs") or {}).get("content")
    if not content:
        raise BrokenAnswer("the answer holds no log-probabilities")
    first = content[0]
    entries = [*(first.get("top_logprobs") or []), first]
    known = {str(entry["token"]): float(entry["logprob"]) for entry in entries}
    return tuple(known.get(label, -math.inf) for label in request.labels)


def _shares(total: int, parts: int) -> list[int]:
    whole, rest = divmod(total, parts)
    return [whole + (index < rest) for index in range(parts)]


def _number(value: Any) -> int:
    return int(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else 0
