"""Position bias: how sources fare by their place in a list, and by the side on which they are shown."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from authbench.reporting.facts.records import Floats, GroupFacts, Positions
from authbench.reporting.labels import setting_label
from authbench.reporting.plots.marks import (
    WIDTH,
    Panels,
    by_setting,
    judge_title,
    lay_out,
    legend,
    legend_height,
    style_of,
    y_axis,
)
from authbench.reporting.plots.svg import Scale, Svg, clipped

#: The three things shown by place.
_PANELS: tuple[tuple[str, Callable[[Positions], Floats | None]], ...] = (
    ("comparisons that come out right (%)", lambda p: 100 * p.right),
    ("places put too high (below 0: too low)", lambda p: p.lift),
    ("usable answers (%)", lambda p: None if p.valid is None else 100 * p.valid),
)


def positions(groups: Sequence[GroupFacts]) -> Svg | None:
    """Accuracy, lift and validity by place in the list; a line for each judge, a row for each setting."""
    settings = by_setting([group for group in groups if group.positions is not None])
    if not settings:
        return None
    entries = list({judge_title(g): style_of(g.dims) for own in settings.values() for g in own}.items())
    top = legend_height(entries, WIDTH) + 4
    panels = lay_out([(name, len(_PANELS)) for name in settings], 104, above=24, below=42, top=top, least=190)
    svg = Svg(WIDTH, panels.bottom, "By place in the list", _strongest(settings))
    panels.draw_heads(svg)
    legend(svg, 0, 14, entries, WIDTH)
    for own, places in zip(settings.values(), panels.places, strict=True):
        for (what, read), place in zip(_PANELS, places, strict=True):
            _panel(svg, panels, place, what, own, read)
    return svg


def _panel(
    svg: Svg,
    panels: Panels,
    place: tuple[float, float],
    what: str,
    groups: Sequence[GroupFacts],
    read: Callable[[Positions], Floats | None],
) -> None:
    x, y = place
    lines = [(g, read(g.positions)) for g in groups if g.positions is not None]
    known = [(group, values) for group, values in lines if values is not None and len(values) > 1]
    svg.text(x - 30, y - 10, what, "s")
    if not known:
        svg.text(x, y + 30, "answers are about whole lists", "s")
        return
    ends = [float(end) for _, values in known for end in (np.nanmin(values), np.nanmax(values))]
    room = max(0.5, 0.1 * (max(ends) - min(ends)))
    scale = Scale(min(ends) - room, max(ends) + room, y + panels.height, y)
    y_axis(svg, scale, x, x + panels.width, 4)
    for group, values in known:
        _line(svg, x, panels.width, scale, group, values)
    count = len(known[0][1])
    for number in range(count):
        at = x + panels.width * number / (count - 1)
        if count <= 6 or number % 2 == 0:
            svg.text(at, y + panels.height + 14, str(number + 1), "s", "middle")
    svg.text(x + panels.width / 2, y + panels.height + 29, "place shown", "s", "middle")


def _line(svg: Svg, x: float, width: float, scale: Scale, group: GroupFacts, values: Floats) -> None:
    style = style_of(group.dims)
    step = width / (len(values) - 1)
    points = [(x + i * step, scale(v)) for i, v in enumerate(values.tolist()) if not np.isnan(v)]
    svg.path(points, style.stroke)
    label = judge_title(group)
    for (px, py), value in zip(points, [v for v in values.tolist() if not np.isnan(v)], strict=True):
        svg.marker(px, py, style.shape, style.fill, 3, tip=f"{label}: {value:.2f}")


def _strongest(settings: dict[str, list[GroupFacts]]) -> str:
    found = [(g, g.positions) for own in settings.values() for g in own if g.positions is not None]
    group, place = max(found, key=lambda pair: float(np.ptp(pair[1].lift)))
    high, low = int(np.argmax(place.lift)) + 1, int(np.argmin(place.lift)) + 1
    lifts = f"{place.lift[high - 1]:+.2f} ranks", f"{place.lift[low - 1]:+.2f}"
    return (
        f"Strongest lean: {setting_label(group.dims)}, which puts sources at place {high} {lifts[0]} from "
        f"where they belong, and those at place {low} {lifts[1]}."
    )


def sides(groups: Sequence[GroupFacts]) -> Svg | None:
    """PairJudge by side: how often A is preferred, and how often right when the better one is A or B."""
    shown = [g for g in groups if g.sides is not None and g.sides.asked and g.dims.get("judge") != "point"]
    if not shown:
        return None
    left, right, row = 380.0, WIDTH - 30.0, 46
    svg = Svg(WIDTH, 40 + row * len(shown) + 30, "By side", _lean(shown))
    scale = Scale(0, 100, left, right)
    svg.line(scale(50), 30, scale(50), 34 + row * len(shown), "a", stroke_dasharray="3 3")
    for tick in (0, 25, 50, 75, 100):
        svg.text(scale(tick), 24, f"{tick} %", "s", "middle")
    for number, group in enumerate(shown):
        _side_row(svg, scale, 34 + row * number, group)
    y = 34 + row * len(shown) + 20
    for x, shape, klass, words in (
        (left - 120, "square", "f7", "A preferred"),
        (left + 20, "triangle", "f0", "right when A is better"),
        (left + 210, "down", "f5", "right when B is better"),
    ):
        svg.marker(x, y - 4, shape, klass)
        svg.text(x + 10, y, words, "s")
    return svg


def _side_row(svg: Svg, scale: Scale, y: float, group: GroupFacts) -> None:
    sides = group.sides
    assert sides is not None
    svg.text(0, y + 18, clipped(f"{group.dims['model']}, {setting_label(group.dims)}", 56))
    said = f"{sides.asked:,} comparisons, {_percent(sides.invalid, sides.asked)} invalid, "
    svg.text(0, y + 33, said + f"{_percent(sides.ties, sides.asked)} ties", "s")
    if sides.decided:
        share = 100 * sides.first / sides.decided
        svg.rect(scale(min(50, share)), y + 8, abs(scale(share) - scale(50)), 8, "f7", opacity=0.5)
        svg.marker(scale(share), y + 12, "square", "f7", 4, tip=f"A preferred in {share:.1f} %")
    for (asked, right), shape, klass, which in (
        (sides.right_first, "triangle", "f0", "A"),
        (sides.right_second, "down", "f5", "B"),
    ):
        if asked:
            share = 100 * right / asked
            svg.marker(
                scale(share), y + 28, shape, klass, 4, tip=f"right when {which} is better: {share:.1f} %"
            )
    svg.line(scale(0), y + 42, scale(100), y + 42)


def _percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "0 %"


def _lean(groups: Sequence[GroupFacts]) -> str:
    decided = [g for g in groups if g.sides is not None and g.sides.decided]
    if not decided:
        return "No comparison was decided."
    group = max(decided, key=lambda g: abs(_first_share(g) - 0.5))
    return (
        f"Furthest from even: {setting_label(group.dims)} prefers A in {100 * _first_share(group):.0f} % "
        "of its decided comparisons."
    )


def _first_share(group: GroupFacts) -> float:
    assert group.sides is not None
    return group.sides.first / group.sides.decided
