"""Facts about lists that were ranked: scores, predicted against true level, position and side."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from authbench.reporting.facts.pairs import count_scores, sides_of
from authbench.reporting.facts.records import Counts, Floats, Positions
from authbench.reporting.itemfiles import Item
from authbench.reporting.peritem import list_scores
from authbench.runtime.messages import VALID

#: Comparisons of two sources held in memory at a time.
_BLOCK = 1 << 22


def list_facts(group: str, items: Sequence[Item]) -> dict[str, Any]:
    """Fields of `GroupFacts` for a group of lists. Lists of unequal length are left out."""
    from authbench.judging.aggregate import AGGREGATIONS

    judge = group.rpartition("/")[2]
    aggregate = next(iter(AGGREGATIONS.get(judge, {}).values()), None)
    length = len(items[0].gold["levels"]) if items else 0
    items = [item for item in items if len(item.gold["levels"]) == length]
    predicted = np.array([list_scores(item, aggregate) for item in items], dtype=np.float64)
    gold = np.array([item.gold["levels"] for item in items], dtype=np.int64)
    if predicted.size == 0:
        return {}
    levels = int(gold.max()) + 1
    readable = ~np.isnan(predicted).any(axis=1)
    facts: dict[str, Any] = {
        "positions": _positions(predicted[readable], gold[readable], _validity(judge, items, length))
    }
    by_rank = judge.endswith("rank")
    shown = _as_levels(predicted, levels) if by_rank else predicted
    facts |= {"heat": heat_of(shown, gold, levels), "ranked": by_rank}
    if judge.startswith("pair"):
        compared = _comparisons(items, gold)
        facts["sides"] = sides_of(*compared)
        if not by_rank:
            facts["scores"] = count_scores(np.concatenate(compared[:2]), levels)
    elif not by_rank:
        facts["scores"] = count_scores(predicted, levels)
    return facts


def heat_of(predicted: Floats, gold: Counts, levels: int) -> Counts:
    """How often each predicted level (rows, rounded) met each true one (columns); missing ones left out."""
    known = ~np.isnan(predicted)
    rows = np.rint(np.clip(predicted[known], 0, levels - 1)).astype(np.int64)
    heat = np.zeros((levels, levels), dtype=np.int64)
    np.add.at(heat, (rows, gold[known]), 1)
    return heat


def _as_levels(predicted: Floats, levels: int) -> Floats:
    """Ranks as levels: the source ranked last gets 0, the first `levels - 1`."""
    shown = np.full(predicted.shape, np.nan)
    whole = ~np.isnan(predicted).any(axis=1)
    shown[whole] = predicted[whole].argsort(axis=1, kind="stable").argsort(axis=1)
    capped: Floats = np.minimum(shown, levels - 1)
    return capped


def _positions(predicted: Floats, gold: Counts, valid: Floats | None) -> Positions | None:
    count, length = predicted.shape
    if count == 0:
        return None
    right, lift = np.zeros(length), np.zeros(length)
    step = max(1, _BLOCK // (length * length))
    for start in range(0, count, step):
        x, y = predicted[start : start + step], gold[start : start + step]
        by_score = np.sign(x[:, :, None] - x[:, None, :])
        by_level = np.sign(y[:, :, None] - y[:, None, :])
        agree = np.where(by_score == 0, 0.5, by_score == by_level)
        right += np.where(by_level == 0, 0.0, agree).sum(axis=(0, 2))
        # Twice a rank's distance from the middle is the number of sources below minus that above.
        lift += (by_score.sum(axis=2) - by_level.sum(axis=2)).sum(axis=0) / 2
    return Positions(right / (count * max(1, length - 1)), lift / count, valid, count)


def _validity(judge: str, items: Sequence[Item], length: int) -> Floats | None:
    """Share of usable answers by place, where answers are about single places or pairs of them."""
    if judge.startswith("list") or not items:
        return None
    asked, usable = np.zeros(length), np.zeros(length)
    for item in items:
        if item.error is not None:
            continue
        pairs = item.values.get("pairs")
        for number, answer in enumerate(item.answers):
            if pairs is not None and number >= len(pairs):
                break
            places = [number] if pairs is None else pairs[number][:2]
            if places[-1] < length:
                asked[places] += 1
                usable[places] += answer.status in VALID
    shares: Floats = np.divide(usable, asked, out=np.full(length, np.nan), where=asked > 0)
    return shares


def _comparisons(items: Sequence[Item], gold: Counts) -> tuple[Floats, Floats, Counts, Counts]:
    """Scores of A and B and their levels, for every comparison of every list."""
    rows = [
        (a, b, levels[i], levels[j])
        for item, levels in zip(items, gold.tolist(), strict=True)
        if item.error is None
        for i, j, a, b in item.values["pairs"]
    ]
    table = np.array(rows, dtype=np.float64).reshape(-1, 4)
    return table[:, 0], table[:, 1], table[:, 2].astype(np.int64), table[:, 3].astype(np.int64)
