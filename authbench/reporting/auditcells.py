"""Cells of runs and of the papers as the audit sees them: one shape, matched by their dimensions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authbench.measures.columns import DIMENSIONS
from authbench.reporting.paper import short_name
from authbench.reporting.results import Run

#: Dimensions in which two cells of a comparison agree, unless the claim names them or ignores them.
DIMS = ("table", "experiment", "model", "kind", *DIMENSIONS, "metric")
_ENTITY_DOMAINS = frozenset({"basketball", "movies", "songs"})
#: The aggregation that the paper's tables print, by kind of output.
_USUAL = {"score": "average", "rank": "bubble"}


@dataclass(frozen=True, slots=True, eq=False)
class Cell:
    """One number of a table.

    Attributes:
        dims: all of `DIMS`; `model` is the paper's name where there is one, `table` the paper's table of the
            same layout, `aggregation` None for the one that the paper prints.
        value: a fraction, or None where nothing was measured, or no answer was usable.
        row: the row of `cells.json` behind it.
        run: where it comes from.
    """

    dims: Mapping[str, Any]
    value: float | None
    row: Mapping[str, Any]
    run: Run

    @property
    def n(self) -> int | None:
        """Items behind it, where that is known."""
        n = self.row.get("n")
        return int(n) if isinstance(n, int | float) else None

    def matches(self, where: Mapping[str, Any]) -> bool:
        """Whether its dimensions have these values; a tuple admits any of its members."""
        return all(_equal(name, self.dims.get(name), wanted) for name, wanted in where.items())

    def number(self, column: str) -> float | None:
        """`value`, or another number of the row."""
        number = self.value if column == "value" else self.row.get(column)
        return None if number is None else float(number)


def gather(runs: Iterable[Run]) -> list[Cell]:
    """The cells of runs under the strict policy, which is the papers'."""
    cells = []
    for run in runs:
        name = run.paper_name or run.model
        for row in run.cells:
            if row.get("policy") == "strict":
                cells.append(Cell(_dims(row, run, name), _value(row), row, run))
    return cells


def _value(row: Mapping[str, Any]) -> float | None:
    """A number of the model's: the 0 that strict scoring gives where no answer was usable is none."""
    unusable = row.get("n") and row.get("n_invalid") == row["n"]
    return None if unusable else row["value"]


class Partners:
    """Finds the cells that differ from a given one in named dimensions only."""

    def __init__(self, cells: Sequence[Cell], ignore: Sequence[str] = ()) -> None:
        self._free = tuple(name for name in DIMS if name not in ignore)
        self._cells: dict[tuple[Any, ...], list[Cell]] = defaultdict(list)
        for cell in cells:
            self._cells[self._key(cell.dims)].append(cell)

    def of(self, cell: Cell, side: Mapping[str, Any]) -> Iterator[Cell]:
        """Cells with the dimensions of `side` and all others of `cell`."""
        yield from self._cells.get(self._key({**cell.dims, **side}), ())

    def _key(self, dims: Mapping[str, Any]) -> tuple[Any, ...]:
        return tuple(_normal(name, dims.get(name)) for name in self._free)


def _dims(row: Mapping[str, Any], run: Run, model: str) -> dict[str, Any]:
    dims = {name: row.get(name) for name in DIMS}
    kind = None
    if dims["judge"] is not None:
        is_entity = row.get("domain") in _ENTITY_DOMAINS or row.get("dataset") == "entityauth"
        kind = "entity" if is_entity else "domain"
    if dims["judge"] == "pair" and dims["aggregation"] == _USUAL.get(str(dims["output"])):
        dims["aggregation"] = None
    if dims["difficulty"] is not None:
        dims["aggregation"] = None
    dims |= {"kind": kind, "model": model, "experiment": run.experiment}
    dims["table"] = _table(run.table, dims)
    return dims


def _table(named: str | None, dims: Mapping[str, Any]) -> str | None:
    """The paper's table that a cell would stand in; other experiments are placed by what they measure."""
    if dims["difficulty"] is not None:
        return "authoritybench/3"
    if dims["filter"] is not None:
        return "authoritybench/5"
    if dims["judge"] is not None:
        fine = dims["scale"] == "fine"
        return f"authoritybench/{(4 if fine else 6) if dims['kind'] == 'entity' else (1 if fine else 2)}"
    if named is not None and named.startswith("car/"):
        return named
    if dims["method"] is not None:
        return "lcr/3" if dims["retriever"] == "contriever" else "lcr/2"
    return named


def _equal(name: str, value: object, wanted: object) -> bool:
    if isinstance(wanted, tuple):
        return any(_equal(name, value, one) for one in wanted)
    return _normal(name, value) == _normal(name, wanted)


def _normal(name: str, value: object) -> object:
    return short_name(value) if name == "model" and isinstance(value, str) else value
