"""Quality against cost, with the Pareto front: the paper's claim about ListJudge (section 1)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authbench.reporting.labels import metric_label, setting_label
from authbench.reporting.plots.forest import main_metric, shown_cells
from authbench.reporting.plots.marks import (
    WIDTH,
    Panels,
    Style,
    lay_out,
    legend,
    legend_height,
    style_of,
    x_axis,
    y_axis,
)
from authbench.reporting.plots.svg import Scale, Svg, clipped
from authbench.reporting.results import Run

#: Costs per item, and where they come from.
COSTS = ("calls", "tokens", "seconds")


@dataclass(frozen=True, slots=True)
class Point:
    """A method at a price: cost per item, value in percent."""

    label: str
    setting: str
    cost: float
    value: float
    style: Style


def front(points: Sequence[Point]) -> list[Point]:
    """The points that no other one beats: none is as cheap or cheaper and better. By rising cost."""
    best: list[Point] = []
    for point in sorted(points, key=lambda p: (p.cost, -p.value)):
        if not best or point.value > best[-1].value:
            best.append(point)
    return best


def cost_points(runs: Sequence[Run], cost: str) -> list[Point]:
    """Every cell of the main measure with its cost per item; cells whose cost is not known are left out."""
    metric = main_metric([cell for run in runs for cell in run.cells])
    points = []
    for run in runs:
        for cell in shown_cells(run, metric):
            total = _cost(run, cell, cost)
            if total and cell.get("n"):
                setting = setting_label(
                    cell, without=("judge", "aggregation", "filter", "k", "base", "method")
                )
                label = setting_label(
                    {**cell, "aggregation": None}, without=("domain", "context", "difficulty")
                )
                where = ", ".join(part for part in (run.paper_name or run.model, setting) if part)
                points.append(Point(label, where, total / cell["n"], 100 * cell["value"], style_of(cell)))
    return points


def pareto(runs: Sequence[Run]) -> Svg | None:
    """Value against calls, tokens and seconds per item; a front for each setting where there are few."""
    if any(cell.get("base") is not None for run in runs for cell in run.cells):
        return None  # Base rankings and confidences are asked together: no method has a price of its own.
    metric = main_metric([cell for run in runs for cell in run.cells])
    panels = [(cost, points) for cost in COSTS if (points := cost_points(runs, cost))]
    if not panels:
        return None
    entries = list({point.label.split(", k =")[0]: point.style for _, ps in panels for point in ps}.items())
    top = legend_height(entries, WIDTH) + 6
    layout = lay_out([("", len(panels))], 230, above=24, below=46, top=top, least=200)
    svg = Svg(WIDTH, layout.bottom, f"{metric_label(metric)} against cost", _said(panels[0][1]))
    legend(svg, 0, 14, entries, WIDTH)
    for (cost, points), place in zip(panels, layout.places[0], strict=True):
        _panel(svg, layout, place, cost, points)
    x, y = layout.places[0][0]
    svg.text(x - 30, y - 8, "larger: on the front of its setting", "s")
    return svg


def _panel(svg: Svg, grid: Panels, place: tuple[float, float], cost: str, points: Sequence[Point]) -> None:
    x, y = place
    costs, values = [p.cost for p in points], [p.value for p in points]
    room = max(1.0, 0.06 * (max(values) - min(values)))
    across = Scale(min(costs) / 1.5, max(costs) * 1.5, x, x + grid.width, log=True)
    up = Scale(min(values) - room, max(values) + room, y + grid.height, y)
    y_axis(svg, up, x, x + grid.width)
    words = {"seconds": "seconds in flight per item", "tokens": "tokens per item"}
    x_axis(svg, across, y + grid.height, words.get(cost, f"{cost} per item"), top=y)
    settings: dict[str, list[Point]] = {}
    for point in points:
        settings.setdefault(point.setting, []).append(point)
    for own in settings.values():
        on_front = front(own)
        if len(settings) <= 4 and len(on_front) > 1:
            svg.path(
                [(across(p.cost), up(p.value)) for p in on_front], "n", stroke_dasharray="4 3", opacity=0.6
            )
    for setting, own in settings.items():
        best = {id(point) for point in front(own)}
        for point in own:
            tip = f"{setting}: {point.label}, {point.value:.2f} at {point.cost:.3g} {cost} an item"
            size = 5.5 if id(point) in best else 3.5
            svg.marker(
                across(point.cost), up(point.value), point.style.shape, point.style.fill, size, tip=tip
            )


def _cost(run: Run, cell: Mapping[str, Any], cost: str) -> float | None:
    if cost == "seconds":
        return _seconds(run, cell)
    names = ("calls",) if cost == "calls" else ("prompt_tokens", "output_tokens")
    parts = [cell.get(name) for name in names]
    return None if any(part is None for part in parts) else float(sum(part for part in parts if part))


def _seconds(run: Run, cell: Mapping[str, Any]) -> float | None:
    """Seconds that requests of the cell's group were in flight; they differ from run to run."""
    groups = run.run.get("seconds_by_group")
    if not isinstance(groups, Mapping):
        return None
    judge = cell.get("judge")
    if judge is not None:
        name = judge if judge == "point" else f"{judge}-{cell.get('output')}"
        parts = [cell.get("domain"), cell.get("difficulty"), cell.get("context"), name]
    else:
        parts = [cell.get("dataset"), cell.get("filter")]
    found = groups.get("/".join(str(part) for part in parts if part is not None))
    return None if found is None else float(found)


def _said(points: Sequence[Point]) -> str:
    settings: dict[str, list[Point]] = {}
    for point in points:
        settings.setdefault(point.setting, []).append(point)
    words = [
        f"{clipped(setting, 60)}: {', '.join(p.label for p in front(own))}"
        for setting, own in list(settings.items())[:4]
    ]
    return f"On the front by calls: {'; '.join(words)}."
