"""Layouts filled with cells: which cell stands where, what is derived from two of them, and what is left."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from typing import Any

from authbench.reporting.grid import Cell, Column, Row, Table, mark_best, percent
from authbench.reporting.layouts import DIMENSIONS, HEADINGS, Layout, Slot, display
from authbench.reporting.placing import Options, Placed, make_cell, values_of


def fill(
    table: str, title: str, layout: Layout, entries: Sequence[Placed], options: Options
) -> tuple[list[Table], list[Placed]]:
    """The layout's table, once for each data set (or other dimension) that it has no place for, and the
    cells that found no place at all.

    Args:
        table: id of the table.
        title: what stands before the layout's own title.
        layout: the layout, made to fit with `authbench.reporting.layouts.fitted`.
        entries: the cells.
        options: what a table shows.
    """
    metrics = {*(slot.metric for slot in layout.slots), *layout.extras}
    left = [entry for entry in entries if entry.cell["metric"] not in metrics]
    entries = [entry for entry in entries if entry.cell["metric"] in metrics]
    others = [name for name in DIMENSIONS if name not in layout.placed]
    varying = [name for name in others if len({entry.get(name) for entry in entries}) > 1]
    parts: dict[tuple[Any, ...], list[Placed]] = {}
    for entry in entries:
        parts.setdefault(tuple(entry.get(name) for name in varying), []).append(entry)
    tables = []
    for values, members in parts.items():
        said = [display(n, v) for n, v in zip(varying, values, strict=True) if v is not None]
        part = _Part(layout, members, options)
        made = part.table(table, title + " · ".join([layout.title, *said]))
        if part.used:
            tables.append(made)
        left += [entry for entry in members if entry not in part.used and not _elsewhere(layout, entry)]
    return tables, left


def constants(names: Sequence[str], entries: Sequence[Placed]) -> tuple[str, ...]:
    """A footnote with the dimensions that say the same for all cells; none where there is nothing to say."""
    found = {name: values_of(name, entries) for name in names}
    said = [
        f"{HEADINGS.get(name, name)}: {display(name, values[0])}"
        for name, values in found.items()
        if len(values) == 1 and values[0] is not None
    ]
    return (f"{'; '.join(said)}.",) if said else ()


def _elsewhere(layout: Layout, entry: Placed) -> bool:
    return bool(layout.elsewhere) and entry.fits(layout.elsewhere)


class _Part:
    """One table in a layout; `used` are the cells that found a place in it."""

    def __init__(self, layout: Layout, entries: Sequence[Placed], options: Options) -> None:
        self._layout = layout
        self._entries = entries
        self._options = options
        self._values = {name: values_of(name, entries) for name in layout.stub}
        self._stub = [
            name for name in layout.stub if name not in layout.optional or len(self._values[name]) > 1
        ]
        self.used: set[Placed] = set()

    def table(self, table: str, title: str) -> Table:
        layout = self._layout
        rows = list(self._rows())
        return Table(
            id=table,
            title=title,
            stub=tuple(HEADINGS[name] for name in self._stub),
            columns=tuple(
                Column(slot.groups, slot.label, "percent" if slot.over is None else "change")
                for slot in layout.slots
            ),
            rows=tuple(mark_best(rows, self._contests(rows), layout.second)),
            among=layout.among,
            second=layout.second,
            notes=constants([name for name in layout.stub if name not in self._stub], self._entries),
        )

    def _rows(self) -> Iterator[Row]:
        layout = self._layout
        own = [place for place, slot in enumerate(layout.slots) if not set(slot.where) & set(self._stub)]
        for combination in product(*(self._values[name] for name in self._stub)):
            where = dict(zip(self._stub, combination, strict=True))
            labels = tuple(display(name, value) for name, value in where.items())
            if layout.span is not None and where[layout.stub[-1]] is None:
                name, dims = layout.span
                spanning = Slot((), name, layout.slots[0].metric, dims)
                yield Row(labels, (self._cell(spanning, where),), span=name)
                continue
            cells = tuple(self._cell(slot, where) for slot in layout.slots)
            # A row with nothing but what stands in every row is none.
            if len(own) == len(cells) or any(cells[place] is not None for place in own):
                yield Row(labels, cells)

    def _cell(self, slot: Slot, where: Mapping[str, Any]) -> Cell | None:
        found = self._find(slot, slot.where, where)
        if found is None or slot.over is None:
            return found
        over = self._find(slot, {**slot.where, **slot.over}, where)
        return None if over is None or over.source is found.source else relative_gain(found, over)

    def _find(self, slot: Slot, dims: Mapping[str, Any], where: Mapping[str, Any]) -> Cell | None:
        """The cell with these dimensions and else those of the row; the first where there are several."""
        row = {name: value for name, value in where.items() if name not in dims}
        here = [
            entry
            for entry in self._entries
            if entry.fits(dims) and all(entry.get(name) == value for name, value in row.items())
        ]
        found = next((entry for entry in here if entry.cell["metric"] == slot.metric), None)
        extras = {
            self._layout.extras[entry.cell["metric"]]: entry
            for entry in here
            if entry.cell["metric"] in self._layout.extras
        }
        self.used |= {*([found] if found else []), *extras.values()}
        return None if found is None else make_cell(found, self._options, extras)

    def _contests(self, rows: Sequence[Row]) -> list[list[tuple[int, int]]]:
        """Places that compete: the columns of a row with one measure, or the rivals within each column."""
        layout = self._layout
        if layout.rivals is None:
            metrics = dict.fromkeys(slot.metric for slot in layout.slots)
            return [
                [(i, j) for j, slot in enumerate(layout.slots) if slot.metric == metric]
                for i, row in enumerate(rows)
                if row.span is None
                for metric in metrics
            ]
        if layout.rivals not in self._stub:
            return []
        rival = self._stub.index(layout.rivals)
        contests: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
        for i, row in enumerate(rows):
            rest = row.labels[:rival] + row.labels[rival + 1 :]
            for j, slot in enumerate(layout.slots):
                if slot.over is None and layout.rivals not in slot.where:
                    contests.setdefault((rest, j), []).append((i, j))
        # Where all is alike, as the base ranking of several models is, none is best.
        return [
            places
            for places in contests.values()
            if len({percent(cell.value) for i, j in places if (cell := rows[i].cells[j]) is not None}) > 1
        ]


def relative_gain(found: Cell, over: Cell) -> Cell:
    """By which share of `over` a cell is higher, for the paper's numbers as well where both are known.

    It has no interval: those of the two cells say nothing about their ratio. None for a share of nothing.
    """
    value = _share(found.value, over.value)
    metric = f"{found.source['metric']}-gain"
    source = {**found.source, "metric": metric, "value": value, "low": None, "high": None}
    paper = _share(found.paper, over.paper)
    return Cell(value, paper=paper, invalid=found.invalid, source=source)


def _share(value: float | None, of: float | None) -> float | None:
    return None if value is None or not of else value / of - 1
