"""LCR's Algorithm 1 and CAR's margin rule: reorder a ranking by the bins of its confidences.

Confidences are exact fractions, the share of a cluster of K samples, and so are thresholds: 7 of 10 samples
reach a threshold of 0.7, which floats would deny.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol, TypeVar

from authbench.errors import ConfigError

T = TypeVar("T")


def exact(value: float | str | Fraction) -> Fraction:
    """A threshold as it was written: 0.7 is 7/10, not the float nearest to it."""
    return value if isinstance(value, Fraction) else Fraction(str(value))


class Rule(Protocol):
    """What decides a reordering."""

    def opens(self, query: Fraction) -> bool:
        """Whether a query of this confidence is reranked at all."""

    def bin(self, document: Fraction, query: Fraction) -> int:
        """+1, 0 or -1 for a document's confidence; `query` is that of its query."""

    def __str__(self) -> str:
        """The thresholds in the words of the papers."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    """Algorithm 1 of LCR. Make it with `Thresholds.of`.

    Attributes:
        query: a query is reranked if its confidence is below this. 0 leaves every ranking as it is;
            every query is reranked only above 1.
        upper: documents at or above are in the high bin; tested first.
        lower: documents at or below are in the low bin.
    """

    query: Fraction
    upper: Fraction
    lower: Fraction

    @classmethod
    def of(
        cls, query: float | str | Fraction, upper: float | str | Fraction, lower: float | str | Fraction
    ) -> Thresholds:
        """From numbers as they are written. Raises `ConfigError` if `lower` is above `upper`."""
        made = cls(exact(query), exact(upper), exact(lower))
        if made.lower > made.upper:
            raise ConfigError(f"thresholds: lower {lower} is above upper {upper}")
        return made

    def opens(self, query: Fraction) -> bool:
        """See `Rule.opens`."""
        return query < self.query

    def bin(self, document: Fraction, query: Fraction) -> int:
        """See `Rule.bin`."""
        if document >= self.upper:
            return 1
        return -1 if document <= self.lower else 0

    def __str__(self) -> str:
        return f"T_query {_short(self.query)}, T_upper {_short(self.upper)}, T_lower {_short(self.lower)}"


@dataclass(frozen=True, slots=True)
class Margin:
    """CAR's rule: a document is high or low by how far its confidence lies from its query's.

    Attributes:
        query: gate, as in `Thresholds`.
        margin: +1 at or above the query's confidence plus this (tested first), -1 at or below it minus
            this; at least 0.
    """

    query: Fraction
    margin: Fraction

    @classmethod
    def of(cls, query: float | str | Fraction, margin: float | str | Fraction) -> Margin:
        """From numbers as they are written. Raises `ConfigError` for a negative margin."""
        made = cls(exact(query), exact(margin))
        if made.margin < 0:
            raise ConfigError(f"margin {margin} is negative")
        return made

    def opens(self, query: Fraction) -> bool:
        """See `Rule.opens`."""
        return query < self.query

    def bin(self, document: Fraction, query: Fraction) -> int:
        """See `Rule.bin`."""
        if document >= query + self.margin:
            return 1
        return -1 if document <= query - self.margin else 0

    def __str__(self) -> str:
        return f"T_query {_short(self.query)}, margin {_short(self.margin)}"


def rerank(
    ranking: Sequence[T],
    query: Fraction,
    documents: Sequence[Fraction],
    rule: Rule,
    depth: int = 10,
) -> list[T]:
    """The ranking reordered: high bin, middle bin, low bin, each in its old order.

    Args:
        ranking: best first. Only the first `depth` move.
        query: the query's confidence.
        documents: confidences of the first `depth` documents, or of all if there are fewer. They are not
            looked at where the gate is closed, and may then be empty.
        rule: `Thresholds` or `Margin`.

    Raises:
        ValueError: the gate is open and there are not as many confidences as documents to reorder.
    """
    if not rule.opens(query):
        return list(ranking)
    head = ranking[:depth]
    if len(documents) != len(head):
        raise ValueError(f"{len(head)} documents are reranked, but {len(documents)} confidences were given")
    order = sorted(range(len(head)), key=lambda place: -rule.bin(documents[place], query))
    return [head[place] for place in order] + list(ranking[depth:])


def _short(value: Fraction) -> str:
    return f"{float(value):g}"
