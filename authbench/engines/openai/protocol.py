"""Between authbench's requests and the chat-completions protocol: bodies out, answers back.

Answers are read as plain JSON, not as the library's types: servers deviate from these in many ways.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeGuard

from authbench.runtime.messages import Constraint, FinishReason, Request, Response, Sample

_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length", "content_filter": "refused"}

#: Most alternatives per token that the protocol allows.
TOP_LOGPROBS = 20


class Passing(Exception):
    """A try that failed for a reason that may pass: asking again may help.

    `counted`: the request may be at fault, so tries are bounded; otherwise the server is, and time is.
    """

    def __init__(self, reason: str, counted: bool = True) -> None:
        super().__init__(reason)
        self.counted = counted


class Refusal(Exception):
    """The server refuses this request, or failed at it again and again; others may go on."""

    def __init__(self, message: str, error: object = None) -> None:
        super().__init__(message)
        self._field = error.get("param") if isinstance(error, Mapping) else None

    def names(self, fields: Sequence[str]) -> str | None:
        """The one of the fields for which the request was refused, None where it was for something else."""
        if self._field:
            return str(self._field) if self._field in fields else None
        return next((name for name in fields if re.search(rf"\b{name}\b", str(self))), None)


@dataclass(frozen=True, slots=True)
class Dialect:
    """What a server was found to take.

    Attributes:
        model: the model's name on it.
        length_field: `max_tokens`, or `max_completion_tokens` for servers that refuse that.
        constraints: the kinds of constraint that it keeps.
        samples: whether several answers to one request can be asked for (`n`).
        logprobs: whether alternatives of a token can be had.
        refused: fields that it refuses and that not every request has: `seed`, `stop`.
        extra: further fields of every request.
        omit: fields that are never sent.
    """

    model: str
    length_field: str = "max_tokens"
    constraints: frozenset[str] = frozenset()
    samples: bool = True
    logprobs: bool = True
    refused: frozenset[str] = frozenset()
    extra: Mapping[str, Any] = field(default_factory=dict)
    omit: tuple[str, ...] = ()

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
            body |= constraint_fields(request.constraint)
        body |= self.extra
        for name in self.omit:
            body.pop(name, None)
        return body


def constraint_fields(constraint: Constraint) -> dict[str, Any]:
    """The fields of a body that say a constraint: the protocol's own for JSON, vLLM's for the others."""
    if constraint.kind == "json":
        schema = {"name": "answer", "schema": json.loads(str(constraint.value)), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": schema}}
    value = constraint.value if constraint.kind == "regex" else list(constraint.value)
    return {"structured_outputs": {constraint.kind: value}}


def read_choices(answer: object, wanted: int = 1) -> list[Any]:
    """The choices in the decoded body of an answer. Raises `Passing` if there are fewer than wanted."""
    choices = answer.get("choices") if isinstance(answer, Mapping) else None
    if not isinstance(choices, list) or len(choices) < wanted:
        count = len(choices) if isinstance(choices, list) else 0
        raise Passing(f"the answer holds {count} choices, not {wanted}")
    return choices


def read_response(request: Request, answer: Any, wanted: int) -> Response:
    """The response in a server's answer.

    With several samples the server tells their tokens in sum; each is given an equal share.

    Raises:
        Passing: it is not what the protocol says, or holds fewer answers than were asked for.
    """
    choices = read_choices(answer, wanted)[:wanted]
    usage = answer.get("usage") if isinstance(answer, Mapping) else None
    usage = usage if isinstance(usage, Mapping) else {}
    details = usage.get("prompt_tokens_details")
    whole, rest = divmod(_number(usage.get("completion_tokens")), wanted)
    try:
        samples = tuple(_sample(request, c, whole + (k < rest)) for k, c in enumerate(choices))
    except (AttributeError, LookupError, TypeError, ValueError) as error:
        raise Passing("an answer does not keep to the protocol") from error
    return Response(
        samples,
        prompt_tokens=_number(usage.get("prompt_tokens")),
        cached_tokens=_number(details.get("cached_tokens")) if isinstance(details, Mapping) else 0,
    )


def text_of(message: Mapping[str, Any]) -> str:
    """The text of an answer's message: of a list of parts, those of text; empty where there is none.

    What a reasoning model thought (`reasoning_content`, parts of other types) is no part of its answer.
    """
    content = message.get("content")
    if isinstance(content, list):
        content = "".join(part["text"] for part in content if part["type"] in ("text", "output_text"))
    if not isinstance(content or "", str):
        raise Passing("the content of an answer is no text")
    return content or ""


def message_of(error: object) -> str:
    """A server's error in one line: its message, a page's title, or all of it; at most 300 characters."""
    if isinstance(error, Mapping):
        error = error.get("message") or error.get("detail") or error
    if is_page(error):
        title = re.search(r"<title[^>]*>(.*?)</title>", error, re.IGNORECASE | re.DOTALL)
        error = f"a web page, '{title[1].strip()}'" if title else "a web page"
    return " ".join(str(error or "").split())[:300] or "no message"


def is_page(answer: object) -> TypeGuard[str]:
    """Whether an answer is a web page: the address is wrong, or a login page stands before it."""
    return isinstance(answer, str) and re.match(r"\s*<(!doctype|html)", answer, re.IGNORECASE) is not None


def _sample(request: Request, choice: Any, tokens: int) -> Sample:
    message, reason = choice["message"], choice.get("finish_reason")
    if reason not in _FINISH:
        raise Passing(f"an answer ended with '{reason}'")
    text, finish = text_of(message), _FINISH[reason]
    if message.get("refusal"):
        text, finish = str(message["refusal"]), "refused"
    labels = _label_logprobs(request, choice) if request.labels else None
    return Sample(text, finish, output_tokens=tokens, label_logprobs=labels)


def _label_logprobs(request: Request, choice: Mapping[str, Any]) -> tuple[float, ...]:
    """Of each label as the first token; minus infinity for one that is not among the likeliest."""
    content = (choice.get("logprobs") or {}).get("content")
    if not content:
        raise Passing("the answer holds no log-probabilities")
    first = content[0]
    entries = [*(first.get("top_logprobs") or []), first]
    known = {str(entry["token"]): float(entry["logprob"]) for entry in entries}
    return tuple(known.get(label, -math.inf) for label in request.labels)


def _number(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
