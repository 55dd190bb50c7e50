"""Authority scores against labels, worked out by hand."""

from __future__ import annotations

import pytest

from authbench.tasks.rag.calibration import calibrate


def test_by_hand() -> None:
    scores: list[list[float] | None] = [[9, 0, 5], [3, 3], None, [1, 2]]
    labels: list[list[float | None]] = [[8, 1, None], [4, 2], [1, 5], [None, 3]]
    rows = calibrate(scores, labels)
    found = {(row["metric"], row["policy"], row.get("method")): row for row in rows}
    # Questions with two labels: 1 (perfect), 2 (constant: 0), 3 (invalid: 0 in strict, left out of valid).
    strict = found["spearman", "strict", None]
    assert (strict["value"], strict["n"], strict["n_invalid"]) == (pytest.approx(1 / 3), 3, 1)
    valid = found["kendall", "valid", None]
    assert (valid["value"], valid["n"], valid["n_constant"]) == (pytest.approx(1 / 2), 2, 1)
    # Documents with a score and a label: (9, 8), (0, 1), (3, 4), (3, 2), (2, 3): each is off by one.
    error = found["calibration-error", "valid", None]
    assert (error["value"], error["n"]) == (pytest.approx(1 / 9), 5)
    means = {key[2]: row["value"] for key, row in found.items() if key[0] == "mean-score"}
    assert means == {
        "level-1": pytest.approx(0),
        "level-2": pytest.approx(3 / 9),
        "level-3": pytest.approx(2 / 9),
        "level-4": pytest.approx(3 / 9),
        "level-8": pytest.approx(1),
    }


def test_without_labels_there_is_nothing() -> None:
    assert calibrate([[1, 2], None], [[None, None], [None]]) == []


def test_labels_that_are_no_levels_only_rank() -> None:
    rows = calibrate([[1, 5, 9]], [[0.00001, 0.0003, 0.02]])
    assert {(row["metric"], row["value"]) for row in rows} == {("spearman", 1.0), ("kendall", 1.0)}
