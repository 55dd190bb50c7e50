"""Reading one-word answers, A or B, yes or no: see `authbench.judging.parse` for what parsers promise."""

from __future__ import annotations

import re
from functools import lru_cache

from authbench.judging.cleaning import no_answer, plain, strip_fence, strip_thinking
from authbench.runtime.messages import Parsed

_LETTERS = ("A", "B")
_EXACT = {word: Parsed("ok", word) for word in (*_LETTERS, "yes", "no")}
_MARK = r"[\s*_\"'`()\[\]]"
_INTRODUCTION = r"(?:(?:the |my |your )?(?:final |correct )?(?:answer|choice)[*_]{0,2}\s?(?:is|:)\s?:?)?"


def parse_preference(text: str, truncated: bool = False, *, noun: str = "domain") -> Parsed:
    """Read `A` or `B`; the value is that letter.

    `noun` is what the prompt calls the two (`Domain A`). See docs/parsing.md for what else is read;
    a sentence such as "Domain A is more authoritative" is `wrong_format`.
    """
    return _parse_word(text, _LETTERS, noun, truncated)


def parse_yes_no(text: str, truncated: bool = False) -> Parsed:
    """Read `yes` or `no`, in any letter case; the value is in lower case."""
    return _parse_word(text, ("yes", "no"), None, truncated)


def _parse_word(text: str, words: tuple[str, str], noun: str | None, truncated: bool) -> Parsed:
    known = _EXACT.get(text)
    if known is not None and known.value in words:
        return known
    answer = strip_thinking(text)
    asked, wrapped = _patterns(words, noun)
    shown = plain(strip_fence(answer))
    whole = asked.fullmatch(shown)
    if whole is not None:
        return Parsed("ok", _spelled(whole[1], words))
    said = _lone_word(shown, wrapped, words, truncated)
    return no_answer(answer, truncated) if said is None else Parsed("repaired", said)


@lru_cache(maxsize=64)
def _patterns(words: tuple[str, str], noun: str | None) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """The word as asked for (quotes and a full stop allowed), and the word with wrappings."""
    word = f"({'|'.join(words)})"
    name = f"(?:(?:the )?{re.escape(noun)} )?" if noun else ""
    asked = rf"\s*+[\"'`]?{word}[\"'`]?\.?\s*+"
    wrapped = rf"{_MARK}*+{_INTRODUCTION}{_MARK}*+{name}{_MARK}*+{word}(?:{_MARK}|[.!,;])*+"
    return re.compile(asked, re.IGNORECASE), re.compile(wrapped, re.IGNORECASE)


def _lone_word(text: str, wrapped: re.Pattern[str], words: tuple[str, str], truncated: bool) -> str | None:
    """The word of the first or last line that is the answer and nothing else, if no line says otherwise.

    The last line of a truncated answer may be the beginning of a sentence ("A ...") and does not count.
    """
    lines = [line for line in text.splitlines() if line.strip()]
    values = [_line_word(line, wrapped, words) for line in lines]
    ends = values[:1] + ([] if truncated else values[-1:])
    said = {value for value in values if value is not None}
    return said.pop() if len(said) == 1 and not said.isdisjoint(ends) else None


def _line_word(line: str, wrapped: re.Pattern[str], words: tuple[str, str]) -> str | None:
    found = wrapped.fullmatch(line)
    if found is not None:
        return _spelled(found[1], words)
    if words == _LETTERS and ">" in line:  # "A > B": the order of the pair
        order = [part.strip() for part in line.split(">", 2)]
        if sorted(order) == ["A", "B"]:
            return order[0]
    return None


def _spelled(word: str, words: tuple[str, str]) -> str:
    return word.upper() if words == _LETTERS else word.lower()
