"""RAG: which documents each filter keeps, and what is answered from them."""

from __future__ import annotations

from collections.abc import Sequence

from authbench.reporting.facts.records import GroupFacts, Kept
from authbench.reporting.labels import dim_label
from authbench.reporting.plots.marks import WIDTH, Panels, lay_out, style_of, y_axis
from authbench.reporting.plots.svg import Scale, Svg


def kept(groups: Sequence[GroupFacts]) -> Svg | None:
    """Share of questions whose document at each place of the retrieval order is kept, by filter and cut."""
    sections: dict[str, list[tuple[GroupFacts, Kept]]] = {}
    for group in groups:
        name = dim_label("filter", group.dims.get("filter"), group.dims)
        for cut in group.kept:
            if len(cut.share) and (cut.k is not None or cut.cut != "all"):
                sections.setdefault(f"{group.dims['model']}, {name}", []).append((group, cut))
    if not sections:
        return None
    panels = lay_out([(name, len(own)) for name, own in sections.items()], 84, above=40, below=42, least=170)
    svg = Svg(WIDTH, panels.bottom, "Documents kept, by place in the retrieval order", _said(groups))
    panels.draw_heads(svg)
    for own, places in zip(sections.values(), panels.places, strict=True):
        for (group, cut), place in zip(own, places, strict=True):
            _panel(svg, panels, place, group, cut)
    return svg


def _panel(svg: Svg, panels: Panels, place: tuple[float, float], group: GroupFacts, cut: Kept) -> None:
    x, y = place
    total = sum(cut.answers.values())
    svg.text(x - 30, y - 24, f"{cut.cut}: {100 * cut.right / total:.1f} % right" if total else cut.cut)
    if None not in cut.level:
        svg.text(x - 30, y - 9, f"level {cut.level[0]:.1f} kept, {cut.level[1]:.1f} left out", "s")
    scale = Scale(0, 100, y + panels.height, y)
    y_axis(svg, scale, x, x + panels.width, 3)
    step = panels.width / len(cut.share)
    style = style_of(group.dims)
    for number, share in enumerate(cut.share.tolist()):
        top = scale(100 * share)
        tip = f"place {number + 1}: kept for {100 * share:.1f} % of the questions"
        svg.rect(x + number * step + 1, top, step - 2, scale.start - top, style.fill, tip=tip)
        svg.text(x + (number + 0.5) * step, scale.start + 13, str(number + 1), "s", "middle")
    svg.text(x + panels.width / 2, scale.start + 28, "place in retrieval order", "s", "middle")


def _said(groups: Sequence[GroupFacts]) -> str:
    ties = sum(cut.ties for g in groups for cut in g.kept)
    asked = sum(cut.questions for g in groups for cut in g.kept if cut.k is not None)
    return f"At {ties:,} of {asked:,} cuts equal scores were told apart by the order of retrieval alone."
