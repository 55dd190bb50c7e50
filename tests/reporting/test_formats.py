"""Markdown, CSV, LaTeX and JSON of tables."""

from __future__ import annotations

import csv
import io
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from runfolders import JUDGES, cell, write_run

from authbench.reporting.formats import TEX_SIGNS
from authbench.reporting.paper import paper_runs, paper_table
from authbench.reporting.results import find_runs
from authbench.reporting.tables import FORMATS, Format, render_tables

TABLE_1 = paper_runs("authoritybench/1")


def _judged(tmp_path: Path, **facts: Any) -> str:
    """A run with everything that can stand below a number."""
    cells = [
        cell(metric, 0.43, context="without", dataset="domainauth", scale="fine", n_invalid=50, **judge)
        for judge in JUDGES
        for metric in ("spearman", "kendall")
    ]
    model = {"name": "qwen3_8b", "paper_name": "Qwen3-8B"}
    folder = write_run(tmp_path, "fine", "qwen3_8b", cells, table="authoritybench/1", model=model, **facts)
    return str(folder)


def test_markdown() -> None:
    lines = render_tables(TABLE_1, "md").splitlines()
    assert lines[0] == (
        "### AuthorityBench Table 1. DomainAuth, fine-grained, 10 levels: Spearman's ρ and Kendall's τ (%)"
    )
    assert lines[2].startswith("| Model | Ctx | PointJudge ρ | PointJudge τ | ListJudge ListRank ρ |")
    assert lines[4] == (
        "| Qwen3-8B | w/o | 41.97 | 33.33 | 54.01 | 41.54 | <ins>67.11</ins> | <ins>52.44</ins> "
        "| 15.18 | 11.56 | **71.35** | **56.33** |"
    )
    assert lines[5].startswith("|  | w/ |")
    assert len({line.count("|") for line in lines if line.startswith("|")}) == 1
    assert lines[-1] == "Bold: best; underlined: second best, per LLM and context."


def test_markdown_escapes_what_it_would_read(tmp_path: Path) -> None:
    write_run(
        tmp_path, "x", "m", [cell("accuracy", 0.5, filter="a|b*c"), cell("accuracy", 0.4, filter="<b>")]
    )
    text = render_tables(find_runs([tmp_path]), "md")
    assert r"| a\|b\*c | **50.00** |" in text
    assert r"\<b\>" in text


def test_markdown_row_that_spans() -> None:
    assert "| Qwen3-8B | – | w/o Filter: 53.33 |  |  |" in render_tables(paper_runs("authoritybench/5"), "md")


def _read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_csv_is_the_papers_long_form() -> None:
    rows = _read(render_tables(TABLE_1, "csv"))
    assert len(rows) == 100
    found = {
        (r["model"], r["context"], r["judge"], r["output"], r["metric"]): float(r["value"]) for r in rows
    }
    for value in paper_table("authoritybench/1"):
        dims = value.dims
        place = (dims["model"], dims["context"], dims["judge"], dims["output"], value.metric)
        assert found[place] == pytest.approx(value.value)


def test_csv_always_has_intervals_and_counts(tmp_path: Path) -> None:
    _judged(tmp_path)
    rows = _read(render_tables(find_runs([tmp_path]), "csv", cost=True, paper=True))
    assert len(rows) == 10
    first = rows[0]
    assert first["table"] == "authoritybench/1"
    assert (first["value"], first["low"], first["high"], first["unit"]) == ("43.0", "41.0", "45.0", "percent")
    assert (first["n"], first["n_invalid"], first["calls"], first["unique_calls"]) == (
        "500",
        "50",
        "5000",
        "4000",
    )
    # Table 1: 41.97.
    assert (first["paper"], first["inside"]) == ("41.97", "yes")
    assert float(first["difference"]) == pytest.approx(1.03)
    assert (rows[-1]["inside"], rows[-1]["judge"]) == ("no", "pair")


def test_csv_without_a_layout_keeps_the_dimensions(tmp_path: Path) -> None:
    cells = [cell("spearman", 0.1 * i, **judge) for i, judge in enumerate(JUDGES)]
    write_run(tmp_path, "quickstart", "m", cells)
    rows = _read(render_tables(find_runs([tmp_path]), "csv"))
    assert [(r["judge"], r["output"], r["aggregation"]) for r in rows][-2:] == [
        ("pair", "score", "average"),
        ("pair", "score", "bubble"),
    ]


def test_csv_has_rows_of_extra_measures(tmp_path: Path) -> None:
    dims = {"difficulty": "hard", "context": "with", **JUDGES[0]}
    cells = [cell("accuracy", 0.4, **dims), cell("accuracy-unequal", 0.6, **dims)]
    write_run(tmp_path, "pairs", "m", cells, table="authoritybench/3")
    rows = _read(render_tables(find_runs([tmp_path]), "csv"))
    assert [(r["metric"], r["value"]) for r in rows] == [("accuracy", "40.0"), ("accuracy-unequal", "60.0")]


