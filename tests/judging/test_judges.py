"""The judges as generators: what they ask, and what they make of the answers."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import pytest

from authbench.data.records import PairItem, Source
from authbench.errors import ConfigError
from authbench.judging.judges import (
    comparison_plan,
    list_rank_judge,
    list_score_judge,
    pair_rank_judge,
    pair_score_judge,
    pairwise_judge,
    point_judge,
)
from authbench.prompts.render import prompt_set
from authbench.runtime.messages import FinishReason, Outcome, Procedure, Request, Response, Sample

PROMPTS = prompt_set("domain", context="without", scale_levels=10)
SOURCES = [Source(f"{letter}.org", level, float(level)) for level, letter in enumerate("pqrs")]
PAIR = PairItem("x", 0, SOURCES[3], SOURCES[0], "easy")


def run(procedure: Procedure[Outcome], answers: Sequence[str], reason: FinishReason = "stop") -> Outcome:
    """Drive a procedure of one round with these answers."""
    asked = next(procedure)
    assert len(asked) == len(answers)
    try:
        procedure.send([Response((Sample(text, reason),)) for text in answers])
    except StopIteration as stop:
        assert isinstance(stop.value, Outcome)
        return stop.value
    raise AssertionError("a second round was asked")


def asked(procedure: Procedure[Outcome]) -> list[Request]:
    return list(next(procedure))


def statuses(outcome: Outcome) -> list[str]:
    return [answer.status for answer in outcome.answers]


def test_point_asks_once_per_source() -> None:
    assert asked(point_judge(SOURCES, PROMPTS, 0, 9)) == [PROMPTS.point(source) for source in SOURCES]


def test_point_scores_in_the_order_shown() -> None:
    answers = ['{"score": 7}', "no idea", '{"score": 12}', "{'score': 1}"]
    outcome = run(point_judge(SOURCES, PROMPTS, 0, 9), answers)
    assert outcome.values == {"scores": [7, None, None, 1]}
    assert statuses(outcome) == ["ok", "wrong_format", "out_of_range", "repaired"]
    assert not outcome.valid


def test_list_rank_turns_places_into_scores() -> None:
    assert asked(list_rank_judge(SOURCES, PROMPTS)) == [PROMPTS.list_rank(SOURCES)]
    outcome = run(list_rank_judge(SOURCES, PROMPTS), ["[2] > [0] > [3] > [1]"])
    # Source 2 is first of four and has 4, source 1 is last and has 1.
    assert outcome.values == {"scores": [3, 1, 4, 2]}
    assert outcome.valid


def test_an_invalid_list_has_no_scores() -> None:
    ranked = run(list_rank_judge(SOURCES, PROMPTS), ["[2] > [2] > [3] > [1]"])
    assert (ranked.values, statuses(ranked)) == ({"scores": [None] * 4}, ["duplicate_ids"])
    scored = run(list_score_judge(SOURCES, PROMPTS, 0, 9), ['{"0": 1, "1": 2,'], "length")
    assert (scored.values, statuses(scored)) == ({"scores": [None] * 4}, ["truncated"])


def test_list_scores() -> None:
    assert asked(list_score_judge(SOURCES, PROMPTS, 0, 9)) == [PROMPTS.list_score(SOURCES)]
    outcome = run(list_score_judge(SOURCES, PROMPTS, 0, 9), ['{"0": 1, "1": 2, "2": 9, "3": 2}'])
    assert outcome.values == {"scores": [1, 2, 9, 2]}


def test_pairs_of_a_list_by_rank() -> None:
    pairs = [(0, 1), (3, 2), (1, 3)]
    requests = asked(pair_rank_judge(SOURCES, PROMPTS, pairs))
    assert requests == [PROMPTS.pair_rank(SOURCES[i], SOURCES[j]) for i, j in pairs]
    outcome = run(pair_rank_judge(SOURCES, PROMPTS, pairs), ["A", "Domain B", "both"])
    assert outcome.values == {"pairs": [[0, 1, 1, 0], [3, 2, 0, 1], [1, 3, None, None]]}
    assert statuses(outcome) == ["ok", "repaired", "wrong_format"]


def test_pairs_of_a_list_by_score() -> None:
    pairs = [(0, 1), (3, 2)]
    requests = asked(pair_score_judge(SOURCES, PROMPTS, pairs, 0, 9))
    assert requests == [PROMPTS.pair_score(SOURCES[i], SOURCES[j]) for i, j in pairs]
    outcome = run(pair_score_judge(SOURCES, PROMPTS, pairs, 0, 9), ['{"A": 3, "B": 8}', '{"A": 3}'])
    assert outcome.values == {"pairs": [[0, 1, 3, 8], [3, 2, None, None]]}


def test_the_noun_reaches_the_parser() -> None:
    movies = prompt_set("entity", context="without", scale_levels=10, noun="movie")
    assert run(pairwise_judge(PAIR, movies, "rank", 0, 9), ["Movie B"]).values == {"scores": [0, 1]}
    assert run(pairwise_judge(PAIR, PROMPTS, "rank", 0, 9), ["Movie B"]).values == {"scores": [None, None]}


def test_one_pair_by_rank_score_and_point() -> None:
    assert asked(pairwise_judge(PAIR, PROMPTS, "rank", 0, 9)) == [PROMPTS.pair_rank(PAIR.first, PAIR.second)]
    assert run(pairwise_judge(PAIR, PROMPTS, "rank", 0, 9), ["A"]).values == {"scores": [1, 0]}
    scored = run(pairwise_judge(PAIR, PROMPTS, "score", 0, 9), ['{"A": 4, "B": 4}'])
    assert scored.values == {"scores": [4, 4]}
    assert run(pairwise_judge(PAIR, PROMPTS, "score", 0, 9), [""]).values == {"scores": [None, None]}


def test_both_orders_are_asked() -> None:
    first, second = asked(pairwise_judge(PAIR, PROMPTS, "rank", 0, 9, order="both"))
    assert first == PROMPTS.pair_rank(PAIR.first, PAIR.second)
    assert second == PROMPTS.pair_rank(PAIR.second, PAIR.first)


@pytest.mark.parametrize(
    ("output", "answers", "scores", "flipped"),
    [
        ("rank", ["A", "B"], [1, 0], False),  # the first source twice
        ("rank", ["B", "A"], [0, 1], False),
        ("rank", ["A", "A"], [0.5, 0.5], True),  # the left side twice
        ("rank", ["A", "neither"], [None, None], None),
        ("score", ['{"A": 8, "B": 3}', '{"A": 5, "B": 6}'], [7, 4], False),
        ("score", ['{"A": 8, "B": 3}', '{"A": 9, "B": 2}'], [5, 6], True),
        ("score", ['{"A": 8, "B": 8}', '{"A": 9, "B": 2}'], [5, 8.5], False),
    ],
)
def test_what_both_orders_say_together(
    output: str, answers: list[str], scores: list[float], flipped: bool | None
) -> None:
    outcome = run(pairwise_judge(PAIR, PROMPTS, output, 0, 9, order="both"), answers)  # type: ignore[arg-type]
    assert outcome.values["scores"] == scores
    assert outcome.values["flipped"] is flipped
    assert len(outcome.answers) == 2


def test_both_orders_keep_what_each_said() -> None:
    answers = ['{"A": 8, "B": 3}', '{"A": 5, "B": 6}']
    outcome = run(pairwise_judge(PAIR, PROMPTS, "score", 0, 9, order="both"), answers)
    assert outcome.values["by_order"] == [[8, 3], [6, 5]]  # both as [first, second]


def test_an_unknown_output_is_refused() -> None:
    with pytest.raises(ConfigError, match="rank, score"):
        next(pairwise_judge(PAIR, PROMPTS, "points", 0, 9))  # type: ignore[arg-type]


def test_all_pairs() -> None:
    plan = comparison_plan(5, "all", "domainauth/0/3")
    assert len(plan) == 10
    assert {tuple(sorted(pair)) for pair in plan} == set(combinations(range(5), 2))


@pytest.mark.parametrize("seed", [f"0/{number}" for number in range(20)])
def test_the_anchor_scheme_has_35_comparisons(seed: str) -> None:
    plan = comparison_plan(10, "anchors", seed)
    pairs = {frozenset(pair) for pair in plan}
    assert len(plan) == len(pairs) == 35  # 5 others by 5 anchors, and 10 pairs of anchors
    degree = {place: sum(place in pair for pair in pairs) for place in range(10)}
    anchors = {place for place in degree if degree[place] == 9}
    assert len(anchors) == 5
    assert all(degree[place] == 5 for place in degree if place not in anchors)
    assert pairs == {frozenset(pair) for pair in combinations(range(10), 2) if anchors & set(pair)}


def test_the_plan_depends_on_the_seed_alone() -> None:
    # Written down once: another plan would ask other questions of every stored run.
    assert comparison_plan(4, "all", "seed") == comparison_plan(4, "all", "seed")
    plans = {comparison_plan(10, "anchors", f"0/{number}") for number in range(50)}
    assert len(plans) == 50
    assert comparison_plan(4, "anchors", "pinned", 2) == PINNED


# SHA-256 of "pinned\0anchor\0k" is smallest for k = 3 and 1; the last bit of the first byte of that of
# "pinned\0side\0i\0j" is 1 for 1, 2 only.
PINNED = ((0, 1), (0, 3), (1, 3), (2, 1), (2, 3))


def test_the_side_is_a_fair_coin_and_that_of_all_pairs() -> None:
    flipped = sum(i > j for number in range(200) for i, j in comparison_plan(10, "anchors", f"7/{number}"))
    assert 0.46 < flipped / 7000 < 0.54  # 7,000 tosses: three standard errors are 0.018
    assert set(comparison_plan(10, "anchors", "s")) < set(comparison_plan(10, "all", "s"))


def test_every_source_is_an_anchor_about_as_often() -> None:
    chosen = [0] * 10
    for number in range(500):
        plan = comparison_plan(10, "anchors", f"a/{number}")
        for place in range(10):
            chosen[place] += sum(place in pair for pair in plan) == 9
    assert sum(chosen) == 2500
    assert min(chosen) > 200  # 250 expected, standard deviation 11
    assert max(chosen) < 300


def test_few_sources_and_wrong_settings() -> None:
    assert comparison_plan(1, "anchors", "s") == ()
    assert len(comparison_plan(4, "anchors", "s")) == 6  # fewer than the anchors: all pairs
    with pytest.raises(ConfigError, match="did you mean 'anchors'"):
        comparison_plan(10, "anchor", "s")
    with pytest.raises(ConfigError, match="1 or more"):
        comparison_plan(10, "anchors", "s", anchors=0)
