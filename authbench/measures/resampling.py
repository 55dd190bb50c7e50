"""Uncertainty by resampling items: intervals, paired tests, and the row in which a measure is reported.

Everything here draws from a seeded `numpy.random.Generator`, so equal input gives equal numbers. Draws are
made in blocks: memory stays at a few dozen megabytes whatever the number of items and resamples.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

Policy = Literal["strict", "valid"]

#: Numbers drawn at a time.
_BLOCK = 1 << 20


@dataclass(frozen=True, slots=True)
class Interval:
    """An estimate with a percentile interval, in the unit of the values.

    With no values all three are None; with a single one `low` and `high` are None, since one item says
    nothing about spread.
    """

    value: float | None
    low: float | None
    high: float | None


@dataclass(frozen=True, slots=True)
class MeasureRow:
    """One measure under one policy, over the items of a cell.

    Attributes:
        metric: `spearman`, `kendall`, `accuracy` or `accuracy-unequal`.
        policy: `strict` counts an invalid item as 0 (no correlation, or wrong); `valid` leaves it out.
        value: mean over the `n` items as a fraction, or None where `n` is 0.
        low: lower end of the 95 % bootstrap interval over items; None where `n` is below 2.
        high: upper end, likewise.
        n: items that the mean is taken over.
        n_invalid: items without a usable answer, out of all items (the same under both policies).
        n_constant: valid items whose correlation is undefined, for a constant prediction; they count as 0.
        n_ties: valid items with a tie in the prediction (a constant one has ties as well).
    """

    metric: str
    policy: Policy
    value: float | None
    low: float | None
    high: float | None
    n: int
    n_invalid: int
    n_constant: int
    n_ties: int


def bootstrap_mean(values: ArrayLike, seed: int = 0, resamples: int = 2000, level: float = 0.95) -> Interval:
    """Mean of `values` (one per item) with its percentile bootstrap interval (Efron and Tibshirani, ch. 13).

    Calls with equal seeds and numbers of items draw the same items, so intervals of two judges over the
    same lists belong to the same resamples. Values that are all 0 or 1 are drawn as binomial counts, which
    is the same distribution and far faster.
    """
    sample = _vector(values)
    if len(sample) == 0:
        return Interval(None, None, None)
    mean = float(sample.mean())
    if len(sample) == 1:
        return Interval(mean, None, None)
    low, high = np.quantile(_resampled_means(sample, seed, resamples), [(1 - level) / 2, (1 + level) / 2])
    return Interval(mean, float(low), float(high))


def bootstrap_difference(
    a: ArrayLike, b: ArrayLike, seed: int = 0, resamples: int = 2000, level: float = 0.95
) -> Interval:
    """Mean of `a - b` over paired items, with its interval; items are resampled as pairs."""
    return bootstrap_mean(_differences(a, b), seed, resamples, level)


def randomisation_test(a: ArrayLike, b: ArrayLike, seed: int = 0, rounds: int = 10_000) -> float:
    """Two-sided p-value of the paired randomisation test on the mean difference.

    Under the null hypothesis the sign of each difference is a fair coin. With `c` of `rounds` random sign
    vectors giving a mean at least as far from 0 as the one seen, p = (c + 1) / (rounds + 1) (Phipson and
    Smyth 2010), so it lies in (0, 1] and is never 0. No difference anywhere gives 1.
    """
    differences = _differences(a, b)
    moving = differences[differences != 0]
    if len(moving) == 0:
        return 1.0
    seen = abs(float(moving.sum()))
    # Sums of the same numbers in another order differ by rounding: what is equal must count as equal.
    threshold = seen - 1e-12 * float(np.abs(moving).sum())
    rng = np.random.default_rng(seed)
    beyond = 0
    for size in _blocks(rounds, len(moving)):
        signs = 2.0 * rng.integers(0, 2, (size, len(moving)), dtype=np.int8) - 1.0
        beyond += int((np.abs(signs @ moving) >= threshold).sum())
    return (beyond + 1) / (rounds + 1)


def holm(pvalues: ArrayLike) -> NDArray[np.float64]:
    """P-values adjusted for testing all of them (Holm 1979), in the order given, each at most 1."""
    raw = _vector(pvalues)
    order = np.argsort(raw, kind="stable")
    factors = np.arange(len(raw), 0, -1)
    adjusted = np.empty_like(raw)
    adjusted[order] = np.minimum(np.maximum.accumulate(raw[order] * factors), 1.0)
    return adjusted


def measure_row(
    metric: str,
    policy: Policy,
    values: ArrayLike,
    seed: int,
    *,
    n_invalid: int = 0,
    n_constant: int = 0,
    n_ties: int = 0,
) -> MeasureRow:
    """The row for the items' `values` under `policy`, with the interval of `bootstrap_mean`."""
    sample = _vector(values)
    interval = bootstrap_mean(sample, seed)
    return MeasureRow(
        metric,
        policy,
        interval.value,
        interval.low,
        interval.high,
        len(sample),
        n_invalid,
        n_constant,
        n_ties,
    )


def as_floats(values: Sequence[float | None]) -> NDArray[np.float64]:
    """A vector with NaN where there is None."""
    return np.array(values, dtype=np.float64)


def _resampled_means(sample: NDArray[np.float64], seed: int, resamples: int) -> NDArray[np.float64]:
    rng = np.random.default_rng(seed)
    n = len(sample)
    if np.isin(sample, (0.0, 1.0)).all():
        return np.asarray(rng.binomial(n, sample.mean(), resamples) / n, dtype=np.float64)
    means = [
        sample[rng.integers(0, n, (size, n), dtype=np.int32)].mean(axis=1) for size in _blocks(resamples, n)
    ]
    return np.concatenate(means)


def _blocks(rows: int, width: int) -> Iterator[int]:
    step = max(1, _BLOCK // width)
    for start in range(0, rows, step):
        yield min(step, rows - start)


def _vector(values: ArrayLike) -> NDArray[np.float64]:
    vector = np.asarray(values, dtype=np.float64)
    if vector.ndim != 1:
        raise ValueError(f"one value per item is needed, not an array of shape {vector.shape}")
    if not np.isfinite(vector).all():
        raise ValueError("values must be finite numbers: leave invalid items out, or count them as 0")
    return vector


def _differences(a: ArrayLike, b: ArrayLike) -> NDArray[np.float64]:
    left, right = _vector(a), _vector(b)
    if len(left) != len(right):
        raise ValueError(f"paired values are needed, not {len(left)} and {len(right)}")
    return left - right
