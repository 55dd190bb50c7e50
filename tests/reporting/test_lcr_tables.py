"""LCR's tables: base, reranked and relative gain by collection, and the ablations."""

from __future__ import annotations

import csv
import io
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from runfolders import cell, write_run

from authbench.reporting.filling import relative_gain
from authbench.reporting.grid import Cell, Table, shown
from authbench.reporting.notes import footnotes
from authbench.reporting.pagetables import page_table
from authbench.reporting.paper import paper_runs, paper_value
from authbench.reporting.placing import Options
from authbench.reporting.results import find_runs
from authbench.reporting.tables import Format, build_tables, render_tables

QWEN = {"name": "qwen2.5-7b-instruct", "paper_name": "Qwen2.5-7B-Instruct"}
#: Of three base rankings, without and with LCR, on two collections. YesNo gains 20 % and 50 %.
NUMBERS = {
    "scifact": {"retriever": (0.65, 0.65), "yesno": (0.20, 0.24), "rankgpt": (0.66, 0.67)},
    "nq": {"retriever": (0.40, 0.41), "yesno": (0.10, 0.15), "rankgpt": (0.40, 0.40)},
}


def ndcg(value: float | None, metric: str = "ndcg@5", **dims: Any) -> dict[str, Any]:
    return cell(metric, value, **{"retriever": "bm25", "k": None, **dims})


def cells(collection: str, metric: str = "ndcg@5", **dims: Any) -> list[dict[str, Any]]:
    return [
        ndcg(value, metric, collection=collection, base=base, method=method, **dims)
        for base, pair in NUMBERS[collection].items()
        for method, value in zip(("base", "lcr"), pair, strict=True)
    ]


def tables(results: Path, **options: Any) -> list[Table]:
    return build_tables(find_runs([results]), Options(**options))


def printed(table: Table) -> dict[tuple[str, ...], list[str]]:
    """Labels of each row, and its numbers with `*` for best and `_` for second."""

    def text(found: Cell | None, place: int) -> str:
        if found is None:
            return "-"
        return {"best": "*", "second": "_", None: ""}[found.mark] + shown(
            found.value, table.columns[place].unit
        )

    return {row.labels: [text(found, place) for place, found in enumerate(row.cells)] for row in table.rows}


def rendered(results: Path, format: Format = "text", width: int = 80, **options: Any) -> str:
    console = Console(width=width, file=io.StringIO(), color_system=None, force_terminal=False)
    return render_tables(find_runs([results]), format, console=console, **options)


@pytest.mark.parametrize(("number", "retriever"), [(2, "bm25"), (3, "contriever")])
def test_base_reranked_and_gain_by_collection_out_of_two_runs(
    tmp_path: Path, number: int, retriever: str
) -> None:
    """A collection a run, each in a results folder of its own: one row of the model, not two."""
    for name in NUMBERS:
        rows = cells(name, retriever=retriever)
        write_run(tmp_path / name, "lcr", "qwen2.5-7b-instruct", rows, table=f"lcr/{number}", model=QWEN)
    (made,) = build_tables(find_runs([tmp_path / name for name in NUMBERS]))
    assert made.title == f"LCR Table {number}. Base rankings, and reranked by confidence: NDCG@5 (%)"
    assert made.stub == ("Base ranking",)
    assert [(column.groups, column.label) for column in made.columns] == [
        ((name,), label) for name in NUMBERS for label in ("base", "+LCR", "gain %")
    ]
    assert printed(made) == {
        ("retriever",): ["_65.00", "_65.00", "0.00", "*40.00", "*41.00", "+2.50"],
        ("yesno",): ["20.00", "24.00", "+20.00", "_10.00", "15.00", "+50.00"],
        ("rankgpt",): ["*66.00", "*67.00", "+1.52", "*40.00", "_40.00", "0.00"],
    }
    assert made.notes[0] == f"Model: Qwen2.5-7B-Instruct; Retriever: {retriever}."
    assert "n = 500 queries per cell. Strict: queries without a usable answer count as 0." in made.notes
    assert made.among == "among base rankings, per column"


