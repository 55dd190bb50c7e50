"""The report: one page that opens from disk and asks no host for anything.

Everything a run brings (names, prompts, answers, documents) goes through the template engine's escaping or
into compressed base64; drawings are made by `authbench.reporting.plots`, which escapes its texts.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from authbench import __version__
from authbench.reporting.audit import audit
from authbench.reporting.audittext import finding_line, sentence, shown_findings
from authbench.reporting.coverage import coverage
from authbench.reporting.differences import Differences
from authbench.reporting.explorer import MOST_TEXT, Packed, pack_items
from authbench.reporting.facts.collecting import collect_all
from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.findings import Result
from authbench.reporting.layouts import ORDER
from authbench.reporting.pagetables import page_table
from authbench.reporting.peritem import CellItems, CellKey
from authbench.reporting.placing import Options
from authbench.reporting.plots.kinds import KINDS
from authbench.reporting.provenance import provenance
from authbench.reporting.results import Run
from authbench.reporting.tables import build_tables

#: Findings shown of a claim; the rest are counted.
_FINDINGS = 12
#: Longest name shown of a model or an experiment in full.
_NAME = 80


@dataclass(frozen=True, slots=True)
class Figure:
    """A drawing with its heading, how it is read, and what is to be seen in it."""

    kind: str
    title: str
    text: str
    seen: str
    svg: str


@dataclass(frozen=True, slots=True)
class Report:
    """A page and what is in it.

    Attributes:
        html: the page.
        items: items listed in it.
        full: of these, with prompts and answers.
        problems: what could not be shown, and why.
    """

    html: str
    items: int
    full: int
    problems: tuple[str, ...]


def render_report(
    runs: Sequence[Run], title: str | None = None, note: Callable[[str], None] = lambda text: None
) -> Report:
    """The report over these runs.

    Args:
        runs: from `authbench.reporting.results.find_runs`.
        title: heading of the page.
        note: told of each step, for whoever waits.
    """
    runs = sorted(runs, key=_place)
    note("reading items")
    facts, rows = collect_all(runs)
    missing = [f"{run.path}: no items.jsonl" for run in runs if not (run.path / "items.jsonl").is_file()]
    note(f"packing {len(rows):,} items")
    packed = pack_items(rows)
    note("drawing")
    page = (
        _environment()
        .get_template("report.html.j2")
        .render(
            title=title or _title(runs),
            version=__version__,
            made=datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
            tiles=_tiles(runs, facts),
            warnings=_warnings(runs),
            coverage=coverage(runs),
            tables=[
                page_table(table)
                for table in build_tables(runs, Options(intervals=True, paper=True, cost=True))
            ],
            claims=_claims(audit(runs, differences=Differences(_values(facts)))),
            experiments=_experiments(runs, facts),
            packed=packed,
            most_text=MOST_TEXT,
            items_note=_items_note(packed),
            provenance=[
                {"name": _short(f"{run.experiment} · {run.model}"), "rows": provenance(run)} for run in runs
            ],
        )
    )
    # Half a surrogate pair, which a model's answer may hold, cannot be written.
    page = page.encode("utf-8", "replace").decode("utf-8")
    return Report(page, packed.listed, packed.full, (*missing, *packed.problems))


def write_report(runs: Sequence[Run], path: Path, title: str | None = None, **options: Any) -> Report:
    """Make the report and write it; the file is there whole or not at all."""
    report = render_report(runs, title, **options)
    partial = path.with_name(path.name + ".partial")
    path.parent.mkdir(parents=True, exist_ok=True)
    partial.write_text(report.html, encoding="utf-8", errors="replace")
    partial.replace(path)
    return report


def _values(facts: Sequence[GroupFacts]) -> dict[Path, dict[CellKey, CellItems]]:
    """The values by item that have been read, for whoever compares cells."""
    values: dict[Path, dict[CellKey, CellItems]] = {}
    for group in facts:
        values.setdefault(group.run.path, {}).update({cell.key: cell for cell in group.values})
    return values


def _environment() -> Any:
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    loader = PackageLoader("authbench.reporting", "templates")
    environment = Environment(
        loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    # Style sheet and script are our own files and hold nothing of any run.
    for name in ("report.css", "report.js"):
        source, _, _ = loader.get_source(environment, name)
        environment.globals[name.replace(".", "_")] = Markup(source)
    return environment


def _title(runs: Sequence[Run]) -> str:
    experiments = list(dict.fromkeys(run.experiment for run in runs))
    models = list(dict.fromkeys(run.model for run in runs))
    named = ", ".join(map(_short, experiments[:3])) + ("" if len(experiments) <= 3 else " and more")
    return f"{named}: {_short(models[0])}" if len(models) == 1 else f"{named}: {len(models)} models"


def _place(run: Run) -> tuple[bool, str, str, int, str]:
    """The papers' order of tables and models; what is not theirs follows."""
    models = ORDER["model"]
    name = run.paper_name or run.model
    known = models.index(name) if name in models else len(models)
    return run.table is None, run.table or "", run.experiment, known, run.model


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"{name[: _NAME - 1]}…"


