"""From runs to tables: cells are grouped by the paper's table, put into its layout, and marked."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, get_args

from authbench.measures.resampling import Policy
from authbench.reporting import formats
from authbench.reporting.filling import constants, fill
from authbench.reporting.grid import Cell, Column, Row, Table, mark_best
from authbench.reporting.layouts import DIMENSIONS, HEADINGS, LAYOUTS, METRICS, Layout, display, fitted
from authbench.reporting.notes import footnotes, headline
from authbench.reporting.paper import short_name
from authbench.reporting.placing import Options, Placed, make_cell, place, values_of, with_judge_name
from authbench.reporting.results import Run

if TYPE_CHECKING:
    from rich.console import Console

Format = Literal["text", "md", "csv", "latex", "json"]
FORMATS: tuple[Format, ...] = get_args(Format)

_WRITERS: dict[str, Callable[[Sequence[Table], Options], str]] = {
    "md": formats.markdown,
    "csv": formats.comma_separated,
    "latex": formats.latex,
    "json": formats.as_json,
}
_COSTS = {
    "calls": "Calls",
    "unique_calls": "Unique",
    "prompt_tokens": "Prompt tok.",
    "output_tokens": "Output tok.",
}
#: In tables without a layout these compete with one another: the first that varies.
_COMPETITORS = ("judge", "method", "filter", "base", "aggregation", "model")


def render_tables(
    runs: Sequence[Run],
    format: Format = "text",
    *,
    policy: Policy = "strict",
    intervals: bool = False,
    paper: bool = False,
    cost: bool = False,
    measures: bool = True,
    console: Console | None = None,
) -> str:
    """The tables of these runs, ready to be printed; ends with a line break.

    Args:
        runs: from `authbench.reporting.results.find_runs` or `load_run`.
        format: one of `FORMATS`.
        policy: what an invalid item counts as; see `authbench.measures.resampling.MeasureRow`.
        intervals: show 95 % intervals (CSV and JSON always hold them).
        paper: add the paper's number, the difference, and whether it lies in our interval.
        cost: add a table of calls and tokens.
        measures: show the measures; without them, `cost` is shown alone.
        console: where text will go, standard output by default: its width, its encoding and whether it has
            bold and underline decide the form.
    """
    options = Options(policy, intervals, paper, cost)
    tables = [each for each in build_tables(runs, options) if measures or each.kind == "cost"]
    if format != "text":
        return _WRITERS[format](tables, options)
    from rich.console import Console

    from authbench.reporting.text import text

    return text(tables, options, console or Console(file=sys.stdout)) or _nothing(runs, policy)


def _nothing(runs: Sequence[Run], policy: Policy) -> str:
    if not any(run.cells for run in runs):
        return "No results.\n"
    return f"No results under the policy '{policy}': `authbench score RUN` measures a run again.\n"


def build_tables(runs: Sequence[Run], options: Options | None = None) -> list[Table]:
    """Tables of all runs: one for each experiment, more where its data sets cannot share one.

    Runs of the same experiment stand in one table, whichever folders they come from. Runs without cells give
    none.
    """
    options = options or Options()
    groups: dict[tuple[str | None, str], list[Run]] = {}
    for run in runs:
        groups.setdefault((run.table, run.experiment), []).append(run)
    tables = []
    for (table, experiment), members in groups.items():
        placed = place(members, options.policy)
        if not placed:
            continue
        layout = LAYOUTS.get(table or "")
        if layout is None:
            tables.append(_generic(table or experiment, headline(members), members, placed, options))
        else:
            tables += _laid_out(str(table), layout, members, placed, options)
        if options.cost:
            tables += _cost(table or experiment, members, placed)
    return tables


def _laid_out(
    table: str, layout: Layout, runs: Sequence[Run], placed: Sequence[Placed], options: Options
) -> list[Table]:
    """The paper's table, and what it has no place for in one of its own."""
    if layout.short_models:
        placed = [replace(entry, model=short_name(entry.model)) for entry in placed]
    title = headline(runs, table)
    tables: list[Table] = []
    for each in fitted(layout, [entry.cell for entry in placed]):
        made, placed = fill(table, title, each, placed, options)
        tables += [_noted(part, runs, options) for part in made]
    if placed:
        tables.append(_generic(table, f"{title}Further results", runs, placed, options))
    return tables


