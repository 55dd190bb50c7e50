"""What confidences cost: samples and entailment calls, beside what plainer ways would have asked."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Cost:
    """Totals over a set of confidences.

    Attributes:
        confidences: how many were taken.
        skipped: documents that were not asked, since the gate of their query was closed.
        samples: answers drawn.
        entailment_calls: entailment questions that were asked, before equal ones of other inputs are merged.
    """

    confidences: int
    skipped: int
    samples: int
    entailment_calls: int


def cost_of(outcomes: Iterable[Mapping[str, Any]]) -> Cost:
    """Totals over the values of outcomes of `assess`, as they are or as an item keeps them."""
    confidences = skipped = samples = calls = 0
    for values in outcomes:
        for row in (values["query"], *values["documents"]):
            if row is None:
                skipped += 1
                continue
            confidences += 1
            samples += len(row["labels"])
            calls += row["entailment_calls"]
    return Cost(confidences, skipped, samples, calls)


def greedy_calls(labels: Sequence[int]) -> int:
    """Calls of the paper's greedy loop as it is written: every sample, both directions of every comparison.

    `labels` are greedy clusters numbered by first appearance: a sample was compared with every cluster up to
    its own, or, if it opened one, with all there were.
    """
    calls = opened = 0
    for label in labels:
        calls += 2 * min(label + 1, opened)
        opened = max(opened, label + 1)
    return calls


def pairwise_calls(k: int) -> int:
    """Calls of comparing every two of `k` samples in both directions."""
    return k * (k - 1)
