"""From the items of an LCR run to the queries and points that are measured: no model, no collection.

An item's `gold` and `values` are those of `authbench.tasks.lcr.task.LcrTask.units`, as `items.jsonl` has
them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from authbench.lcr.confidence import Measure, confidence_of
from authbench.lcr.grades import Point
from authbench.lcr.surface import Query


def to_query(
    item: str,
    gold: Mapping[str, Any],
    values: Mapping[str, Any],
    measure: Measure = "mscp",
    k: int | None = None,
) -> Query:
    """A query with its documents in the order of the base ranking; `measure` and `k` as of `confidence_of`.

    Documents whose confidence was not taken (adaptive, the gate closed) get 0: no rule that leaves the gate
    closed looks at it.
    """
    documents: Sequence[str] = gold["documents"]
    place = {name: number for number, name in enumerate(documents)}
    order = [place[name] for name in values["order"]]
    rest = range(len(order), len(documents))
    grades = [gold["grades"][number] or 0 for number in (*order, *rest)]
    found = [
        Fraction(0) if row is None else confidence_of(row, measure, k)
        for row in (values["documents"][number] for number in order)
    ]
    return Query(item, grades, gold["relevant"], confidence_of(values["query"], measure, k), found)


def to_points(
    item: str, gold: Mapping[str, Any], values: Mapping[str, Any], measure: Measure = "mscp"
) -> list[Point]:
    """The documents of a query whose confidence was taken, with their grades."""
    rows = zip(gold["grades"], values["documents"], strict=False)
    return [Point(item, confidence_of(row, measure), grade) for grade, row in rows if row is not None]
