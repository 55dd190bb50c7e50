"""One-token scoring."""

from __future__ import annotations

import math
from collections.abc import Sequence

import pytest

from authbench.data.records import PairItem, Source
from authbench.errors import ConfigError
from authbench.judging.logprob import (
    label_distribution,
    pair_rank_logprob_judge,
    pairwise_rank_logprob_judge,
    point_logprob_judge,
    tie_broken,
)
from authbench.prompts.render import prompt_set
from authbench.runtime.messages import Outcome, Procedure, Response, Sample

PROMPTS = prompt_set("domain", context="without", scale_levels=5, constrain="json")
SOURCES = [Source("a.org", 0, 0.0), Source("b.org", 1, 1.0), Source("c.org", 2, 2.0)]
PAIR = PairItem("x", 0, SOURCES[0], SOURCES[1], "hard")


def logs(*probabilities: float) -> tuple[float, ...]:
    return tuple(math.log(p) if p else -math.inf for p in probabilities)


def run(procedure: Procedure[Outcome], logprobs: Sequence[tuple[float, ...] | None]) -> Outcome:
    assert len(next(procedure)) == len(logprobs)
    responses = [Response((Sample("x", "length", 1, label_logprobs=given),)) for given in logprobs]
    with pytest.raises(StopIteration) as stop:
        procedure.send(responses)
    assert isinstance(stop.value.value, Outcome)
    return stop.value.value


def test_requests_ask_for_one_token_and_the_labels() -> None:
    request = next(point_logprob_judge(SOURCES, PROMPTS, 0, 4))[0]
    assert request.labels == ("0", "1", "2", "3", "4")
    assert request.sampling.max_tokens == 1
    assert request.constraint is None
    assert request.messages == PROMPTS.point_label(SOURCES[0]).messages
    pair = next(pair_rank_logprob_judge(SOURCES, PROMPTS, [(1, 0)]))[0]
    assert pair.labels == ("A", "B")
    assert pair.messages == PROMPTS.pair_rank(SOURCES[1], SOURCES[0]).messages
    assert pair.constraint is None


def test_the_likeliest_score_and_the_expected_one() -> None:
    # Half of the mass is on other tokens: probabilities are among the labels.
    given = [logs(0.05, 0.05, 0.1, 0.25, 0.05), logs(0, 0, 0, 0, 0.1), None]
    outcome = run(point_logprob_judge(SOURCES, PROMPTS, 0, 4), given)
    assert outcome.values["scores"] == [3, 4, None]
    # (0.05 * 1 + 0.1 * 2 + 0.25 * 3 + 0.05 * 4) / 0.5 = 2.4
    assert outcome.values["expected"][:2] == pytest.approx([2.4, 4.0])
    assert outcome.values["expected"][2] is None
    assert [answer.status for answer in outcome.answers] == ["ok", "ok", "empty"]


def test_equally_likely_scores_go_to_the_one_nearest_the_expected() -> None:
    # 1 and 3 are equally likely; the rest lies above: expected (0.3 + 0.9 + 1.6) / 1 = 2.8.
    outcome = run(point_logprob_judge(SOURCES[:1], PROMPTS, 0, 4), [logs(0, 0.3, 0, 0.3, 0.4 - 1e-9)])
    assert outcome.values["scores"] == [4]
    outcome = run(point_logprob_judge(SOURCES[:1], PROMPTS, 0, 4), [logs(0.2, 0.3, 0, 0.3, 0.2)])
    assert outcome.values["scores"] == [1]  # expected 2.0 is as near to 1 as to 3: the lower
    outcome = run(point_logprob_judge(SOURCES[:1], PROMPTS, 0, 4), [logs(0.1, 0.3, 0, 0.3, 0.2)])
    assert outcome.values["scores"] == [3]  # expected (0.3 + 0.9 + 0.8) / 0.9 = 2.2


def test_pairs_of_a_list() -> None:
    pairs = [(0, 1), (2, 1), (0, 2), (1, 2)]
    given = [logs(0.6, 0.2), logs(0.1, 0.3), logs(0.2, 0.2), None]
    outcome = run(pair_rank_logprob_judge(SOURCES, PROMPTS, pairs), given)
    assert outcome.values["pairs"] == [[0, 1, 1, 0], [2, 1, 0, 1], [0, 2, 0.5, 0.5], [1, 2, None, None]]
    assert outcome.values["expected"][:3] == pytest.approx([0.75, 0.25, 0.5])
    assert outcome.values["expected"][3] is None


def test_one_pair() -> None:
    ranked = run(pairwise_rank_logprob_judge(PAIR, PROMPTS), [logs(0.2, 0.6)])
    assert ranked.values["scores"] == [0, 1]
    assert ranked.values["expected"] == pytest.approx([0.25, 0.75])
    assert run(pairwise_rank_logprob_judge(PAIR, PROMPTS), [None]).values["expected"] == [None, None]


def test_expected_scores_break_ties_of_scores_only() -> None:
    assert tie_broken([3, 3, 5, None, 3], [2.9, 3.1, 1.0, None, 2.9]) == [0.0, 1.0, 2.0, None, 0.0]


def test_label_distributions() -> None:
    assert label_distribution(None) is None
    assert label_distribution((-math.inf, -math.inf)) is None
    assert label_distribution((math.nan, 0.0)) is None
    assert label_distribution(()) is None
    assert label_distribution((-1000.0, -1000.0 + math.log(3))) == pytest.approx([0.25, 0.75])


def test_scores_of_two_digits_are_refused() -> None:
    with pytest.raises(ConfigError, match="one digit"):
        next(point_logprob_judge(SOURCES, PROMPTS, 0, 10))
