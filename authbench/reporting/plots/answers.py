"""Kinds of answers: how many could not be read, and why."""

from __future__ import annotations

from collections.abc import Sequence

from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.itemfiles import FAILED
from authbench.reporting.labels import setting_label
from authbench.reporting.plots.marks import WIDTH, Style, legend, legend_height
from authbench.reporting.plots.svg import Scale, Svg, clipped
from authbench.runtime.messages import STATUSES

_ROW = 20
#: Styles by status: valid answers grey, so that colour means trouble.
_STYLE = {
    "repaired": 4,
    "missing_ids": 1,
    "extra_ids": 3,
    "duplicate_ids": 6,
    "out_of_range": 2,
    "wrong_format": 5,
    "truncated": 0,
    "empty": 7,
    "refused": 3,
    FAILED: 5,
}


def statuses(groups: Sequence[GroupFacts]) -> Svg | None:
    """Share of each status that is not plain `ok`, one bar a group that has any; None where all are ok."""
    shown = [g for g in groups if any(count for status, count in g.statuses.items() if status != "ok")]
    if not shown:
        return None
    seen = [s for s in (*STATUSES, FAILED) if s != "ok" and any(g.statuses.get(s) for g in shown)]
    entries = [(status.replace("_", " "), Style(_STYLE[status])) for status in seen]
    top = legend_height(entries, WIDTH) + 22
    svg = Svg(WIDTH, top + _ROW * len(shown) + 8, "Answers that are not plainly valid", _said(shown))
    legend(svg, 0, 14, entries, WIDTH)
    most = max(1 - g.statuses.get("ok", 0) / sum(g.statuses.values()) for g in shown)
    scale = Scale(0, 100 * most, 380, WIDTH - 70)
    for tick in scale.ticks(5):
        svg.line(scale(tick), top - 4, scale(tick), top + _ROW * len(shown))
        svg.text(scale(tick), top - 8, f"{tick:g} %", "s", "middle")
    for number, group in enumerate(shown):
        _bar(svg, scale, top + number * _ROW, group, seen)
    return svg


def _bar(svg: Svg, scale: Scale, y: float, group: GroupFacts, seen: Sequence[str]) -> None:
    total = sum(group.statuses.values())
    svg.text(0, y + 14, clipped(f"{group.dims['model']}, {setting_label(group.dims)}", 56))
    at = 0.0
    for status in seen:
        share = 100 * group.statuses.get(status, 0) / total
        if share:
            tip = f"{status.replace('_', ' ')}: {share:.1f} % ({group.statuses[status]:,})"
            svg.rect(scale(at), y + 3, scale(at + share) - scale(at), _ROW - 6, f"f{_STYLE[status]}", tip=tip)
            at += share
    svg.text(scale.end + 6, y + 14, f"{at:.1f} %", "s")


def _said(groups: Sequence[GroupFacts]) -> str:
    total = sum(sum(g.statuses.values()) for g in groups)
    bad = sum(count for g in groups for s, count in g.statuses.items() if s not in ("ok", "repaired"))
    return f"{bad:,} of {total:,} answers in these groups could not be used."
