"""Pair outcomes and accuracies by hand, and McNemar's test against scipy's binomial test."""

from __future__ import annotations

import pytest
from scipy.stats import binom

from authbench.measures.accuracy import (
    PairOutcome,
    mcnemar_exact,
    pair_outcomes,
    summarise_accuracy,
    summarise_pairs,
)

NAN = float("nan")


def test_every_outcome() -> None:
    outcomes = pair_outcomes(
        scores_a=[9, 1, 1, 9, 5, 5, NAN, 3, NAN],
        scores_b=[1, 9, 9, 1, 5, 5, 1, 1, NAN],
        level_a=[8, 0, 8, 0, 7, 4, 8, 4, 4],
        level_b=[1, 7, 1, 7, 0, 4, 1, 4, 4],
    )
    assert [PairOutcome(code).name for code in outcomes] == [
        "CORRECT",
        "CORRECT",
        "WRONG",
        "WRONG",
        "TIE",
        "TIE",
        "INVALID",
        "EQUAL_LABEL",
        "INVALID",
    ]


def test_strict_and_valid_accuracy() -> None:
    # right, wrong, tie, invalid
    rows = summarise_pairs([9, 1, 5, None], [1, 9, 5, 3], [7, 7, 7, 7], [0, 0, 0, 0])
    assert [(row.metric, row.policy, row.value, row.n) for row in rows] == [
        ("accuracy", "strict", 0.25, 4),
        ("accuracy", "valid", 0.5, 2),
    ]
    assert {(row.n_invalid, row.n_ties, row.n_constant) for row in rows} == {(1, 1, 0)}


def test_equal_labels_are_wrong_and_reported_apart() -> None:
    # A right pair, a decided pair of equal levels, a tie on equal levels.
    rows = summarise_pairs([2, 2, 3], [1, 1, 3], [1, 4, 4], [0, 4, 4])
    found = {(row.metric, row.policy): (row.value, row.n, row.n_ties) for row in rows}
    assert found == {
        ("accuracy", "strict"): (pytest.approx(1 / 3), 3, 1),
        ("accuracy", "valid"): (0.5, 2, 1),
        ("accuracy-unequal", "strict"): (1.0, 1, 0),
        ("accuracy-unequal", "valid"): (1.0, 1, 0),
    }


def test_constant_answers() -> None:
    """Equal scores are all wrong; always choosing A is right wherever A has the higher level."""
    levels_a, levels_b = [8, 0] * 50, [0, 8] * 50
    scores = summarise_pairs([5] * 100, [5] * 100, levels_a, levels_b)
    assert (scores[0].value, scores[0].n_ties) == (0.0, 100)
    assert (scores[1].value, scores[1].n) == (None, 0)
    forced = summarise_pairs([1] * 100, [0] * 100, levels_a, levels_b)
    assert forced[0].value == 0.5


def test_answers() -> None:
    strict, valid = summarise_accuracy([True, False, None, True])
    assert (strict.policy, strict.value, strict.n, strict.n_invalid) == ("strict", 0.5, 4, 1)
    assert (valid.policy, valid.n, valid.n_invalid) == ("valid", 3, 1)
    assert valid.value == pytest.approx(2 / 3)
    assert [row.value for row in summarise_accuracy([])] == [None, None]


def test_mcnemar_by_the_binomial_distribution() -> None:
    # Eight items that only the first got right, two that only the second did: P(X <= 2 or X >= 8 | 10, 0.5).
    a = [True] * 8 + [False] * 2 + [True] * 5 + [False] * 5
    b = [False] * 8 + [True] * 2 + [True] * 5 + [False] * 5
    result = mcnemar_exact(a, b)
    assert (result.only_a, result.only_b) == (8, 2)
    assert result.pvalue == pytest.approx(2 * binom.cdf(2, 10, 0.5))
    assert mcnemar_exact(b, a).pvalue == pytest.approx(result.pvalue)


def test_mcnemar_without_a_difference() -> None:
    assert mcnemar_exact([True, False], [True, False]).pvalue == 1.0
    assert mcnemar_exact([], []).pvalue == 1.0


def test_unpaired_input_is_refused() -> None:
    with pytest.raises(ValueError, match="paired"):
        mcnemar_exact([True], [True, False])
    with pytest.raises(ValueError, match="shapes differ"):
        pair_outcomes([1.0], [1.0, 2.0], [1], [2])