def _generic(
    table: str, title: str, runs: Sequence[Run], placed: Sequence[Placed], options: Options
) -> Table:
    """A table for results without a layout: what varies labels the rows, measures are the columns."""
    entries = [with_judge_name(entry) for entry in placed]
    dims = [name for name in DIMENSIONS if len({entry.get(name) for entry in entries}) > 1]
    competitor = next((name for name in _COMPETITORS if name in dims), None)
    # What competes stands in adjacent rows.
    stub = [name for name in dims if name != competitor] + ([competitor] if competitor else [])
    stub = stub or ["model"]
    metrics = sorted(
        dict.fromkeys(str(entry.cell["metric"]) for entry in entries),
        key=lambda metric: list(METRICS).index(metric) if metric in METRICS else len(METRICS),
    )
    order = {name: values_of(name, entries) for name in stub}
    cells: dict[tuple[Any, ...], dict[str, Placed]] = {}
    for entry in entries:
        cells.setdefault(tuple(entry.get(name) for name in stub), {})[entry.cell["metric"]] = entry
    places = sorted(cells, key=lambda key: [order[n].index(v) for n, v in zip(stub, key, strict=True)])
    rows = [
        Row(
            tuple(display(name, value) for name, value in zip(stub, place, strict=True)),
            tuple(make_cell(cells[place][m], options) if m in cells[place] else None for m in metrics),
        )
        for place in places
    ]
    contests: dict[tuple[Any, ...], list[tuple[int, int]]] = {}
    for i, values in enumerate(places):
        rest = tuple(v for name, v in zip(stub, values, strict=True) if name != competitor)
        for j in range(len(metrics)):
            contests.setdefault((rest, j), []).append((i, j))
    made = Table(
        id=table,
        title=f"{title} (%)" if not title.endswith("(%)") else title,
        stub=tuple(HEADINGS.get(name, name) for name in stub),
        columns=tuple(Column((), METRICS.get(metric, metric)) for metric in metrics),
        rows=tuple(mark_best(rows, contests.values(), second=True) if competitor else rows),
        among=None if competitor is None else f"among {_plural(competitor)}",
    )
    said = constants([name for name in DIMENSIONS if name not in stub], entries)
    return _noted(replace(made, notes=said), runs, options)


def _plural(dimension: str) -> str:
    return f"{HEADINGS.get(dimension, dimension).lower()}s"


def _noted(table: Table, runs: Sequence[Run], options: Options) -> Table:
    notes = footnotes(table, runs, options.policy, intervals=options.intervals, paper=options.paper)
    return replace(table, notes=(*table.notes, *notes))


def _cost(table: str, runs: Sequence[Run], placed: Sequence[Placed]) -> list[Table]:
    """What the answers of each judge (or filter, or base ranking) cost; aggregations share their calls, as
    does all that is reranked from one ranking."""
    entries = [
        with_judge_name(entry, aggregations=False) for entry in placed if entry.cell.get("calls") is not None
    ]
    entries = [
        entry if entry.get("base") is None else replace(entry, shown={"method": None, "k": None})
        for entry in entries
    ]
    if not entries:
        return []
    stub = [name for name in DIMENSIONS if len({entry.get(name) for entry in entries}) > 1] or ["model"]
    rows: dict[tuple[Any, ...], Row] = {}
    for entry in entries:
        place = tuple(entry.get(name) for name in stub)
        labels = tuple(display(name, value) for name, value in zip(stub, place, strict=True))
        cells = tuple(Cell(entry.cell.get(name), source=entry.cell) for name in _COSTS)
        rows.setdefault(place, Row(labels, cells))
    order = {name: values_of(name, entries) for name in stub}
    places = sorted(rows, key=lambda key: [order[n].index(v) for n, v in zip(stub, key, strict=True)])
    return [
        Table(
            id=table,
            title=f"{headline(runs, table)}Calls and tokens",
            stub=tuple(HEADINGS.get(name, name) for name in stub),
            columns=tuple(Column((), label, "count") for label in _COSTS.values()),
            rows=tuple(rows[place] for place in places),
            notes=("Unique: equal requests are asked once. Tokens are those of unique calls.",),
            kind="cost",
        )
    ]
