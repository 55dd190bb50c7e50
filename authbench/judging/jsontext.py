"""The last JSON object in a text, read strictly if it can be, tolerantly if it must be.

Objects come as `Pairs`, so that a key that stands there twice is seen. Never raises; linear in the
length of the text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from authbench.judging.cleaning import plain, strip_fence


class Pairs(list[tuple[str, Any]]):
    """The members of a JSON object in the order in which they stand there."""


@dataclass(frozen=True, slots=True)
class FoundObject:
    """A JSON object found in a text. `exact`: valid JSON, and nothing around it but a code fence."""

    pairs: Pairs
    exact: bool


_MARK = re.compile(r"\\.|[{}\"]", re.DOTALL)
_FLAT = re.compile(r"\{[^{}]*+\}")
_DECODER = json.JSONDecoder(object_pairs_hook=Pairs, strict=False)
_MAX_DEPTH = 4
_TRIED = 100  # braces that hold no object are passed over, from the end, this often
_TOKEN = re.compile(
    r"\s++|(?P<string>\"(?:[^\"\\]|\\.)*+\"|'(?:[^'\\]|\\.)*+')"
    r"|(?P<punctuation>[{}:,])|(?P<word>[^\s{}\[\]:,\"'\\]++)",
    re.DOTALL,
)


def last_object(text: str) -> FoundObject | None:
    """The last JSON object of a text, or None.

    Objects inside others do not count. Single quotes, unquoted keys, trailing commas, full-width
    characters and Chinese punctuation are understood; `exact` is False then, as it is when other text
    stands around the object.
    """
    answer = strip_fence(text)
    if answer.startswith("{"):
        pairs = _strict(answer)
        if pairs is not None:
            return FoundObject(pairs, True)
    # Try the text as it is first: changing quotes may break a string that was right.
    for candidate in dict.fromkeys((answer, plain(answer))):
        if "{" in candidate:
            for spans in (_nested_spans(candidate), _flat_spans(candidate)):
                for start, end in reversed(spans[-_TRIED:]):
                    found = candidate[start:end]
                    pairs = _strict(found) or _tolerant(plain(found))
                    if pairs is not None:
                        return FoundObject(pairs, False)
    return None


def _strict(text: str) -> Pairs | None:
    try:
        value = _DECODER.decode(text)
    except (ValueError, RecursionError):  # ValueError: no JSON, or an integer of thousands of digits
        return None
    return value if isinstance(value, Pairs) else None


def _nested_spans(text: str) -> list[tuple[int, int]]:
    """Outermost balanced braces, those in double-quoted strings not counted."""
    spans: list[tuple[int, int]] = []
    stack: list[int] = []
    in_string = False
    for mark in _MARK.finditer(text):
        what = mark[0]
        if in_string:
            in_string = what != '"'
        elif what == "{":
            stack.append(mark.start())
        elif what == '"':
            in_string = bool(stack)
        elif what == "}" and stack:
            start = stack.pop()
            while spans and spans[-1][0] > start:
                spans.pop()
            spans.append((start, mark.end()))
    return spans


def _flat_spans(text: str) -> list[tuple[int, int]]:
    return [found.span() for found in _FLAT.finditer(text)]


def _tolerant(text: str) -> Pairs | None:
    """An object of strings, words and objects; all scalars come as text. None if it is not one."""
    tokens = _tokens(text)
    if tokens is None:
        return None
    # Keys and values of the open objects, the innermost last. A frame's key is None where one may come.
    frames: list[tuple[Pairs, list[str]]] = []
    expect = "value"
    for kind, token in tokens:
        if token == "{" and kind == "mark" and expect == "value" and len(frames) < _MAX_DEPTH:
            frames.append((Pairs(), []))
            expect = "key"
        elif token == "}" and kind == "mark" and expect in ("key", "comma"):
            pairs, _ = frames.pop()
            if not frames:
                return pairs
            frames[-1][0].append((frames[-1][1].pop(), pairs))
            expect = "comma"
        elif token == ":" and kind == "mark" and expect == "colon":
            expect = "value"
        elif token == "," and kind == "mark" and expect == "comma":
            expect = "key"
        elif kind == "text" and expect == "key":
            frames[-1][1].append(token)
            expect = "colon"
        elif kind == "text" and expect == "value" and frames:
            frames[-1][0].append((frames[-1][1].pop(), token))
            expect = "comma"
        else:
            return None
    return None


def _tokens(text: str) -> Sequence[tuple[str, str]] | None:
    tokens: list[tuple[str, str]] = []
    end = 0
    for found in _TOKEN.finditer(text):
        if found.start() != end:
            return None
        end = found.end()
        if found["string"] is not None:
            tokens.append(("text", found["string"][1:-1]))
        elif found["word"] is not None:
            tokens.append(("text", found["word"]))
        elif found["punctuation"] is not None:
            tokens.append(("mark", found["punctuation"]))
    return tokens if end == len(text) else None
