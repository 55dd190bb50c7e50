"""Checks on numbers as such: impossible proportions, copied cells, repeated rows, a formula's edges."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from authbench.reporting.auditcells import DIMS, Cell, Partners
from authbench.reporting.claims import Binned, Extremes, GainsMost, NoRepeats, Possible
from authbench.reporting.findings import Finding, Outcome

if TYPE_CHECKING:
    from authbench.reporting.differences import Differences

#: Slack for sums of binary fractions, in the unit of the printed digit.
_EPS = 1e-6
#: Decimals of a percentage that the papers print, and that `cells.json` keeps.
_PAPER_DIGITS, _RUN_DIGITS = 2, 8


def possible(check: Possible, cells: Sequence[Cell]) -> list[Finding]:
    """Which proportions are no multiple of 1/n, allowing for the rounding of the printed digits.

    A value up to half a unit of the last digit away is rounded; up to a whole unit away it is rounded the
    wrong way (noted); further away no count of right answers gives it.
    """
    findings = []
    for cell in cells:
        paper = cell.run.engine == "paper"
        n = check.items.get(str(cell.dims["table"])) if paper else cell.n
        if n:
            findings.append(_possible(cell, n, _PAPER_DIGITS if paper else _RUN_DIGITS))
    return findings


def _possible(cell: Cell, n: int, digits: int) -> Finding:
    assert cell.value is not None
    percent = 100 * cell.value
    count = round(cell.value * n)
    nearest = 100 * count / n
    off = abs(percent - nearest) * 10**digits
    shown = f"{percent:.{_PAPER_DIGITS}f}"
    if off <= 0.5 + _EPS:
        return Finding.of_cells("holds", (cell,), f"{shown} is {count}/{n}")
    near = f"the nearest is {count}/{n} = {nearest:.2f}"
    if off < 1 - _EPS:
        return Finding.of_cells(
            "holds",
            (cell,),
            f"{shown} is {count}/{n}",
            note=f"{shown} is {nearest:.4f}, rounded the wrong way",
        )
    return Finding.of_cells("fails", (cell,), f"{shown} is no multiple of 1/{n}; {near}")


def copies(cells: Sequence[Cell]) -> list[Finding]:
    """Models that agree to the last digit in every measure of a setting; one finding a setting."""
    settings: dict[tuple[Any, ...], dict[str, dict[str, Cell]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        place = tuple(cell.dims[name] for name in DIMS if name not in ("model", "metric"))
        settings[place][str(cell.dims["model"])][str(cell.dims["metric"])] = cell
    findings = []
    for models in settings.values():
        if len(models) < 2:
            continue
        equal: dict[tuple[Any, ...], list[list[Cell]]] = defaultdict(list)
        for measured in models.values():
            values = tuple((metric, measured[metric].value) for metric in sorted(measured))
            # A constant or failing judge scores 0 everywhere: that is no copy.
            if len(values) > 1 and all(values[1:] and value for _, value in values):
                equal[values].append(list(measured.values()))
        copied = [group for group in equal.values() if len(group) > 1]
        for group in copied:
            findings.append(Finding.of_cells("fails", [c for own in group for c in own], _copied(group)))
        if not copied:
            findings.append(Finding.of_cells("holds", [c for m in models.values() for c in m.values()], ""))
    return findings


def _copied(group: Sequence[Sequence[Cell]]) -> str:
    names = " and ".join(str(own[0].dims["model"]) for own in group)
    ordered = sorted(group[0], key=lambda cell: str(cell.dims["metric"]), reverse=True)
    values = " and ".join(f"{100 * (cell.value or 0.0):.2f}" for cell in ordered)
    return f"{names} have the same {values}"


def repeats(check: NoRepeats, cells: Sequence[Cell]) -> list[Finding]:
    """Rows of a model that are equal for two values of the dimension; one finding for each pair of rows."""
    models: dict[tuple[str, str, str], dict[Any, dict[Any, Cell]]] = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        key = (str(cell.dims["table"]), str(cell.dims["experiment"]), str(cell.dims["model"]))
        rest = tuple(cell.dims[name] for name in DIMS if name != check.dim)
        models[key][cell.dims[check.dim]][rest] = cell
    findings = []
    for rows in models.values():
        values = list(rows)
        for i, one in enumerate(values):
            for other in values[i + 1 :]:
                findings += _repeat(check.dim, (one, rows[one]), (other, rows[other]))
    return findings


def _repeat(dim: str, one: tuple[Any, dict[Any, Cell]], other: tuple[Any, dict[Any, Cell]]) -> list[Finding]:
    shared = [key for key in one[1] if key in other[1]]
    if len(shared) < 3:
        return []
    pairs = [(one[1][key], other[1][key]) for key in shared]
    same = all(a.value == b.value for a, b in pairs)
    outcome: Outcome = "fails" if same else "holds"
    values = ", ".join(f"{100 * (a.value or 0.0):.2f}" for a, _ in pairs)
    text = f"{dim} = {one[0]} and {dim} = {other[0]} have the same {values}" if same else ""
    return [Finding.of_cells(outcome, [cell for pair in pairs for cell in pair], text)]


@dataclass(frozen=True, slots=True, eq=False)
class _Gain:
    """A relative gain over a base ranking, with half the width of its 95 % interval where that is known."""

    value: float
    half: float | None
    cell: Cell


def gains_most(check: GainsMost, cells: Sequence[Cell], differences: Differences) -> list[Finding]:
    """In each collection, the relative gain over `check.base` against the largest over another base."""
    partners = Partners(cells)
    collections: dict[tuple[Any, ...], list[_Gain]] = defaultdict(list)
    for cell in cells:
        if cell.dims["method"] in (None, "base"):
            continue
        for base in partners.of(cell, {"method": "base"}):
            if base.value and cell.value is not None:
                interval = differences.interval(cell, base)
                half = None if interval is None else (interval[1] - interval[0]) / 2 / base.value
                place = tuple(cell.dims[name] for name in DIMS if name != "base")
                collections[place].append(_Gain(cell.value / base.value - 1, half, cell))
    findings = []
    for gains in collections.values():
        own = [gain for gain in gains if gain.cell.dims["base"] == check.base]
        others = [gain for gain in gains if gain.cell.dims["base"] != check.base]
        if own and others:
            findings.append(_largest(own[0], max(others, key=lambda gain: gain.value)))
    return findings


def _largest(own: _Gain, rival: _Gain) -> Finding:
    outcome: Outcome = "holds" if own.value > rival.value else "fails"
    if own.cell.run.engine != "paper":
        known = own.half is not None and rival.half is not None
        if not known or abs(own.value - rival.value) <= math.hypot(own.half or 0.0, rival.half or 0.0):
            outcome = "undecided"
    words = [f"{gain.cell.dims['base']} {100 * gain.value:+.1f} %" for gain in (own, rival)]
    return Finding.of_cells(outcome, (own.cell, rival.cell), f"{words[0]}, next {words[1]}")


def binned(check: Binned, applies: bool) -> list[Finding]:
    """EntityAuth's formula on the smallest and largest value of each domain; it is the paper's, not ours."""
    return [finding for domain in check.domains for finding in _binned(domain)] if applies else []


def _binned(domain: Extremes) -> list[Finding]:
    import numpy as np

    edges = np.logspace(np.log10(domain.smallest), np.log10(domain.largest), 11)
    findings = []
    for value, count, which in (
        (domain.smallest, domain.with_smallest, "smallest"),
        (domain.largest, 1, "largest"),
    ):
        level = int(np.digitize(value, edges)) - 1
        many = f"{count:,} entities with" if count > 1 else "the entity with"
        text = f"{many} the {which} number of sitelinks ({value}) in bin {level}"
        outcome: Outcome = "holds" if 0 <= level <= 9 else "fails"
        numbers = {"domain": domain.domain, "sitelinks": value, "bin": level, "entities": count}
        findings.append(Finding(outcome, f"Tables 4 and 6, {domain.domain}", text, numbers=numbers))
    return findings
