"""Intervals of the difference of two cells: paired where both judged the same items, else from their own."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from authbench.errors import DataError
from authbench.reporting.auditcells import Cell

if TYPE_CHECKING:
    from authbench.reporting.peritem import CellItems

#: Items behind the papers' proportions (sections 3.2.2 and 3.3.1).
PAPER_ITEMS = {"authoritybench/3": 5000, "authoritybench/5": 120}
_Z95 = 1.959963984540054


class Differences:
    """Looks intervals up, and keeps the values by item that it has read.

    Args:
        known: values by cell of runs that have been read already, by the run's folder.
    """

    def __init__(self, known: Mapping[Path, Mapping[Any, CellItems]] | None = None) -> None:
        self._items: dict[Path, Mapping[Any, CellItems]] = dict(known or {})

    def interval(self, cell: Cell, other: Cell) -> tuple[float, float] | None:
        """The 95 % interval of `cell - other`, as fractions; None where nothing is known of their spread.

        Paired bootstrap over the items, if both cells have values for the same ones. Otherwise the cells
        count as independent, and the half widths of their intervals add as squares, which for cells over the
        same items is wider than need be. The papers' proportions have the spread of n independent trials.
        """
        paired = self._paired(cell, other)
        if paired is not None:
            return paired
        widths = [_half_width(c) for c in (cell, other)]
        if widths[0] is None or widths[1] is None or cell.value is None or other.value is None:
            return None
        difference, width = cell.value - other.value, math.hypot(widths[0], widths[1])
        return difference - width, difference + width

    def _paired(self, cell: Cell, other: Cell) -> tuple[float, float] | None:
        from authbench.measures.resampling import bootstrap_difference

        mine, theirs = self._values(cell), self._values(other)
        if mine is None or theirs is None or mine.items != theirs.items:
            return None
        interval = bootstrap_difference(mine.values, theirs.values)
        return None if interval.low is None or interval.high is None else (interval.low, interval.high)

    def _values(self, cell: Cell) -> CellItems | None:
        if cell.run.engine == "paper" or not (cell.run.path / "items.jsonl").is_file():
            return None
        from authbench.reporting.peritem import cell_items, cell_key

        if cell.run.path not in self._items:
            try:
                found = cell_items(cell.run)
            except DataError:  # A damaged file costs the pairing, not the audit: cells.json was read.
                found = {}
            self._items[cell.run.path] = found
        return self._items[cell.run.path].get(cell_key(cell.row))


def _half_width(cell: Cell) -> float | None:
    low, high = cell.row.get("low"), cell.row.get("high")
    if low is not None and high is not None:
        return float(high - low) / 2
    n = PAPER_ITEMS.get(str(cell.dims["table"])) if cell.run.engine == "paper" else None
    if n is None or cell.value is None:
        return None
    return _Z95 * math.sqrt(cell.value * (1 - cell.value) / n)
