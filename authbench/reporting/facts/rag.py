"""Facts about filtered documents: scores, what each cut keeps, and what was answered."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from authbench.reporting.facts.pairs import count_scores
from authbench.reporting.facts.records import Kept
from authbench.reporting.itemfiles import Item

#: Filters score documents from 0 to 9 (appendix A).
_SCORES = 10


def rag_facts(group: str, items: Sequence[Item]) -> dict[str, Any]:
    """Fields of `GroupFacts` for a filter."""
    answered = [item for item in items if item.error is None]
    cuts = answered[0].values["cuts"] if answered else []
    given = [
        score
        for item in answered
        for part in item.values["scores"].values()
        for score in part or ()
        if score is not None
    ]
    facts: dict[str, Any] = {"kept": tuple(_kept(answered, place) for place in range(len(cuts)))}
    if given:
        facts["scores"] = count_scores(np.array(given, dtype=np.float64), _SCORES)
    return facts


def cut_name(cut: Mapping[str, Any]) -> str:
    """`k = 3`, `score>=7` or `all`."""
    if cut["k"] is not None:
        return f"k = {cut['k']}"
    return "all" if cut["threshold"] is None else f"score>={cut['threshold']:g}"


def _kept(items: Sequence[Item], place: int) -> Kept:
    cuts = [item.values["cuts"][place] for item in items]
    places = max((len(item.gold["urls"]) for item in items), default=0)
    kept, there = np.zeros(places), np.zeros(places)
    levels: dict[bool, list[float]] = {True: [], False: []}
    answers: Counter[tuple[str, str]] = Counter()
    for item, cut in zip(items, cuts, strict=True):
        answers[item.gold["answer"], cut["answer"] or "neither"] += 1
        if cut["kept"] is None:
            continue
        chosen = set(cut["kept"])
        there[: len(item.gold["urls"])] += 1
        kept[list(chosen)] += 1
        for number, level in enumerate(item.gold["levels"]):
            if level is not None:
                levels[number in chosen].append(level)
    means = [float(np.mean(levels[which])) if levels[which] else None for which in (True, False)]
    return Kept(
        cut=cut_name(cuts[0]),
        k=cuts[0]["k"],
        share=np.divide(kept, there, out=np.zeros(places), where=there > 0),
        questions=sum(cut["kept"] is not None for cut in cuts),
        ties=sum(bool(cut["tie"]) for cut in cuts),
        level=(means[0], means[1]),
        right=sum(cut["answer"] == item.gold["answer"] for item, cut in zip(items, cuts, strict=True)),
        answers=answers,
    )
