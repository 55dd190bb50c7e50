from __future__ import annotations

from fractions import Fraction

import pytest
from scipy import stats

from authbench.lcr.grades import Point, by_grade, grade_correlation

POINTS = [
    Point("a", Fraction(1, 10), 0),
    Point("a", Fraction(4, 10), 1),
    Point("a", Fraction(9, 10), 3),
    Point("b", Fraction(5, 10), 1),
    Point("b", Fraction(5, 10), 0),
    Point("b", Fraction(1), None),
    Point("c", Fraction(2, 10), 2),
]


def test_by_grade() -> None:
    rows = by_grade(POINTS)
    assert [(row.grade, row.n) for row in rows] == [(0, 2), (1, 2), (2, 1), (3, 1), (None, 1)]
    assert rows[0].confidence.value == pytest.approx(0.3)
    assert rows[1].confidence.value == pytest.approx(0.45)
    assert by_grade([]) == []


def test_correlation_equals_scipy_and_is_taken_within_queries() -> None:
    found = grade_correlation(POINTS)
    confidences = [0.1, 0.4, 0.9, 0.5, 0.5, 0.2]
    grades = [0, 1, 3, 1, 0, 2]
    assert found.spearman == pytest.approx(stats.spearmanr(confidences, grades).statistic)
    assert found.kendall == pytest.approx(stats.kendalltau(confidences, grades).statistic)
    # Query a is in perfect order, b is constant and counts 0, c has a single document.
    assert found.within.value == pytest.approx(0.5)
    assert (found.n, found.n_queries) == (6, 2)


def test_nothing_to_correlate() -> None:
    found = grade_correlation([Point("a", Fraction(1), 1), Point("a", Fraction(1), 0)])
    assert found.spearman is None and found.kendall is None
    assert found.within.value == 0.0
    assert grade_correlation([]).within.value is None
