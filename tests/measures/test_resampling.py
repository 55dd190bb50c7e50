"""Intervals and tests: against scipy, against exhaustive enumeration, and by hand."""

from __future__ import annotations

import itertools
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import bootstrap

from authbench.measures.resampling import (
    Interval,
    bootstrap_difference,
    bootstrap_mean,
    holm,
    randomisation_test,
)

RNG = np.random.default_rng(7)


def test_interval_agrees_with_scipy() -> None:
    values = RNG.normal(0.5, 0.2, 200)
    ours = bootstrap_mean(values, resamples=20_000)
    theirs = bootstrap((values,), np.mean, n_resamples=20_000, method="percentile", rng=1)
    assert ours.value == pytest.approx(values.mean())
    # Both are Monte Carlo estimates; the interval is some 0.055 wide.
    assert ours.low == pytest.approx(theirs.confidence_interval.low, abs=1e-3)
    assert ours.high == pytest.approx(theirs.confidence_interval.high, abs=1e-3)


def test_binary_values_agree_with_the_general_way() -> None:
    right = (RNG.random(300) < 0.7).astype(float)
    binary = bootstrap_mean(right, resamples=20_000)
    # The same numbers, shifted so that they are not 0 and 1: drawn item by item.
    general = bootstrap_mean(right + 1, resamples=20_000)
    assert general.low is not None
    assert general.high is not None
    assert binary.low == pytest.approx(general.low - 1, abs=5e-3)
    assert binary.high == pytest.approx(general.high - 1, abs=5e-3)


def test_same_seed_same_interval() -> None:
    values = RNG.normal(size=50)
    assert bootstrap_mean(values, seed=3) == bootstrap_mean(values, seed=3)
    assert bootstrap_mean(values, seed=3) != bootstrap_mean(values, seed=4)


def test_blocks_do_not_change_the_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RNG.normal(size=50)
    whole = bootstrap_mean(values, seed=3)
    monkeypatch.setattr("authbench.measures.resampling._BLOCK", 500)
    assert bootstrap_mean(values, seed=3) == whole


def test_few_values() -> None:
    assert bootstrap_mean([]) == Interval(None, None, None)
    assert bootstrap_mean([0.25]) == Interval(0.25, None, None)
    assert bootstrap_mean([0.5, 0.5]) == Interval(0.5, 0.5, 0.5)


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=30))
def test_interval_holds_the_range(values: list[float]) -> None:
    interval = bootstrap_mean(values, resamples=100)
    assert interval.low is not None
    assert interval.high is not None
    assert min(values) - 1e-9 <= interval.low <= interval.high <= max(values) + 1e-9


def test_difference_is_paired() -> None:
    base = RNG.normal(0, 10, 100)
    # Far noisier than their difference of exactly 0.5.
    assert bootstrap_difference(base + 0.5, base).low == pytest.approx(0.5)
    with pytest.raises(ValueError, match="paired values"):
        bootstrap_difference([1.0], [1.0, 2.0])


def test_randomisation_against_all_sign_vectors() -> None:
    differences = np.array([0.3, 0.1, -0.05, 0.2, 0.4, 0.0, 0.15, 0.25, -0.1, 0.3])
    seen = abs(differences.sum())
    signs = np.array(list(itertools.product((-1, 1), repeat=10)))
    exact = (np.abs(signs @ differences) >= seen - 1e-12).mean()
    p = randomisation_test(differences, np.zeros(10), seed=0, rounds=50_000)
    assert p == pytest.approx(exact, abs=4 * np.sqrt(exact / 50_000))


def test_randomisation_bounds() -> None:
    assert randomisation_test([0.1, 0.2], [0.1, 0.2]) == 1.0
    # 40 equal differences: no random sign vector is as far off.
    assert randomisation_test([1.0] * 40, [0.0] * 40, rounds=999) == 1 / 1000
    # A single difference: both signs are as far off as what was seen.
    assert randomisation_test([1.0], [0.0], rounds=99) == 1.0
    # Two-sided: the order of the systems does not matter.
    a, b = RNG.normal(size=20), RNG.normal(size=20)
    assert randomisation_test(a, b, seed=5) == randomisation_test(b, a, seed=5)


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.03, 0.04 times 3, 2, 1 = 0.03, 0.06, 0.04; made monotone: 0.03, 0.06, 0.06.
    assert holm([0.04, 0.01, 0.03]).tolist() == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]).tolist() == [1.0, 1.0]
    assert holm([]).tolist() == []


def test_values_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="finite"):
        bootstrap_mean([0.1, float("nan")])
    with pytest.raises(ValueError, match="shape"):
        bootstrap_mean([[0.1, 0.2]])


def test_scipy_is_imported_late() -> None:
    modules = "authbench.measures.accuracy, authbench.measures.correlation"
    code = f"import sys, {modules}; print('scipy' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