def test_a_gain_is_of_the_base_and_has_no_interval() -> None:
    source = {"metric": "ndcg@5", "low": 0.2, "high": 0.3, "method": "lcr"}
    # The paper's Table 2: 0.1737 and 0.2095 for YesNo, which it calls a gain of 20.6 %.
    found = relative_gain(
        Cell(0.24, 0.2, 0.3, paper=0.2095, invalid=0.01, source=source), Cell(0.2, 0.1, 0.3, paper=0.1737)
    )
    assert found.value == pytest.approx(0.2) and (found.low, found.high, found.inside) == (None, None, None)
    assert found.paper == pytest.approx(0.206, abs=5e-4) and found.invalid == 0.01
    assert (found.source["metric"], found.source["low"]) == ("ndcg@5-gain", None)
    # A share of nothing is undefined, as is one of a number that is missing.
    for base in (0.0, None):
        assert relative_gain(Cell(0.24, source=source), Cell(base)).value is None
    assert relative_gain(Cell(0.1, source=source), Cell(0.2, paper=0.3)).paper is None


def test_a_loss_has_its_sign(tmp_path: Path) -> None:
    rows = [ndcg(v, collection="c", base="yesno", method=m) for m, v in (("base", 0.5), ("lcr", 0.4))]
    write_run(tmp_path, "lcr", "m", rows, table="lcr/2")
    (made,) = tables(tmp_path)
    assert printed(made) == {("yesno",): ["50.00", "40.00", "-20.00"]}
    assert r"$-$20.00" in rendered(tmp_path, "latex")


def test_every_format_has_the_derived_column(tmp_path: Path) -> None:
    write_run(tmp_path, "lcr", "m", cells("scifact"), table="lcr/2")
    text = rendered(tmp_path)
    assert "scifact" in text and "+20.00" in text and max(map(len, text.splitlines())) <= 80
    assert "| yesno | 20.00 | 24.00 | +20.00 |" in rendered(tmp_path, "md")
    assert r"\multicolumn{3}{c}{scifact}" in rendered(tmp_path, "latex")
    assert "yesno & 20.00 & 24.00 & $+$20.00" in rendered(tmp_path, "latex")
    lines = list(csv.DictReader(io.StringIO(rendered(tmp_path, "csv"))))
    gains = {line["base"]: line for line in lines if line["metric"] == "ndcg@5-gain"}
    assert [gains["yesno"][name] for name in ("value", "unit", "low", "collection")] == [
        *("20.0", "percent", "", "scifact")
    ]
    (found,) = json.loads(rendered(tmp_path, "json"))["tables"]
    assert found["columns"][2] == {"groups": ["scifact"], "label": "gain %"}
    assert [row["cells"][2]["value"] for row in found["rows"]] == pytest.approx([0, 20, 1.515152])
    assert (found["rows"][1]["cells"][1]["low"], found["rows"][1]["cells"][2]["low"]) == (22.0, None)


def test_the_report_prints_the_gain_with_its_sign(tmp_path: Path) -> None:
    write_run(tmp_path, "lcr", "m", cells("scifact"), table="lcr/2")
    page = page_table(tables(tmp_path)[0])
    found = [cell for cell in page.rows[1].cells if cell is not None]
    assert [(cell.text, cell.interval) for cell in found] == [
        *(("20.00", "18.00 – 22.00"), ("24.00", "22.00 – 26.00"), ("+20.00", "")),
    ]
    assert page.levels == ((("scifact", 3),),)


def test_intervals_stand_where_there_are_any(tmp_path: Path) -> None:
    write_run(tmp_path, "lcr", "m", cells("scifact"), table="lcr/2")
    line = next(line for line in rendered(tmp_path, intervals=True).splitlines() if "yesno" in line)
    assert line.split() == ["yesno", "20.00", "[18.00,", "22.00]", "24.00", "[22.00,", "26.00]", "+20.00"]


def test_failed_queries_and_costs_are_said_once(tmp_path: Path) -> None:
    rows = [{**row, "n_invalid": 20} for name in NUMBERS for row in cells(name)]
    write_run(tmp_path, "lcr", "m", rows, table="lcr/2")
    text = rendered(tmp_path).splitlines()
    assert text[next(place for place, line in enumerate(text) if "yesno" in line) + 1].split() == [
        *("invalid", "4.0%", "4.0%")
    ]
    cost = tables(tmp_path, cost=True)[1]
    # Base ranking and LCR are asked together: they have one price.
    assert [row.labels for row in cost.rows] == [(base, name) for base in NUMBERS["nq"] for name in NUMBERS]


