"""Facts about pairs: scores, levels and sides."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from authbench.reporting.facts.records import Counts, Floats, Sides
from authbench.reporting.itemfiles import Item
from authbench.reporting.peritem import pair_scores


def pair_facts(group: str, items: Sequence[Item]) -> dict[str, Any]:
    """Fields of `GroupFacts` for a group of pairs."""
    from authbench.reporting.facts.lists import heat_of

    judge = group.rpartition("/")[2]
    scores = np.array([pair_scores(item) for item in items], dtype=np.float64).reshape(-1, 2)
    gold = np.array([item.gold["levels"] for item in items], dtype=np.int64).reshape(-1, 2)
    if scores.size == 0:
        return {}
    facts: dict[str, Any] = {"sides": sides_of(scores[:, 0], scores[:, 1], gold[:, 0], gold[:, 1])}
    if not judge.endswith("rank"):
        levels = max(10, int(gold.max()) + 1)
        facts["scores"] = count_scores(scores, levels)
        facts["heat"] = heat_of(scores, gold, levels)
    return facts


def sides_of(first: Floats, second: Floats, level_first: Counts, level_second: Counts) -> Sides:
    """Counts by side; NaN marks an answer that could not be used."""
    invalid = np.isnan(first) | np.isnan(second)
    ties = ~invalid & (first == second)
    prefers_first, prefers_second = first > second, second > first
    better_first, better_second = level_first > level_second, level_second > level_first
    return Sides(
        asked=len(first),
        invalid=int(invalid.sum()),
        ties=int(ties.sum()),
        first=int(prefers_first.sum()),
        right_first=(int(better_first.sum()), int((better_first & prefers_first).sum())),
        right_second=(int(better_second.sum()), int((better_second & prefers_second).sum())),
    )


def count_scores(scores: Floats, levels: int) -> Counts:
    """How often each whole score was given, from 0 to the highest level; missing ones left out."""
    known = scores[~np.isnan(scores)]
    rounded = np.rint(np.clip(known, 0, levels - 1)).astype(np.int64)
    return np.bincount(rounded, minlength=levels).astype(np.int64)
