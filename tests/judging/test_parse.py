"""A table of answers with the wanted reading, and properties that hold for every text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authbench.judging.cleaning import strip_thinking
from authbench.judging.parse import (
    parse_list_scores,
    parse_pair_scores,
    parse_preference,
    parse_ranking,
    parse_score,
    parse_utility,
    parse_yes_no,
    read,
)
from authbench.runtime.messages import VALID, FinishReason, Parsed, Response, Sample

CUT = True  # the answer ran into max_tokens

# answer, status, value[, CUT]; scores from 0 to 9
Case = tuple[str, str, Any] | tuple[str, str, Any, bool]

SCORES: list[Case] = [
    ('{"score": 7}', "ok", 7),
    ('{"score":0}', "ok", 0),
    (' \n{ "score" : 9 }\n', "ok", 9),
    ('```json\n{"score": 7}\n```', "ok", 7),
    ('```\n{"score": 7}```', "ok", 7),
    ('<think>\n\n</think>\n\n{"score": 7}', "ok", 7),
    ('<think>First {"score": 1}, no, {"score": 2}.</think>{"score": 7}', "ok", 7),
    ('thought {"score": 1}</think>{"score": 7}', "ok", 7),  # the template had opened the block
    ('{"score": 7}<think>is {"score": 3} better', "ok", 7),
    ('<think>It may be {"score": 3}', "truncated", None, CUT),
    ('<think>It may be {"score": 3}', "empty", None),
    ('Here is my rating: {"score": 7}', "repaired", 7),
    ('Sure!\n```json\n{"score": 7}\n```\nIt is a well-known site {of old}.', "repaired", 7),
    ('{"score": 3} On reflection: {"score": 7}', "repaired", 7),
    ('{"score": 7}\n\nYour answer: {"score": 7}\n\nYour answer: {"sc', "repaired", 7, CUT),
    ("{'score': 7}", "repaired", 7),
    ('{"score": 7,}', "repaired", 7),
    ("{score: 7}", "repaired", 7),
    ('{"Score": 7}', "repaired", 7),
    ('{"score": "7"}', "repaired", 7),
    ('{"score": 7.0}', "repaired", 7),
    ('{"score": 7, "reason": "official {site}"}', "repaired", 7),
    ('{"score": 7, "confidence": 9}', "repaired", 7),
    ('{{"score": 7}}', "repaired", 7),
    ('{"score": ７}', "repaired", 7),
    ("｛“score”：７｝", "repaired", 7),
    ("{「score」：7，}", "repaired", 7),
    ('use { as in JSON. {"score": 7}', "repaired", 7),
    ("7", "repaired", 7),
    ("**7**", "repaired", 7),
    ("Score: 7.", "repaired", 7),
    ('"score": 7', "repaired", 7),
    ("7", "truncated", None, CUT),  # might go on: 7.5
    ('{"score": 10}', "out_of_range", None),
    ('{"score": -1}', "out_of_range", None),
    ('{"score": 1e300}', "out_of_range", None),
    ("10", "out_of_range", None),
    ('{"score": 7.5}', "wrong_format", None),
    ('{"score": "7/9"}', "wrong_format", None),
    ('{"score": "seven"}', "wrong_format", None),
    ('{"score": X}', "wrong_format", None),
    ('{"score": true}', "wrong_format", None),
    ('{"score": null}', "wrong_format", None),
    ('{"score": NaN}', "wrong_format", None),
    ('{"score": 1e999}', "wrong_format", None),
    ('{"score": [7]}', "wrong_format", None),
    ('{"authority": 7}', "wrong_format", None),
    ('{"score": 7} {"note": "the last object counts"}', "wrong_format", None),
    ("{}", "wrong_format", None),
    ("[7]", "wrong_format", None),
    ("I would give it 7 points.", "wrong_format", None),
    ("7 points", "wrong_format", None),
    ("7/9", "wrong_format", None),
    ("Your answer:", "wrong_format", None),
    ('{"score": 7, "score": 3}', "duplicate_ids", None),
    ('{"score": 7, "Score": 7}', "duplicate_ids", None),
    ('{"score":', "truncated", None, CUT),
    ("This domain is the official site of", "truncated", None, CUT),
    ('{"score":', "wrong_format", None),
    ("", "empty", None),
    (" \n\t", "empty", None),
    ("I'm sorry, but I can't rate this domain.", "refused", None),
    ("As an AI, I cannot", "refused", None, CUT),
    ("I’m unable to judge {this}", "refused", None),
    ("抱歉，我无法评分。", "refused", None),
    ('I cannot be certain, but {"score": 7}', "repaired", 7),
    ('{"score": ' + "9" * 5000 + "}", "wrong_format", None),  # more digits than Python converts
    ('{"score": ' * 2000, "wrong_format", None),
    ("[" * 100_000, "wrong_format", None),
]

PAIRS: list[Case] = [
    ('{"A": 7, "B": 4}', "ok", (7, 4)),
    ('{"B": 4, "A": 7}', "ok", (7, 4)),
    ('```json\n{"A": 7, "B": 4}\n```', "ok", (7, 4)),
    ('{"a": 7, "b": 4}', "repaired", (7, 4)),
    ('{"Domain A": 7, "Domain B": 4}', "repaired", (7, 4)),
    ("{'A': '7', 'B': 4.0,}", "repaired", (7, 4)),
    ('{"A": 7, "B": 4, "explanation": "A is better"}', "repaired", (7, 4)),
    ("｛“A”：7，“B”：4｝", "repaired", (7, 4)),
    ('{"A": 7}', "missing_ids", None),
    ('{"A": 7, "B": 4, "C": 1}', "extra_ids", None),
    ('{"A": 7, "B": 4, "total": 11}', "extra_ids", None),
    ('{"A": 7, "B": 4, "A": 7}', "duplicate_ids", None),
    ('{"A": 7, "a": 7, "B": 4}', "duplicate_ids", None),
    ('{"A": 7, "B": 12}', "out_of_range", None),
    ('{"A": 7, "B": 4.5}', "wrong_format", None),
    ('{"A": X, "B": X}', "wrong_format", None),
    ('{"scores": {"A": 7, "B": 4}}', "wrong_format", None),
    ("A: 7, B: 4", "wrong_format", None),
    ('{"A": 7, "B":', "truncated", None, CUT),
    ('{"A": 7, "B": 4}, {"A": 7', "repaired", (7, 4), CUT),
]

# Three items.
LISTS: list[Case] = [
    ('{"0": 7, "1": 4, "2": 9}', "ok", [7, 4, 9]),
    ('{"2": 9, "0": 7, "1": 4}', "ok", [7, 4, 9]),
    ('{\n  "0": 7,\n  "1": 4,\n  "2": 9\n}', "ok", [7, 4, 9]),
    ("{0: 7, 1: 4, 2: 9}", "repaired", [7, 4, 9]),
    ('{"[0]": 7, "[1]": 4, "[2]": 9}', "repaired", [7, 4, 9]),
    ("{'0': 7, '1': 4, '2': 9}", "repaired", [7, 4, 9]),
    ('{"0"：7，"1"：4，"2"：9}', "repaired", [7, 4, 9]),
    ('{"0": 7, "1": "4", "2": 9.0,}', "repaired", [7, 4, 9]),
    ('Scores {"0": 1, "1": 1, "2": 1}, better {"0": 7, "1": 4, "2": 9}', "repaired", [7, 4, 9]),
    ('{"0": 7, "1": 4}', "missing_ids", None),
    ('{"1": 7, "2": 4, "3": 9}', "extra_ids", None),  # counted from 1
    ('{"0": 7, "1": 4, "2": 9, "3": 1}', "extra_ids", None),
    ('{"0": 7, "1": 4, "1": 4, "2": 9}', "duplicate_ids", None),
    ('{"0": 7, "[0]": 7, "1": 4, "2": 9}', "duplicate_ids", None),
    ('{"0": 7, "1": 40, "2": 9}', "out_of_range", None),
    ('{"0": 7, "1": null, "2": 9}', "wrong_format", None),
    ('{"0": 7, "1": 4, …, "2": 9}', "wrong_format", None),
    ('{"a.org": 7, "b.org": 4, "c.org": 9}', "wrong_format", None),
    ("[7, 4, 9]", "wrong_format", None),
    ("0: 7, 1: 4, 2: 9", "wrong_format", None),
    ('{"0": 7, "1": 4, "2"', "truncated", None, CUT),
]

# Four items.
RANKINGS: list[Case] = [
    ("[3] > [0] > [1] > [2]", "ok", [3, 0, 1, 2]),
    ("[3]>[0]>[1]>[2].\n", "ok", [3, 0, 1, 2]),
    ("```\n[3] > [0] > [1] > [2]\n```", "ok", [3, 0, 1, 2]),
    ("<think>[0] > [1]</think>[3] > [0] > [1] > [2]", "ok", [3, 0, 1, 2]),
    ("3 > 0 > 1 > 2", "repaired", [3, 0, 1, 2]),
    ("【3】＞【0】＞【1】＞【2】", "repaired", [3, 0, 1, 2]),
    ("３ > ０ > １ > ２", "repaired", [3, 0, 1, 2]),
    ("[3] &gt; [0] &gt; [1] &gt; [2]", "repaired", [3, 0, 1, 2]),
    ("[3] -> [0] → [1] >> [2]", "repaired", [3, 0, 1, 2]),
    ("[3] >\n[0] >\n[1] >\n[2]", "ok", [3, 0, 1, 2]),
    ("[3]\n> [0]\n> [1]\n> [2]", "ok", [3, 0, 1, 2]),
    ("[3] a.org > [0] b.org > [1]: c.org > [2] d.org", "repaired", [3, 0, 1, 2]),
    ("The ranking is: [3] > [0] > [1] > [2]. I hope this helps.", "repaired", [3, 0, 1, 2]),
    ("**[3] > [0] > [1] > [2]**", "repaired", [3, 0, 1, 2]),
    ("Of the 4 domains, [3] has 12 pages, so: 3 > 0 > 1 > 2.", "repaired", [3, 0, 1, 2]),
    ("[0] > [1] > [2] > [3]\nNo: [3] > [0] > [1] > [2]", "repaired", [3, 0, 1, 2]),
    ("[3] > [0] > [1] > [2], where [3] > [0] is plain.", "repaired", [3, 0, 1, 2]),
    ("[3], [0], [1], [2]", "repaired", [3, 0, 1, 2]),
    ("1. [3]\n2. [0]\n3. [1]\n4. [2]", "repaired", [3, 0, 1, 2]),
    ("[3] > [0] > [1] > [2] > [", "repaired", [3, 0, 1, 2], CUT),
    ("[3] > [3] > [1]", "duplicate_ids", None),
    ("[3] > [3] > [3] > [3] > [3]", "duplicate_ids", None, CUT),
    ("[4] > [3] > [2] > [1]", "extra_ids", None),  # counted from 1
    ("[3] > [0] > [1]", "missing_ids", None),
    ("[3] > [0] > [1] = [2]", "missing_ids", None),
    ("[3] > [0] > [", "truncated", None, CUT),
    ("[3] < [0] < [1] < [2]", "wrong_format", None),
    ("[3, 0, 1, 2]", "wrong_format", None),  # may be scores
    ("3, 0, 1, 2", "wrong_format", None),
    ("3012", "wrong_format", None),
    ("Domain 3 is best, then 0, 1 and 2.", "wrong_format", None),
    ("[3] is the best, [0] is next, [1] is fine, [2] is last", "wrong_format", None),
    ("It has > 100 links and [3] is good", "wrong_format", None),
    ("a.org > b.org > c.org > d.org", "wrong_format", None),
    ("I cannot rank these domains.", "refused", None),
    ("", "empty", None),
    ("[99999999999999999999] > [0]", "wrong_format", None),
]

PREFERENCES: list[Case] = [
    ("A", "ok", "A"),
    ("B", "ok", "B"),
    (" A\n", "ok", "A"),
    ("‘A’", "ok", "A"),
    ('"B".', "ok", "B"),
    ("a", "ok", "A"),
    ("<think>B?</think>A", "ok", "A"),
    ("```\nB\n```", "ok", "B"),
    ("**A**", "repaired", "A"),
    ("[B]", "repaired", "B"),
    ("Answer: A", "repaired", "A"),
    ("**Answer:** B", "repaired", "B"),
    ("The answer is A.", "repaired", "A"),
    ("Domain A", "repaired", "A"),
    ("Answer: Domain B.", "repaired", "B"),
    ("B > A", "repaired", "B"),
    ("答案：Ａ", "wrong_format", None),
    ("Ａ", "ok", "A"),
    ("A\n\nDomain A is an official site.", "repaired", "A"),
    ("Both are good, one is older.\n\nAnswer: B", "repaired", "B"),
    ("A\nB", "wrong_format", None),
    ("A\nWait.\nB", "wrong_format", None),
    ("First line.\nA\nLast line.", "wrong_format", None),
    ("Domain A is more authoritative", "wrong_format", None),
    ("A is more authoritative than B", "wrong_format", None),
    ("A or B", "wrong_format", None),
    ("A, B", "wrong_format", None),
    ("C", "wrong_format", None),
    ("AB", "wrong_format", None),
    ('{"answer": "A"}', "wrong_format", None),
    ("Domain A is more authoritative because of", "truncated", None, CUT),
    ("Let me compare the two.\nA", "truncated", None, CUT),  # may begin a sentence
    ("A\n\nDomain A is", "repaired", "A", CUT),
    ("I can't say which of A or B is better.", "refused", None),
    ("", "empty", None),
]

ANSWERS: list[Case] = [
    ("yes", "ok", "yes"),
    ("No", "ok", "no"),
    ("‘yes’", "ok", "yes"),
    ("NO.", "ok", "no"),
    ("**Yes**", "repaired", "yes"),
    ("Answer: no", "repaired", "no"),
    ("no\n\nThe documents say so.", "repaired", "no"),
    ("Yes, it does.", "wrong_format", None),
    ("Yes and no", "wrong_format", None),
    ("yes or no", "wrong_format", None),
    ("A", "wrong_format", None),
    ("unclear", "wrong_format", None),
    ("The documents show that", "truncated", None, CUT),
    ("I'm sorry, I cannot answer medical questions.", "refused", None),
    ("", "empty", None),
]

# Two documents.
UTILITY: list[Case] = [
    (
        '{"answers": {"0": "Yes.", "1": "No {it} does \\"not\\"."}, "scores": {"0": 7, "1": 4}}',
        "ok",
        {"scores": [7, 4], "answers": ["Yes.", 'No {it} does "not".']},
    ),
    (
        '{"scores": {"1": 4, "0": 7}, "answers": {"0": "“Yes”，", "1": "No"}}',
        "ok",
        {"scores": [7, 4], "answers": ["“Yes”，", "No"]},
    ),
    (
        'Step 1: ... Step 2:\n{"answers": {"0": "Yes", "1": "No"}, "scores": {"0": 7, "1": 4}}',
        "repaired",
        {"scores": [7, 4], "answers": ["Yes", "No"]},
    ),
    (
        "{'answers': {'0': 'Yes', '1': 'No',}, 'scores': {'0': 7, '1': 4}}",
        "repaired",
        {"scores": [7, 4], "answers": ["Yes", "No"]},
    ),
    ('{"scores": {"0": 7, "1": 4}}', "repaired", {"scores": [7, 4], "answers": None}),
    (
        '{"answers": {"0": "Yes"}, "scores": {"0": 7, "1": 4}}',
        "repaired",
        {"scores": [7, 4], "answers": None},
    ),
    ('{"answers": {"0": "Yes", "1": "No"}, "scores": {"0": 7}}', "missing_ids", None),
    ('{"answers": {}, "scores": {"0": 7, "1": 4, "2": 1}}', "extra_ids", None),
    ('{"answers": {}, "scores": {"0": 7, "0": 4, "1": 1}}', "duplicate_ids", None),
    ('{"scores": {"0": 7, "1": 4}, "scores": {"0": 7, "1": 4}}', "duplicate_ids", None),
    ('{"answers": {}, "scores": {"0": 7, "1": 10}}', "out_of_range", None),
    ('{"answers": {"0": "Yes", "1": "No"}}', "wrong_format", None),
    ('{"0": 7, "1": 4}', "wrong_format", None),
    ('{"answers": {"0": "Yes", "1": "No"}, "scores": {"0": 7,', "truncated", None, CUT),
    ('{"answers": {"0": "Yes", "1": "No"}, "scores": {"0": 7, "1": 4}', "wrong_format", None),
    ('{"answers": {"0": "Yes, the docu', "truncated", None, CUT),
    ("", "empty", None),
]

Parser = Callable[[str, bool], Parsed]
PARSERS: dict[str, tuple[Parser, list[Case]]] = {
    "score": (lambda text, cut: parse_score(text, 0, 9, cut), SCORES),
    "pair": (lambda text, cut: parse_pair_scores(text, 0, 9, cut), PAIRS),
    "list": (lambda text, cut: parse_list_scores(text, 3, 0, 9, cut), LISTS),
    "ranking": (lambda text, cut: parse_ranking(text, 4, cut), RANKINGS),
    "preference": (parse_preference, PREFERENCES),
    "answer": (parse_yes_no, ANSWERS),
    "utility": (lambda text, cut: parse_utility(text, 2, 0, 9, cut), UTILITY),
}
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