def test_eight_collections_are_shown_in_parts_in_a_narrow_terminal(tmp_path: Path) -> None:
    names = ("nq", "fever", "scidocs", "trec-covid", "scifact", "fiqa", "trec-dl-2019", "trec-dl-2020")
    rows = [
        ndcg(value, collection=name, base="cross-encoder", method=method)
        for name in names
        for method, value in (("base", 0.5), ("lcr", 0.55))
    ]
    write_run(tmp_path, "lcr", "m", rows, table="lcr/2")
    narrow = rendered(tmp_path)
    assert max(map(len, narrow.splitlines())) <= 80 and "a wider terminal, or COLUMNS=" in narrow
    assert narrow.count("+10.00") == len(names) and all(name in narrow for name in names)
    wide = [line for line in rendered(tmp_path, width=240).splitlines() if "cross-encoder" in line]
    assert len(wide) == 1 and wide[0].count("+10.00") == len(names)


def test_gains_and_cutoffs_are_tables_of_their_own(tmp_path: Path) -> None:
    write_run(tmp_path / "a", "lcr", "m", cells("scifact"), table="lcr/2")
    write_run(tmp_path / "b", "lcr", "m", cells("nq", "ndcg@10-exponential"), table="lcr/2")
    made = build_tables(find_runs([tmp_path / "a", tmp_path / "b"]))
    assert [table.title.rpartition(": ")[2] for table in made] == [
        "NDCG@5 (%)",
        "NDCG@10, exponential gain (%)",
    ]
    assert [len(table.columns) for table in made] == [3, 3]
    assert ["NDCG with linear gain." in table.notes for table in made] == [True, False]


def test_what_the_layout_has_no_place_for_follows(tmp_path: Path) -> None:
    rows = [
        *cells("scifact"),
        ndcg(0.3, collection="scifact", base="yesno", method="lcr-entropy"),
        ndcg(0.22, collection="scifact", base="yesno", method="lcr", k=3),
    ]
    config = {"confidence": {"samples": 10, "at": [3]}}
    write_run(tmp_path, "lcr", "m", rows, table="lcr/2", config=config)
    made, further = tables(tmp_path)
    assert printed(made)["yesno",] == ["20.00", "24.00", "+20.00"]
    assert list(printed(further)) == [("3", "+LCR"), ("10", "+LCR by entropy")]


def test_where_thresholds_come_from_is_said(tmp_path: Path) -> None:
    write_run(tmp_path / "grid", "lcr", "m", cells("scifact"), table="lcr/2")
    assert "an upper bound. `authbench tune RUN`" in " ".join(tables(tmp_path / "grid")[0].notes)
    fixed = {"thresholds": {"fixed": {"query": 0.9, "upper": 0.8, "lower": 0.1}}}
    write_run(tmp_path / "own", "lcr", "m", cells("nq"), table="lcr/2", config=fixed)
    notes = " ".join(tables(tmp_path / "own")[0].notes)
    assert "thresholds fixed at T_query 0.9, T_upper 0.8, T_lower 0.1." in notes
    assert "upper bound" not in notes


def test_samples_share_their_base_ranking(tmp_path: Path) -> None:
    rows = [ndcg(0.5, collection="c", base="retriever", method="base")]
    values = {1: 0.5, 2: 0.52, 3: 0.55, None: 0.6}
    rows += [ndcg(value, collection="c", base="retriever", method="lcr", k=k) for k, value in values.items()]
    config = {"confidence": {"samples": 4, "at": [1, 2, 3]}}
    write_run(tmp_path, "lcr", "m", rows, table="lcr/samples", config=config)
    (made,) = tables(tmp_path)
    # All samples are 4; the base ranking, which has none, is no row.
    assert (made.stub, printed(made)) == (
        ("k",),
        {
            ("1",): ["50.00", "50.00", "0.00"],
            ("2",): ["50.00", "52.00", "+4.00"],
            ("3",): ["50.00", "_55.00", "+10.00"],
            ("4",): ["50.00", "*60.00", "+20.00"],
        },
    )


def test_measures_of_confidence_side_by_side(tmp_path: Path) -> None:
    values = {"base": 0.5, "lcr": 0.6, "lcr-entropy": 0.55, "car": 0.58, "car-entropy": 0.5}
    rows = [ndcg(v, collection="c", base="retriever", method=name) for name, v in values.items()]
    write_run(tmp_path, "lcr", "m", rows, table="lcr/uncertainty")
    (made,) = tables(tmp_path)
    assert (made.stub, printed(made)) == (
        ("Method",),
        {
            ("base ranking",): ["50.00", "-"],
            ("+LCR",): ["*60.00", "+20.00"],
            ("+LCR by entropy",): ["55.00", "+10.00"],
            ("+CAR",): ["_58.00", "+16.00"],
            ("+CAR by entropy",): ["50.00", "0.00"],
        },
    )


