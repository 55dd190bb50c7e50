"""Holds the papers' claims against cells: what holds, what fails and where, what the intervals leave open.

The papers' own tables are judged by their printed numbers. Runs are judged by intervals: a difference whose
95 % interval holds 0 is undecided, whichever way its point estimate goes.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from authbench.reporting import numberchecks
from authbench.reporting.auditcells import Cell, Partners, gather
from authbench.reporting.claimlist import CLAIMS
from authbench.reporting.claims import (
    AtLeast,
    Beats,
    Binned,
    Claim,
    GainsMost,
    Grows,
    NoCopies,
    NoRepeats,
    OnFront,
    Possible,
)
from authbench.reporting.differences import Differences
from authbench.reporting.findings import Finding, Outcome, Result, Verdict
from authbench.reporting.results import Run


def audit(
    runs: Sequence[Run], claims: Iterable[Claim] = CLAIMS, differences: Differences | None = None
) -> list[Result]:
    """Check every claim on the cells of runs; `authbench.reporting.paper.paper_runs` gives the papers' own.

    Claims on tables of which there is no cell come out as `not checked`.
    """
    cells = gather(runs)
    differences = differences or Differences()
    return [_check(claim, cells, differences) for claim in claims]


def _check(claim: Claim, cells: Sequence[Cell], differences: Differences) -> Result:
    check = claim.check
    column = check.value if isinstance(check, Beats) else "value"
    about = [c for c in cells if c.dims["table"] in claim.tables and c.number(column) is not None]
    about = [cell for cell in about if cell.matches(claim.where)]
    if not (isinstance(check, Beats) and any("aggregation" in side for side in check.left)):
        about = [cell for cell in about if cell.dims["aggregation"] is None]
    findings: list[Finding]
    match check:
        case Beats():
            findings = _beats(check, about, differences)
        case Grows():
            findings = _grows(check, about, differences)
        case AtLeast():
            findings = [_at_least(check, cell) for cell in about]
        case OnFront():
            findings = _on_front(check, about, differences)
        case GainsMost():
            findings = numberchecks.gains_most(check, about, differences)
        case Possible():
            findings = numberchecks.possible(check, about)
        case NoCopies():
            findings = numberchecks.copies(about)
        case NoRepeats():
            findings = numberchecks.repeats(check, about)
        case Binned():
            findings = numberchecks.binned(check, any(cell.run.engine == "paper" for cell in about))
    return Result(claim, _verdict(claim, findings), tuple(findings))


def _verdict(claim: Claim, findings: Sequence[Finding]) -> Verdict:
    if not findings:
        return "not checked"
    count = {outcome: sum(f.outcome == outcome for f in findings) for outcome in ("holds", "fails")}
    if claim.quantifier == "most":
        half = len(findings) / 2
        if count["holds"] > half:
            return "holds"
        return "fails" if count["fails"] >= half else "undecided"
    if count["fails"]:
        return "fails"
    return "holds" if count["holds"] == len(findings) else "undecided"


def _beats(check: Beats, cells: Sequence[Cell], differences: Differences) -> list[Finding]:
    partners = Partners(cells, check.ignore)
    compare = _comparison(check, differences)
    if check.best:
        return _best_beats_best(check, cells, partners, compare)
    return [
        compare(cell, other)
        for left in check.left
        for cell in cells
        if cell.matches(left)
        for right in check.right
        for other in partners.of(cell, right)
        if other.matches(right)
    ]


def _best_beats_best(
    check: Beats, cells: Sequence[Cell], partners: Partners, compare: Callable[[Cell, Cell], Finding]
) -> list[Finding]:
    """One comparison a setting, and only where every side of it is there."""
    findings = []
    for cell in cells:
        if not cell.matches(check.left[0]):
            continue
        ours = [[*partners.of(cell, side)] for side in check.left]
        theirs = [[*partners.of(cell, side)] for side in check.right]
        if all(ours) and all(theirs):
            best = [
                max((c for side in group for c in side), key=lambda c: c.number(check.value) or 0.0)
                for group in (ours, theirs)
            ]
            findings.append(compare(best[0], best[1]))
    return findings


def _comparison(check: Beats, differences: Differences) -> Callable[[Cell, Cell], Finding]:
    names = tuple(sorted({name for side in (*check.left, *check.right) for name in side}))

    def compare(cell: Cell, other: Cell) -> Finding:
        return _compare(cell, other, differences, names, check.value, or_equal=check.or_equal)

    return compare


def _compare(
    cell: Cell,
    other: Cell,
    differences: Differences,
    names: Sequence[str],
    column: str = "value",
    *,
    or_equal: bool = False,
) -> Finding:
    """Whether `cell` is above `other`."""
    left, right = cell.number(column), other.number(column)
    assert left is not None and right is not None
    by_numbers: Outcome = "holds" if left > right or (or_equal and left == right) else "fails"
    if column != "value":
        return Finding.of_pair(by_numbers, cell, other, names, column, None)
    interval = differences.interval(cell, other)
    if cell.run.engine == "paper":
        return Finding.of_pair(by_numbers, cell, other, names, column, interval)
    outcome: Outcome = "undecided"
    if interval is not None:
        low, high = interval
        if low > 0 or (or_equal and low >= 0):
            outcome = "holds"
        elif high < 0:
            outcome = "fails"
    return Finding.of_pair(outcome, cell, other, names, column, interval)


def _grows(check: Grows, cells: Sequence[Cell], differences: Differences) -> list[Finding]:
    partners = Partners(cells)
    return [
        _compare(larger, smaller, differences, (check.dim,))
        for low, high in zip(check.steps, check.steps[1:], strict=False)
        for smaller in cells
        if smaller.matches({check.dim: low})
        for larger in partners.of(smaller, {check.dim: high})
    ]


def _at_least(check: AtLeast, cell: Cell) -> Finding:
    assert cell.value is not None
    low, high = cell.row.get("low"), cell.row.get("high")
    outcome: Outcome = "holds" if cell.value >= check.floor else "fails"
    if cell.run.engine != "paper" and (low is None or high is None or low < check.floor <= high):
        outcome = "undecided"
    sign = ">=" if cell.value >= check.floor else "<"
    return Finding.of_cells(outcome, (cell,), f"{100 * cell.value:.2f} {sign} {100 * check.floor:.2f}")


def _on_front(check: OnFront, cells: Sequence[Cell], differences: Differences) -> list[Finding]:
    """The best of the methods that cost at most as much, against the one in question."""
    partners = Partners(cells, ("judge", "output"))
    findings = []
    for cell in cells:
        cost = _tokens(cell)
        if not cell.matches(check.side) or cost is None:
            continue
        others = [other for other in partners.of(cell, {}) if other is not cell]
        cheap = [other for other in others if (_tokens(other) or cost + 1) <= cost]
        if not others:
            continue
        if cheap:
            rival = max(cheap, key=lambda c: c.value or 0.0)
            findings.append(_compare(cell, rival, differences, ("judge", "output"), or_equal=True))
        else:
            findings.append(Finding.of_cells("holds", (cell,), "no other method is as cheap"))
    return findings


def _tokens(cell: Cell) -> int | None:
    parts: list[Any] = [cell.row.get("prompt_tokens"), cell.row.get("output_tokens")]
    return None if None in parts or not sum(parts) else int(sum(parts))
