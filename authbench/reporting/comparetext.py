"""A comparison in words, for a terminal of 80 columns, and as plain data."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from authbench.reporting.compare import CellDifference, Comparison, key_dims
from authbench.reporting.labels import metric_label, setting_label

if TYPE_CHECKING:
    from rich.text import Text

_ALPHA = 0.05
_WIDTH = 80
#: Measures whose usual names are too long for a line.
_SHORT = {"accuracy-unequal": "acc. unequal"}


def comparison_lines(comparison: Comparison) -> Iterator[Text]:
    """The comparison, one styled line at a time: cells, then the items that differ most."""
    from rich.text import Text

    yield Text(f"A: {comparison.a.path}\nB: {comparison.b.path}")
    if comparison.a.partial or comparison.b.partial:
        yield Text("PARTIAL: not every item of the experiment has been judged.", style="yellow")
    for group, count in comparison.left_out.items():
        yield Text(f"note: {count:,} items of {group} were judged by one run only and are left out")
    yield Text("")
    setting = None
    for cell in comparison.cells:
        if setting != (cell_setting(cell), cell.n):
            setting = (cell_setting(cell), cell.n)
            yield Text(f"{cell_setting(cell)}, {cell.n:,} items", style="bold")
        yield cell_line(cell)
    yield Text("")
    note = (
        "Percent of A and B, B minus A with its 95 % bootstrap interval over paired items; p of the paired "
        f"randomisation test, corrected for all {len(comparison.cells)} cells (Holm); items on which B is "
        "better / equal / worse."
    )
    yield from (Text(line, style="dim") for line in textwrap.wrap(note, _WIDTH))
    for which, keys in (("A", comparison.only_a), ("B", comparison.only_b)):
        if keys:
            names = dict.fromkeys(setting_label(key_dims(key)) for key in keys)
            yield from map(Text, textwrap.wrap(f"only in {which}: {'; '.join(names)}", _WIDTH))
    yield from _items(comparison)


def cell_setting(cell: CellDifference) -> str:
    """The cell without its measure."""
    return setting_label(cell.dims) or cell.group


def cell_line(cell: CellDifference) -> Text:
    """One measure of a cell."""
    from rich.text import Text

    style = ""
    if cell.p_holm < _ALPHA:
        style = "green" if cell.difference > 0 else "red"
    metric = str(cell.dims["metric"])
    line = Text(f"  {_SHORT.get(metric, metric_label(metric)):<14} {100 * cell.a:6.2f} {100 * cell.b:6.2f} ")
    line.append(f"{100 * cell.difference:+7.2f}", style=style)
    interval = ""
    if cell.low is not None and cell.high is not None:
        interval = f"[{100 * cell.low:+.2f}, {100 * cell.high:+.2f}]"
    line.append(f" {interval:<16} p {probability(cell.p_holm):<6} {cell.wins}/{cell.ties}/{cell.losses}")
    return line


def as_dict(comparison: Comparison) -> dict[str, Any]:
    """For `--json`: values are fractions."""
    return {
        "a": _run(comparison.a),
        "b": _run(comparison.b),
        "cells": [
            {
                **cell.dims,
                "group": cell.group,
                "n": cell.n,
                "a": cell.a,
                "b": cell.b,
                "difference": cell.difference,
                "low": cell.low,
                "high": cell.high,
                "p": cell.p,
                "p_holm": cell.p_holm,
                "wins": cell.wins,
                "ties": cell.ties,
                "losses": cell.losses,
            }
            for cell in comparison.cells
        ],
        "items": [
            {
                "group": item.group,
                "item": item.item,
                "metric": item.metric,
                "a": item.a,
                "b": item.b,
                "valid_a": item.valid_a,
                "valid_b": item.valid_b,
            }
            for item in comparison.items
        ],
        "only_a": [key_dims(key) for key in comparison.only_a],
        "only_b": [key_dims(key) for key in comparison.only_b],
        "left_out": dict(comparison.left_out),
    }


def _items(comparison: Comparison) -> Iterator[Text]:
    from rich.text import Text

    if not comparison.items:
        yield Text("The runs agree on every item.")
        return
    yield Text("\nItems that differ most (A, B)", style="bold")
    width = max(len(item.item) for item in comparison.items)
    for item in comparison.items:
        values = [
            f"{100 * value:7.2f}{' ' if valid else '!'}"
            for value, valid in ((item.a, item.valid_a), (item.b, item.valid_b))
        ]
        yield Text(f"  {item.item:<{width}} {' '.join(values)}  {item.group}")
    if not all(item.valid_a and item.valid_b for item in comparison.items):
        yield Text(
            "  ! no usable answer, counted as 0; see it with authbench show RUN --item ITEM", style="dim"
        )


def _run(run: Any) -> dict[str, Any]:
    return {
        "path": str(run.path),
        "experiment": run.experiment,
        "model": run.model,
        "engine": run.engine,
        "partial": run.partial,
    }


def probability(value: float) -> str:
    """A p-value to three places; none is printed as 0."""
    return "<0.001" if value < 0.001 else f"{value:.3f}"
