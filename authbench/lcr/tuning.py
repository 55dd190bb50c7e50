"""Thresholds of LCR, chosen from stored confidences: best on test, held out, and on shuffled confidences.

The paper prints the best thresholds of each collection and base ranking, found on the test queries
themselves. Two columns beside it say what that is worth: thresholds cross-validated on held-out queries,
and the same best-of-grid search on confidences that were shuffled, whose gain is selection and no signal.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from authbench.errors import ConfigError
from authbench.lcr.grid import Grid
from authbench.lcr.rerank import Rule
from authbench.lcr.surface import Floats, Problem, Surface, surface
from authbench.measures.resampling import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    holm,
    randomisation_test,
)

Column = Literal["best-on-test", "held-out", "shuffled"]

#: Differences below this are rounding: the rule that intervenes less is preferred.
_DIGITS = 10


def best(sums: Floats) -> tuple[int, int]:
    """Place (gate, pair) of the largest value; the first in the grid's order where several are equal."""
    flat = int(np.argmax(np.round(sums, _DIGITS)))
    gate, pair = divmod(flat, sums.shape[1])
    return gate, pair


@dataclass(frozen=True, slots=True)
class HeldOut:
    """Cross-validated thresholds: each query is reranked by what was best on the other folds.

    Attributes:
        values: (Q,) NDCG.
        rules: the rule chosen for each fold.
    """

    values: Floats
    rules: tuple[Rule, ...]


def cross_validated(found: Surface, folds: int = 5, seed: int = 0) -> HeldOut:
    """Thresholds chosen without the queries that they are used on.

    Queries are dealt to folds at random. Raises `ConfigError` for fewer than two folds or more folds than
    queries.
    """
    n = len(found.base)
    if not 2 <= folds <= n:
        raise ConfigError(
            f"thresholds.folds {folds}: between 2 and the number of queries, {n}\n"
            "use --folds, or --set thresholds.folds=N for a run"
        )
    fold = np.random.default_rng(seed).permutation(n) % folds
    parts = [found.sums(fold == number) for number in range(folds)]
    total = np.sum(parts, axis=0)
    values = np.empty(n)
    rules = []
    for number, part in enumerate(parts):
        gate, pair = best(total - part)
        rules.append(found.grid.rule(gate, pair))
        values[fold == number] = found.values(gate, pair)[fold == number]
    return HeldOut(values, tuple(rules))


def shuffled_best(given: Problem, searched: Grid, rounds: int = 20, seed: int = 0) -> Floats:
    """(rounds,) mean NDCG of the best rule on shuffled confidences, one value a shuffle."""
    rng = np.random.default_rng(seed)
    means = []
    for _ in range(rounds):
        found = surface(given.shuffled(rng), searched)
        means.append(float(found.sums().max()) / len(found.base))
    return np.array(means)


@dataclass(frozen=True, slots=True)
class TunedColumn:
    """What reranking gives under thresholds chosen one way.

    Attributes:
        column: `best-on-test`, chosen on the queries themselves, as the paper appears to do; `held-out`,
            cross-validated; `shuffled`, the best on test with shuffled confidences, the control.
        value: mean NDCG with a 95 % interval: over queries, but for `shuffled` over shuffles.
        gain: mean difference from the base ranking, with its interval, likewise.
        relative: gain divided by the base's mean; None where that is 0.
        p: of the paired randomisation test against the base ranking. Best-on-test thresholds were chosen
            to make the difference large, so there it only describes. None for `shuffled`.
        p_holm: p adjusted for all rows that were tuned together; None until `adjust`, and where p is.
        moved: share of queries whose NDCG differs from the base ranking's; None for `shuffled`.
        rules: the rule of best-on-test, or that of each fold; empty for `shuffled`.
    """

    column: Column
    value: Interval
    gain: Interval
    relative: float | None
    p: float | None = None
    p_holm: float | None = None
    moved: float | None = None
    rules: tuple[Rule, ...] = ()


@dataclass(frozen=True, slots=True)
class Tuned:
    """A collection and base ranking with its three columns.

    Attributes:
        n: judged queries.
        base: mean NDCG of the base ranking, with a 95 % interval over queries.
        columns: best on test, held out, shuffled.
        p_signal: share of shuffles whose best is at least the real best, (c + 1) / (shuffles + 1): how
            well selection alone explains the best-on-test column.
    """

    n: int
    base: Interval
    columns: tuple[TunedColumn, TunedColumn, TunedColumn]
    p_signal: float


def tune(
    given: Problem,
    searched: Grid,
    *,
    folds: int = 5,
    seed: int = 0,
    shuffles: int = 20,
    resamples: int = 2000,
    rounds: int = 10_000,
) -> Tuned:
    """Search the grid and make the three columns.

    Args:
        given: the problem.
        searched: the rules that are tried.
        folds: of the cross-validation.
        seed: of the folds, the shuffles and the resampling.
        shuffles: of the control.
        resamples: of the bootstrap.
        rounds: of the randomisation test.
    """
    found = surface(given, searched)
    gate, pair = best(found.sums())
    chosen = found.values(gate, pair)
    held_out = cross_validated(found, folds, seed)
    control = shuffled_best(given, searched, shuffles, seed)
    mean = float(found.base.mean())

    def column(name: Column, values: np.ndarray[Any, Any], rules: tuple[Rule, ...]) -> TunedColumn:
        gain = bootstrap_difference(values, found.base, seed, resamples)
        return TunedColumn(
            name,
            bootstrap_mean(values, seed, resamples),
            gain,
            _ratio(gain.value, mean),
            randomisation_test(values, found.base, seed, rounds),
            moved=float(np.mean(np.abs(values - found.base) > 1e-12)),
            rules=rules,
        )

    low, high = (float(value) for value in np.quantile(control, [0.025, 0.975]))
    level = float(control.mean())
    shuffled = TunedColumn(
        "shuffled",
        Interval(level, low, high),
        Interval(level - mean, low - mean, high - mean),
        _ratio(level - mean, mean),
    )
    beyond = int((control >= chosen.mean() - 1e-12).sum())
    return Tuned(
        len(found.base),
        bootstrap_mean(found.base, seed, resamples),
        (
            column("best-on-test", chosen, (searched.rule(gate, pair),)),
            column("held-out", held_out.values, held_out.rules),
            shuffled,
        ),
        (beyond + 1) / (shuffles + 1),
    )


def adjust(tuned: Mapping[Any, Tuned]) -> dict[Any, Tuned]:
    """The same with `p_holm` set: Holm's correction over all rows, for each column by itself."""
    made = {key: list(row.columns) for key, row in tuned.items()}
    for place in (0, 1):
        corrected = holm([columns[place].p or 0.0 for columns in made.values()])
        for columns, p in zip(made.values(), corrected, strict=True):
            columns[place] = replace(columns[place], p_holm=float(p))
    return {
        key: replace(row, columns=(made[key][0], made[key][1], made[key][2])) for key, row in tuned.items()
    }


def _ratio(gain: float | None, base: float) -> float | None:
    return None if gain is None or base == 0 else gain / base
