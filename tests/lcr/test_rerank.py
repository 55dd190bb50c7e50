from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.errors import ConfigError
from authbench.lcr.rerank import Margin, Thresholds, exact, rerank

TENTHS = st.integers(0, 11).map(lambda n: Fraction(n, 10))
CONFIDENCES = st.integers(1, 10).map(lambda n: Fraction(n, 10))


@st.composite
def thresholds(draw: st.DrawFn) -> Thresholds:
    low, high = sorted((draw(TENTHS), draw(TENTHS)))
    return Thresholds(draw(TENTHS), high, low)


def c(count: int, k: int = 10) -> Fraction:
    return Fraction(count, k)


def test_boundaries_are_exact() -> None:
    # 7 of 10 reaches 0.7, though 0.7 * 10 is not 7 in floats; 3 of 10 is at most 0.3.
    rule = Thresholds.of(0.7, 0.7, 0.3)
    assert [rule.bin(c(count), c(1)) for count in range(1, 11)] == [-1, -1, -1, 0, 0, 0, 1, 1, 1, 1]
    assert rule.opens(c(6)) and not rule.opens(c(7))
    thirds = Thresholds.of("1/3", "2/3", "1/3")
    assert [thirds.bin(c(count, 3), c(1, 3)) for count in (1, 2, 3)] == [-1, 1, 1]
    assert exact(0.1) * 3 == exact(0.3)


def test_high_is_tested_before_low() -> None:
    assert Thresholds.of(1, 0.5, 0.5).bin(c(5), c(1)) == 1


def test_a_query_of_full_confidence_needs_a_threshold_above_one() -> None:
    ranking, documents = ["a", "b"], [c(1), c(10)]
    assert rerank(ranking, c(10), documents, Thresholds.of(1.0, 0.9, 0.2)) == ["a", "b"]
    assert rerank(ranking, c(10), documents, Thresholds.of(1.1, 0.9, 0.2)) == ["b", "a"]


def test_worked_example() -> None:
    # Bins: a low, b high, c middle, d high, e low; f lies below the depth.
    ranking = list("abcdef")
    documents = [c(2), c(9), c(5), c(10), c(1)]
    assert rerank(ranking, c(3), documents, Thresholds.of(0.5, 0.9, 0.2), depth=5) == list("bdcaef")


def test_a_lower_threshold_below_one_sample_demotes_nothing() -> None:
    rule = Thresholds.of(1.1, 1.0, 0.05)
    assert all(rule.bin(c(count), c(1)) >= 0 for count in range(1, 11))


def test_margin_rule() -> None:
    rule = Margin.of(1.1, 0.2)
    assert [rule.bin(c(count), c(5)) for count in range(1, 11)] == [-1, -1, -1, 0, 0, 0, 1, 1, 1, 1]
    # With no margin the comparison with the query decides, and equality is high.
    assert [Margin.of(1, 0).bin(c(count), c(5)) for count in (4, 5, 6)] == [-1, 1, 1]
    assert rerank(["a", "b", "c"], c(5), [c(2), c(5), c(8)], rule) == ["c", "b", "a"]


@given(st.lists(CONFIDENCES, max_size=15), CONFIDENCES, thresholds(), st.integers(0, 12))
def test_properties(documents: list[Fraction], query: Fraction, rule: Thresholds, depth: int) -> None:
    ranking = list(range(len(documents)))
    head = documents[:depth]
    new = rerank(ranking, query, head, rule, depth)
    assert sorted(new) == ranking
    assert new[depth:] == ranking[depth:]
    bins = [rule.bin(documents[place], query) for place in new[:depth]]
    if query < rule.query:
        assert bins == sorted(bins, reverse=True)
        # Stable: within a bin the old order.
        for bin_ in set(bins):
            inside = [place for place, b in zip(new[:depth], bins, strict=True) if b == bin_]
            assert inside == sorted(inside)
    else:
        assert new == ranking


@given(st.lists(CONFIDENCES, max_size=10), CONFIDENCES, thresholds())
def test_a_gate_at_zero_is_the_identity(documents: list[Fraction], query: Fraction, rule: Thresholds) -> None:
    ranking = list(range(len(documents)))
    closed = Thresholds(Fraction(0), rule.upper, rule.lower)
    assert rerank(ranking, query, documents, closed) == ranking
    assert rerank(ranking, query, [], closed) == ranking  # confidences are not even looked at


@given(CONFIDENCES, st.integers(0, 10), CONFIDENCES, thresholds())
def test_one_bin_is_the_identity(same: Fraction, n: int, query: Fraction, rule: Thresholds) -> None:
    ranking = list(range(n))
    assert rerank(ranking, query, [same] * n, rule) == ranking


def test_what_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"lower 0\.8 is above upper 0\.5"):
        Thresholds.of(1, 0.5, 0.8)
    with pytest.raises(ConfigError, match="negative"):
        Margin.of(1, -0.1)
    with pytest.raises(ValueError, match="2 documents are reranked, but 1"):
        rerank(["a", "b"], c(1), [c(1)], Thresholds.of(1, 0.5, 0.1))


def test_rules_print_as_the_papers_write_them() -> None:
    assert str(Thresholds.of(0.8, 0.9, 0.3)) == "T_query 0.8, T_upper 0.9, T_lower 0.3"
    assert str(Margin.of(1.1, 0.2)) == "T_query 1.1, margin 0.2"
