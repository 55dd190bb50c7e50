"""Tables of the report: what stands in each cell, ready for the template."""

from __future__ import annotations

from dataclasses import dataclass

from authbench.reporting.formats import header_spans
from authbench.reporting.grid import Cell, Row, Table, Unit, change, percent, shown


@dataclass(frozen=True, slots=True)
class PageCell:
    """The texts of a cell; empty where there is nothing to say.

    `inside`: whether our interval holds the paper's number, None where that is not known.
    """

    text: str
    mark: str = ""
    interval: str = ""
    extras: tuple[tuple[str, str], ...] = ()
    paper: str = ""
    difference: str = ""
    inside: bool | None = None
    invalid: str = ""


@dataclass(frozen=True, slots=True)
class PageRow:
    """A row; with `span` it has one cell for all columns."""

    labels: tuple[str, ...]
    cells: tuple[PageCell | None, ...]
    span: str | None


@dataclass(frozen=True, slots=True)
class PageTable:
    """A table; `levels` are the rows of group headings, each heading with the columns it spans.

    `among`: what the marks compare, None where nothing is marked.
    """

    title: str
    stub: tuple[str, ...]
    levels: tuple[tuple[tuple[str, int], ...], ...]
    columns: tuple[str, ...]
    rows: tuple[PageRow, ...]
    notes: tuple[str, ...]
    among: str | None
    second: bool
    cost: bool
    with_paper: bool


def page_table(table: Table) -> PageTable:
    """A table as the template walks through it."""
    depth = len(table.columns[0].groups) if table.columns else 0
    return PageTable(
        title=table.title,
        stub=tuple(table.stub),
        levels=tuple(tuple(header_spans(table.columns, level)) for level in range(depth)),
        columns=tuple(column.label for column in table.columns),
        rows=tuple(_row(table, row) for row in table.rows),
        notes=tuple(table.notes),
        among=table.among if table.marked else None,
        second=table.second,
        cost=table.kind == "cost",
        with_paper=any(cell.paper is not None for cell in table.cells()),
    )


def _row(table: Table, row: Row) -> PageRow:
    cells = tuple(_cell(cell, table.columns[i].unit) for i, cell in enumerate(row.cells))
    return PageRow(tuple(row.labels), cells, row.span)


def _cell(cell: Cell | None, unit: Unit) -> PageCell | None:
    if cell is None or cell.value is None:
        return None
    known = cell.low is not None and cell.high is not None
    return PageCell(
        text=shown(cell.value, unit),
        mark=cell.mark or "",
        interval=f"{percent(cell.low)} – {percent(cell.high)}" if known else "",
        extras=tuple((name, percent(extra.value)) for name, extra in cell.extras.items()),
        paper="" if cell.paper is None else shown(cell.paper, unit),
        difference="" if cell.difference is None else change(cell.difference),
        inside=cell.inside,
        invalid=f"{100 * cell.invalid:.1f} % invalid" if cell.invalid else "",
    )
