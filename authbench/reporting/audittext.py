"""An audit in words, for a terminal of 80 columns."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from authbench.reporting.findings import Finding, Result

if TYPE_CHECKING:
    from rich.text import Text

_WIDTH = 80
_INDENT = " " * 12
#: Undecided findings shown of a claim that is undecided as a whole.
_UNDECIDED = 3
_STYLES = {"holds": "green", "fails": "bold red", "undecided": "yellow", "not checked": "dim"}
_METRIC = {"spearman": "rho", "kendall": "tau"}


def merged(findings: Sequence[Finding]) -> list[list[Finding]]:
    """Findings about the same cells, both correlations together; in the order found."""
    groups: dict[Any, list[Finding]] = {}
    for number, finding in enumerate(findings):
        cells = finding.numbers.get("cells")
        groups.setdefault(_about(finding) if cells and finding.metric else number, []).append(finding)
    return list(groups.values())


def _about(finding: Finding) -> Any:
    cells = [{k: v for k, v in cell.items() if k != "metric"} for cell in finding.numbers["cells"]]
    return (finding.place, repr(cells), finding.metric not in _METRIC)


def finding_line(group: Sequence[Finding]) -> str:
    """`Table 1, Qwen3-8B: ListJudge PointScore 27.46 < ListJudge ListRank 34.30 (rho; tau 20.73 < 26.05)`."""
    first = group[0]
    text = f"{first.place}: {first.text}" if first.place else first.text
    if first.metric in _METRIC and "value" in first.numbers:
        rest = [f"{_METRIC.get(f.metric, f.metric)} {_numbers(f)}" for f in group[1:]]
        text += f" ({'; '.join([_METRIC[first.metric], *rest])})"
    note = next((finding.note for finding in group if finding.note), "")
    return f"{text} [{note}]" if note else text


def summary(results: Sequence[Result]) -> str:
    """`27 claims: 11 hold, 12 fail, 0 undecided, 4 not checked`."""
    counts = {v: sum(r.verdict == v for r in results) for v in ("holds", "fails", "undecided", "not checked")}
    return (
        f"{len(results)} claims: {counts['holds']} hold, {counts['fails']} fail, "
        f"{counts['undecided']} undecided, {counts['not checked']} not checked"
    )


def counted(result: Result) -> str:
    """How many comparisons went which way, and how many lie inside the intervals."""
    if not result.findings:
        return "no such cells"
    most = ", and most is what is claimed" if result.claim.quantifier == "most" else ""
    words = [f"{result.count('holds')} of {len(result.findings)} hold{most}"]
    if result.count("undecided"):
        words.append(f"inside the intervals: {result.count('undecided')}")
    within = sum(bool(finding.within_error) for finding in result.findings)
    if within and not result.count("undecided"):
        words.append(f"{within} by less than chance allows for so few items")
    return "; ".join(words)


def sentence(result: Result) -> str:
    """The claim and its count."""
    text = result.claim.text
    return f"{text[0].upper()}{text[1:]}: {counted(result)}."


def shown_findings(result: Result, *, whole: bool = False) -> list[list[Finding]]:
    """What is worth saying: exceptions, the undecided where there are no exceptions, and notes.

    Exceptions to a claim that holds (about most settings) are left out unless `whole`.
    """
    chosen = list(result.exceptions) if whole or result.verdict == "fails" else []
    if whole or result.verdict == "undecided":
        chosen += [finding for finding in result.findings if finding.outcome == "undecided"]
    chosen += [finding for finding in result.findings if finding.note and finding not in chosen]
    return merged(chosen)


def audit_lines(results: Sequence[Result], most: int | None = 8) -> Iterator[Text]:
    """The audit, one styled line at a time.

    Args:
        results: of `authbench.reporting.audit.audit`.
        most: findings shown of each claim; None for all, also of claims that hold.
    """
    from rich.text import Text

    unchecked = [result for result in results if result.verdict == "not checked"]
    for result in results:
        if result.verdict == "not checked" and len(unchecked) < len(results):
            continue
        head = Text(f"{result.verdict.upper():<12}", style=_STYLES[result.verdict])
        head.append(result.claim.name, style="bold")
        yield head
        yield from (Text(line) for line in _wrapped(sentence(result), _INDENT))
        if result.verdict in ("fails", "undecided") or most is None:
            yield from (Text(line, style="dim") for line in _wrapped(result.claim.source, _INDENT))
        yield from (Text(line) for line in _findings(result, most))
    if unchecked and len(unchecked) < len(results):
        names = ", ".join(result.claim.name for result in unchecked)
        yield Text("NOT CHECKED", style="dim")
        yield from (Text(line, style="dim") for line in _wrapped(f"There are no cells for {names}.", _INDENT))
    yield Text("")
    yield Text(summary(results), style="bold")


def _findings(result: Result, most: int | None) -> Iterator[str]:
    groups = shown_findings(result, whole=most is None)
    if most is not None and result.verdict == "undecided":
        most = min(most, _UNDECIDED)
    for group in groups[:most]:
        yield from _wrapped(finding_line(group), f"{_INDENT}- ", f"{_INDENT}  ")
    if most is not None and len(groups) > most:
        yield f"{_INDENT}  {len(groups) - most} more; --all shows them"


def _wrapped(text: str, first: str, later: str | None = None) -> list[str]:
    return textwrap.wrap(text, _WIDTH, initial_indent=first, subsequent_indent=later or first)


def _numbers(finding: Finding) -> str:
    left, right = finding.numbers["value"]
    sign = "=" if left == right else ">" if left > right else "<"
    return f"{100 * left:.2f} {sign} {100 * right:.2f}"