def _tiles(runs: Sequence[Run], facts: Sequence[GroupFacts]) -> list[tuple[str, str]]:
    """The numbers that a reader looks for first."""
    answers = sum(sum(group.statuses.values()) for group in facts)
    bad = sum(n for g in facts for status, n in g.statuses.items() if status not in ("ok", "repaired"))
    return [
        ("runs", f"{len(runs):,}"),
        ("models", f"{len({run.model for run in runs}):,}"),
        ("items", f"{sum(group.items for group in facts):,}"),
        ("answers", f"{answers:,}"),
        ("invalid", f"{100 * bad / answers:.1f} %" if answers else "–"),
    ]


def _warnings(runs: Sequence[Run]) -> list[str]:
    """What keeps these numbers from being findings."""
    said = []
    partial = [f"{run.experiment}/{run.model}" for run in runs if run.partial]
    if partial:
        said.append(f"PARTIAL: not every item was judged in {_some(partial)}.")
    tiny = dict.fromkeys(run.model for run in runs if run.tiny)
    if tiny:
        said.append(f"{_some(list(tiny))}: so small a model proves that the machinery works, nothing else.")
    if any(run.engine == "fake" for run in runs):
        said.append("Engine fake: the answers are made up.")
    unfinished = [f"{run.experiment}/{run.model}" for run in runs if run.run.get("status") == "failed"]
    if unfinished:
        said.append(f"Some requests failed in {_some(unfinished)}; the same command asks them again.")
    return said


def _some(names: Sequence[str]) -> str:
    shown = ", ".join(map(_short, names[:4]))
    return shown if len(names) <= 4 else f"{shown} and {len(names) - 4} more"


def _claims(results: Sequence[Result]) -> dict[str, Any]:
    """The claims that could be checked, failing ones first, and the names of the others."""
    order = {"fails": 0, "undecided": 1, "holds": 2}
    checked = sorted((r for r in results if r.verdict in order), key=lambda r: order[r.verdict])
    shown = []
    for result in checked:
        lines = [finding_line(group) for group in shown_findings(result)]
        shown.append(
            {
                "name": result.claim.name,
                "verdict": result.verdict,
                "text": sentence(result),
                "source": result.claim.source,
                "lines": lines[:_FINDINGS],
                "more": max(0, len(lines) - _FINDINGS),
            }
        )
    return {
        "checked": shown,
        "counts": {verdict: sum(r.verdict == verdict for r in results) for verdict in order},
        "unchecked": [result.claim.name for result in results if result.verdict == "not checked"],
    }


def _experiments(runs: Sequence[Run], facts: Sequence[GroupFacts]) -> list[dict[str, Any]]:
    """The figures of each experiment."""
    found = []
    for number, name in enumerate(dict.fromkeys(run.experiment for run in runs)):
        own = [run for run in runs if run.experiment == name]
        groups = [group for group in facts if group.run.experiment == name]
        figures = []
        for kind, spec in KINDS.items():
            svg = spec.draw(own, groups)
            if svg is not None:
                figures.append(Figure(kind, spec.title, spec.text, svg.desc, svg.render()))
        found.append({"id": f"plots-{number}", "name": _short(name), "figures": figures})
    return found


def _items_note(packed: Packed) -> str:
    """What the list holds and what it had no room for."""
    words = [f"{packed.listed:,} items are listed."]
    if packed.left_out:
        words.append(
            f"{packed.left_out:,} more are left out, so that the page opens quickly: valid items with the "
            "highest values; every invalid one that there is room for is listed first."
        )
    if packed.full < packed.listed:
        words.append(
            f"{packed.full:,} of them are here with prompts and answers: of each setting the invalid and the "
            "worst first, and a sample of the others. authbench show has the rest."
        )
    return " ".join(words)
