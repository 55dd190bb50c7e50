"""From the items of an LCR run to the problems of `authbench.lcr.tuning`: no model, no collection.

Used by the task, for the cells, and by `authbench tune`, on `items.jsonl`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any, Literal

from authbench.errors import DataError
from authbench.lcr.confidence import confidence_at, confidence_of, entropy_confidence
from authbench.lcr.grades import Point
from authbench.lcr.surface import Query

Measure = Literal["mscp", "entropy"]

#: What of a confidence's values is kept in `items.jsonl`; the sampled texts stand among the answers.
KEPT = ("k", "largest", "labels", "links", "entailment_calls", "n_unclear", "n_empty", "n_truncated")


def kept(values: Mapping[str, Any] | None) -> dict[str, Any] | None:
    """A confidence as an item keeps it; None for one that was not taken."""
    return None if values is None else {name: values[name] for name in KEPT if name in values}


def read_confidence(values: Mapping[str, Any], measure: Measure, k: int | None = None) -> Fraction:
    """A kept confidence by `mscp` or by `entropy`: of all samples, or of the first `k`.

    Raises `DataError` if there are not so many samples.
    """
    try:
        if measure == "entropy":
            return entropy_confidence(values, k)
        return confidence_of(values) if k is None else confidence_at(values, k)
    except ValueError as error:
        raise DataError(f"confidences of this run: {error}") from None


def to_query(
    item: str,
    gold: Mapping[str, Any],
    values: Mapping[str, Any],
    measure: Measure = "mscp",
    k: int | None = None,
) -> Query:
    """A query of `lcr.surface.problem`, its documents in the order of the base ranking.

    Documents whose confidence was not taken (adaptive, the gate closed) get 0: no rule that leaves the gate
    closed looks at it.
    """
    documents: Sequence[str] = gold["documents"]
    place = {name: number for number, name in enumerate(documents)}
    order = [place[name] for name in values["order"]]
    rest = range(len(order), len(documents))
    grades = [gold["grades"][number] or 0 for number in (*order, *rest)]
    found = [
        Fraction(0) if row is None else read_confidence(row, measure, k)
        for row in (values["documents"][number] for number in order)
    ]
    return Query(item, grades, gold["relevant"], read_confidence(values["query"], measure, k), found)


def to_points(
    item: str, gold: Mapping[str, Any], values: Mapping[str, Any], measure: Measure = "mscp"
) -> list[Point]:
    """The documents of a query whose confidence was taken, with their grades."""
    rows = zip(gold["grades"], values["documents"], strict=False)
    return [Point(item, read_confidence(row, measure), grade) for grade, row in rows if row is not None]
