"""Properties of the parsers that hold for every text: none raises, none guesses, none takes long."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from parse_cases import PARSERS

from authbench.judging.cleaning import strip_thinking
from authbench.judging.parse import (
    parse_list_scores,
    parse_pair_scores,
    parse_preference,
    parse_ranking,
    parse_score,
    parse_utility,
    parse_yes_no,
)
from authbench.runtime.messages import Parsed

# Texts made of the pieces that parsers look for, with arbitrary text between them.
PIECES = st.sampled_from(
    [
        *"{}[]<>:,.;\"'`*\\/-=_ \n\t0123456789AB",
        *[
            "score",
            '"score"',
            '{"score": 7}',
            '"A"',
            '{"A": 1, "B": 2}',
            '{"0": 1, "1": 2, "2": 3}',
            "answers",
        ],
        *[
            "[1]",
            "[0] > [1]",
            "[3] > [2] > [1] > [0]",
            " > ",
            "&gt;",
            "1 > 0",
            "yes",
            "no",
            "Answer:",
            "Domain A",
        ],
        *["<think>", "</think>", "```json\n", "```", "I cannot", "1e999", "NaN", "-", "7.5", "9" * 5000],
        *["｛", "｝", "“", "”", "：", "，", "＞", "【1】", "７", "\u3000", "\x00", "\ud800", "İ", "٣", "²"],
    ]
)
TEXTS = st.one_of(
    st.text(max_size=80),
    st.lists(PIECES, max_size=25).map("".join),
    st.lists(st.one_of(PIECES, st.text(max_size=5)), max_size=25).map("".join),
)


@settings(max_examples=800, deadline=None)
@given(text=TEXTS, cut=st.booleans(), count=st.integers(0, 5), low=st.integers(0, 2), span=st.integers(1, 9))
def test_no_text_makes_a_parser_raise_and_values_are_in_range(
    text: str, cut: bool, count: int, low: int, span: int
) -> None:
    high = low + span

    def in_range(scores: Any, number: int) -> bool:
        return len(scores) == number and all(type(s) is int and low <= s <= high for s in scores)

    checks: list[tuple[Parsed, Callable[[Any], bool]]] = [
        (parse_score(text, low, high, cut), lambda v: in_range([v], 1)),
        (parse_pair_scores(text, low, high, cut), lambda v: isinstance(v, tuple) and in_range(v, 2)),
        (parse_list_scores(text, count, low, high, cut), lambda v: in_range(v, count)),
        (parse_ranking(text, count, cut), lambda v: sorted(v) == list(range(count))),
        (parse_utility(text, count, low, high, cut), lambda v: in_range(v["scores"], count)),
        (parse_preference(text, cut), lambda v: v in ("A", "B")),
        (parse_yes_no(text, cut), lambda v: v in ("yes", "no")),
    ]
    for parsed, holds in checks:
        assert holds(parsed.value) if parsed.valid else parsed.value is None
        if parsed.status == "truncated":
            assert cut
        if parsed.status == "empty":
            assert not strip_thinking(text).strip()


@settings(max_examples=300, deadline=None)
@given(scores=st.lists(st.integers(0, 9), min_size=1, max_size=12), before=st.text(max_size=30))
def test_what_is_written_as_asked_is_read_back(scores: list[int], before: str) -> None:
    written = "{" + ", ".join(f'"{k}": {s}' for k, s in enumerate(scores)) + "}"
    assert parse_list_scores(written, len(scores), 0, 9) == Parsed("ok", scores)
    if not set(before) & set('{}<"`｛｝“”「」『』„‟〝〞＂＜\\'):
        read_back = parse_list_scores(f"{before}\n{written}", len(scores), 0, 9)
        assert read_back.value == scores


@settings(max_examples=300, deadline=None)
@given(ids=st.integers(1, 12).flatmap(lambda n: st.permutations(range(n))))
def test_rankings_as_asked_are_read_back(ids: list[int]) -> None:
    assert parse_ranking(" > ".join(f"[{k}]" for k in ids), len(ids)) == Parsed("ok", ids)


# A parser that backtracks takes hours on one of these; the test's time limit is then what fails.
UNITS = ["{", "}", '{"a":', '"', "'", "\\", "[", "[1]", "[1] > ", ">", "> 1 ", "1", " ", "\n", "A\n", "A "]
UNITS += ["<think>", "</think>", "```\n", '{"score": 7} ', "{score 7} ", "answer: ", "*", "【", "{'a': 'b', "]


@pytest.mark.parametrize("unit", UNITS)
def test_a_million_characters_are_read_in_linear_time(unit: str) -> None:
    text = unit * (1_000_000 // len(unit))
    for parser, _ in PARSERS.values():
        parsed = parser(text, False)
        assert parsed.status != "ok"


def test_an_answer_after_a_million_characters_is_found() -> None:
    assert parse_score("x " * 500_000 + '{"score": 7}', 0, 9) == Parsed("repaired", 7)
    assert parse_ranking("x " * 500_000 + "[1] > [0]", 2) == Parsed("repaired", [1, 0])
