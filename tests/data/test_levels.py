"""Levels: the PageRank rule, the log-space rule of section 3.2.1, and the two scales."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.data.levels import COARSE, FINE, get_scale, log_space_levels, merge, pagerank_level
from authbench.errors import ConfigError, DataError


def test_scales() -> None:
    assert (FINE.levels, COARSE.levels) == (10, 5)
    assert get_scale("coarse") is COARSE
    with pytest.raises(ConfigError, match=r"dataset.scale: 'corse' .*did you mean 'coarse'"):
        get_scale("corse")


def test_coarse_merges_neighbours_as_the_paper_says() -> None:
    # section 3.2: 0&1 -> 0, 2&3 -> 1, 4&5 -> 2, 6&7 -> 3, 8&9 -> 4
    assert [merge(level, COARSE) for level in range(10)] == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4]
    assert [merge(level, FINE) for level in range(10)] == list(range(10))


def test_pagerank_level() -> None:
    assert [pagerank_level(value, FINE) for value in (0, 5, 9, 10)] == [0, 5, 9, None]
    assert [pagerank_level(value, COARSE) for value in (0, 5, 9, 10)] == [0, 2, 4, None]
    for value in (-1, 11, 3.5, float("nan"), float("inf")):
        with pytest.raises(DataError, match="no authority label"):
            pagerank_level(value, FINE)


def test_log_space_by_hand() -> None:
    # From 1 to 1024 = 2**10 the ten edges are the powers of two: each doubling is a level.
    assert log_space_levels([1, 1.5, 3, 5, 9, 500, 600, 1024], FINE) == (0, 0, 1, 2, 3, 8, 9, 9)
    assert log_space_levels([1, 1.5, 3, 5, 9, 500, 600, 1024], COARSE) == (0, 0, 0, 1, 1, 4, 4, 4)


@given(st.lists(st.floats(1e-6, 1e9), min_size=2, max_size=60).filter(lambda v: min(v) < 0.99 * max(v)))
def test_log_space_properties(values: list[float]) -> None:
    levels = log_space_levels(values, FINE)
    assert levels[values.index(min(values))] == 0
    assert levels[values.index(max(values))] == 9
    ranked = [level for _, level in sorted(zip(values, levels, strict=True))]
    assert ranked == sorted(ranked)
    # The paper's own formula, clipped.
    edges = np.logspace(np.log10(min(values)), np.log10(max(values)), 11)
    assert list(levels) == list(np.clip(np.digitize(values, edges) - 1, 0, 9))
    assert log_space_levels(values, COARSE) == tuple(level // 2 for level in levels)


def test_log_space_errors() -> None:
    assert log_space_levels([], FINE) == ()
    for values in ([0.0, 1.0], [-1.0, 2.0], [1.0, float("inf")], [1.0, float("nan")]):
        with pytest.raises(DataError, match="positive, finite"):
            log_space_levels(values, FINE)
    with pytest.raises(DataError, match="all 3 values are 7"):
        log_space_levels([7, 7, 7], FINE)


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("domain", "at_minimum", "in_bin_10", "counts"),
    [
        ("basketball", 2881, 1, (5110, 3804, 2069, 1240, 643, 301, 95, 35, 9, 3)),
        ("movies", 1009, 0, (3543, 2187, 2059, 1379, 837, 550, 273, 94, 34, 8)),
        ("songs", 355, 0, (605, 211, 327, 345, 231, 194, 107, 102, 19, 16)),
    ],
)
def test_the_upstream_files_of_entityauth(
    mirror: Path, domain: str, at_minimum: int, in_bin_10: int, counts: tuple[int, ...]
) -> None:
    """The numbers in bin -1 and bin 10 without clipping are those worked out beside the paper."""
    with (mirror / "entityauth" / f"{domain}.jsonl").open(encoding="utf-8") as file:
        values = [json.loads(line)["popularity"] for line in file]
    edges = np.logspace(np.log10(min(values)), np.log10(max(values)), 11)
    unclipped = Counter((np.digitize(values, edges) - 1).tolist())
    assert (unclipped[-1], unclipped[10]) == (at_minimum, in_bin_10)
    levels = log_space_levels(values, FINE)
    assert tuple(Counter(levels)[level] for level in range(10)) == counts
    low = min(values)
    lowest = [level for value, level in zip(values, levels, strict=True) if value == low]
    assert lowest == [0] * at_minimum
    # Merging the ten bins and digitizing with six edges agree on all three files.
    six = np.digitize(values, np.logspace(np.log10(min(values)), np.log10(max(values)), 6)) - 1
    assert log_space_levels(values, COARSE) == tuple(np.clip(six, 0, 4).tolist())