def test_json(tmp_path: Path) -> None:
    _judged(tmp_path)
    tables = json.loads(render_tables(find_runs([tmp_path]), "json", cost=True))["tables"]
    made, cost = tables
    assert (made["id"], made["kind"], made["unit"]) == ("authoritybench/1", "measures", "percent")
    assert made["columns"][2] == {"groups": ["ListJudge", "ListRank"], "label": "ρ"}
    (row,) = made["rows"]
    assert row["labels"] == ["Qwen3-8B", "w/o"]
    first = row["cells"][0]
    assert (first["value"], first["low"], first["high"], first["n_invalid"]) == (43.0, 41.0, 45.0, 50)
    assert (cost["kind"], cost["unit"]) == ("cost", "count")
    assert cost["rows"][0]["cells"][0] == {"value": 5000}


def test_latex_marks_and_headings() -> None:
    text = render_tables(TABLE_1, "latex")
    assert r"& & \multicolumn{2}{c}{PointJudge} & \multicolumn{4}{c}{ListJudge}" in text.replace(
        " &  & ", "& & "
    )
    assert r"\cmidrule(lr){3-4}\cmidrule(lr){5-8}\cmidrule(lr){9-12}" in text
    assert r"Qwen3-8B & w/o & 41.97 & 33.33" in text
    assert r"\underline{67.11} & \underline{52.44}" in text
    assert r"\textbf{71.35} & \textbf{56.33} \\" in text
    assert text.count(r"\begin{table*}") == text.count(r"\end{table*}") == 1


def test_latex_escapes(tmp_path: Path) -> None:
    filters = ("a_b & 50%", r"\evil{x}^~#$")
    write_run(tmp_path, "x", "m", [cell("accuracy", 0.5, filter=name) for name in filters])
    text = render_tables(find_runs([tmp_path]), "latex")
    assert r"a\_b \& 50\%" in text
    assert r"\textbackslash{}evil\{x\}\textasciicircum{}\textasciitilde{}\#\$" in text


def test_latex_has_no_sign_that_ends_a_run_of_tex(tmp_path: Path) -> None:
    """Control characters, empty lines and signs without a font, in every place where a text may stand."""
    bad = "a\x1a\x07\x7fb 中😀\n\nc\td é–ρ"
    write_run(tmp_path, "x", "m", [cell("accuracy", 0.5, filter=name) for name in (bad, "b")], title=bad)
    text = render_tables(find_runs([tmp_path]), "latex")
    good = r"a???b ?? c d é--$\rho$"
    assert text.count(good) == 2, "the caption, and the label of a row"
    assert all(sign == "\n" or " " <= sign <= "~" or sign in TEX_SIGNS for sign in text)


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason="no pdflatex on this machine")
@pytest.mark.parametrize("inside", [False, True])
def test_latex_compiles_alone_and_inside_a_document(tmp_path: Path, inside: bool) -> None:
    _judged(tmp_path / "results", partial=True, limit=5, options={"constrain": "json"})
    runs = [*find_runs([tmp_path / "results"]), *TABLE_1, *paper_runs("authoritybench/5")]
    (tmp_path / "tables.tex").write_text(
        render_tables(runs, "latex", paper=True, intervals=True, cost=True), encoding="utf-8"
    )
    main = tmp_path / "tables.tex"
    if inside:
        main = tmp_path / "main.tex"
        main.write_text(
            "\\documentclass{article}\\usepackage{booktabs}\\begin{document}Before.\n"
            "\\input{tables.tex}\nAfter.\\end{document}\n"
        )
    command = ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", main.name]
    done = subprocess.run(
        command, cwd=tmp_path, capture_output=True, text=True, errors="replace", check=False
    )
    assert done.returncode == 0, done.stdout[-2000:]
    assert main.with_suffix(".pdf").stat().st_size > 10_000


def test_intervals_stand_beside_few_and_below_many_numbers(tmp_path: Path) -> None:
    write_run(tmp_path, "few", "m", [cell("accuracy", 0.5)])
    assert "| m | 50.00 [48.00, 52.00] |" in render_tables(find_runs([tmp_path]), "md", intervals=True)
    _judged(tmp_path)
    text = render_tables(find_runs([tmp_path / "fine"]), "md", intervals=True)
    assert "|  | low | 41.00 |" in text


@pytest.mark.parametrize("format", FORMATS)
def test_every_format_prints_every_kind_of_table(tmp_path: Path, format: Format) -> None:
    _judged(tmp_path)
    write_run(tmp_path, "quickstart", "m", [cell("accuracy", None), cell("spearman", 0.1)])
    write_run(tmp_path, "rag", "m", [cell("accuracy", 0.1, filter="none")], table="authoritybench/5")
    runs = [*find_runs([tmp_path]), *paper_runs("car/contriever")]
    text = render_tables(runs, format, intervals=True, paper=True, cost=True)
    assert text.endswith("\n")
    assert "43.0" in text
