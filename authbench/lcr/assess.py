"""All confidences of one query: its own, and that of each of its documents (LCR, Algorithm 1, step 1)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from authbench.lcr.clustering import Embed, Enough
from authbench.lcr.confidence import ConfidenceSettings, confidence_of, mscp
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.rerank import Rule, Thresholds
from authbench.lcr.together import together
from authbench.runtime.messages import Outcome, Procedure


@dataclass(frozen=True, slots=True)
class Cost:
    """What a set of confidences cost.

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


def assess(
    question: str,
    documents: Sequence[str],
    settings: ConfidenceSettings,
    prompts: LcrPrompts,
    *,
    rule: Rule | None = None,
    embed: Embed | None = None,
) -> Procedure[Outcome]:
    """The confidence of a query and of each document with it.

    Args:
        question: the query's text.
        documents: the texts to be reranked, in the order of the ranking.
        settings: see `ConfidenceSettings`.
        prompts: see `LcrPrompts`.
        rule: None takes every confidence in full, which tuning needs, everything at once. With a rule
            (adaptive) only what can change its reordering is asked: the query first, its documents only if
            the gate is open, each until its bin is settled. The reordering is the same.
        embed: for centroid clustering.

    The outcome's values: `query`, the values of `mscp`; `documents`, the same for each document, in
    order, or None where the gate is closed and they were not asked.
    """
    if rule is None:
        procedures = [mscp(question, text, settings, prompts, embed=embed) for text in (None, *documents)]
        outcomes, answers = yield from together(procedures)
        values = [dict(outcome.values) for outcome in outcomes]
        return Outcome(tuple(answers), {"query": values[0], "documents": values[1:]})
    k = settings.samples
    own = yield from mscp(question, None, settings, prompts, decided=query_decided(rule, k))
    query = confidence_of(own.values)
    if not rule.opens(query):
        skipped = {"query": dict(own.values), "documents": [None] * len(documents)}
        return Outcome(own.answers, skipped)
    decided = document_decided(rule, query, k)
    outcomes, answers = yield from together(
        [mscp(question, text, settings, prompts, decided=decided) for text in documents]
    )
    found = {"query": dict(own.values), "documents": [dict(outcome.values) for outcome in outcomes]}
    return Outcome((*own.answers, *answers), found)


def query_decided(rule: Rule, k: int) -> Enough:
    """True once no further sample can open or close the gate.

    A rule other than `Thresholds` measures documents against the query's confidence, so there an open
    gate needs all samples.
    """

    def decided(low: int, high: int) -> bool:
        if low == high or not rule.opens(Fraction(low, k)):  # more agreement keeps a closed gate closed
            return True
        return isinstance(rule, Thresholds) and rule.opens(Fraction(high, k))

    return decided


def document_decided(rule: Rule, query: Fraction, k: int) -> Enough:
    """True once no further sample can move the document to another bin; bins grow with confidence."""

    def decided(low: int, high: int) -> bool:
        return rule.bin(Fraction(low, k), query) == rule.bin(Fraction(high, k), query)

    return decided


def cost_of(outcomes: Iterable[Mapping[str, Any]]) -> Cost:
    """Totals over the values of outcomes of `assess`."""
    taken = skipped = samples = calls = 0
    for values in outcomes:
        for row in (values["query"], *values["documents"]):
            if row is None:
                skipped += 1
                continue
            taken += 1
            samples += len(row["labels"])
            calls += row["entailment_calls"]
    return Cost(taken, skipped, samples, calls)
