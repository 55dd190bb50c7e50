"""Cells without a usable answer: strict scoring gives them 0, and no format marks that as best or second."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import pytest
from runfolders import JUDGES, cell, write_run

from authbench.reporting.grid import Table
from authbench.reporting.html import render_report
from authbench.reporting.pagetables import page_table
from authbench.reporting.results import Run, find_runs
from authbench.reporting.tables import build_tables, render_tables

#: Nothing but zeros; a judge that could be used and fared worse; two of them.
VALUES: dict[str, dict[int, float]] = {"none": {}, "one": {0: -0.2}, "two": {0: -0.2, 3: -0.1}}
MARKED: dict[str, dict[int, str]] = {"none": {}, "one": {}, "two": {0: "second", 3: "best"}}


def _runs(tmp_path: Path, usable: dict[int, float], table: str | None) -> list[Run]:
    """A run in which all answers of all judges were invalid, but for those that are given with a value."""
    cells = [
        cell(
            "spearman",
            usable.get(i, 0.0),
            context="without",
            n_invalid=0 if i in usable else 500,
            **judge,
        )
        for i, judge in enumerate(JUDGES)
    ]
    write_run(tmp_path, "x", "m", cells, table=table)
    return find_runs([tmp_path])


def _marks(table: Table) -> dict[int, Any]:
    """Marks by the number of the judge, whatever the layout."""
    found = {}
    for made in table.cells():
        judge = {name: made.source[name] for name in ("judge", "output", "aggregation")}
        found[JUDGES.index(judge)] = made.mark
    return {place: mark for place, mark in found.items() if mark is not None}


@pytest.mark.parametrize("table", ["authoritybench/1", None])
@pytest.mark.parametrize("kind", VALUES)
def test_tables_mark_usable_cells_only(tmp_path: Path, kind: str, table: str | None) -> None:
    (made,) = build_tables(_runs(tmp_path, VALUES[kind], table))
    assert _marks(made) == MARKED[kind]
    assert made.marked == bool(MARKED[kind])
    assert page_table(made).among == (made.among if MARKED[kind] else None)


@pytest.mark.parametrize("table", ["authoritybench/1", None])
def test_no_format_marks_a_table_without_usable_answers(tmp_path: Path, table: str | None) -> None:
    runs = _runs(tmp_path, {}, table)
    plain = render_tables(runs, "text")
    assert "0.00" in plain and "100.0%" in plain
    assert "*" not in plain and "_" not in plain and "best" not in plain
    markdown = render_tables(runs, "md")
    assert "**" not in markdown and "<ins>" not in markdown and "best" not in markdown
    latex = render_tables(runs, "latex")
    assert r"\textbf" not in latex and r"\underline" not in latex and "best" not in latex
    assert {row["mark"] for row in csv.DictReader(io.StringIO(render_tables(runs, "csv")))} == {""}
    cells = [
        c for t in json.loads(render_tables(runs, "json"))["tables"] for r in t["rows"] for c in r["cells"]
    ]
    assert {c["mark"] for c in cells if c is not None} == {None}


def test_the_report_marks_none_and_explains_no_mark(tmp_path: Path) -> None:
    page = render_report(_runs(tmp_path, {}, "authoritybench/1")).html
    tables = page[page.index('<section id="tables"') : page.index('<section id="claims"')]
    assert "100.0 % invalid" in tables
    assert 'class="value best"' not in tables and 'class="value second"' not in tables
    assert "<b>Bold</b>" not in tables
