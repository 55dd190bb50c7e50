"""What an audit comes to: findings, each about one comparison or number, and a verdict for each claim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from authbench.reporting.auditcells import Cell
from authbench.reporting.claims import Claim
from authbench.reporting.labels import dim_label, setting_label, table_label

Outcome = Literal["holds", "fails", "undecided"]
Verdict = Literal["holds", "fails", "undecided", "not checked"]


@dataclass(frozen=True, slots=True)
class Finding:
    """One comparison, or one number looked at.

    Attributes:
        outcome: what it says about the claim.
        place: where in the tables.
        text: the numbers in words.
        metric: the measure, or an empty string where it is about several.
        numbers: the same for programs: values as fractions, the difference with its 95 % interval.
        within_error: the interval of the difference holds 0 (None where there is none).
        note: what else is to be said, such as an odd rounding.
    """

    outcome: Outcome
    place: str
    text: str
    metric: str = ""
    numbers: Mapping[str, Any] = field(default_factory=dict)
    within_error: bool | None = None
    note: str = ""

    @classmethod
    def of_pair(
        cls,
        outcome: Outcome,
        cell: Cell,
        other: Cell,
        names: Sequence[str],
        column: str,
        interval: tuple[float, float] | None,
    ) -> Finding:
        """A comparison of two cells that differ in the dimensions `names`."""
        left, right = cell.number(column), other.number(column)
        assert left is not None and right is not None
        names = [name for name in names if cell.dims.get(name) != other.dims.get(name)]
        shown = [f"{100 * v:.2f}" if column == "value" else f"{v:,.0f} {column}" for v in (left, right)]
        sign = "=" if left == right else ">" if left > right else "<"
        sides = [_side(c, names) for c in (cell, other)]
        numbers: dict[str, Any] = {column: [left, right], "difference": left - right}
        if interval is not None:
            numbers |= {"low": interval[0], "high": interval[1]}
        return cls(
            outcome,
            _place((cell, other), names),
            f"{sides[0]} {shown[0]} {sign} {sides[1]} {shown[1]}",
            str(cell.dims["metric"]),
            {**numbers, "cells": [_known(cell), _known(other)]},
            None if interval is None else interval[0] <= 0 <= interval[1],
        )

    @classmethod
    def of_cells(cls, outcome: Outcome, cells: Sequence[Cell], text: str, note: str = "") -> Finding:
        """A statement about one cell or several; the place is what they share."""
        metrics = {str(cell.dims["metric"]) for cell in cells}
        return cls(
            outcome,
            _place(cells),
            text,
            metrics.pop() if len(metrics) == 1 else "",
            {"value": [cell.value for cell in cells], "cells": [_known(cell) for cell in cells]},
            note=note,
        )

    def as_dict(self) -> dict[str, Any]:
        """For `--json`."""
        return {
            "outcome": self.outcome,
            "place": self.place,
            "text": self.text,
            "metric": self.metric or None,
            **self.numbers,
            "within_error": self.within_error,
            "note": self.note or None,
        }


@dataclass(frozen=True, slots=True)
class Result:
    """A claim with its verdict and everything that was looked at for it."""

    claim: Claim
    verdict: Verdict
    findings: tuple[Finding, ...]

    def count(self, outcome: Outcome) -> int:
        """Findings with this outcome."""
        return sum(finding.outcome == outcome for finding in self.findings)

    @property
    def exceptions(self) -> tuple[Finding, ...]:
        """Findings that speak against the claim."""
        return tuple(finding for finding in self.findings if finding.outcome == "fails")

    def as_dict(self) -> dict[str, Any]:
        """For `--json`: the claim, the verdict, counts, and every finding."""
        return {
            "name": self.claim.name,
            "text": self.claim.text,
            "source": self.claim.source,
            "tables": list(self.claim.tables),
            "quantifier": self.claim.quantifier,
            "verdict": self.verdict,
            "checked": len(self.findings),
            "holds": self.count("holds"),
            "fails": self.count("fails"),
            "undecided": self.count("undecided"),
            "findings": [finding.as_dict() for finding in self.findings],
        }


def _side(cell: Cell, names: Sequence[str]) -> str:
    """What tells a cell of a comparison from the other: its dimensions among `names`."""
    shown = ["judge" if name == "output" else name for name in names if name != "kind"]
    words = [dim_label(name, cell.dims.get(name), cell.dims) for name in dict.fromkeys(shown)]
    if "kind" in names and cell.dims.get("kind") == "domain":
        words = [f"web domains ({table_label(cell.dims.get('table'))})"]
    if "aggregation" in names and not cell.dims.get("aggregation"):
        words.append("AverageScore")
    return " ".join(word for word in words if word)


def _place(cells: Sequence[Cell], names: Sequence[str] = ()) -> str:
    first = cells[0].dims
    shared = {n: v for n, v in first.items() if all(c.dims.get(n) == v for c in cells) and n not in names}
    words = [table_label(first.get("table"))]
    if cells[0].run.engine != "paper":
        words = [f"{cells[0].run.experiment} ({words[0]})" if words[0] else cells[0].run.experiment]
    words += [str(shared["model"])] if shared.get("model") not in (None, *words) else []
    if "output" not in shared:
        shared.pop("judge", None)
    words.append(setting_label(shared))
    return ", ".join(word for word in words if word)


def _known(cell: Cell) -> dict[str, Any]:
    return {name: value for name, value in cell.dims.items() if value is not None}
