"""Accuracy of preferences between two sources and of answers, with McNemar's test for two systems.

Pairs follow AuthorityBench, section 3.3.1: a pair counts as right if the source with the higher level gets
the higher score. What else can happen is told apart, since each of it lowers the paper's accuracy in its way.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import IntEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from authbench.measures.resampling import MeasureRow, as_floats, measure_row


class PairOutcome(IntEnum):
    """What an answer to one pair comes to; the first that fits, from the bottom up, is given."""

    WRONG = 0  #: the lower level got the higher score
    CORRECT = 1  #: the higher level got the higher score
    EQUAL_LABEL = 2  #: a decided answer, but both levels are equal: none would be right
    TIE = 3  #: equal scores: a valid answer that decides nothing
    INVALID = 4  #: at least one score is missing


@dataclass(frozen=True, slots=True)
class McNemar:
    """Items that only one of two systems got right, and the exact two-sided p-value."""

    only_a: int
    only_b: int
    pvalue: float


def pair_outcomes(
    scores_a: ArrayLike, scores_b: ArrayLike, level_a: ArrayLike, level_b: ArrayLike
) -> NDArray[np.int8]:
    """The `PairOutcome` of each pair, shape (pairs,).

    Scores are floats with NaN (or None) for a missing one; a forced choice is given as 1 against 0.
    """
    first, second = np.asarray(scores_a, dtype=np.float64), np.asarray(scores_b, dtype=np.float64)
    high, low = np.asarray(level_a), np.asarray(level_b)
    if not first.shape == second.shape == high.shape == low.shape:
        raise ValueError(f"shapes differ: {first.shape}, {second.shape}, {high.shape}, {low.shape}")
    outcomes = np.where((first > second) == (high > low), PairOutcome.CORRECT, PairOutcome.WRONG)
    outcomes[high == low] = PairOutcome.EQUAL_LABEL
    outcomes[first == second] = PairOutcome.TIE
    outcomes[np.isnan(first) | np.isnan(second)] = PairOutcome.INVALID
    return outcomes.astype(np.int8)


def summarise_pairs(
    scores_a: Sequence[float | None],
    scores_b: Sequence[float | None],
    level_a: Sequence[int],
    level_b: Sequence[int],
    seed: int = 0,
) -> list[MeasureRow]:
    """Accuracy over pairs under both policies (strict first), with bootstrap intervals.

    `strict`: everything but a right answer is wrong, ties and invalid answers as well (the paper's number).
    `valid`: only pairs on which the judge decided; invalid answers and ties are left out.

    Where some pairs have equal levels, no answer to them is right. They count as wrong in `accuracy`, as in
    the paper, and two more rows, `accuracy-unequal`, leave them out: the two `n` differ by their number.
    """
    outcomes = pair_outcomes(as_floats(scores_a), as_floats(scores_b), level_a, level_b)
    rows = _pair_rows("accuracy", outcomes, seed)
    unequal = np.asarray(level_a) != np.asarray(level_b)
    if not unequal.all():
        rows += _pair_rows("accuracy-unequal", outcomes[unequal], seed)
    return rows


def summarise_accuracy(right: Sequence[bool | None], seed: int = 0) -> list[MeasureRow]:
    """Accuracy over answers under both policies (strict first); None is an invalid answer.

    It counts as wrong in `strict` and is left out of `valid`.
    """
    values = as_floats(right)
    valid = ~np.isnan(values)
    n_invalid = int((~valid).sum())
    strict = measure_row("accuracy", "strict", np.where(valid, values, 0.0), seed, n_invalid=n_invalid)
    if n_invalid == 0:
        return [strict, replace(strict, policy="valid")]
    return [strict, measure_row("accuracy", "valid", values[valid], seed, n_invalid=n_invalid)]


def mcnemar_exact(right_a: Sequence[bool], right_b: Sequence[bool]) -> McNemar:
    """McNemar's exact test on two systems' right and wrong answers to the same items.

    The items that only one got right are a fair coin under the null hypothesis; with none of them p is 1.
    """
    a, b = np.asarray(right_a, dtype=np.bool_), np.asarray(right_b, dtype=np.bool_)
    if a.shape != b.shape:
        raise ValueError(f"paired answers are needed, not {len(a)} and {len(b)}")
    only_a, only_b = int((a & ~b).sum()), int((b & ~a).sum())
    if only_a + only_b == 0:
        return McNemar(0, 0, 1.0)
    from scipy.stats import binomtest

    return McNemar(only_a, only_b, float(binomtest(only_a, only_a + only_b, 0.5).pvalue))


def _pair_rows(metric: str, outcomes: NDArray[np.int8], seed: int) -> list[MeasureRow]:
    counts = {
        "n_invalid": int((outcomes == PairOutcome.INVALID).sum()),
        "n_ties": int((outcomes == PairOutcome.TIE).sum()),
    }
    right = (outcomes == PairOutcome.CORRECT).astype(np.float64)
    decided = (outcomes != PairOutcome.INVALID) & (outcomes != PairOutcome.TIE)
    return [
        measure_row(metric, "strict", right, seed, **counts),
        measure_row(metric, "valid", right[decided], seed, **counts),
    ]
