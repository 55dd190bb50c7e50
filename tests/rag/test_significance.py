"""McNemar between filters of one run: verdicts, pairs of filters, p-values from scipy and by hand."""

from __future__ import annotations

from typing import Any

import pytest
from scipy.stats import binomtest

from authbench.rag.significance import compare_filters, right_answers
from authbench.tasks.base import Record


def record(
    chosen: str, question: int, answer: str | None, *, k: int | None = 1, error: bool = False
) -> Record:
    cuts = [{"k": k, "threshold": None, "kept": [0], "tie": False, "answer": answer}]
    values: dict[str, Any] = {} if error else {"scores": {}, "cuts": cuts}
    failed = "the engine died" if error else None
    return Record(f"set/{chosen}", f"q{question}", question, {"answer": "yes"}, values, ("ok",), failed)


def run(**answers: str) -> list[Record]:
    """A run from answers by filter: y right, n wrong, ? invalid, x failed."""
    return [
        record(
            name,
            place,
            {"y": "yes", "n": "no"}.get(letter),
            k=None if name == "none" else 1,
            error=letter == "x",
        )
        for name, letters in answers.items()
        for place, letter in enumerate(letters)
    ]


def test_verdicts_are_strict() -> None:
    verdicts = right_answers(run(authority="yn?x"))
    assert verdicts == {("authority", "k=1"): {"q0": True, "q1": False, "q2": False, "q3": False}}


def test_two_filters_by_hand() -> None:
    items = run(none="nnnnnnnyy?", authority="yyyyyyyyn?")
    (found,) = compare_filters(items)
    assert (found.cut, found.a, found.b, found.n) == ("k=1", "authority", "none", 10)
    assert (found.accuracy_a, found.accuracy_b) == (0.8, 0.2)
    assert found.difference == pytest.approx(0.6)
    assert (found.only_a, found.only_b) == (7, 1)
    # Eight questions tell them apart, one of which goes the other way: 2 * (1 + 8) / 2**8.
    assert found.pvalue == pytest.approx(18 / 256)
    assert found.pvalue == pytest.approx(binomtest(7, 8).pvalue)
    assert found.adjusted == found.pvalue
    assert found.low is not None and found.low < 0.6


def test_all_pairs_with_holm() -> None:
    items = run(none="nnnnnnn", relevance="nnnnnny", authority="yyyyyyy")
    found = compare_filters(items)
    assert [(d.a, d.b) for d in found] == [
        ("relevance", "none"),
        ("authority", "none"),
        ("relevance", "authority"),
    ]
    raw = [d.pvalue for d in found]
    assert raw == [pytest.approx(1.0), pytest.approx(2 / 128), pytest.approx(2 / 64)]
    # Holm: the smallest times 3, the next times 2, and never below one before it.
    assert [d.adjusted for d in found] == [1.0, pytest.approx(6 / 128), pytest.approx(4 / 64)]
    assert [(d.a, d.b) for d in compare_filters(items, against="authority")] == [
        ("none", "authority"),
        ("relevance", "authority"),
    ]


def test_nothing_to_compare() -> None:
    assert compare_filters([]) == []
    assert compare_filters(run(authority="yy")) == []
    assert compare_filters(run(none="yy")) == []
