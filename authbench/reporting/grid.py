"""A table as such: columns, rows, cells with their marks, and the lines in which it is printed.

`authbench.reporting.tables` makes tables out of runs, formats print them. What is here belongs to neither:
which cells are best, and what a printed line holds.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal

Mark = Literal["best", "second"]
Intervals = Literal["none", "inline", "below"]
Unit = Literal["percent", "change", "count"]

#: Half of the last printed digit: a paper's number may lie so far outside an interval by rounding alone.
_ROUNDING = 0.5e-4 + 1e-12
#: Cells of a row that agree in these are measures of the same answers.
_ASKED = ("judge", "output", "aggregation", "context", "filter", "k", "collection", "n_invalid")


@dataclass(frozen=True, slots=True)
class Cell:
    """One number of a table.

    Attributes:
        value: a fraction, or a count in a column of counts; None is printed as `-`.
        low: lower end of the 95 % interval, None where there is none.
        high: upper end.
        paper: the paper's number as a fraction, if it was asked for and exists.
        invalid: share of items without a usable answer; None where counts are missing.
        extras: further measures of the same items by label, printed in lines of their own.
        mark: best or second best among those it competes with.
        source: the row of `cells.json` it was made from.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    paper: float | None = None
    invalid: float | None = None
    extras: Mapping[str, Cell] = field(default_factory=dict)
    mark: Mark | None = None
    source: Mapping[str, Any] = field(default_factory=dict)

    @property
    def usable(self) -> bool:
        """Whether any answer stands behind the number; strict scoring gives 0 where none could be used."""
        return self.value is not None and (self.invalid is None or self.invalid < 1)

    @property
    def difference(self) -> float | None:
        """Ours minus the paper's."""
        return None if self.value is None or self.paper is None else self.value - self.paper

    @property
    def inside(self) -> bool | None:
        """Whether the paper's number lies in our interval, its rounding allowed for."""
        if self.paper is None or self.low is None or self.high is None:
            return None
        return self.low - _ROUNDING <= self.paper <= self.high + _ROUNDING


@dataclass(frozen=True, slots=True)
class Column:
    """A column of numbers under headings from the outermost to its own.

    `groups` has the same length in all columns of a table; "" is an empty heading. `unit` is `percent` (of a
    fraction), `change` (likewise, with its sign) or `count`.
    """

    groups: tuple[str, ...]
    label: str
    unit: Unit = "percent"


@dataclass(frozen=True, slots=True)
class Row:
    """A row: labels, one for each stub column, and cells, one for each column.

    With `span` there is one cell for all columns, and `span` is what it is called ("w/o Filter").
    """

    labels: tuple[str, ...]
    cells: tuple[Cell | None, ...]
    span: str | None = None


@dataclass(frozen=True, slots=True)
class Table:
    """A table ready to be printed.

    Attributes:
        id: of the paper's table, or the experiment's name.
        stub: headings of the label columns.
        among: what the marks compare ("per model and context"), or None where nothing is marked.
        second: whether second best ones are marked as well.
        notes: footnotes.
        kind: `measures`, or `cost`.
    """

    id: str
    title: str
    stub: tuple[str, ...]
    columns: tuple[Column, ...]
    rows: tuple[Row, ...]
    among: str | None = None
    second: bool = True
    notes: tuple[str, ...] = ()
    kind: Literal["measures", "cost"] = "measures"

    def cells(self) -> Iterable[Cell]:
        """All cells that are there, row by row."""
        return (cell for row in self.rows for cell in row.cells if cell is not None)

    @property
    def marked(self) -> bool:
        """Whether any cell is marked: only then is there something to explain."""
        return self.among is not None and any(cell.mark is not None for cell in self.cells())


@dataclass(frozen=True, slots=True)
class Entry:
    """The text of a cell in one printed line."""

    text: str
    mark: Mark | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A printed line. `labels` are blank where the line above says the same; `starts` a row's first label."""

    labels: tuple[str, ...]
    entries: tuple[Entry, ...]
    span: str | None = None
    starts: bool = False


