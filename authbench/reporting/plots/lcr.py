"""LCR: confidence by relevance, what thresholds give, and what moved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from authbench.reporting.facts.lcr import LcrFacts, Thresholding
from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.labels import setting_label
from authbench.reporting.plots.marks import WIDTH, Panels, lay_out, x_axis, y_axis
from authbench.reporting.plots.svg import Scale, Svg, clipped, text_width

#: What stands beside the curve of the gates: held out, and the control.
_LEVELS = (("square", "f2", "held out"), ("triangle", "f5", "best on shuffled confidences"))

Found = tuple[GroupFacts, LcrFacts]


def _found(groups: Sequence[GroupFacts]) -> list[Found]:
    return [(group, group.extra["lcr"]) for group in groups if "lcr" in group.extra]


def _stage(group: GroupFacts) -> str:
    """A model with a first stage on a collection."""
    return f"{group.dims['model']}, {setting_label(group.dims, without=('base',))}"


def _sections(found: Sequence[Found]) -> dict[str, list[Found]]:
    sections: dict[str, list[Found]] = {}
    for group, facts in found:
        sections.setdefault(_stage(group), []).append((group, facts))
    return sections


def confidence(groups: Sequence[GroupFacts]) -> Svg | None:
    """Mean confidence of the documents of each relevance grade, once a first stage: the base ranking does not
    change a document's confidence."""
    found = [(group, facts) for group, facts in _found(groups) if facts.grades]
    stages = {name: own[0][1] for name, own in _sections(found).items()}
    if not stages:
        return None
    panels = lay_out([("", len(stages))], 150, above=58, below=46, least=240, most=420, left=48)
    svg = Svg(WIDTH, panels.bottom, "Confidence by relevance grade", _correlated(stages))
    for (name, facts), place in zip(stages.items(), panels.places[0], strict=True):
        _confidence_panel(svg, panels, place, name, facts)
    return svg


def _confidence_panel(
    svg: Svg, panels: Panels, place: tuple[float, float], name: str, facts: LcrFacts
) -> None:
    """Means with intervals; what nobody judged is no grade, so its mark is hollow."""
    x, y = place
    svg.text(x - 40, y - 42, clipped(name, int(panels.width / 6.5)), "h")
    svg.text(x - 40, y - 26, _over_all(facts), "s")
    svg.text(x - 40, y - 12, _within(facts), "s")
    scale = Scale(0, 1, y + panels.height, y)
    y_axis(svg, scale, x, x + panels.width)
    _turned(svg, x - 36, y + panels.height / 2, "mean confidence")
    step = panels.width / len(facts.grades)
    for number, row in enumerate(facts.grades):
        at = x + (number + 0.5) * step
        mean = row.confidence
        grade = "not judged" if row.grade is None else f"grade {row.grade}"
        if mean.low is not None and mean.high is not None:
            svg.line(at, scale(mean.low), at, scale(mean.high), "a" if row.grade is None else "l0")
        if mean.value is not None:
            tip = f"{grade}: {mean.value:.3f}, {row.n:,} documents"
            klass = "e" if row.grade is None else "f0"
            svg.marker(at, scale(mean.value), "circle", klass, 5, tip=tip)
        svg.text(at, y + panels.height + 14, grade, "s", "middle")
        svg.text(at, y + panels.height + 28, f"n = {row.n:,}", "s", "middle")


def _over_all(facts: LcrFacts) -> str:
    """The correlations over all judged documents in words."""
    rho, tau = facts.correlation.spearman, facts.correlation.kendall
    if rho is None or tau is None:
        return "no correlation: all grades or all confidences are equal"
    return f"Spearman {rho:+.2f}, tau-b {tau:+.2f} over all judged"


def _within(facts: LcrFacts) -> str:
    """The correlation that a reranker can use, with its interval."""
    within = facts.correlation.within
    if within.value is None:
        return "no tau-b within queries"
    said = f"tau-b within queries {within.value:+.2f}"
    if within.low is None or within.high is None:
        return said
    return f"{said} [{within.low:+.2f}, {within.high:+.2f}]"


