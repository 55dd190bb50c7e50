"""Confidence by relevance grade: LCR's hypothesis that the two grow together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from authbench.measures.correlation import list_correlations
from authbench.measures.resampling import Interval, bootstrap_mean


@dataclass(frozen=True, slots=True)
class Point:
    """A document of a query: its confidence and its grade, None where nobody judged it."""

    query: str
    confidence: Fraction
    grade: int | None


@dataclass(frozen=True, slots=True)
class GradeRow:
    """Mean confidence of the documents of one grade, with a 95 % interval over documents."""

    grade: int | None
    n: int
    confidence: Interval


@dataclass(frozen=True, slots=True)
class GradeCorrelation:
    """Rank correlation of confidence with grade, over judged documents.

    Attributes:
        spearman: over all pairs of query and document at once; None where it is undefined.
        kendall: tau-b, likewise. Both mix differences between queries with those within them.
        within: mean over queries of tau-b among a query's own documents, with a 95 % interval over
            queries: what reranking can use. Constant confidences count as 0.
        n: judged documents.
        n_queries: queries behind `within`: those whose documents have at least two grades.
    """

    spearman: float | None
    kendall: float | None
    within: Interval
    n: int
    n_queries: int


def by_grade(points: Sequence[Point], seed: int = 0) -> list[GradeRow]:
    """A row for each grade that occurs, the lowest first; unjudged documents last."""
    groups: dict[int | None, list[float]] = defaultdict(list)
    for point in points:
        groups[point.grade].append(float(point.confidence))
    grades = sorted(grade for grade in groups if grade is not None)
    order = [*grades, *([None] if None in groups else [])]
    return [GradeRow(grade, len(groups[grade]), bootstrap_mean(groups[grade], seed)) for grade in order]


def grade_correlation(points: Sequence[Point], seed: int = 0) -> GradeCorrelation:
    """Whether confidence grows with relevance. Unjudged documents are left out."""
    from scipy import stats

    judged = [(point, point.grade) for point in points if point.grade is not None]
    confidences = [float(point.confidence) for point, _ in judged]
    grades = [grade for _, grade in judged]
    spearman = kendall = None
    if len(set(confidences)) > 1 and len(set(grades)) > 1:
        spearman = float(stats.spearmanr(confidences, grades).statistic)
        kendall = float(stats.kendalltau(confidences, grades).statistic)
    by_query: dict[str, list[tuple[float, int]]] = defaultdict(list)
    for point, grade in judged:
        by_query[point.query].append((float(point.confidence), grade))
    telling = [rows for rows in by_query.values() if len({grade for _, grade in rows}) > 1]
    taus = list_correlations(
        [[confidence for confidence, _ in rows] for rows in telling],
        [[grade for _, grade in rows] for rows in telling],
    )["kendall"]
    within = bootstrap_mean(np.array([tau for tau in taus if tau is not None]), seed)
    return GradeCorrelation(spearman, kendall, within, len(judged), len(telling))
