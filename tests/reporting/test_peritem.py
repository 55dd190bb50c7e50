"""Values by item: their means are the cells, for every task."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from fakeruns import FINE, PAIRS, collection, lcr, questions, run_one

from authbench.errors import DataError
from authbench.reporting.itemfiles import parse_item
from authbench.reporting.peritem import cell_items, cell_key, group_values
from authbench.reporting.results import Run, find_runs, load_run

FIXED = "fixed: {query: 0.9, upper: 0.8, lower: 0.4}"
METRICS = ("spearman", "kendall", "accuracy", "accuracy-unequal", "ndcg@5")


def check_against_cells(folder: Path) -> int:
    """Every strict cell with values by item has their mean, number and invalid count."""
    run = load_run(folder)
    items = cell_items(run)
    checked = 0
    for row in run.cells:
        if row["policy"] != "strict" or row["metric"] not in METRICS:
            continue
        cell = items[cell_key(row)]
        assert float(cell.values.mean()) == pytest.approx(row["value"], abs=1e-9)
        assert len(cell.items) == len(set(cell.items)) == row["n"]
        assert int((~cell.valid).sum()) == row["n_invalid"]
        assert not cell.values[~cell.valid].any()
        checked += 1
    return checked


def test_means_are_the_cells_of_every_task(fake_results: Path) -> None:
    runs = find_runs([fake_results])
    assert {run.run["task"] for run in runs} == {"listwise", "pairwise", "rag", "lcr"}
    # 5 judges (PairJudge's scores twice) in 2 contexts by 2 measures; 6 x 2 judges and contexts, hard pairs
    # with and without equal labels; 3 filters at 3 cuts and none; 3 domains at 6 x 2; 2 bases, each as it is
    # and reranked by 2 rules on 2 measures of confidence and on 3 samples.
    counts = {f"{run.experiment}/{run.model}": check_against_cells(run.path) for run in runs}
    assert counts["domainauth_fine/qwen3-8b"] == 24
    assert counts["domainauth_pairs/qwen3-8b"] == 18
    assert counts["ragauth/qwen3-14b"] == 10
    assert counts["entityauth_coarse/qwen3-8b"] == 36
    assert counts["lcr_bm25/qwen2.5-7b-instruct"] == 2 * (1 + 2 * 3)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("labels", FINE + "scoring: logprob\njudges: [point, pair-rank]\n"),
        ("pair-labels", PAIRS + "scoring: logprob\n"),
        ("both", PAIRS + "order: both\n"),
    ],
)
def test_means_are_the_cells_with_options_beyond_the_papers(tmp_path: Path, name: str, text: str) -> None:
    assert check_against_cells(run_one(tmp_path, name, text)) > 0


def test_means_are_the_cells_where_documents_are_kept_by_score(tmp_path: Path) -> None:
    rag = f"task: rag\ndataset: {{name: mine, path: {questions(tmp_path)}}}\nthresholds: [3, 7]\n"
    folder = run_one(tmp_path, "thresholds", rag)
    assert check_against_cells(folder) == 1 + 3 * (3 + 2)


@pytest.mark.parametrize("adaptive", [False, True])
def test_means_are_the_cells_with_fixed_thresholds(tmp_path: Path, adaptive: bool) -> None:
    text = lcr(collection(tmp_path / "beir")).replace("step: 0.25, folds: 3, methods: [lcr, car]", FIXED)
    text = text.replace("measures: [mscp, entropy], at: [3]", f"adaptive: {str(adaptive).lower()}")
    assert check_against_cells(run_one(tmp_path, "fixed", text)) == 2 * 2


def test_means_are_the_cells_where_queries_failed(tmp_path: Path) -> None:
    folder = run_one(tmp_path, "failing", lcr(collection(tmp_path / "beir")), errors=0.003)
    assert load_run(folder).run["failed_items"] > 0
    assert check_against_cells(folder) == 2 * 7


def test_means_are_the_cells_where_requests_failed(tmp_path: Path) -> None:
    folder = run_one(tmp_path, "failing", FINE, errors=0.02)
    assert load_run(folder).run["failed_items"] > 0
    assert check_against_cells(folder) == 24


def test_values_of_a_pair_by_hand(tmp_path: Path) -> None:
    def line(item: str, levels: str, scores: str) -> bytes:
        return (
            f'{{"group":"domains/hard/without/pair-score","item":"{item}","number":0,"gold":{{"levels":{levels}}},'
            f'"values":{{"scores":{scores}}},"answers":[],"error":null}}'
        ).encode()

    items = [
        parse_item(line("right", "[3,2]", "[7,4]")),
        parse_item(line("wrong", "[3,2]", "[4,7]")),
        parse_item(line("tie", "[3,2]", "[5,5]")),
        parse_item(line("equal", "[3,3]", "[5,4]")),
        parse_item(line("invalid", "[3,2]", "[null,null]")),
    ]
    every, unequal = group_values(
        Run(tmp_path, {"task": "pairwise"}, []), "domains/hard/without/pair-score", items
    )
    assert dict(zip(every.items, every.values.tolist(), strict=True)) == {
        "right": 1.0,
        "wrong": 0.0,
        "tie": 0.0,
        "equal": 0.0,
        "invalid": 0.0,
    }
    assert every.valid.tolist() == [True, True, True, True, False]
    assert unequal.items == ("right", "wrong", "tie", "invalid")
    assert np.mean(unequal.values) == 0.25


def test_a_damaged_line_is_named(tmp_path: Path) -> None:
    folder = run_one(tmp_path, "short", FINE, limit=2)
    lines = (folder / "items.jsonl").read_bytes().splitlines(keepends=True)
    (folder / "items.jsonl").write_bytes(b"".join([*lines[:3], lines[3][:40] + b"\n", *lines[4:]]))
    with pytest.raises(DataError, match=r"items\.jsonl:4: damaged .*authbench score"):
        cell_items(load_run(folder))
    (folder / "items.jsonl").unlink()
    with pytest.raises(DataError, match=r"cannot be read .*makes it anew"):
        cell_items(load_run(folder))
