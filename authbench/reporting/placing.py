"""The cells of runs on their way into tables: under which name, out of how many items, in which order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from authbench.measures.resampling import Policy
from authbench.reporting.grid import Cell
from authbench.reporting.layouts import DIMENSIONS, ORDER, judge_name, sort_key
from authbench.reporting.paper import paper_value
from authbench.reporting.results import Run


@dataclass(frozen=True, slots=True)
class Options:
    """What a table shows: the policy, and whether intervals, the paper's numbers and costs are added."""

    policy: Policy = "strict"
    intervals: bool = False
    paper: bool = False
    cost: bool = False


@dataclass(frozen=True, slots=True, eq=False)
class Placed:
    """A cell of a run with the name under which its model stands in the table.

    `strict_n` is the number of all items, None where there is no strict row beside this one; `shown` holds
    dimensions whose labels are not those of the cell.
    """

    run: Run
    model: str
    cell: Mapping[str, Any]
    strict_n: int | None
    shown: Mapping[str, Any] = field(default_factory=dict)

    def get(self, dimension: str) -> Any:
        """A dimension's value as the table has it; the model's is its name in this table."""
        if dimension == "model":
            return self.model
        return self.shown[dimension] if dimension in self.shown else self.cell.get(dimension)

    def fits(self, where: Mapping[str, Any]) -> bool:
        """Whether all dimensions are as asked; an aggregation that is not stated is the paper's."""
        return all(
            self.cell.get(name) == value or (name == "aggregation" and self.cell.get(name) is None)
            for name, value in where.items()
        )


def place(runs: Sequence[Run], policy: Policy) -> list[Placed]:
    """All cells under a policy. Models are named as in the paper; runs of one name that have a cell in common
    also get the name of their results folder, while runs over other collections are one model's."""
    names = [run.paper_name or run.model for run in runs]
    twice = _ambiguous(runs, names)
    placed = []
    for run, name in zip(runs, names, strict=True):
        label = f"{name} [{run.path.resolve().parent.parent.name}]" if name in twice else name
        totals = {_identity(cell): cell.get("n") for cell in run.cells if cell["policy"] == "strict"}
        placed += [
            Placed(run, label, cell, totals.get(_identity(cell)), _all_samples(run, cell))
            for cell in run.cells
            if cell["policy"] == policy
        ]
    return placed


def _ambiguous(runs: Sequence[Run], names: Sequence[str]) -> set[str]:
    """Names under which two runs have the same cell."""
    owned = Counter(
        (name, identity)
        for run, name in zip(runs, names, strict=True)
        for identity in {_identity(cell) for cell in run.cells}
    )
    return {name for (name, _), count in owned.items() if count > 1}


def _all_samples(run: Run, cell: Mapping[str, Any]) -> dict[str, Any]:
    """LCR by number of samples: a reranked cell without a number is that of all of them."""
    config = run.run.get("config")
    confidence = config.get("confidence") if isinstance(config, Mapping) else None
    if not isinstance(confidence, Mapping) or not confidence.get("at"):
        return {}
    reranked = cell.get("method") not in (None, "base") and cell.get("k") is None
    return {"k": confidence["samples"]} if reranked else {}


def _identity(cell: Mapping[str, Any]) -> tuple[Any, ...]:
    return (cell["metric"], *(cell.get(name) for name in DIMENSIONS[1:]))


def make_cell(entry: Placed, options: Options, extras: Mapping[str, Placed] | None = None) -> Cell:
    """A table's cell, with the paper's number if that is asked for."""
    cell = entry.cell
    paper = paper_value(entry.run.table, cell, entry.run.paper_name) if options.paper else None
    invalid = cell.get("n_invalid")
    share = invalid / entry.strict_n if invalid is not None and entry.strict_n else None
    return Cell(
        value=cell["value"],
        low=cell.get("low"),
        high=cell.get("high"),
        paper=None if paper is None else paper / 100,
        invalid=share,
        extras={name: make_cell(extra, options) for name, extra in (extras or {}).items()},
        source=cell,
    )


def with_judge_name(entry: Placed, aggregations: bool = True) -> Placed:
    """The entry with its judge's full name in place of judge, output and aggregation."""
    name = judge_name(entry.cell if aggregations else {**entry.cell, "aggregation": None})
    return replace(entry, shown={"judge": name, "output": None, "aggregation": None}) if name else entry


def values_of(dimension: str, entries: Iterable[Placed]) -> list[Any]:
    """The values that occur, in the order in which tables list them."""
    seen = list(dict.fromkeys(entry.get(dimension) for entry in entries))
    if dimension == "k":
        return sorted(seen, key=lambda k: (k is not None, k or 0))
    return sorted(seen, key=lambda value: sort_key(dimension, value, seen)) if dimension in ORDER else seen