def _turned(svg: Svg, x: float, y: float, text: str) -> None:
    """A text that is read upwards, around a place."""
    svg.text(x, y, text, "s", "middle", transform=f"rotate(-90 {x:.1f} {y:.1f})")


def _correlated(stages: dict[str, LcrFacts]) -> str:
    return "; ".join(f"{name}: {_over_all(facts)}, {_within(facts)}" for name, facts in stages.items()) + "."


def thresholds(groups: Sequence[GroupFacts]) -> Svg | None:
    """NDCG for every pair of bin thresholds at the best gate, and for every gate with the best pair."""
    found = [(g, f, f.thresholds) for g, f in _found(groups) if f.thresholds is not None]
    if not found:
        return None
    sections = [(f"{g.dims['base']}: {_stage(g)}", 2) for g, _, _ in found]
    panels = lay_out(sections, 150, above=28, below=46, least=170, most=340, left=44, top=22)
    svg = Svg(WIDTH, panels.bottom, "Thresholds", _gained(found))
    panels.draw_heads(svg)
    at = 8.0
    for shape, klass, name in _LEVELS:
        svg.marker(at, 10, shape, klass)
        svg.text(at + 10, 14, name)
        at += 26 + text_width(name)
    svg.text(at, 14, "dashed: base ranking")
    for (_, _, surface), places in zip(found, panels.places, strict=True):
        x, y = places[0]
        svg.text(x - 36, y - 10, f"{_levels(surface)}; at T_query {surface.gate:g}", "s")
        _surface(svg, x, y, panels, surface)
        _gates(svg, places[1], panels, surface)
    return svg


def _levels(surface: Thresholding) -> str:
    words = [f"base {surface.base:.2f}", f"best {surface.best:.2f}"]
    words += [] if surface.held_out is None else [f"held out {surface.held_out:.2f}"]
    words += [] if surface.shuffled is None else [f"shuffled {surface.shuffled:.2f}"]
    return ", ".join(words)


