"""What plots share: which colour and shape belongs to what, axes, legends and grids of small panels."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.labels import setting_label
from authbench.reporting.plots.svg import PALETTE, SHAPES, Scale, Svg, clipped, short_number, text_width

#: Width of a drawing in pixels.
WIDTH = 920

_STYLES: dict[tuple[str, str], int] = {
    ("judge", "point"): 0,
    ("judge", "list-rank"): 1,
    ("judge", "list-score"): 2,
    ("judge", "pair-rank"): 3,
    ("judge", "pair-score"): 4,
    ("filter", "none"): 7,
    ("filter", "relevance"): 1,
    ("filter", "utility"): 3,
    ("filter", "authority"): 0,
    ("method", "base"): 7,
    ("method", "lcr"): 0,
    ("method", "car"): 2,
}


@dataclass(frozen=True, slots=True)
class Style:
    """A colour with its shape: `f0` fills, `l0` strokes."""

    number: int

    @property
    def fill(self) -> str:
        """Class of filled marks."""
        return f"f{self.number}"

    @property
    def stroke(self) -> str:
        """Class of lines."""
        return f"l{self.number}"

    @property
    def shape(self) -> str:
        """Marker."""
        return SHAPES[self.number]


def style_of(dims: Mapping[str, Any]) -> Style:
    """The style of a judge, a filter or a method; grey for what has none of its own."""
    if dims.get("judge") is not None:
        kind = str(dims["judge"])
        name = kind if kind == "point" else f"{kind}-{dims.get('output')}"
        return Style(_STYLES.get(("judge", name), 7))
    for dim in ("filter", "method"):
        if dims.get(dim) is not None:
            return Style(_STYLES.get((dim, str(dims[dim])), 5))
    return Style(0)


def numbered_style(number: int) -> Style:
    """A style for the nth of any series."""
    return Style(number % len(PALETTE))


def x_axis(svg: Svg, scale: Scale, y: float, label: str = "", top: float | None = None) -> None:
    """Ticks below a panel, with grid lines up to `top` where it is given."""
    for tick in scale.ticks():
        x = scale(tick)
        if top is not None:
            svg.line(x, top, x, y)
        svg.text(x, y + 14, short_number(tick), "s", "middle")
    if label:
        svg.text((scale.start + scale.end) / 2, y + 30, label, "s", "middle")


def y_axis(svg: Svg, scale: Scale, x: float, right: float, count: int = 5) -> None:
    """Ticks to the left of a panel, with grid lines."""
    for tick in scale.ticks(count):
        y = scale(tick)
        svg.line(x, y, right, y)
        svg.text(x - 5, y + 4, short_number(tick), "s", "end")


def legend(svg: Svg, x: float, y: float, entries: Sequence[tuple[str, Style]], width: float) -> float:
    """Markers with names, wrapped to a width; gives the height that was used."""
    at, line = x, y
    for name, style in entries:
        needed = 26 + text_width(name)
        if at > x and at + needed > x + width:
            at, line = x, line + 18
        svg.marker(at + 6, line - 4, style.shape, style.fill)
        svg.text(at + 16, line, name)
        at += needed
    return line - y + 18


def legend_height(entries: Sequence[tuple[str, Style]], width: float) -> float:
    """The height that `legend` will use."""
    return legend(Svg(0, 0, ""), 0, 0, entries, width)


@dataclass(frozen=True, slots=True)
class Panels:
    """Where the panels of a drawing lie: sections with a heading, each with rows of equal panels.

    Attributes:
        heads: heading of each section, with the place of its text.
        places: for each section, the upper left corners of its panels' plotting areas.
        width: of a plotting area.
        height: likewise.
        bottom: height of the whole drawing.
    """

    heads: tuple[tuple[str, float, float], ...]
    places: tuple[tuple[tuple[float, float], ...], ...]
    width: float
    height: float
    bottom: float

    def draw_heads(self, svg: Svg) -> None:
        """Write the headings."""
        for title, x, y in self.heads:
            svg.text(x, y, clipped(title, 100), "h")


def lay_out(
    sections: Sequence[tuple[str, int]],
    height: float,
    *,
    width: float = WIDTH,
    least: float = 150,
    most: float = 300,
    left: float = 38,
    above: float = 24,
    below: float = 38,
    top: float = 0,
) -> Panels:
    """Places for sections of so many panels each.

    Args:
        sections: heading and number of panels; an empty heading takes no room.
        height: of a panel's plotting area.
        width: of the drawing.
        least: a plotting area's least width; as many columns as there is room for.
        most: its greatest width.
        left: room to the left of each panel, for its axis.
        above: room above each panel, for its title.
        below: room below it, for its axis.
        top: where the first section begins.
    """
    widest = max(count for _, count in sections)
    columns = max(1, min(widest, int(width // (least + left + 8))))
    step = min(width / columns, most + left + 24)
    heads, places, y = [], [], top
    for title, count in sections:
        if title:
            heads.append((title, 0.0, y + 16))
            y += 24
        rows = -(-count // columns)
        places.append(
            tuple(
                (number % columns * step + left, y + number // columns * (above + height + below) + above)
                for number in range(count)
            )
        )
        y += rows * (above + height + below)
    return Panels(tuple(heads), tuple(places), min(step - left - 8, most), height, y)


def by_setting(
    groups: Sequence[GroupFacts], judge: tuple[str, ...] = ("judge", "output", "filter")
) -> dict[str, list[GroupFacts]]:
    """Groups by model and setting, in words; what remains to tell them apart is the judge or filter."""
    sections: dict[str, list[GroupFacts]] = {}
    for group in groups:
        setting = setting_label(group.dims, without=judge)
        title = ", ".join(part for part in (str(group.dims["model"]), setting) if part)
        sections.setdefault(title, []).append(group)
    return sections


def judge_title(group: GroupFacts) -> str:
    """The judge or filter of a group."""
    dims = {name: group.dims.get(name) for name in ("judge", "output", "filter")}
    return setting_label(dims) or group.group
