"""Facts about LCR: confidence by relevance, what the thresholds give, and what moved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from authbench.reporting.facts.records import Floats
from authbench.reporting.itemfiles import Item
from authbench.reporting.lcrvalues import Searched, search, settings_of
from authbench.reporting.results import Run

if TYPE_CHECKING:
    from authbench.lcr.grades import GradeCorrelation, GradeRow
    from authbench.lcr.rerank import Rule

#: Queries up to which the shuffled control is searched for the page; `authbench tune` does it for any number.
_CONTROL = 2000
_SHUFFLES = 10


@dataclass(frozen=True, slots=True, eq=False)
class Thresholding:
    """What the rules of the grid give, as NDCG in percent.

    Attributes:
        base: of the base ranking.
        best: of the best rule on these very queries, an upper bound.
        held_out: with thresholds chosen on other queries; None where there are too few queries.
        shuffled: best rule on shuffled confidences, the control; None where it was not searched.
        values: bin thresholds from low to high.
        gate: T_query behind `pairs`: the best, or where that reranks nothing, the one that reranks all.
        pairs: T_upper (rows) by T_lower (columns) at that gate, NaN where T_lower is above T_upper.
        best_pair: T_upper and T_lower of the best rule.
        gates: values of T_query, and `by_gate` what the best pair gives with each.
    """

    base: float
    best: float
    held_out: float | None
    shuffled: float | None
    values: tuple[float, ...]
    gate: float
    pairs: Floats
    best_pair: tuple[float, float]
    gates: tuple[float, ...]
    by_gate: Floats


@dataclass(frozen=True, slots=True)
class Moved:
    """What the cells' rule moves.

    Attributes:
        better: queries whose NDCG rises, `same` and `worse` likewise.
        opened: queries whose gate is open.
        lift: mean places that documents of a grade move up (below 0: down), with how many there are; the
            grade None for documents that nobody judged.
    """

    better: int
    same: int
    worse: int
    opened: int
    lift: tuple[tuple[int | None, float, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class LcrFacts:
    """Facts about one base ranking.

    Adaptive runs kept no full confidences: there `thresholds` is None and `grades` is empty.
    """

    rule: Rule
    grades: Sequence[GradeRow]
    correlation: GradeCorrelation
    thresholds: Thresholding | None
    moved: Moved


def lcr_facts(run: Run, group: str, items: Sequence[Item]) -> dict[str, Any]:
    """Fields of `GroupFacts` for a base ranking."""
    from authbench.lcr.grades import by_grade, grade_correlation
    from authbench.lcr.items import to_points

    settings = settings_of(run)
    found = search(items, settings)
    if found is None:
        return {}
    answered = [item for item in items if item.error is None]
    whole = [] if settings.confidence.adaptive else answered
    points = [point for item in whole for point in to_points(item.item, item.gold, item.values)]
    facts = LcrFacts(
        rule=found.rule,
        grades=by_grade(points),
        correlation=grade_correlation(points),
        thresholds=None if settings.confidence.adaptive else _thresholding(answered, run),
        moved=_moved(answered, found),
    )
    return {"extra": {"lcr": facts}}


def _thresholding(items: Sequence[Item], run: Run) -> Thresholding:
    """The whole grid, also for runs with fixed thresholds."""
    from authbench.lcr.grid import grid
    from authbench.lcr.surface import problem, surface
    from authbench.lcr.tuning import best, cross_validated, shuffled_best

    settings = settings_of(run)
    searched = search(items, settings)
    assert searched is not None
    given = problem(
        searched.queries, depth=settings.dataset.depth, cutoff=settings.cutoff, gain=settings.gain
    )
    rules = grid(settings.thresholds.step, method="lcr")
    found = surface(given, rules)
    count = len(searched.queries)
    sums = found.sums() * (100 / count)
    gate, pair = best(sums)
    values = tuple(
        sorted({float(edge) for edges in rules.bins if isinstance(edges, tuple) for edge in edges})
    )
    places = {value: place for place, value in enumerate(values)}
    shown = gate or len(rules.gates) - 1
    pairs = np.full((len(values), len(values)), np.nan)
    for number, edges in enumerate(rules.bins):
        assert isinstance(edges, tuple)
        pairs[places[float(edges[0])], places[float(edges[1])]] = sums[shown, number]
    folds = settings.thresholds.folds
    held_out = None
    if 2 <= folds <= count:
        held_out = 100 * float(cross_validated(found, folds, settings.thresholds.seed).values.mean())
    shuffled = None
    if count <= _CONTROL:
        shuffled = 100 * float(shuffled_best(given, rules, _SHUFFLES, settings.thresholds.seed).mean())
    return Thresholding(
        base=100 * float(found.base.mean()),
        best=float(sums[gate, pair]),
        held_out=held_out,
        shuffled=shuffled,
        values=values,
        gate=float(rules.gates[shown]),
        pairs=pairs,
        best_pair=(float(rules.bins[pair][0]), float(rules.bins[pair][1])),  # type: ignore[index]
        gates=tuple(float(value) for value in rules.gates),
        by_gate=np.asarray(sums[:, pair], dtype=np.float64),
    )


def _moved(items: Sequence[Item], found: Searched) -> Moved:
    """Where every document stands before and after, by grade."""
    from authbench.lcr.rerank import rerank

    gained = found.surface.values(found.gate, found.pair) - found.surface.base
    lifts: dict[int | None, list[int]] = defaultdict(list)
    opened = 0
    for item, query in zip(items, found.queries, strict=True):
        grades = dict(zip(item.gold["documents"], item.gold["grades"], strict=True))
        order = list(item.values["order"])
        opened += found.rule.opens(query.own)
        after = rerank(order, query.own, query.documents, found.rule, len(order))
        places = {document: place for place, document in enumerate(after)}
        for place, document in enumerate(order):
            lifts[grades[document]].append(place - places[document])
    known = sorted(grade for grade in lifts if grade is not None)
    return Moved(
        better=int((gained > 1e-12).sum()),
        same=int((np.abs(gained) <= 1e-12).sum()),
        worse=int((gained < -1e-12).sum()),
        opened=opened,
        lift=tuple(
            (grade, float(np.mean(lifts[grade])), len(lifts[grade]))
            for grade in [*known, *([None] if None in lifts else [])]
        ),
    )
