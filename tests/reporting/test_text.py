"""Tables in a terminal: width, marks, encodings."""

from __future__ import annotations

import re
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


def _bold(runs: list[Run]) -> str:
    """As in a terminal that has bold, without its codes."""
    console = Console(file=StringIO(), width=80, force_terminal=True, color_system="standard", _environ={})
    return re.sub(r"\x1b\[[0-9;]*m", "", render_tables(runs, console=console))


def _touching(text: str) -> list[str]:
    """Numbers that have no blank between them, a sign for a mark being part of its number."""
    return re.findall(r"\.\d\d[-+*_\d]\S*", re.sub(r"arXiv\s+\d{4}\.\d{5}", "", text))


def _worst(tmp_path: Path) -> list[Run]:
    """Numbers as wide as they get, all of them marked, long names, and all that can stand below them."""
    cells = [
        cell(metric, -0.9876, context=context, dataset="domainauth", scale="fine", n_invalid=499, **judge)
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
        "       PointJudge             ListJudge                     PairJudge",
        "                       ListRank      PointScore      PairRank      PointScore",
        "Ctx       ρ       τ      ρ      τ       ρ       τ      ρ      τ       ρ       τ",
        "─" * 79,
        "Qwen3-8B",
        "w/o   41.97   33.33  54.01  41.54  _67.11  _52.44  15.18  11.56  *71.35  *56.33",
        "w/   _45.01  _36.51  20.24  15.12   29.29   22.17  11.38   8.48  *63.91  *50.12",
    ]
    assert lines[-1] == "*: best; _: second best, per LLM and context."


@pytest.mark.parametrize("styled", [False, True])
@pytest.mark.parametrize("table", table_ids())
def test_the_papers_tables_fit_80_columns_undivided(table: str, styled: bool) -> None:
    text = _bold(paper_runs(table)) if styled else _plain(paper_runs(table))
    assert max(map(len, text.splitlines())) <= 80
    # CAR's has four collections of three columns each.
    assert ("COLUMNS" in text) == (table == "car/contriever")
    assert not _touching(text)


@pytest.mark.parametrize("options", [{}, {"intervals": True}, {"paper": True}, {"cost": True}], ids=str)
@pytest.mark.parametrize("table", ["authoritybench/1", "authoritybench/4"])
def test_tables_of_runs_fit_80_columns_undivided(
    tmp_path: Path, table: str, options: dict[str, bool]
) -> None:
    """With negative numbers of two digits before the point, some of them marked, and all lines below."""
    for name, top in (("Qwen3-14B", 0.8), ("Llama-3.1-8B-Instruct", 0.6), ("smollm2-135m", 0.0)):
        cells = [
            cell(metric, top - 0.1 * i, context=context, domain="basketball", n_invalid=490, **judge)
            for context in ("without", "with")
            for i, judge in enumerate(JUDGES)
            for metric in ("spearman", "kendall")
        ]
        write_run(tmp_path, "fine", name, cells, table=table, model={"name": name, "paper_name": name})
    text = _plain(find_runs([tmp_path]), **options)
    assert max(map(len, text.splitlines())) <= 80
    assert "COLUMNS" not in text
    assert not _touching(text)
    assert "_-10.00" in text and " -40.00" in text


@pytest.mark.parametrize("width", [40, 60, 80, 90, 100, 120, 200])
def test_everything_fits_whatever_the_width(tmp_path: Path, width: int) -> None:
    text = _plain(_worst(tmp_path), width, intervals=True, paper=True, cost=True)
    assert max(map(len, text.splitlines())) <= width
    assert not _touching(text)
    # The first row's numbers are all there, in however many parts.
    table_1 = text.split("\n\n")[0]
    assert table_1.count("-98.76") == 20


def test_a_divided_table_says_how_to_see_it_whole(tmp_path: Path) -> None:
    runs = [run for run in _worst(tmp_path) if run.experiment == "fine"]
    text = _plain(runs, 60)
    assert "In 2 parts; 87 columns show it whole: a wider terminal, or COLUMNS=87." in " ".join(text.split())
    assert "parts" not in _plain(runs, 87)


def test_intervals_stand_beside_the_numbers_where_they_fit(tmp_path: Path) -> None:
    write_run(tmp_path, "x", "m", [cell("spearman", 0.5), cell("kendall", 0.25)])
    text = _plain(find_runs([tmp_path]), intervals=True)
    assert "m      50.00 [48.00, 52.00]  25.00 [23.00, 27.00]" in text


def test_long_labels_have_lines_of_their_own() -> None:
    lines = _plain(paper_runs("authoritybench/4")).splitlines()
    place = lines.index("Llama-3.1-8B-Instruct")
    assert lines[place - 3].startswith("Qwen3-32B _85.17")
    assert lines[place + 1].startswith("          _82.55 _70.94")


def test_a_long_label_keeps_the_labels_before_and_after_it(tmp_path: Path) -> None:
    name = "a-model-with-a-name-longer-than-a-narrow-terminal-is-wide"
    cells = [
        cell("accuracy", 0.5, domain=domain, filter=kind)
        for domain in ("movies", "songs")
        for kind in ("none", "authority")
    ]
    for model in (name, "m"):
        write_run(tmp_path, "x", model, cells)
    lines = [line.rstrip() for line in _plain(find_runs([tmp_path]), 40).splitlines()]
    # The first label is a heading; the others stand beside the numbers.
    place = lines.index("a-model-with-a-name-longer-than-a-")
    assert lines[place + 1 : place + 4] == [
        " narrow-terminal-is-wide",
        "Movies none         *50.00",
        "Movies authority    *50.00",
    ]


def test_a_section_is_headed_by_its_first_label() -> None:
    lines = _plain(paper_runs("authoritybench/1")).splitlines()
    place = lines.index("Llama-3-8B-Instruct")
    assert lines[place + 1].startswith("w/o   63.87")
    assert any(line.startswith("Llama-3-8B-Instruct   w/o") for line in _wide("authoritybench/1"))


def _wide(table: str) -> list[str]:
    return _plain(paper_runs(table), 120).splitlines()


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
    assert "Ctx     rho     tau" in text
    assert "-" * 79 in text
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
