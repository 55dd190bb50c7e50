"""From runs to tables: the papers' layouts with the papers' numbers, and every other kind of result."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from runfolders import JUDGES, cell, write_run

from authbench.reporting.grid import Cell, Table
from authbench.reporting.paper import paper_runs, paper_table
from authbench.reporting.placing import Options
from authbench.reporting.results import Run, find_runs
from authbench.reporting.tables import build_tables, render_tables

AUTHORITYBENCH = [f"authoritybench/{number}" for number in range(1, 7)]


def _shown(table: Table) -> dict[tuple[str, ...], list[str]]:
    """Labels of each row, and its numbers with `*` for best and `_` for second."""

    def text(cell: Cell | None) -> str:
        if cell is None or cell.value is None:
            return "-"
        return {"best": "*", "second": "_", None: ""}[cell.mark] + f"{100 * cell.value:.2f}"

    return {row.labels: [text(cell) for cell in row.cells] for row in table.rows}


def _correlations(value: float = 0.5, **dims: Any) -> list[dict[str, Any]]:
    """Cells of all judges, each a point better than the one before."""
    return [
        cell(metric, value + i / 100, **dims, **judge)
        for i, judge in enumerate(JUDGES)
        for metric in ("spearman", "kendall")
    ]


def _tables(tmp_path: Path, **options: Any) -> list[Table]:
    return build_tables(find_runs([tmp_path]), Options(**options))


@pytest.mark.parametrize("table", AUTHORITYBENCH)
def test_the_papers_numbers_fill_its_layout(table: str) -> None:
    (made,) = build_tables(paper_runs(table))
    values = sorted(round(100 * cell.value, 2) for cell in made.cells() if cell.value is not None)
    assert values == sorted(value.value for value in paper_table(table))
    assert all(cell is not None for row in made.rows for cell in row.cells)
    assert made.title.startswith(f"AuthorityBench Table {table[-1]}. ")


@pytest.mark.parametrize(
    "table", ["authoritybench/1", "authoritybench/2", "authoritybench/4", "authoritybench/6"]
)
def test_each_row_has_its_best_and_second_for_each_measure(table: str) -> None:
    """Against a look at the numbers alone: columns alternate between rho and tau."""
    (made,) = build_tables(paper_runs(table))
    for row in made.rows:
        for offset in (0, 1):
            cells = [cell for cell in row.cells[offset::2] if cell is not None]
            ranked = sorted({round(100 * (cell.value or 0), 2) for cell in cells}, reverse=True)
            expected = {ranked[0]: "best", ranked[1]: "second"}
            assert [cell.mark for cell in cells] == [
                expected.get(round(100 * (cell.value or 0), 2)) for cell in cells
            ]


def test_table_1_rows_and_marks_by_hand() -> None:
    (made,) = build_tables(paper_runs("authoritybench/1"))
    assert made.stub == ("Model", "Ctx")
    assert [(column.groups, column.label) for column in made.columns[:4]] == [
        (("PointJudge", ""), "ρ"),
        (("PointJudge", ""), "τ"),
        (("ListJudge", "ListRank"), "ρ"),
        (("ListJudge", "ListRank"), "τ"),
    ]
    rows = _shown(made)
    assert list(rows) == [
        (model, context)
        for model in (
            "Qwen3-8B",
            "Qwen3-14B",
            "Qwen3-32B",
            "Llama-3-8B-Instruct",
            "Llama-3.1-8B-Instruct",
        )
        for context in ("w/o", "w/")
    ]
    assert rows["Qwen3-8B", "w/o"] == [
        *("41.97", "33.33", "54.01", "41.54", "_67.11", "_52.44", "15.18", "11.56", "*71.35", "*56.33")
    ]
    assert rows["Qwen3-14B", "w/"] == [
        *("*72.73", "*57.55", "58.18", "45.26", "61.67", "48.46", "64.78", "50.01", "_67.99", "_53.73")
    ]


def test_table_2_can_have_its_best_rho_and_tau_in_different_columns() -> None:
    rows = _shown(build_tables(paper_runs("authoritybench/2"))[0])
    # PointJudge 68.45 and PairRank 68.30, but 57.72 and 57.77.
    row = rows["Qwen3-14B", "w/"]
    assert (row[0], row[1], row[6], row[7]) == ("*68.45", "_57.72", "_68.30", "*57.77")


def test_table_3_marks_over_both_contexts() -> None:
    (made,) = build_tables(paper_runs("authoritybench/3"))
    rows = _shown(made)
    assert rows["Qwen3-14B", "Easy"] == ["*99.76", "95.62", "97.02", "91.94", "98.52", "_99.38"]
    assert rows["Llama-3.1-8B", "Hard"] == ["23.56", "_65.02", "34.72", "*81.56", "22.86", "51.74"]
    assert [column.label for column in made.columns] == ["w/o ctx", "w/ ctx"] * 3


def test_table_4_is_domain_by_model() -> None:
    rows = _shown(build_tables(paper_runs("authoritybench/4"))[0])
    assert [labels[0] for labels in rows] == ["Basketball"] * 5 + ["Movies"] * 5 + ["Songs"] * 5
    # PointJudge 46.56 is the best of a row in which PairJudge is usual.
    assert rows["Songs", "Qwen3-8B"][:2] == ["*46.56", "*34.96"]


def test_table_5_has_one_number_without_a_filter_and_no_second_best() -> None:
    (made,) = build_tables(paper_runs("authoritybench/5"))
    rows = _shown(made)
    assert list(rows)[:4] == [("Qwen3-8B", "–"), ("Qwen3-8B", "1"), ("Qwen3-8B", "3"), ("Qwen3-8B", "5")]
    assert rows["Qwen3-8B", "–"] == ["53.33"]
    assert made.rows[0].span == "w/o Filter"
    assert rows["Qwen3-32B", "5"] == ["60.00", "60.00", "*70.00"]
    assert ("Llama-3.1-8B", "3") in rows


def test_a_part_of_the_matrix_shows_what_is_missing(tmp_path: Path) -> None:
    cells = [c for c in _correlations(context="without") if c["judge"] != "list"]
    write_run(tmp_path, "fine", "m", cells, table="authoritybench/1")
    (made,) = _tables(tmp_path)
    assert _shown(made) == {
        ("m", "w/o"): [
            *("50.00", "50.00", "-", "-", "-", "-", "_53.00", "_53.00", "*54.00", "*54.00"),
        ]
    }


def test_models_of_several_folders_share_a_table(tmp_path: Path) -> None:
    qwen = {"name": "qwen3-8b", "paper_name": "Qwen3-8B"}
    for results, name, model in (("R1", "zeta", {"name": "zeta"}), ("R2", "qwen3-8b", qwen)):
        cells = _correlations(context="without")
        write_run(tmp_path / results, "fine", name, cells, table="authoritybench/1", model=model)
    made = build_tables(find_runs([tmp_path / "R1", tmp_path / "R2"]))
    assert [list(_shown(table)) for table in made] == [[("Qwen3-8B", "w/o"), ("zeta", "w/o")]]


def test_the_same_model_twice_is_told_apart_by_its_folder(tmp_path: Path) -> None:
    for results in ("R1", "R2"):
        write_run(tmp_path / results, "fine", "m", _correlations(context="without"), table="authoritybench/1")
    (made,) = build_tables(find_runs([tmp_path / "R1", tmp_path / "R2"]))
    assert list(_shown(made)) == [("m [R1]", "w/o"), ("m [R2]", "w/o")]


def test_data_sets_that_cannot_share_a_layout_get_tables_of_their_own(tmp_path: Path) -> None:
    cells = [
        cell("accuracy", 0.5, dataset=data, domain=domain, difficulty="easy", context="without", **JUDGES[0])
        for data, domain in (("domainauth", "web"), ("entityauth", "movies"), ("entityauth", "songs"))
    ]
    write_run(tmp_path, "pairs", "m", cells, table="authoritybench/3")
    assert [table.title.partition(" · ")[2] for table in _tables(tmp_path)] == [
        "domainauth · Web",
        "entityauth · Movies",
        "entityauth · Songs",
    ]


def test_pairs_of_other_data_have_the_papers_layout_and_no_paper_numbers(tmp_path: Path) -> None:
    cells = [
        cell(
            "accuracy",
            0.5,
            dataset="entityauth",
            domain=domain,
            difficulty="easy",
            context="without",
            **JUDGES[0],
        )
        for domain in ("movies", "songs")
    ]
    write_run(tmp_path, "pairs", "m", cells, table="pairs", model={"name": "m", "paper_name": "Qwen3-8B"})
    made = _tables(tmp_path, paper=True)
    assert [table.title for table in made] == [
        "Easy and hard pairs: pairwise accuracy (%) · Movies",
        "Easy and hard pairs: pairwise accuracy (%) · Songs",
    ]
    assert [found.paper for table in made for found in table.cells()] == [None, None]


def test_what_a_layout_has_no_place_for_follows(tmp_path: Path) -> None:
    cells = [
        cell("accuracy", 0.4, filter="none", k=None),
        cell("accuracy", 0.6, filter="authority", k=3),
        cell("accuracy", 0.7, filter="authority+relevance", k=3),
        cell("accuracy-by-topic", 0.9, filter="authority", k=3, domain="medicine"),
    ]
    write_run(tmp_path, "ragauth", "m", cells, table="authoritybench/5")
    made, further = _tables(tmp_path)
    assert _shown(made) == {("m", "–"): ["40.00"], ("m", "3"): ["-", "-", "60.00"]}
    assert "Further results" in further.title
    assert _shown(further) == {
        ("–", "authority+relevance"): ["70.00", "-"],
        ("Medicine", "authority"): ["-", "90.00"],
    }


def test_a_title_names_what_varies_where_it_has_a_value(tmp_path: Path) -> None:
    """A cut by threshold is a `method`, a cut by rank is none, and no title has a word for none."""
    cells = [
        cell("accuracy", 0.4, filter="none", k=None),
        cell("accuracy", 0.6, filter="authority", k=3),
        cell("accuracy", 0.7, filter="authority", k=None, method="threshold-7"),
    ]
    write_run(tmp_path, "ragauth", "m", cells, table="authoritybench/5")
    assert [table.title for table in _tables(tmp_path)] == [
        "AuthorityBench Table 5. RAGAuth: answer accuracy (%)",
        "AuthorityBench Table 5. Further results (%)",
    ]


def test_the_other_aggregation_is_left_to_its_own_table(tmp_path: Path) -> None:
    write_run(tmp_path, "fine", "m", _correlations(context="without"), table="authoritybench/1")
    assert len(_tables(tmp_path)) == 1
    write_run(tmp_path, "agg", "m", _correlations(context="without")[-6:], table="aggregation")
    made = build_tables(find_runs([tmp_path / "agg"]))
    assert [list(_shown(table).items()) for table in made] == [
        [(("m",), ["_54.00", "_54.00", "*55.00", "*55.00", "53.00", "53.00"])]
    ]


def test_results_without_a_layout_are_labelled_by_what_varies(tmp_path: Path) -> None:
    cells = [c for domain in ("songs", "movies") for c in _correlations(dataset="sample", domain=domain)]
    write_run(tmp_path, "quickstart", "m", cells, title="Quickstart")
    (made,) = _tables(tmp_path)
    assert (made.title, made.stub) == ("Quickstart (%)", ("Domain", "Judge"))
    rows = _shown(made)
    assert list(rows)[:3] == [
        ("Movies", "PointJudge"),
        ("Movies", "ListJudge ListRank"),
        ("Movies", "ListJudge PointScore"),
    ]
    assert rows["Songs", "PairJudge PointScore"] == ["_54.00", "_54.00"]
    assert rows["Songs", "PairJudge PointScore (BubbleSort)"] == ["*55.00", "*55.00"]
    assert made.among == "among judges"
    assert made.notes[0] == "Model: m; Data: sample."


def test_a_single_cell(tmp_path: Path) -> None:
    write_run(tmp_path, "one", "m", [cell("ndcg@5", 0.25)])
    (made,) = _tables(tmp_path)
    assert (made.stub, _shown(made), made.among) == (("Model",), {("m",): ["25.00"]}, None)


def test_policies(tmp_path: Path) -> None:
    cells = [
        cell("accuracy", 0.4, difficulty="hard", context="without", n=10, n_invalid=5, **JUDGES[0]),
        cell(
            "accuracy",
            0.8,
            policy="valid",
            difficulty="hard",
            context="without",
            n=5,
            n_invalid=5,
            **JUDGES[0],
        ),
    ]
    write_run(tmp_path, "pairs", "m", cells, table="authoritybench/3")
    for policy, value in (("strict", 0.4), ("valid", 0.8)):
        (made,) = _tables(tmp_path, policy=policy)
        (found,) = made.cells()
        assert (found.value, found.invalid) == (value, 0.5), "the share is out of all items under both"
    assert "n = 5 pairs per cell" in " ".join(_tables(tmp_path, policy="valid")[0].notes)


def test_pairs_of_equal_levels_are_shown_apart(tmp_path: Path) -> None:
    dims = {"difficulty": "hard", "context": "with", **JUDGES[3]}
    cells = [
        cell("accuracy", 0.4, n_ties=3, **dims),
        cell("accuracy-unequal", 0.6, **dims),
        cell("equal-tied", 0.1, n=60, **dims),
    ]
    write_run(tmp_path, "pairs", "m", cells, table="authoritybench/3")
    (made,) = _tables(tmp_path)
    (found,) = made.cells()
    assert {name: extra.value for name, extra in found.extras.items()} == {"unequal": 0.6, "eq.tied": 0.1}
    notes = " ".join(made.notes)
    assert "3 answers gave both sides equal scores and count as wrong" in notes
    assert "unequal: accuracy without pairs of equal levels" in notes


def test_the_paper_beside_ours(tmp_path: Path) -> None:
    cells = [
        cell("spearman", 0.43, dataset="domainauth-openpagerank", context="without", **JUDGES[0]),
        cell("kendall", 0.40, dataset="domainauth-openpagerank", context="without", **JUDGES[0]),
    ]
    model = {"name": "qwen3-8b", "paper_name": "Qwen3-8B"}
    write_run(tmp_path, "fine", "qwen3-8b", cells, table="authoritybench/1", model=model)
    (made,) = _tables(tmp_path, paper=True)
    # The paper has 41.97 and 33.33; our intervals reach two points to each side.
    assert [found.paper for found in made.cells()] == pytest.approx([0.4197, 0.3333])
    assert [found.inside for found in made.cells()] == [True, False]
    notes = " ".join(made.notes)
    assert "lies in our 95 % interval: 1 of 2" in notes
    assert "Data: domainauth-openpagerank, not the paper's own." in notes


def test_costs_once_for_all_aggregations(tmp_path: Path) -> None:
    write_run(tmp_path, "fine", "m", _correlations(context="without"), table="authoritybench/1")
    _, cost = _tables(tmp_path, cost=True)
    assert cost.kind == "cost"
    assert [row.labels for row in cost.rows] == [
        ("PointJudge",),
        ("ListJudge ListRank",),
        ("ListJudge PointScore",),
        ("PairJudge PairRank",),
        ("PairJudge PointScore",),
    ]
    assert [c.value for c in cost.rows[0].cells if c is not None] == [5000, 4000, 1_000_000, 30_000]


def _noted(tmp_path: Path, **facts: Any) -> Table:
    write_run(tmp_path, "fine", "smol", _correlations(context="without"), table="authoritybench/1", **facts)
    return _tables(tmp_path)[0]


def test_partial_is_stamped_with_its_limit(tmp_path: Path) -> None:
    made = _noted(tmp_path, partial=True, limit=10)
    assert made.title.startswith("PARTIAL (--limit 10): AuthorityBench Table 1.")


def test_partial_without_a_limit_says_how_to_go_on(tmp_path: Path) -> None:
    made = _noted(tmp_path, partial=True)
    assert made.title.startswith("PARTIAL: AuthorityBench")
    assert "the same `authbench run` goes on" in " ".join(made.notes)


@pytest.mark.parametrize(
    ("facts", "note"),
    [
        (
            {"model": {"name": "smol", "tiny": True}},
            "smol is a tiny model: the numbers prove that the machinery works and mean nothing.",
        ),
        ({"engine": "fake"}, "Engine fake: the answers are made up."),
        (
            {"options": {"constrain": "json", "scoring": "text", "text_chars": None}},
            "Beyond the paper's protocol: constrain=json.",
        ),
        (
            {"statuses": {"ok": 90, "repaired": 4, "truncated": 6}},
            "Answers of smol: 100, of them repaired 4, truncated 6.",
        ),
        (
            {"config": {"dataset": {"name": "domainauth", "path": "mine.csv"}}},
            "Data: mine.csv, not the paper's own.",
        ),
    ],
)
def test_caveats(tmp_path: Path, facts: dict[str, Any], note: str) -> None:
    assert note in _noted(tmp_path, **facts).notes


def test_intervals_are_explained_where_there_are_some(tmp_path: Path) -> None:
    single = [{**each, "low": None, "high": None} for each in _correlations(context="without")]
    for name, cells in (("one", single), ("many", _correlations(context="without"))):
        write_run(tmp_path / name, "x", "m", cells, table="authoritybench/1")
        said = "95 % bootstrap interval" in " ".join(_tables(tmp_path / name, intervals=True)[0].notes)
        assert said == (name == "many")


def test_another_scale_than_the_papers_is_said(tmp_path: Path) -> None:
    write_run(tmp_path, "x", "m", _correlations(scale="coarse"), table="authoritybench/4")
    assert "Scale: coarse, where the paper's table is fine." in _tables(tmp_path)[0].notes


def test_a_file_of_ones_own_is_named_in_a_table_of_ones_own(tmp_path: Path) -> None:
    config = {"dataset": {"name": "mine", "path": "mine.csv"}}
    write_run(tmp_path, "x", "m", _correlations(dataset="mine"), config=config)
    assert "Data from mine.csv." in _tables(tmp_path)[0].notes


def test_the_papers_protocol_needs_no_caveat(tmp_path: Path) -> None:
    notes = _noted(tmp_path).notes
    assert notes == ("n = 500 lists per cell. Strict: lists without a usable answer count as 0.",)


def test_constant_predictions_are_counted_once(tmp_path: Path) -> None:
    cells = [
        cell(metric, 0.1, n_constant=7, context="with", **JUDGES[0]) for metric in ("spearman", "kendall")
    ]
    write_run(tmp_path, "fine", "m", cells, table="authoritybench/1")
    assert "7 constant predictions have no correlation and count as 0." in _tables(tmp_path)[0].notes


def test_runs_without_cells_make_no_table() -> None:
    run = Run(Path("x/m"), {"experiment": "x", "model": {"name": "m"}}, [])
    assert build_tables([run]) == []
    assert render_tables([run], "text") == "No results.\n"
    strict = Run(run.path, run.run, [cell("accuracy", 0.5)])
    assert render_tables([strict], "text", policy="valid").startswith("No results under the policy 'valid'")
