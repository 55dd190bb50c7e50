"""Plots as files: SVG by our own code, PNG and PDF through vl-convert, which brings its renderer with it."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from authbench.errors import ConfigError, DataError
from authbench.reporting.facts.collecting import collect_all
from authbench.reporting.plots.kinds import KINDS, NEEDS_ITEMS
from authbench.reporting.plots.svg import Svg, theme_css
from authbench.reporting.results import Run

#: Pixels of a PNG for each of the drawing.
_SCALE = 2.0
FORMATS = (".svg", ".png", ".pdf")


def draw(runs: Sequence[Run], kind: str) -> Svg:
    """The plot of this kind over runs of one experiment.

    Raises:
        ConfigError: runs of several experiments, or nothing of this kind in them.
        DataError: the plot is about items, and `items.jsonl` is missing.
    """
    experiments = list(dict.fromkeys(run.experiment for run in runs))
    if len(experiments) > 1:
        raise ConfigError(
            f"a plot is of one experiment, and these are {', '.join(experiments)}; name one of their folders"
        )
    groups, _ = collect_all(runs) if kind in NEEDS_ITEMS else ([], [])
    if kind in NEEDS_ITEMS and not groups:
        raise DataError(
            f"{runs[0].path}: no items.jsonl, and the plot '{kind}' is about items\n"
            f"`authbench score {runs[0].path}` makes it anew"
        )
    svg = KINDS[kind].draw(runs, groups)
    if svg is None:
        raise ConfigError(
            f"{experiments[0]} has nothing to draw as '{kind}'; authbench plot --kind list names others"
        )
    return svg


def write_plot(svg: Svg, path: Path, *, dark: bool = False) -> None:
    """Write a drawing as SVG, PNG or PDF, by the file's ending.

    Raises:
        ConfigError: another ending, the extra is not installed, or the file cannot be written.
    """
    ending = path.suffix.lower()
    if ending not in FORMATS:
        raise ConfigError(f"{path}: plots are written as {', '.join(FORMATS)}; name the file so")
    text = svg.render(theme_css(dark))
    data = text.encode("utf-8") if ending == ".svg" else _converted(text, ending)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    except OSError as error:
        raise ConfigError(f"{path} cannot be written: {error.strerror}") from None


def _converted(text: str, ending: str) -> bytes:
    try:
        vl_convert = import_module("vl_convert")
    except ImportError:
        raise ConfigError(
            f"{ending[1:].upper()} needs vl-convert: pip install 'authbench[plots]'; SVG needs nothing more"
        ) from None
    if ending == ".png":
        return bytes(vl_convert.svg_to_png(text, scale=_SCALE))
    return bytes(vl_convert.svg_to_pdf(text))