def mark_best(rows: Sequence[Row], contests: Iterable[Sequence[tuple[int, int]]], second: bool) -> list[Row]:
    """The rows with the best (and second best) cell of each contest marked.

    What is printed alike is marked alike: all cells with the highest printed number are best, all with the
    next lower one second. A cell without a usable answer does not compete: its 0 is no number of the model's.
    Where fewer than two cells compete, none is marked.

    Args:
        rows: the rows.
        contests: each the places (row, column) of the cells that compete; higher is better.
        second: whether to mark the second best.
    """
    marks: dict[tuple[int, int], Mark] = {}
    for places in contests:
        printed = {}
        for row, column in places:
            cell = rows[row].cells[column]
            if cell is not None and cell.value is not None and cell.usable:
                printed[row, column] = round(100 * cell.value, 2)
        if len(printed) < 2:
            continue
        ranked = sorted(set(printed.values()), reverse=True)
        for place, number in printed.items():
            if number == ranked[0]:
                marks[place] = "best"
            elif second and number == ranked[1]:
                marks[place] = "second"
    return [
        replace(
            row,
            cells=tuple(
                replace(cell, mark=marks[i, j]) if cell is not None and (i, j) in marks else cell
                for j, cell in enumerate(row.cells)
            ),
        )
        for i, row in enumerate(rows)
    ]


def percent(value: float | None) -> str:
    """A fraction in percent with two decimals, without a sign on zero; `-` for None."""
    if value is None:
        return "-"
    text = f"{100 * value:.2f}"
    return "0.00" if text == "-0.00" else text


def change(value: float | None) -> str:
    """A fraction in percent with its sign, without one on zero; `-` for None."""
    if value is None:
        return "-"
    text = f"{100 * value:+.2f}"
    return "0.00" if text in ("-0.00", "+0.00") else text


def shown(value: float | None, unit: Unit) -> str:
    """A number as its column prints it."""
    if unit == "count":
        return "-" if value is None else f"{int(value):,}"
    return change(value) if unit == "change" else percent(value)


def printed_lines(table: Table, intervals: Intervals = "none", paper: bool = False) -> list[Line]:
    """The lines of a table: each row, and below it what was asked for or has to be known.

    Below a row may stand, in lines named in the last label column: the interval (`low`, `high`), extra
    measures, the share of invalid answers where there are any, and the paper's number, our difference from it
    and whether it lies in our interval.
    """
    lines = []
    previous: tuple[str, ...] = ()
    for row in table.rows:
        first = 0 if not previous or row.labels[0] != previous[0] else 1
        labels = tuple("" if i < first else label for i, label in enumerate(row.labels))
        previous = row.labels
        entries = tuple(_entry(cell, table.columns[i], intervals) for i, cell in enumerate(row.cells))
        lines.append(Line(labels, entries, row.span, starts=first == 0))
        for name, texts in _below(row, table.columns, intervals, paper):
            below = ("",) * (len(row.labels) - 1) + (name,)
            entries = tuple(Entry(text) for text in texts)
            lines.append(Line(below, entries, None if row.span is None else ""))
    return lines


def _entry(cell: Cell | None, column: Column, intervals: Intervals) -> Entry:
    if cell is None or cell.value is None:
        return Entry("-")
    text = shown(cell.value, column.unit)
    if intervals == "inline" and cell.low is not None and cell.high is not None:
        text += f" [{percent(cell.low)}, {percent(cell.high)}]"
    return Entry(text, cell.mark)


def _below(
    row: Row, columns: Sequence[Column], intervals: Intervals, paper: bool
) -> list[tuple[str, list[str]]]:
    """Names and texts of the lines below a row."""
    cells = row.cells
    lines = []
    if intervals == "below" and any(cell is not None and cell.low is not None for cell in cells):
        lines.append(("low", [percent(cell.low) if cell else "-" for cell in cells]))
        lines.append(("high", [percent(cell.high) if cell else "-" for cell in cells]))
    for name in dict.fromkeys(name for cell in cells if cell for name in cell.extras):
        extras = [cell.extras.get(name) if cell else None for cell in cells]
        lines.append((name, [percent(extra.value) if extra else "-" for extra in extras]))
    if any(cell is not None and cell.invalid for cell in cells):
        lines.append(("invalid", [_share(cells, i) for i in range(len(cells))]))
    if paper and any(cell is not None and cell.paper is not None for cell in cells):
        units = [column.unit for column in columns]
        papers = [shown(cell.paper, units[i]) if cell else "-" for i, cell in enumerate(cells)]
        lines.append(("paper", papers))
        lines.append(("diff", [change(cell.difference) if cell else "-" for cell in cells]))
        lines.append(("in CI", [_inside(cell) for cell in cells]))
    return lines


def _share(cells: Sequence[Cell | None], index: int) -> str:
    """The invalid share, once where neighbouring columns measure the same answers."""
    cell = cells[index]
    if cell is None or cell.invalid is None:
        return "-"
    left = cells[index - 1] if index else None
    if left is not None and all(left.source.get(name) == cell.source.get(name) for name in _ASKED):
        return ""
    return f"{100 * cell.invalid:.1f}%"


def _inside(cell: Cell | None) -> str:
    inside = None if cell is None else cell.inside
    return "-" if inside is None else "yes" if inside else "no"
