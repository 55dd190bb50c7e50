"""What every plot draws, as rows. TO BE REPLACED with the rebuild of `reporting`.

Today's plots are drawn by code of our own from runs and facts, so the rows are taken from what that code
reads. When the plots are charts, make the same rows from the charts' data: the recorded CSV files stay.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

from authbench.reporting.facts.collecting import collect_all
from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.labels import dim_label, setting_label
from authbench.reporting.plots import cost, forest, lcr, position
from authbench.reporting.plots.marks import by_setting, judge_title
from authbench.reporting.results import Run, find_runs

Row = tuple[object, ...]
#: Columns of each kind, after that of the experiment.
COLUMNS: Mapping[str, str] = {
    "forest": "block label value low high paper",
    "pareto": "panel setting method cost value front",
    "distribution": "section judge score count",
    "heatmap": "section judge true predicted count",
    "position": "section judge panel place value",
    "sides": "label what share",
    "answers": "label status count",
    "kept": "model filter cut place share",
    "confidence": "stage grade n mean low high",
    "thresholds": "stage what upper lower ndcg",
    "moved": "stage what grade value count",
}


def plot_tables(folders: Sequence[Path]) -> dict[str, str]:
    """A CSV for each kind of plot over these experiments' folders, sorted."""
    rows: dict[str, list[list[str]]] = {kind: [] for kind in COLUMNS}
    for folder in folders:
        runs = find_runs([folder])
        groups, _ = collect_all(runs)
        for kind, drawn in _drawn(runs, groups):
            rows[kind].append([folder.name, *map(_cell, drawn)])
    return {kind: _csv(columns.split(), rows[kind]) for kind, columns in COLUMNS.items()}


def _cell(value: object) -> str:
    if isinstance(value, float | np.floating):
        return f"{float(value) + 0.0:.6g}"
    return "" if value is None else str(value)


def _csv(columns: Sequence[str], rows: Sequence[list[str]]) -> str:
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["experiment", *columns])
    writer.writerows(sorted(rows))
    return out.getvalue()


def _drawn(runs: Sequence[Run], groups: Sequence[GroupFacts]) -> Iterator[tuple[str, Row]]:
    yield from (("forest", row) for row in _forest(runs))
    yield from (("pareto", row) for row in _pareto(runs))
    for section, own in by_setting(groups).items():
        for group in own:
            yield from _scores(section, group)
            yield from _positions(section, group)
    for group in groups:
        yield from _answers(group)
        yield from _sides(group)
        yield from _kept(group)
    yield from _lcr(groups)


def _forest(runs: Sequence[Run]) -> Iterator[Row]:
    metric = forest.main_metric([cell for run in runs for cell in run.cells])
    for block, rows in forest._blocks(runs, metric).items():
        for row in rows:
            yield block, row.label, row.value, row.low, row.high, row.paper


def _pareto(runs: Sequence[Run]) -> Iterator[Row]:
    """Seconds, the third panel, differ from run to run."""
    if cost.pareto(runs) is None:
        return
    for panel in ("calls", "tokens"):
        points = cost.cost_points(runs, panel)
        for setting in dict.fromkeys(point.setting for point in points):
            own = [point for point in points if point.setting == setting]
            front = {id(point) for point in cost.front(own)}
            for p in own:
                yield panel, setting, p.label, p.cost, p.value, "yes" if id(p) in front else "no"


def _scores(section: str, group: GroupFacts) -> Iterator[tuple[str, Row]]:
    title = judge_title(group)
    if group.scores is not None and group.scores.sum() > 0:
        for score, count in enumerate(group.scores.tolist()):
            yield "distribution", (section, title, score, count)
    if group.heat is not None and group.heat.sum() > 0:
        for (predicted, true), count in np.ndenumerate(group.heat):
            if count:
                yield "heatmap", (section, title, true, predicted, int(count))


def _positions(section: str, group: GroupFacts) -> Iterator[tuple[str, Row]]:
    if group.positions is None:
        return
    for panel, read in position._PANELS:
        values = read(group.positions)
        if values is not None and len(values) > 1:
            for place, value in enumerate(values.tolist()):
                if not np.isnan(value):
                    yield "position", (section, judge_title(group), panel, place + 1, value)


def _named(group: GroupFacts) -> str:
    return f"{group.dims['model']}, {setting_label(group.dims)}"


def _answers(group: GroupFacts) -> Iterator[tuple[str, Row]]:
    for status, count in group.statuses.items():
        if status != "ok" and count:
            yield "answers", (_named(group), status, count)


def _sides(group: GroupFacts) -> Iterator[tuple[str, Row]]:
    sides = group.sides
    if sides is None or not sides.asked or group.dims.get("judge") == "point":
        return
    shares = [("invalid", sides.invalid, sides.asked), ("ties", sides.ties, sides.asked)]
    shares += [("A preferred", sides.first, sides.decided)]
    for which, (asked, right) in (("A", sides.right_first), ("B", sides.right_second)):
        shares.append((f"right when {which} is better", right, asked))
    for what, part, whole in shares:
        if whole:
            yield "sides", (_named(group), what, 100 * part / whole)


def _kept(group: GroupFacts) -> Iterator[tuple[str, Row]]:
    name = dim_label("filter", group.dims.get("filter"), group.dims)
    for cut in group.kept:
        if len(cut.share) and (cut.k is not None or cut.cut != "all"):
            for place, share in enumerate(cut.share.tolist()):
                yield "kept", (group.dims["model"], name, cut.cut, place + 1, 100 * share)


def _lcr(groups: Sequence[GroupFacts]) -> Iterator[tuple[str, Row]]:
    found = lcr._found(groups)
    stages = lcr._sections([(group, facts) for group, facts in found if facts.grades])
    for stage, own in stages.items():
        for row in own[0][1].grades:
            mean = row.confidence
            yield "confidence", (stage, row.grade, row.n, mean.value, mean.low, mean.high)
    for group, facts in found:
        stage = f"{group.dims['base']}: {lcr._stage(group)}"
        moved, surface = facts.moved, facts.thresholds
        for what in ("better", "same", "worse", "opened"):
            yield "moved", (stage, what, None, None, getattr(moved, what))
        for grade, lift, count in moved.lift:
            yield "moved", (stage, "lift", grade, lift, count)
        if surface is None:
            continue
        for (upper, lower), value in np.ndenumerate(surface.pairs):
            if not np.isnan(value):
                yield (
                    "thresholds",
                    (stage, "pair", surface.values[upper], surface.values[lower], float(value)),
                )
        for gate, value in zip(surface.gates, surface.by_gate.tolist(), strict=True):
            yield "thresholds", (stage, "gate", gate, None, value)
        upper, lower = surface.best_pair
        yield "thresholds", (stage, "best", upper, lower, surface.best)
        for what in ("base", "held_out", "shuffled"):
            yield "thresholds", (stage, what, None, None, getattr(surface, what))
