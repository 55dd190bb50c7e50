"""Reading scores out of JSON answers: see `authbench.judging.parse` for what all parsers promise."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Any

from authbench.judging.cleaning import no_answer, plain, strip_fence, strip_thinking
from authbench.judging.jsontext import Pairs, last_object
from authbench.runtime.messages import Parsed

_CLEAN_SCORE = re.compile(r'\s*+\{\s*+"score"\s*+:\s*+(0|[1-9][0-9]{0,8})\s*+\}\s*+')
_BARE_SCORE = re.compile(
    r"[\s\"'*`]{0,8}(?:(?:the )?(?:authority )?score[\"'*`]{0,3}\s{0,3}(?::|=|is)[\s\"'*`]{0,4})?"
    r"([+-]?[0-9]{1,9})(?:\.0{1,9})?[\"'*`]{0,4}\.?[\s\"'*`]{0,8}",
    re.IGNORECASE,
)
_INTEGER = re.compile(r"\s{0,9}([+-]?[0-9]{1,9})(?:\.0{1,9})?\s{0,9}")
_IDENTIFIER = re.compile(r"\s{0,9}\[?\s{0,9}([0-9]{1,9})\s{0,9}\]?\s{0,9}")

#: Makes an identifier of a key that isn't written like one; None if the key can be none.
KeyReader = Callable[[str], str | None]


def parse_score(text: str, low: int, high: int, truncated: bool = False) -> Parsed:
    """Read `{"score": X}`; the value is an integer from `low` to `high`.

    A bare number as the whole answer (`7`, `Score: 7`) is `repaired`; `7.5`, `7/9` and `7 points` are
    not integer scores and `wrong_format`.
    """
    clean = _CLEAN_SCORE.fullmatch(text)
    if clean is not None:
        return _ranged([int(clean[1])], low, high, True, _first)
    answer = strip_thinking(text)
    found = last_object(answer)
    if found is not None:
        named = Pairs(pair for pair in found.pairs if _score_key(pair[0]))  # others explain the score
        exact = found.exact and len(named) == len(found.pairs)
        return _by_id(named, exact, ("score",), _score_key, low, high, _first) or no_answer(answer, truncated)
    bare = None if truncated else _BARE_SCORE.fullmatch(plain(strip_fence(answer)))
    if bare is None:
        return no_answer(answer, truncated)
    return _ranged([int(bare[1])], low, high, False, _first)


def parse_pair_scores(
    text: str, low: int, high: int, truncated: bool = False, *, noun: str = "domain"
) -> Parsed:
    """Read `{"A": X, "B": X}`; the value is the pair of integers, A's first.

    `noun` is what the prompt calls the two: a key `Domain A` is `repaired`.
    """
    return _parse_scores(text, ("A", "B"), partial(_letter_key, noun=noun), low, high, truncated, tuple)


def parse_list_scores(text: str, count: int, low: int, high: int, truncated: bool = False) -> Parsed:
    """Read `{"0": X, "1": X, ...}`; the value is a list of `count` integers in the order of the ids."""
    return _parse_scores(text, _ids(count), _number_key, low, high, truncated, list)


def parse_utility(text: str, count: int, low: int, high: int, truncated: bool = False) -> Parsed:
    """Read `{"answers": {...}, "scores": {...}}`.

    The value is `{"scores": list of count integers, "answers": list of count strings or None}`. The
    scores decide; pseudo-answers that are missing or not text make the answer `repaired`, with None.
    """
    answer = strip_thinking(text)
    found = last_object(answer)
    if found is None:
        return no_answer(answer, truncated)
    parts: dict[str, Any] = {}
    for key, value in found.pairs:
        name = key.strip().lower()
        if name in parts:
            return Parsed("duplicate_ids")
        parts[name] = value
    scores = parts.get("scores")
    pairs = scores if isinstance(scores, Pairs) else Pairs()
    parsed = _by_id(pairs, found.exact, _ids(count), _number_key, low, high, list)
    if parsed is None or not parsed.valid:
        return parsed or no_answer(answer, truncated)
    answers = _pseudo_answers(parts.get("answers"), count)
    exact = parsed.status == "ok" and answers is not None and len(parts) == 2
    return Parsed("ok" if exact else "repaired", {"scores": parsed.value, "answers": answers})


def _parse_scores(
    text: str,
    ids: tuple[str, ...],
    key_of: KeyReader,
    low: int,
    high: int,
    truncated: bool,
    shape: Callable[[list[int]], Any],
) -> Parsed:
    answer = strip_thinking(text)
    found = last_object(answer)
    parsed = _by_id(found.pairs, found.exact, ids, key_of, low, high, shape) if found else None
    return parsed or no_answer(answer, truncated)


def _by_id(
    pairs: Pairs,
    exact: bool,
    ids: tuple[str, ...],
    key_of: KeyReader,
    low: int,
    high: int,
    shape: Callable[[list[int]], Any],
) -> Parsed | None:
    """The integers in the order of the ids, or what is wrong with the ids or the range.

    None if there is no identifier at all, or if a value is no integer: that is no answer.
    """
    if not pairs:
        return None
    members = dict(pairs)
    if len(members) < len(pairs) or members.keys() != set(ids):
        sorted_out = _sort_out(pairs, ids, key_of)
        if not isinstance(sorted_out, dict):
            return sorted_out
        exact = exact and sorted_out.keys() == members.keys()
        members = sorted_out
    values = [members[name] for name in ids]
    scores = [value if type(value) is int else _integer(value) for value in values]
    whole = [score for score in scores if score is not None]
    if len(whole) < len(scores):
        return None
    return _ranged(whole, low, high, exact and all(type(value) is int for value in values), shape)


def _sort_out(pairs: Pairs, ids: tuple[str, ...], key_of: KeyReader) -> dict[str, Any] | Parsed | None:
    """The values of all ids, or the first thing wrong: one stands there twice, is unknown, or missing."""
    seen: dict[str, Any] = {}
    extra = False
    for key, value in pairs:
        name = key if key in ids else key_of(key)
        if name in seen:
            return Parsed("duplicate_ids")
        if name in ids:
            seen[name] = value
        elif name is not None or not isinstance(value, str) or _integer(value) is not None:
            extra = True  # else it is an explanation beside the scores
    if not seen:
        return None
    if extra:
        return Parsed("extra_ids")
    return seen if len(seen) == len(ids) else Parsed("missing_ids")


def _ranged(scores: list[int], low: int, high: int, exact: bool, shape: Callable[[list[int]], Any]) -> Parsed:
    if min(scores) < low or max(scores) > high:
        return Parsed("out_of_range")
    return Parsed("ok" if exact else "repaired", shape(scores))


def _integer(value: Any) -> int | None:
    """The integer that a JSON value is: `7`, `7.0` or `"7"`, but neither `7.5` nor `true`."""
    if type(value) is int:
        return value
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    if isinstance(value, str):
        written = _INTEGER.fullmatch(plain(value))
        return int(written[1]) if written is not None else None
    return None


def _first(scores: list[int]) -> int:
    return scores[0]


def _score_key(key: str) -> str | None:
    return "score" if plain(key).strip().lower() == "score" else None


def _letter_key(key: str, noun: str) -> str | None:
    """A letter, alone or after the noun, is an identifier; C is one too, and one too many."""
    letter = plain(key).strip().upper().removeprefix(f"{noun.upper()} ").strip()
    return letter if len(letter) == 1 and "A" <= letter <= "Z" else None


def _number_key(key: str) -> str | None:
    written = _IDENTIFIER.fullmatch(plain(key))
    return str(int(written[1])) if written is not None else None


@lru_cache(maxsize=256)
def _ids(count: int) -> tuple[str, ...]:
    return tuple(str(k) for k in range(count))


def _pseudo_answers(value: Any, count: int) -> list[str] | None:
    if not isinstance(value, Pairs):
        return None
    texts: Mapping[str | None, Any] = {_number_key(key): text for key, text in value}
    found = [texts.get(name) for name in _ids(count)]
    whole = [text for text in found if isinstance(text, str)]
    return whole if len(whole) == len(value) == count else None
