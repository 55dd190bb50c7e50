"""Answers of every kind and how they are read; the table of them is `parse_cases`."""

from __future__ import annotations

import pytest
from parse_cases import PARSERS, Case

from authbench.judging.cleaning import strip_thinking
from authbench.judging.parse import (
    parse_list_scores,
    parse_pair_scores,
    parse_preference,
    parse_ranking,
    parse_score,
    read,
)
from authbench.runtime.messages import VALID, FinishReason, Parsed, Response, Sample

TABLE = [(name, case) for name, (_, cases) in PARSERS.items() for case in cases]


@pytest.mark.parametrize(("name", "case"), TABLE, ids=[f"{n}: {c[0][:40]!r}" for n, c in TABLE])
def test_table(name: str, case: Case) -> None:
    text, status, value = case[:3]
    assert PARSERS[name][0](text, len(case) > 3) == Parsed(status, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", PARSERS)
def test_every_reading_has_a_value_exactly_if_it_is_valid(name: str) -> None:
    parser, cases = PARSERS[name]
    for case in cases:
        parsed = parser(case[0], len(case) > 3)
        assert (parsed.value is not None) == (parsed.status in VALID)


def test_the_noun_of_the_prompt_is_understood_and_no_other() -> None:
    assert parse_preference("Basketball player B", noun="basketball player") == Parsed("repaired", "B")
    assert parse_preference("Domain B", noun="movie") == Parsed("wrong_format")
    assert parse_pair_scores('{"Movie A": 1, "Movie B": 2}', 0, 9, noun="movie") == Parsed("repaired", (1, 2))
    assert parse_pair_scores('{"Song A": 1, "Song B": 2}', 0, 9, noun="movie") == Parsed("wrong_format")
    assert parse_preference("a+ B", noun="a+") == Parsed("repaired", "B")


def test_the_range_is_the_one_given() -> None:
    assert parse_score('{"score": 4}', 0, 4) == Parsed("ok", 4)
    assert parse_score('{"score": 5}', 0, 4) == Parsed("out_of_range")
    assert parse_score('{"score": 0}', 1, 4) == Parsed("out_of_range")


def test_ids_of_two_digits() -> None:
    text = "{" + ", ".join(f'"{k}": {k % 10}' for k in range(12)) + "}"
    assert parse_list_scores(text, 12, 0, 9) == Parsed("ok", [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0, 1])
    ranking = " > ".join(f"[{k}]" for k in range(11, -1, -1))
    assert parse_ranking(ranking, 12) == Parsed("ok", list(range(11, -1, -1)))


@pytest.mark.parametrize(
    ("text", "rest"),
    [
        ("a<think>b</think>c", "ac"),
        ("<THINK>b</Think>c", "c"),
        ("<thinking>b</thinking>c", "c"),
        ("a<think>b<think>c</think>d</think>e", "ae"),
        ("a</think>b", "b"),
        ("a<think>b", "a"),
        ("a</think>b<think>c</think>d", "bd"),
        ("1 < 2", "1 < 2"),
    ],
)
def test_thinking_blocks_are_taken_out(text: str, rest: str) -> None:
    assert strip_thinking(text) == rest


def response(text: str, reason: FinishReason) -> Response:
    return Response((Sample(text, reason),))


def test_read_takes_the_finish_reason_into_account() -> None:
    assert read(response('{"score": 7}', "stop"), parse_score, 0, 9) == Parsed("ok", 7)
    assert read(response('{"score":', "length"), parse_score, 0, 9) == Parsed("truncated")
    assert read(response('{"score": 7}', "refused"), parse_score, 0, 9) == Parsed("refused")
    assert read(response("Movie A", "stop"), parse_preference, noun="movie") == Parsed("repaired", "A")
