"""What the server of `fault_server` answers: plainly, and oddly on demand."""

from __future__ import annotations

import hashlib
import json
from importlib import import_module
from typing import Any


def answer_with(content: Any, **more: Any) -> dict[str, Any]:
    """The body of an answer with one choice."""
    message = {"role": "assistant", "content": content, **more}
    return {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}


PAGE = b"<!DOCTYPE html><html><head><title>Sign in</title></head><body>Please</body></html>"

#: Bodies that come with status 200, by their fault.
BODIES: dict[str, Any] = {
    "empty": {"choices": [], "usage": {}},
    "list": [1, 2],
    "odd": {"choices": [{"message": ["hello"], "finish_reason": "stop"}]},
    "error": {"error": {"message": "the model behind is out", "code": "upstream"}},
    "error400": {"error": {"message": "too long", "code": 400}},
    "error503": {"error": {"message": "busy", "code": 503}},
    "parts": answer_with(
        [{"type": "thinking", "thinking": "?"}, {"type": "text", "text": "a"}, {"type": "text", "text": "b"}]
    ),
    "thinks": answer_with(None, reasoning_content="Let me see."),
}

WORDS = ("once", "upon", "time", "mill", "sea", "bread", "stone", "winter", "river", "king", "and", "met")


def choice(body: dict[str, Any], prompt: str, index: int, length: int) -> dict[str, Any]:
    """An answer that follows from the prompt, and from the sample where the temperature is above 0."""
    salt = f"{body.get('seed', 0) + index}" if body.get("temperature", 1) > 0 else ""
    numbers = hashlib.sha256((prompt + salt).encode()).digest()
    constrained = constrained_text(body, numbers)
    if constrained is not None:
        text, tokens, reason = constrained, len(constrained.split()), "stop"
    else:
        words = [WORDS[numbers[k % 32] % len(WORDS)] for k in range(min(length, 40))]
        text, tokens, reason = " ".join(words), len(words), "length" if length < 40 else "stop"
        for stop in body.get("stop", []):
            if stop in text:
                text, reason = text[: text.index(stop)], "stop"
    made: dict[str, Any] = {
        "index": index, "message": {"role": "assistant", "content": text}, "finish_reason": reason,
        "tokens": tokens,
    }  # fmt: skip
    if body.get("logprobs"):
        top = [
            {"token": token, "logprob": value} for token, value in (("A", -0.5), ("B", -1.5), ("No", -2.5))
        ]
        made["logprobs"] = {"content": [{**top[0], "top_logprobs": top[: body["top_logprobs"]]}]}
    return made


def constrained_text(body: dict[str, Any], numbers: bytes) -> str | None:
    if "response_format" in body:
        schema = body["response_format"]["json_schema"]["schema"]
        return json.dumps(dict.fromkeys(schema["required"], numbers[0] % 10))
    structured = body.get("structured_outputs", {})
    if "choice" in structured:
        return str(structured["choice"][numbers[0] % len(structured["choice"])])
    if "regex" in structured:
        return str(from_regex(structured["regex"]))
    return None


def from_regex(pattern: str) -> str:
    """A text that a pattern matches in full: the first of alternatives, the least of repeats."""

    def text(nodes: Any) -> str:
        return "".join(one(str(kind), value) for kind, value in nodes)

    def one(kind: str, value: Any) -> str:
        if kind == "LITERAL":
            return chr(value)
        if kind == "MAX_REPEAT":
            return text(value[2]) * int(value[0])
        if kind == "SUBPATTERN":
            return text(value[3])
        if kind == "BRANCH":
            return text(value[1][0])
        if kind == "IN":
            return one(str(value[0][0]), value[0][1])
        if kind == "RANGE":
            return chr(value[0])
        raise ValueError(f"{kind} in {pattern}")

    return text(import_module("re._parser").parse(pattern))
