"""Forest plot: every cell with its interval, and the paper's number beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authbench.reporting.labels import metric_label, setting_label
from authbench.reporting.paper import paper_value
from authbench.reporting.plots.marks import WIDTH, Style, style_of, x_axis
from authbench.reporting.plots.svg import Scale, Svg, clipped, text_width
from authbench.reporting.results import Run

_ROW, _HEAD = 18, 26
#: What a block of rows shares.
_BLOCK = ("domain", "context", "difficulty", "retriever", "collection")


@dataclass(frozen=True, slots=True)
class ForestRow:
    """A line of the plot; numbers are percent."""

    label: str
    value: float
    low: float | None
    high: float | None
    paper: float | None
    style: Style


def main_metric(cells: Sequence[Mapping[str, Any]]) -> str:
    """The measure that a run is about."""
    metrics = [str(cell["metric"]) for cell in cells]
    known = ("spearman", "accuracy", "ndcg@5")
    return next((metric for metric in known if metric in metrics), metrics[0] if metrics else "")


def shown_cells(run: Run, metric: str) -> list[dict[str, Any]]:
    """The strict cells of a measure; without the second aggregation where the paper's table has none."""
    numbered = bool(run.table and run.table[-1].isdigit())
    return [
        cell
        for cell in run.cells
        if cell["policy"] == "strict"
        and cell["metric"] == metric
        and cell["value"] is not None
        and not (numbered and cell.get("output") == "score" and cell.get("aggregation") == "bubble")
    ]


def forest(runs: Sequence[Run]) -> Svg | None:
    """The plot of the runs of one experiment; None where there is nothing to draw."""
    cells = [cell for run in runs for cell in run.cells]
    metric = main_metric(cells)
    blocks = _blocks(runs, metric)
    rows = [row for block in blocks.values() for row in block]
    if not rows:
        return None
    label_width = min(260.0, max(text_width(row.label) for row in rows) + 32)
    height = 34 + len(blocks) * _HEAD + len(rows) * _ROW + 44
    svg = Svg(WIDTH, height, f"{metric_label(metric)} with 95 % intervals", _description(rows))
    scale = _scale(rows, label_width)
    _key(svg, label_width, any(row.paper is not None for row in rows))
    bottom = height - 40
    x_axis(svg, scale, bottom, f"{metric_label(metric)} (%)", top=30)
    y = 34.0
    for title, block in blocks.items():
        svg.text(0, y + 16, title, "h")
        y += _HEAD
        for row in block:
            _draw(svg, scale, row, y + _ROW / 2)
            y += _ROW
    return svg


def _blocks(runs: Sequence[Run], metric: str) -> dict[str, list[ForestRow]]:
    blocks: dict[str, list[ForestRow]] = {}
    for run in runs:
        for cell in shown_cells(run, metric):
            shared = {name: cell.get(name) for name in _BLOCK}
            title = ", ".join(part for part in (run.paper_name or run.model, setting_label(shared)) if part)
            label = setting_label(cell, without=_BLOCK) or str(cell["metric"])
            if cell.get("judge") == "pair" and not (cell["output"] == "score" and _twice(run, cell)):
                label = setting_label(cell, without=(*_BLOCK, "aggregation"))
            paper = paper_value(run.table, cell, run.paper_name)
            low, high = (None if cell.get(end) is None else 100 * cell[end] for end in ("low", "high"))
            row = ForestRow(label, 100 * cell["value"], low, high, paper, style_of(cell))
            blocks.setdefault(clipped(title, 90), []).append(row)
    return blocks


def _twice(run: Run, cell: Mapping[str, Any]) -> bool:
    """Whether the plot shows two aggregations of the same comparisons."""
    return not (run.table and run.table[-1].isdigit())


def _scale(rows: Sequence[ForestRow], left: float) -> Scale:
    ends = [end for row in rows for end in (row.value, row.low, row.high, row.paper) if end is not None]
    low, high = min(ends), max(ends)
    room = max(1.0, 0.04 * (high - low))
    return Scale(low - room, high + room, left, WIDTH - 12)


def _key(svg: Svg, left: float, with_paper: bool) -> None:
    svg.marker(left + 6, 12, "circle", "f0")
    svg.text(left + 16, 16, "ours, with its 95 % interval")
    if with_paper:
        svg.marker(left + 206, 12, "diamond", "e", 4)
        svg.text(left + 216, 16, "the paper's number")


def _draw(svg: Svg, scale: Scale, row: ForestRow, y: float) -> None:
    svg.text(12, y + 4, clipped(row.label, 36))
    if row.low is not None and row.high is not None:
        svg.line(scale(row.low), y, scale(row.high), y, row.style.stroke)
    tip = f"{row.label}: {row.value:.2f}"
    if row.low is not None and row.high is not None:
        tip += f" [{row.low:.2f}, {row.high:.2f}]"
    svg.marker(scale(row.value), y, row.style.shape, row.style.fill, tip=tip)
    if row.paper is not None:
        svg.marker(scale(row.paper), y, "diamond", "e", 4, tip=f"the paper: {row.paper:.2f}")


def _description(rows: Sequence[ForestRow]) -> str:
    judged = [row for row in rows if row.paper is not None and row.low is not None and row.high is not None]
    if not judged:
        return f"{len(rows)} cells."
    inside = sum((row.low or 0) - 0.005 <= (row.paper or 0) <= (row.high or 0) + 0.005 for row in judged)
    return f"{len(rows)} cells; the paper's number lies in the interval of {inside} of {len(judged)}."