def test_models_are_rows(tmp_path: Path) -> None:
    for name, reranked in (("m1", 0.44), ("m2", 0.42)):
        rows = [
            ndcg(value, collection="c", base="retriever", method=method)
            for method, value in (("base", 0.4), ("lcr", reranked))
        ]
        write_run(tmp_path, "lcr", name, rows, table="lcr/models")
    (made,) = tables(tmp_path)
    assert printed(made) == {
        ("m1",): ["40.00", "*44.00", "+10.00"],
        ("m2",): ["40.00", "_42.00", "+5.00"],
    }
    assert made.notes[0] == "Retriever: bm25; Base ranking: retriever."


@pytest.mark.parametrize(
    ("table", "labels", "numbers"),
    [
        # Table 2 and 3 of LCR: 20.6 % and 32.4 % are the abstract's.
        ("lcr/2", ("yesno",), ["17.37", "20.95", "+20.61"]),
        ("lcr/3", ("yesno",), ["22.81", "30.21", "+32.44"]),
        # CAR, NQ first.
        ("car/contriever", ("qlm",), ["34.86", "37.54", "+7.67", "55.69", "57.82", "+3.83"]),
    ],
)
def test_the_papers_own_numbers(table: str, labels: tuple[str, ...], numbers: list[str]) -> None:
    (made,) = build_tables(paper_runs(table))
    assert printed(made)[labels][: len(numbers)] == numbers
    assert not any("upper bound" in note for note in made.notes)


def test_cars_table_says_what_it_is_and_that_it_names_no_model() -> None:
    (made,) = build_tables(paper_runs("car/contriever"))
    assert made.notes[0] == "Model: unnamed (CAR); Retriever: contriever."
    assert any("exponential gain" in note for note in made.notes)


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({}, 48.699),
        ({"collection": "beir/nq"}, 48.699),
        ({"metric": "ndcg@5-exponential"}, 48.699),
        ({"metric": "ndcg@10"}, None),
        ({"retriever": "bm25"}, None),
        ({"method": "lcr"}, None),  # what CAR has is another method
        ({"method": "car", "k": 3}, None),
        # Grades from 0 to 2: linear gain is another measure than CAR's exponential one.
        ({"collection": "trec-covid"}, None),
        ({"collection": "trec-covid", "metric": "ndcg@5-exponential"}, 68.792),
    ],
)
def test_cars_numbers_stand_beside_table_3(change: dict[str, Any], expected: float | None) -> None:
    dims = {"retriever": "contriever", "collection": "nq", "base": "cross-encoder", "method": "base"}
    row = ndcg(0.5, **{**dims, **change})
    assert paper_value("lcr/3", row, "Qwen2.5-7B-Instruct") == expected
    assert paper_value("lcr/2", row, "Qwen2.5-7B-Instruct") is None


def test_paper_numbers_in_print_say_whose_they_are(tmp_path: Path) -> None:
    rows = [*cells("nq", retriever="contriever"), *cells("scifact", retriever="contriever")]
    write_run(tmp_path / "3", "lcr", "m", rows, table="lcr/3", model=QWEN)
    (made,) = tables(tmp_path / "3", paper=True)
    notes = " ".join(made.notes)
    assert "those of CAR (arXiv 2605.04495)" in notes and "`authbench table lcr/3`" in notes
    text = rendered(tmp_path / "3", paper=True).splitlines()
    row = next(place for place, line in enumerate(text) if line.startswith("yesno"))
    # CAR has 23.117 for YesNo on NQ; ours is 10.
    assert text[row + 1].split() == ["paper", "23.12", "-", "-", "-", "-", "-"]
    assert text[row + 2].split() == ["diff", "-13.12", "-", "-", "-", "-", "-"]
    write_run(tmp_path / "2", "lcr", "m", cells("nq"), table="lcr/2", model=QWEN)
    (made,) = tables(tmp_path / "2", paper=True)
    assert "The papers have no numbers for these cells." in made.notes


def test_base_rankings_that_lack_the_same_are_named_together() -> None:
    missing = "this needs transformers, which is not installed"
    one = dict.fromkeys(("colbert", "rankt5"), missing)
    (paper,) = paper_runs("lcr/2")
    runs = [
        replace(paper, run={**paper.run, "left_out": left_out})
        for left_out in ({**one, "cross-encoder": "no such folder"}, one, {})
    ]
    (made,) = build_tables([paper])
    notes = footnotes(made, runs, "strict", intervals=False, paper=False)
    assert [note for note in notes if "left out" in note] == [
        f"colbert, rankt5 are left out: {missing}.",
        "cross-encoder is left out: no such folder.",
    ]
