"""Rank correlation of predicted scores with authority levels, list by list (AuthorityBench, section 3.3.1).

Arrays have the shape (lists, n): one row per list of n sources. A prediction (or a gold ranking) that is the
same for all of a list has no correlation; it is returned as 0 and `constant` says which lists those are.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from authbench.measures.resampling import MeasureRow, measure_row

Floats = NDArray[np.float64]
Mask = NDArray[np.bool_]

#: Comparisons of two sources held in memory at a time.
_BLOCK = 1 << 22


def spearman(predicted: ArrayLike, gold: ArrayLike) -> Floats:
    """Spearman's rho of each list, in [-1, 1]: Pearson's correlation of average ranks, ties included.

    Gives shape (lists,), equal to `scipy.stats.spearmanr`, with 0 where scipy gives NaN for a constant input.
    """
    x, y = _pair(predicted, gold)
    return _in_blocks(_spearman, x, y)


def kendall_tau_b(predicted: ArrayLike, gold: ArrayLike) -> Floats:
    """Kendall's tau-b of each list, in [-1, 1]: corrected for ties on both sides.

    Gives shape (lists,), equal to `scipy.stats.kendalltau(variant="b")`, with 0 where that gives NaN.
    """
    x, y = _pair(predicted, gold)
    return _in_blocks(_kendall, x, y)


def constant(predicted: ArrayLike) -> Mask:
    """Which lists have one and the same prediction everywhere, and so no correlation. Shape (lists,)."""
    x = _matrix(predicted)
    return np.asarray((x == x[:, :1]).all(axis=1), dtype=np.bool_)


def tied(predicted: ArrayLike) -> Mask:
    """Which lists have at least two equal predictions. Shape (lists,)."""
    ordered = np.sort(_matrix(predicted), axis=1)
    return np.asarray((ordered[:, 1:] == ordered[:, :-1]).any(axis=1), dtype=np.bool_)


def tie_count(predicted: ArrayLike) -> int:
    """The number of lists with at least two equal predictions."""
    return int(tied(predicted).sum())


def list_correlations(
    predicted: Sequence[Sequence[float | None]], gold: Sequence[Sequence[int]]
) -> dict[str, list[float | None]]:
    """`{"spearman": [...], "kendall": [...]}`, one value per list, None where the list is invalid.

    A list is invalid if any of its predictions is None. Lists may differ in length.
    """
    correlations, _, _ = _by_list(predicted, gold)
    return {
        name: [None if np.isnan(value) else float(value) for value in values]
        for name, values in correlations.items()
    }


def summarise_lists(
    predicted: Sequence[Sequence[float | None]], gold: Sequence[Sequence[int]], seed: int = 0
) -> list[MeasureRow]:
    """Mean Spearman and Kendall over lists, each under both policies (strict first), with intervals.

    A list with any None among its predictions is invalid: it counts as 0 in `strict` and is left out of
    `valid`. A valid list with a constant prediction counts as 0 in both and is counted in `n_constant`.
    """
    correlations, is_constant, is_tied = _by_list(predicted, gold)
    rows = []
    for metric, values in correlations.items():
        valid = ~np.isnan(values)
        counts = {
            "n_invalid": int((~valid).sum()),
            "n_constant": int(is_constant.sum()),
            "n_ties": int(is_tied.sum()),
        }
        strict = measure_row(metric, "strict", np.where(valid, values, 0.0), seed, **counts)
        rows.append(strict)
        rows.append(
            replace(strict, policy="valid")
            if valid.all()
            else measure_row(metric, "valid", values[valid], seed, **counts)
        )
    return rows


def _by_list(
    predicted: Sequence[Sequence[float | None]], gold: Sequence[Sequence[int]]
) -> tuple[dict[str, Floats], Mask, Mask]:
    """Both correlations per list (NaN where invalid), and masks of constant and of tied valid lists."""
    if len(predicted) != len(gold):
        raise ValueError(f"{len(predicted)} predicted lists for {len(gold)} gold lists")
    lengths: dict[int, list[int]] = defaultdict(list)
    for index, (scores, levels) in enumerate(zip(predicted, gold, strict=True)):
        if len(scores) != len(levels):
            raise ValueError(f"list {index}: {len(scores)} predictions for {len(levels)} levels")
        if scores and all(score is not None for score in scores):
            lengths[len(scores)].append(index)
    correlations = {name: np.full(len(gold), np.nan) for name in ("spearman", "kendall")}
    is_constant, is_tied = np.zeros(len(gold), dtype=np.bool_), np.zeros(len(gold), dtype=np.bool_)
    for indices in lengths.values():
        x = np.array([predicted[index] for index in indices], dtype=np.float64)
        y = np.array([gold[index] for index in indices], dtype=np.float64)
        correlations["spearman"][indices] = spearman(x, y)
        correlations["kendall"][indices] = kendall_tau_b(x, y)
        is_constant[indices] = constant(x) | constant(y)
        is_tied[indices] = tied(x)
    return correlations, is_constant, is_tied


def _spearman(x: Floats, y: Floats) -> Floats:
    # The signs of all differences in a row add up to twice the distance of its average rank from the mean.
    ranks_x, ranks_y = _signs(x).sum(axis=2), _signs(y).sum(axis=2)
    covariance = (ranks_x * ranks_y).sum(axis=1)
    return _ratio(covariance, (ranks_x**2).sum(axis=1), (ranks_y**2).sum(axis=1))


def _kendall(x: Floats, y: Floats) -> Floats:
    signs_x, signs_y = _signs(x), _signs(y)
    concordance = (signs_x * signs_y).sum(axis=(1, 2))
    return _ratio(concordance, (signs_x != 0).sum(axis=(1, 2)), (signs_y != 0).sum(axis=(1, 2)))


def _signs(x: Floats) -> NDArray[np.int64]:
    """Sign of every difference within a list, shape (lists, n, n): exact, whatever the scores' size."""
    left, right = x[:, :, None], x[:, None, :]
    return (left > right).astype(np.int64) - (left < right)


def _ratio(numerator: NDArray[np.int64], a: NDArray[np.int64], b: NDArray[np.int64]) -> Floats:
    scale = np.sqrt(a.astype(np.float64) * b)  # one root: exactly 1 for equal rankings
    defined = scale > 0
    ratio = np.divide(numerator, scale, out=np.zeros(len(scale)), where=defined)
    return np.asarray(np.clip(ratio, -1.0, 1.0), dtype=np.float64)


def _in_blocks(measure: Callable[[Floats, Floats], Floats], x: Floats, y: Floats) -> Floats:
    step = max(1, _BLOCK // max(1, x.shape[1] ** 2))
    parts = [measure(x[i : i + step], y[i : i + step]) for i in range(0, len(x), step)]
    return np.concatenate(parts) if parts else np.zeros(0)


def _pair(predicted: ArrayLike, gold: ArrayLike) -> tuple[Floats, Floats]:
    x, y = _matrix(predicted), _matrix(gold)
    if x.shape != y.shape:
        raise ValueError(f"predicted has shape {x.shape}, gold {y.shape}")
    return x, y


def _matrix(values: ArrayLike) -> Floats:
    matrix = np.asarray(values, dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"an array of shape (lists, n) is needed, not {matrix.shape}")
    if np.isnan(matrix).any():
        raise ValueError("a prediction is missing (NaN): leave invalid lists out first")
    return matrix
