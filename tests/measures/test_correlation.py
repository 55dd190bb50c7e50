"""Correlations against scipy and by hand, and the policies for invalid, constant and tied lists."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import kendalltau, spearmanr

from authbench.measures.correlation import (
    constant,
    kendall_tau_b,
    list_correlations,
    spearman,
    summarise_lists,
    tie_count,
    tied,
)

# Few distinct values, so that ties and constant lists are common.
SCORES = st.integers(0, 4).map(float) | st.floats(-1e6, 1e6, allow_subnormal=False)


@st.composite
def _lists(draw: st.DrawFn) -> tuple[list[list[float]], list[list[float]]]:
    count, length = draw(st.integers(1, 4)), draw(st.integers(2, 11))
    row = st.lists(SCORES, min_size=length, max_size=length)
    rows = st.lists(row, min_size=count, max_size=count)
    return draw(rows), draw(rows)


@given(_lists())
@settings(max_examples=200, deadline=None)
def test_equal_to_scipy_with_ties(lists: tuple[list[list[float]], list[list[float]]]) -> None:
    predicted, gold = lists
    rho, tau = spearman(predicted, gold), kendall_tau_b(predicted, gold)
    undefined = constant(predicted) | constant(gold)
    for i, (x, y) in enumerate(zip(predicted, gold, strict=True)):
        if undefined[i]:
            assert rho[i] == tau[i] == 0.0
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert rho[i] == pytest.approx(spearmanr(x, y).statistic, abs=1e-12)
            assert tau[i] == pytest.approx(kendalltau(x, y, variant="b").statistic, abs=1e-12)


def test_by_hand() -> None:
    # Ranks 1 2 3 4 against 2 1 4 3: rho = 1 - 6 * 4 / (4 * 15) = 0.6; 4 concordant pairs, 2 discordant.
    assert spearman([[1, 2, 3, 4]], [[2, 1, 4, 3]])[0] == pytest.approx(0.6)
    assert kendall_tau_b([[1, 2, 3, 4]], [[2, 1, 4, 3]])[0] == pytest.approx(2 / 6)
    # One tied pair of six on one side: 5 concordant, tau-b = 5 / sqrt(5 * 6).
    assert kendall_tau_b([[1, 1, 2, 3]], [[0, 1, 2, 3]])[0] == pytest.approx(5 / np.sqrt(30))
    assert spearman([[5, 3, 1]], [[0, 1, 2]])[0] == -1.0


def test_infinite_scores_are_ordered_like_any_other() -> None:
    assert spearman([[-np.inf, 0.0, np.inf]], [[0, 1, 2]])[0] == 1.0


def test_constant_and_ties() -> None:
    predicted = [[3, 3, 3], [1, 1, 2], [1, 2, 3]]
    assert constant(predicted).tolist() == [True, False, False]
    assert tied(predicted).tolist() == [True, True, False]
    assert tie_count(predicted) == 2


def test_long_lists_are_measured_in_blocks() -> None:
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(3, 1500)), rng.normal(size=(3, 1500))
    expected = [spearmanr(a, b).statistic for a, b in zip(x, y, strict=True)]
    assert spearman(x, y) == pytest.approx(expected, abs=1e-12)
    expected = [kendalltau(a, b).statistic for a, b in zip(x, y, strict=True)]
    assert kendall_tau_b(x, y) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("bad", [[1.0, 2.0], [[1.0, float("nan")]], [[1.0, 2.0, 3.0]]])
def test_wrong_shapes_and_missing_values_are_refused(bad: list[float]) -> None:
    with pytest.raises(ValueError, match=r"shape|missing"):
        spearman(bad, [[1, 2]])


def test_summary_by_hand() -> None:
    gold = [[0, 1, 2]] * 4
    predicted: list[list[float | None]] = [[0, 1, 2], [2, 1, 0], [5, 5, 5], [1, None, 0]]
    rows = {(row.metric, row.policy): row for row in summarise_lists(predicted, gold)}
    assert list(rows) == [
        ("spearman", "strict"),
        ("spearman", "valid"),
        ("kendall", "strict"),
        ("kendall", "valid"),
    ]
    strict, valid = rows["spearman", "strict"], rows["spearman", "valid"]
    # 1, -1, 0 for the constant list, and 0 for the invalid one.
    assert (strict.value, strict.n) == (0.0, 4)
    assert (valid.value, valid.n) == (0.0, 3)
    for row in rows.values():
        assert (row.n_invalid, row.n_constant, row.n_ties) == (1, 1, 1)
        assert row.low is not None
        assert row.high is not None
        assert -1 <= row.low <= 0 <= row.high <= 1


def test_strict_and_valid_differ_by_the_invalid_share() -> None:
    gold = [[0, 1, 2, 3]] * 10
    right: list[float | None] = [0, 1, 2, 3]
    predicted = [right] * 6 + [[None] * 4] * 4
    rows = summarise_lists(predicted, gold)
    assert [row.value for row in rows] == pytest.approx([0.6, 1.0, 0.6, 1.0])
    assert [row.n for row in rows] == [10, 6, 10, 6]


def test_without_invalid_lists_both_policies_are_the_same() -> None:
    strict, valid, *_ = summarise_lists([[0, 1], [1, 0]], [[0, 1], [0, 1]])
    assert (strict.value, strict.low, strict.high) == (valid.value, valid.low, valid.high)
    assert valid.policy == "valid"


def test_lists_of_different_lengths() -> None:
    rows = summarise_lists([[0, 1, 2], [0, 1, 2, 3, 4]], [[0, 1, 2], [4, 3, 2, 1, 0]])
    assert rows[0].value == 0.0
    values = list_correlations([[0, 1, 2], [1, None]], [[0, 1, 2], [0, 1]])
    assert values == {"spearman": [1.0, None], "kendall": [1.0, None]}


def test_nothing_valid_and_nothing_at_all() -> None:
    strict, valid, *_ = summarise_lists([[None, 1.0]], [[0, 1]])
    assert (strict.value, strict.low, strict.n, strict.n_invalid) == (0.0, None, 1, 1)
    assert (valid.value, valid.n) == (None, 0)
    assert [row.value for row in summarise_lists([], [])] == [None] * 4


def test_ragged_input_is_refused() -> None:
    with pytest.raises(ValueError, match="list 0: 1 predictions for 2 levels"):
        summarise_lists([[1.0]], [[0, 1]])
    with pytest.raises(ValueError, match="1 predicted lists for 0"):
        summarise_lists([[1.0]], [])
