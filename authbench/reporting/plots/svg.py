"""A small writer of SVG: marks, axes and text, coloured by class so that one drawing fits a light page, a
dark one and a file of its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from xml.sax.saxutils import escape, quoteattr

#: Okabe and Ito's colours (2008), told apart with every common colour vision; on dark ground blue is lighter.
PALETTE = ("#0072B2", "#E69F00", "#009E73", "#CC79A7", "#56B4E9", "#D55E00", "#8C7AD6", "#7F7F7F")
PALETTE_DARK = ("#4DA6E0", "#E6A93A", "#2DB98F", "#DD93BD", "#8FD0F5", "#F0813A", "#A99BE8", "#A3A3A3")
#: Marker shapes go with the colours, so that colour is never the only difference.
SHAPES = ("circle", "square", "triangle", "diamond", "cross", "down", "circle", "square")

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'DejaVu Sans', sans-serif"


def theme_css(dark: bool = False) -> str:
    """The style sheet of a drawing that stands by itself."""
    ink, muted, grid, ground = ("#e8e8ea", "#a7a7b0", "#3a3a42", "#17171a") if dark else _LIGHT
    colours = PALETTE_DARK if dark else PALETTE
    rules = [
        f"svg{{font-family:{FONT};background:{ground}}}",
        f".t{{fill:{ink};font-size:12px}}.s{{fill:{muted};font-size:11px}}.h{{fill:{ink};font-size:13px;font-weight:600}}",
        f".g{{stroke:{grid};stroke-width:1}}.a{{stroke:{muted};stroke-width:1}}",
        f".i{{fill:{ink}}}.n{{fill:none;stroke:{ink};stroke-width:1.5}}.e{{fill:{ground};stroke:{ink};stroke-width:1.5}}",
        f".z{{fill:{grid}}}.p{{fill:{ground}}}",
    ]
    for place, colour in enumerate(colours):
        rules.append(f".f{place}{{fill:{colour}}}.l{place}{{stroke:{colour};fill:none;stroke-width:2}}")
    return "".join(rules)


_LIGHT = ("#1c1c20", "#5d5d68", "#dcdce2", "#ffffff")


@dataclass(slots=True)
class Svg:
    """A drawing that marks are added to; `render` gives its text.

    Attributes:
        width: in pixels; on a page it shrinks with the column.
        height: likewise.
        title: what it shows, read by screen readers.
        desc: what is to be seen in it, in a sentence.
    """

    width: float
    height: float
    title: str
    desc: str = ""
    _parts: list[str] = field(default_factory=list)

    def add(self, tag: str, text: str | None = None, /, tip: str | None = None, **attributes: Any) -> None:
        """One element; `klass` is its class, underscores in names become hyphens, `tip` is shown on hover."""
        words = "".join(
            f" {_name(name)}={quoteattr(_value(value))}"
            for name, value in attributes.items()
            if value is not None
        )
        inner = ("" if tip is None else f"<title>{_escape(tip)}</title>") + (_escape(text) if text else "")
        self._parts.append(f"<{tag}{words}>{inner}</{tag}>" if inner else f"<{tag}{words}/>")

    def text(
        self, x: float, y: float, text: str, klass: str = "t", anchor: str = "start", **attributes: Any
    ) -> None:
        """Words at a place; `anchor` is `start`, `middle` or `end`."""
        shown = None if anchor == "start" else anchor
        self.add("text", text, x=x, y=y, klass=klass, text_anchor=shown, **attributes)

    def line(self, x1: float, y1: float, x2: float, y2: float, klass: str = "g", **attributes: Any) -> None:
        """A straight line."""
        self.add("line", x1=x1, y1=y1, x2=x2, y2=y2, klass=klass, **attributes)

    def rect(
        self,
        x: float,
        y: float,
        width: float,
        height: float,
        klass: str,
        tip: str | None = None,
        **more: Any,
    ) -> None:
        """A rectangle; a negative height is drawn upwards."""
        if height < 0:
            y, height = y + height, -height
        self.add("rect", tip=tip, x=x, y=y, width=max(width, 0.0), height=height, klass=klass, **more)

    def marker(
        self, x: float, y: float, shape: str, klass: str, size: float = 4.5, tip: str | None = None
    ) -> None:
        """A marker around a place."""
        if shape == "circle":
            self.add("circle", tip=tip, cx=x, cy=y, r=size, klass=klass)
            return
        r = size * 1.1
        points = {
            "square": [(-r, -r), (r, -r), (r, r), (-r, r)],
            "triangle": [(0, -r * 1.2), (r * 1.1, r), (-r * 1.1, r)],
            "down": [(0, r * 1.2), (r * 1.1, -r), (-r * 1.1, -r)],
            "diamond": [(0, -r * 1.35), (r * 1.35, 0), (0, r * 1.35), (-r * 1.35, 0)],
            "cross": _CROSS,
        }[shape]
        if shape == "cross":
            points = [(dx * r, dy * r) for dx, dy in points]
        where = " ".join(f"{_value(x + dx)},{_value(y + dy)}" for dx, dy in points)
        self.add("polygon", tip=tip, points=where, klass=klass)

    def path(self, points: Sequence[tuple[float, float]], klass: str, **attributes: Any) -> None:
        """A line through points."""
        d = "M" + "L".join(f"{_value(x)},{_value(y)}" for x, y in points)
        self.add("path", d=d, klass=klass, **attributes)

    def render(self, style: str | None = None) -> str:
        """The drawing's text: with a style sheet it stands by itself, without it takes the page's."""
        width, height = _value(self.width), _value(self.height)
        head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        if style is None:
            head += f' class="plot" style="max-width:{width}px" role="img"'
        else:
            head += f' width="{width}" height="{height}"'
        style_tag = "" if style is None else f"<style>{style}</style>"
        ground = "" if style is None else '<rect class="p" width="100%" height="100%"/>'
        label = quoteattr(_clean(self.title))
        named = f"<title>{_escape(self.title)}</title>" + (
            f"<desc>{_escape(self.desc)}</desc>" if self.desc else ""
        )
        return f"{head} aria-label={label}>{named}{style_tag}{ground}{''.join(self._parts)}</svg>"


_CROSS = [
    (-1.2, -0.4), (-0.4, -0.4), (-0.4, -1.2), (0.4, -1.2), (0.4, -0.4), (1.2, -0.4),
    (1.2, 0.4), (0.4, 0.4), (0.4, 1.2), (-0.4, 1.2), (-0.4, 0.4), (-1.2, 0.4),
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Scale:
    """From a range of values to a range of pixels, linear or logarithmic."""

    low: float
    high: float
    start: float
    end: float
    log: bool = False

    def __call__(self, value: float) -> float:
        """Where a value lies; values outside lie at the edge."""
        low, high = (math.log10(self.low), math.log10(self.high)) if self.log else (self.low, self.high)
        at = math.log10(max(value, 1e-12)) if self.log else value
        share = 0.5 if high == low else (at - low) / (high - low)
        return self.start + min(1.0, max(0.0, share)) * (self.end - self.start)

    def ticks(self, count: int = 6) -> list[float]:
        """Round values within the range, about `count` of them; powers of ten on a logarithmic one."""
        if self.log:
            return _log_ticks(self.low, self.high)
        step = nice_step((self.high - self.low) / max(1, count - 1))
        first = math.ceil(self.low / step - 1e-9)
        last = math.floor(self.high / step + 1e-9)
        return [round(place * step, 10) for place in range(first, last + 1)]


def _log_ticks(low: float, high: float) -> list[float]:
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    for parts in ((1,), (1, 3), (1, 2, 5)):
        found = [p * 10.0**d for d in decades for p in parts if low * 0.999 <= p * 10.0**d <= high * 1.001]
        if len(found) >= 3:
            return found
    return found


def nice_step(step: float) -> float:
    """The next of 1, 2, 2.5, 5 times a power of ten."""
    if step <= 0:
        return 1.0
    power = 10.0 ** math.floor(math.log10(step))
    return next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= step * 0.999)


def short_number(value: float) -> str:
    """`1.2k`, `35k`, `4.1M`, `12`, `0.35`."""
    for size, unit in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:.3g}{unit}"
    return f"{value:.3g}"


def text_width(text: str, size: float = 12) -> float:
    """About how wide a text is, in pixels."""
    return sum(1.0 if ord(sign) > 0x2E80 else 0.56 for sign in text) * size


def clipped(text: str, most: int) -> str:
    """A label cut in its middle to at most `most` signs."""
    text = " ".join(text.split())
    if len(text) <= most:
        return text
    tail = most // 3
    return f"{text[: most - tail - 1]}…{text[-tail:]}"


def _clean(text: str) -> str:
    """Without what no XML file may hold: control characters and halves of surrogate pairs."""
    return (
        "".join(
            sign if sign in "\t\n" or (sign >= " " and not "\ud800" <= sign <= "\udfff") else "\ufffd"
            for sign in text
        )
        .replace("\ufffe", "\ufffd")
        .replace("\uffff", "\ufffd")
    )


def _escape(text: str) -> str:
    return escape(_clean(text))


def _name(name: str) -> str:
    return "class" if name == "klass" else name.replace("_", "-")


def _value(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.2f}".rstrip("0").rstrip(".") if math.isfinite(value) else "0"
    return _clean(str(value))
