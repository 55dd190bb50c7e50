"""Tables in a terminal: width, marks, encodings."""

from __future__ import annotations

from io import BytesIO, StringIO, TextIOWrapper
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from runfolders import JUDGES, cell, write_run

from authbench.reporting.paper import paper_runs, table_ids
from authbench.reporting.results import Run, find_runs
from authbench.reporting.tables import render_tables


def _plain(runs: list[Run], width: int = 80, **options: Any) -> str:
    return render_tables(runs, console=Console(file=StringIO(), width=width, force_terminal=False), **options)


def _worst(tmp_path: Path) -> list[Run]:
    """Numbers as wide as they get, long names, and all that can stand below them."""
    cells = [
        cell(metric, -0.9876, context=context, dataset="domainauth", scale="fine", n_invalid=500, **judge)
        for context in ("without", "with")
        for judge in JUDGES
        for metric in ("spearman", "kendall")
    ]
    model = {"name": "llama", "paper_name": "Llama-3.1-8B-Instruct"}
    write_run(tmp_path, "fine", "llama", cells, table="authoritybench/1", model=model)
    write_run(tmp_path, "quickstart", "a-model-with-a-very-long-name-of-its-own", cells)
    return find_runs([tmp_path])


def test_table_1_as_printed() -> None:
    lines = _plain(paper_runs("authoritybench/1")).splitlines()
    assert lines[2:9] == [
        "                  PointJudge         ListJudge               PairJudge",
        "                               ListRank   PointScore   PairRank   PointScore",
        "Model         Ctx     ρ     τ     ρ     τ     ρ     τ     ρ     τ     ρ     τ",
        "─" * 77,
        "Qwen3-8B      w/o 41.97 33.33 54.01 41.54_67.11_52.44 15.18 11.56*71.35*56.33",
        "              w/ _45.01_36.51 20.24 15.12 29.29 22.17 11.38  8.48*63.91*50.12",
        "Qwen3-14B     w/o 71.97 56.37 72.02 57.05_73.09_57.95 70.21 54.84*73.43*58.33",
    ]
    assert lines[-1] == "*: best; _: second best, per LLM and context."


@pytest.mark.parametrize("table", table_ids())
def test_the_papers_tables_fit_80_columns(table: str) -> None:
    text = _plain(paper_runs(table))
    assert max(map(len, text.splitlines())) <= 80
    # CAR's has four collections of three columns each.
    assert ("COLUMNS" in text) == (table == "car/contriever")


@pytest.mark.parametrize("width", [40, 60, 80, 100, 200])
def test_everything_fits_whatever_the_width(tmp_path: Path, width: int) -> None:
    text = _plain(_worst(tmp_path), width, intervals=True, paper=True, cost=True)
    assert max(map(len, text.splitlines())) <= width
    # The first row's numbers are all there, in however many parts.
    table_1 = text.split("\n\n")[0]
    assert table_1.count("-98.76") == 20


def test_a_divided_table_says_how_to_see_it_whole(tmp_path: Path) -> None:
    runs = [run for run in _worst(tmp_path) if run.experiment == "fine"]
    text = _plain(runs, 60)
    assert "In 2 parts; 77 columns show it whole: a wider terminal, or COLUMNS=77." in " ".join(text.split())
    assert "parts" not in _plain(runs, 77)


def test_intervals_stand_beside_the_numbers_where_they_fit(tmp_path: Path) -> None:
    write_run(tmp_path, "x", "m", [cell("spearman", 0.5), cell("kendall", 0.25)])
    text = _plain(find_runs([tmp_path]), intervals=True)
    assert "m      50.00 [48.00, 52.00]  25.00 [23.00, 27.00]" in text


def test_long_labels_continue_below(tmp_path: Path) -> None:
    lines = _plain(paper_runs("authoritybench/1")).splitlines()
    place = next(i for i, line in enumerate(lines) if line.startswith("Llama-3.1-8B-"))
    assert lines[place + 1].startswith(" Instruct     w/")


def test_bold_and_underline_in_a_terminal() -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="standard", _environ={})
    text = render_tables(paper_runs("authoritybench/1"), console=console)
    assert "\x1b[1m71.35\x1b[0m" in text
    assert "\x1b[4m67.11\x1b[0m" in text
    assert "*" not in text
    assert "Bold: best; underlined: second best" in text


def test_no_color_keeps_bold_and_has_no_colour() -> None:
    environment = {"NO_COLOR": "1", "TERM": "xterm-256color"}
    console = Console(file=StringIO(), width=80, force_terminal=True, _environ=environment)
    text = render_tables(paper_runs("authoritybench/1"), console=console)
    assert "\x1b[1m71.35\x1b[0m" in text
    assert "\x1b[3" not in text


def test_a_dumb_terminal_gets_signs() -> None:
    console = Console(file=StringIO(), width=80, force_terminal=True, _environ={"TERM": "dumb"})
    text = render_tables(paper_runs("authoritybench/1"), console=console)
    assert "\x1b" not in text
    assert "*71.35" in text


@pytest.mark.parametrize("encoding", ["ascii", "latin-1"])
def test_terminals_without_greek(tmp_path: Path, encoding: str) -> None:
    write_run(tmp_path, "x", "模型-é", [cell("spearman", 0.5)], title="ρ für 模型")
    runs = [*paper_runs("authoritybench/5"), *paper_runs("authoritybench/1"), *find_runs([tmp_path])]
    console = Console(file=TextIOWrapper(BytesIO(), encoding=encoding), width=80)
    text = render_tables(runs, console=console)
    text.encode(encoding)
    assert "   rho   tau" in text
    assert "-" * 77 in text
    assert max(map(len, text.splitlines())) <= 80


def test_markup_in_names_is_text(tmp_path: Path) -> None:
    model = {"name": "[bold]m[/bold]"}
    write_run(tmp_path, "x", "m", [cell("spearman", 0.5)], title="[red]T[/red]", model=model)
    text = _plain(find_runs([tmp_path]))
    assert "[red]T[/red]" in text
    assert "[bold]m[/bold]" in text


def test_the_number_without_a_filter_stands_across() -> None:
    lines = _plain(paper_runs("authoritybench/5")).splitlines()
    assert lines[3] == "Qwen3-8B     –        w/o Filter: 53.33"
