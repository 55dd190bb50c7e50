"""What judges answer: how their scores are distributed, and predicted against true levels."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.labels import setting_label
from authbench.reporting.plots.marks import (
    WIDTH,
    Panels,
    by_setting,
    judge_title,
    lay_out,
    style_of,
    y_axis,
)
from authbench.reporting.plots.svg import Scale, Svg, clipped


def distribution(groups: Sequence[GroupFacts]) -> Svg | None:
    """How often each score was given, one panel a group that gives scores.

    PointJudge is said to concentrate on few scores (AuthorityBench, appendix E): the panel says how much
    falls on the most frequent one.
    """
    shown = [g for g in groups if g.scores is not None and g.scores.sum() > 0]
    if not shown:
        return None
    sections = by_setting(shown)
    panels = lay_out([(name, len(own)) for name, own in sections.items()], 84, above=38, below=30, least=170)
    svg = Svg(WIDTH, panels.bottom, "Distribution of predicted scores", _most_concentrated(shown))
    panels.draw_heads(svg)
    top = max(concentration(group)[1] for group in shown)
    for own, places in zip(sections.values(), panels.places, strict=True):
        for group, place in zip(own, places, strict=True):
            _histogram(svg, panels, place, group, top)
    return svg


def concentration(group: GroupFacts) -> tuple[int, float]:
    """The most frequent score and its share."""
    assert group.scores is not None
    place = int(np.argmax(group.scores))
    return place, float(group.scores[place] / group.scores.sum())


def _most_concentrated(groups: Sequence[GroupFacts]) -> str:
    group = max(groups, key=lambda g: concentration(g)[1])
    score, share = concentration(group)
    name = ", ".join(part for part in (str(group.dims["model"]), setting_label(group.dims)) if part)
    return f"Most concentrated: {name}, {100 * share:.0f} % of its scores are {score}."


def _histogram(svg: Svg, panels: Panels, place: tuple[float, float], group: GroupFacts, top: float) -> None:
    assert group.scores is not None
    x, y = place
    total = int(group.scores.sum())
    scale = Scale(0, top, y + panels.height, y)
    y_axis(svg, Scale(0, 100 * top, scale.start, scale.end), x, x + panels.width, 3)
    step = panels.width / len(group.scores)
    style = style_of(group.dims)
    for score, count in enumerate(group.scores.tolist()):
        share = count / total
        tip = f"score {score}: {100 * share:.1f} % ({count:,})"
        svg.rect(
            x + score * step + 1, scale(share), step - 2, scale.start - scale(share), style.fill, tip=tip
        )
        svg.text(x + (score + 0.5) * step, scale.start + 13, str(score), "s", "middle")
    svg.text(x - 30, y - 22, clipped(judge_title(group), int(panels.width / 6) + 5), "t")
    score, share = concentration(group)
    used = int((group.scores > 0).sum())
    svg.text(x - 30, y - 8, f"{100 * share:.0f} % are {score}; {used} of {len(group.scores)} used", "s")


def heat(groups: Sequence[GroupFacts]) -> Svg | None:
    """Predicted (up) against true level (right), one panel a group; columns add up to one."""
    shown = [g for g in groups if g.heat is not None and g.heat.sum() > 0]
    if not shown:
        return None
    sections = by_setting(shown)
    panels = lay_out(
        [(name, len(own)) for name, own in sections.items()], 112, above=26, below=44, left=34, least=108
    )
    desc = (
        "Dark squares on the rising diagonal are right predictions. Each column adds up to 100 %; "
        "judges that give no scores are shown by rank."
    )
    svg = Svg(WIDTH, panels.bottom, "Predicted against true level", desc)
    panels.draw_heads(svg)
    for own, places in zip(sections.values(), panels.places, strict=True):
        for group, (x, y) in zip(own, places, strict=True):
            _heat_panel(svg, x, y, panels.height, group)
            svg.text(x - 26, y - 8, clipped(judge_title(group), 22), "t")
    return svg


def _heat_panel(svg: Svg, x: float, y: float, size: float, group: GroupFacts) -> None:
    assert group.heat is not None
    counts = group.heat
    rows, columns = counts.shape
    step = size / max(rows, columns)
    totals = np.maximum(counts.sum(axis=0), 1)
    for row in range(rows):
        for column in range(columns):
            share = counts[row, column] / totals[column]
            at = (x + column * step, y + (rows - 1 - row) * step)
            svg.rect(*at, step - 1, step - 1, "z")
            if counts[row, column]:
                tip = f"true {column}, predicted {row}: {100 * share:.0f} % ({counts[row, column]:,})"
                # The square root keeps small shares visible.
                svg.rect(*at, step - 1, step - 1, "f0", tip=tip, opacity=round(float(share) ** 0.5, 3))
    for level in range(columns):
        if columns <= 5 or level % 3 == 0:
            svg.text(x + (level + 0.5) * step, y + size + 13, str(level), "s", "middle")
    for level in range(rows):
        if rows <= 5 or level % 3 == 0:
            svg.text(x - 5, y + (rows - 0.5 - level) * step + 4, str(level), "s", "end")
    svg.text(x + size / 2, y + size + 28, "true level", "s", "middle")