def _surface(svg: Svg, x: float, y: float, panels: Panels, surface: Thresholding) -> None:
    """Better than the base ranking in one colour, worse in another, by strength."""
    count = len(surface.values)
    size = min(panels.width, panels.height)
    step = size / count
    largest = max(float(np.nanmax(np.abs(surface.pairs - surface.base))), 1e-9)
    for row in range(count):
        for column in range(count):
            value = surface.pairs[row, column]
            if np.isnan(value):
                continue
            at = (x + column * step, y + (count - 1 - row) * step)
            svg.rect(*at, step - 1, step - 1, "z")
            strength = abs(value - surface.base) / largest
            upper, lower = surface.values[row], surface.values[column]
            tip = f"T_upper {upper:g}, T_lower {lower:g}: {value:.2f}"
            klass = "f0" if value >= surface.base else "f5"
            svg.rect(*at, step - 1, step - 1, klass, tip=tip, opacity=round(float(strength) ** 0.7, 3))
            if (upper, lower) == surface.best_pair:
                svg.rect(at[0] + 0.5, at[1] + 0.5, step - 2, step - 2, "n")
    for place in range(0, count, max(1, count // 5)):
        svg.text(x + (place + 0.5) * step, y + size + 13, f"{surface.values[place]:g}", "s", "middle")
        svg.text(x - 5, y + (count - 0.5 - place) * step + 4, f"{surface.values[place]:g}", "s", "end")
    svg.text(x + size / 2, y + size + 28, "T_lower", "s", "middle")
    _turned(svg, x - 32, y + size / 2, "T_upper")


def _gates(svg: Svg, place: tuple[float, float], panels: Panels, surface: Thresholding) -> None:
    x, y = place
    ends = [*surface.by_gate.tolist(), surface.base]
    ends += [level for level in (surface.held_out, surface.shuffled) if level is not None]
    room = max(0.2, 0.08 * (max(ends) - min(ends)))
    up = Scale(min(ends) - room, max(ends) + room, y + panels.height, y)
    across = Scale(0, max(surface.gates), x, x + panels.width)
    y_axis(svg, up, x, x + panels.width)
    x_axis(svg, across, y + panels.height, "T_query")
    svg.line(x, up(surface.base), x + panels.width, up(surface.base), "a", stroke_dasharray="4 3")
    points = [
        (across(gate), up(value)) for gate, value in zip(surface.gates, surface.by_gate.tolist(), strict=True)
    ]
    svg.path(points, "l0")
    for (px, py), value in zip(points, surface.by_gate.tolist(), strict=True):
        svg.marker(px, py, "circle", "f0", 3, tip=f"{value:.2f}")
    for level, (shape, klass, name) in zip((surface.held_out, surface.shuffled), _LEVELS, strict=True):
        if level is not None:
            svg.marker(x + panels.width + 4, up(level), shape, klass, 5, tip=f"{name}: {level:.2f}")


def _gained(found: Sequence[tuple[GroupFacts, LcrFacts, Thresholding]]) -> str:
    words = []
    for group, facts, surface in found[:4]:
        gained = signed_points(surface.best - surface.base)
        words.append(f"{group.dims['base']}: best {facts.rule}, {gained} over the base")
    return (
        "; ".join(words)
        + ". The best on the test queries cannot lose; the control says what it gains by chance."
    )


def signed_points(value: float) -> str:
    """A difference with its sign; what rounds to nothing is not negative."""
    return f"{round(value, 2) + 0.0:+.2f}"


def moved(groups: Sequence[GroupFacts]) -> Svg | None:
    """Queries that get better or worse, and how far documents of each grade move."""
    found = _found(groups)
    if not found:
        return None
    row = 58
    svg = Svg(WIDTH, 46 + row * len(found) + 24, "What moved", _most_moved(found))
    bar = Scale(0, 1, 300, 560)
    lifts = [abs(lift) for _, facts in found for _, lift, _ in facts.moved.lift]
    lift_scale = Scale(-max([*lifts, 0.5]), max([*lifts, 0.5]), 640, WIDTH - 30)
    svg.text(300, 18, "queries: better, same, worse", "s")
    svg.text(640, 18, "places moved up, by relevance grade", "s")
    bottom = 34 + row * len(found)
    svg.line(lift_scale(0), 26, lift_scale(0), bottom, "a", stroke_dasharray="3 3")
    x_axis(svg, lift_scale, bottom)
    for number, (group, facts) in enumerate(found):
        _moved_row(svg, 30 + row * number, bar, lift_scale, group, facts)
    return svg


def _moved_row(svg: Svg, y: float, bar: Scale, lifts: Scale, group: GroupFacts, facts: LcrFacts) -> None:
    moved = facts.moved
    total = moved.better + moved.same + moved.worse
    svg.text(0, y + 14, clipped(f"{group.dims['base']}: {_stage(group)}", 46))
    svg.text(0, y + 29, f"gate open for {moved.opened:,} of {total:,} queries", "s")
    svg.text(0, y + 43, str(facts.rule), "s")
    at = 0.0
    for count, klass, name in (
        (moved.better, "f2", "better"),
        (moved.same, "z", "same"),
        (moved.worse, "f5", "worse"),
    ):
        if count:
            share = count / total
            svg.rect(bar(at), y + 6, bar(at + share) - bar(at), 14, klass, tip=f"{name}: {count:,} queries")
            at += share
    svg.text(bar.start, y + 34, f"{moved.better:,} better, {moved.same:,} same, {moved.worse:,} worse", "s")
    step = 44 / max(1, len(moved.lift))
    for number, (grade, lift, count) in enumerate(moved.lift):
        top = y + 2 + number * step
        name = "not judged" if grade is None else f"grade {grade}"
        start, end = sorted((lifts(0), lifts(lift)))
        klass = "f0" if grade else "f7"
        svg.rect(
            start,
            top,
            max(end - start, 1),
            step - 2,
            klass,
            tip=f"{name}: {lift:+.2f} places, {count:,} documents",
        )
        svg.text(lifts.start - 6, top + step - 3, "–" if grade is None else str(grade), "s", "end")


def _most_moved(found: Sequence[Found]) -> str:
    group, facts = max(found, key=lambda pair: pair[1].moved.better + pair[1].moved.worse)
    counts = f"{facts.moved.better:,} queries better and {facts.moved.worse:,} worse"
    return f"Most moved: {group.dims['base']}, {counts}."
