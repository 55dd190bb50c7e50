"""Paired comparison of two runs: numbers by hand and by scipy, what is refused, the exit status for CI."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from fakeruns import FINE, PAIRS, domain_truth, run_one
from scipy import stats
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError
from authbench.experiment.loading import load_experiment
from authbench.experiment.running import Options, run
from authbench.reporting.compare import compare
from authbench.reporting.peritem import cell_items
from authbench.reporting.results import Run, load_run

DATA = {"name": "mine", "seed": 0, "lists": 4}
GOLD = [0, 1, 2, 3]


def list_run(
    folder: Path, scores: Mapping[str, Sequence[float | None]], gold: Sequence[int] = GOLD, **dataset: Any
) -> Run:
    """A run of ListJudge over lists with these predicted scores."""
    folder.mkdir(parents=True)
    lines = [
        {
            "group": "domains/without/list-score",
            "item": item,
            "number": number,
            "gold": {"levels": list(gold)},
            "values": {"scores": list(predicted)},
            "answers": [{"key": "0" * 64, "texts": ["x"], "status": "ok"}],
            "error": None,
        }
        for number, (item, predicted) in enumerate(scores.items())
    ]
    (folder / "items.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (folder / "cells.json").write_text("[]")
    facts = {"task": "listwise", "experiment": "e", "config": {"dataset": {**DATA, **dataset}}}
    (folder / "run.json").write_text(json.dumps(facts | {"model": {"name": folder.name}}))
    return load_run(folder)


#: Spearman of four places: 1 - 6 * sum(d^2) / 60, by hand.
SCORES_A: dict[str, list[int | None]] = {
    "p": [0, 1, 2, 3],
    "q": [3, 2, 1, 0],
    "r": [1, 0, 2, 3],
    "s": [0, 1, 2, 3],
    "t": [None] * 4,
}
SCORES_B: dict[str, list[int | None]] = {
    "p": [0, 1, 2, 3],
    "q": [0, 1, 2, 3],
    "r": [1, 0, 3, 2],
    "s": [3, 2, 1, 0],
    "t": [0, 1, 3, 2],
}
RHO_A = {"p": 1.0, "q": -1.0, "r": 0.8, "s": 1.0, "t": 0.0}
RHO_B = {"p": 1.0, "q": 1.0, "r": 0.6, "s": -1.0, "t": 0.8}


def test_values_wins_and_items_by_hand(tmp_path: Path) -> None:
    a, b = list_run(tmp_path / "a", SCORES_A), list_run(tmp_path / "b", SCORES_B)
    done = compare(a, b)
    rho = next(cell for cell in done.cells if cell.dims["metric"] == "spearman")
    assert rho.n == 5 and [rho.a, rho.b] == pytest.approx([1.8 / 5, 2.4 / 5])
    assert rho.difference == pytest.approx(0.12)
    # q and t got better, r and s worse, p stayed.
    assert (rho.wins, rho.ties, rho.losses) == (2, 1, 2)
    assert [(item.item, round(item.a, 6), round(item.b, 6)) for item in done.items] == [
        ("q", -1.0, 1.0),
        ("s", 1.0, -1.0),
        ("t", 0.0, 0.8),
        ("r", 0.8, 0.6),
    ]
    assert [item.valid_a for item in done.items] == [True, True, False, True]
    assert rho.low is not None and rho.high is not None and rho.low < 0.12 < rho.high


def test_the_p_value_is_that_of_every_sign_vector(tmp_path: Path) -> None:
    """With 5 differences there are 32 sign vectors, all of which scipy's permutation test goes through."""
    a, b = list_run(tmp_path / "a", SCORES_A), list_run(tmp_path / "b", SCORES_B)
    rho = next(cell for cell in compare(a, b).cells if cell.dims["metric"] == "spearman")
    gained = np.array([*RHO_B.values()]) - np.array([*RHO_A.values()])
    exact = stats.permutation_test(
        (gained,), np.mean, permutation_type="samples", n_resamples=10_000, alternative="two-sided"
    )
    assert rho.p == pytest.approx(float(exact.pvalue), abs=0.02)
    # Holm over two cells: the smaller p is doubled, the larger is at least that (Holm 1979).
    first, second = sorted(compare(a, b).cells, key=lambda cell: cell.p)
    assert first.p_holm == pytest.approx(min(1.0, 2 * first.p))
    assert second.p_holm == pytest.approx(min(1.0, max(second.p, 2 * first.p)))


def test_two_replayed_runs_against_scipy(tmp_path: Path) -> None:
    """Recorded answers of two models, replayed and compared: means and differences as scipy gives them."""
    from authbench.runtime.export import write_export
    from authbench.runtime.store import Store

    truth = domain_truth()
    judges = FINE.replace("context: [without, with]", "context: [without]\njudges: [list-score]")
    replayed = []
    for name, skill in (("weak", 0.3), ("strong", 0.95)):
        run_one(tmp_path / name, "trial", judges, truth=truth, skill=skill, bad={"wrong_format": 0.1})
        export = tmp_path / f"{name}.jsonl"
        with Store(tmp_path / name / "results" / "responses.sqlite") as store:
            numbers = [number for number, _ in store.models()]
            write_export(store, export, numbers)
        config = tmp_path / name / "configs" / "trial.yaml"
        again = load_experiment(str(config), sets=[f"engine={{name: replay, path: {export}}}"])
        replayed.append(load_run(run([again], Options(tmp_path / f"again-{name}"))[0].folder.path))
    done = compare(*replayed)
    rho, tau = done.cells
    gold, scores = [], []
    for one in replayed:
        lines = [json.loads(line) for line in (one.path / "items.jsonl").read_text().splitlines()]
        gold.append([line["gold"]["levels"] for line in lines])
        scores.append([line["values"]["scores"] for line in lines])
    for cell, measure in ((rho, stats.spearmanr), (tau, stats.kendalltau)):
        means = [
            np.mean(
                [0.0 if None in s else float(measure(s, g)[0]) for s, g in zip(ours, theirs, strict=True)]
            )
            for ours, theirs in zip(scores, gold, strict=True)
        ]
        assert [cell.a, cell.b] == pytest.approx(means)
    assert rho.difference > 0.2 and rho.p_holm < 0.05 and rho.n == 12


def test_a_run_equals_itself(fake_results: Path) -> None:
    one = load_run(fake_results / "ragauth" / "qwen3-8b")
    done = compare(one, one)
    assert done.cells and not done.items
    assert all((c.difference, c.p, c.p_holm, c.ties) == (0.0, 1.0, 1.0, c.n) for c in done.cells)


def test_every_task_can_be_compared(fake_results: Path) -> None:
    for experiment in ("domainauth_fine", "domainauth_pairs", "ragauth"):
        a, b = (load_run(fake_results / experiment / model) for model in ("qwen3-8b", "qwen3-14b"))
        done = compare(a, b)
        assert len(done.cells) == len(cell_items(a)) and not done.only_a and not done.only_b
        assert all(c.wins + c.ties + c.losses == c.n for c in done.cells)
        assert {item.group for item in done.items} <= {c.group for c in done.cells}


def test_runs_over_other_items_are_refused_or_compared_on_the_common_ones(tmp_path: Path) -> None:
    fewer = {name: SCORES_B[name] for name in ("s", "q")}
    a, b = list_run(tmp_path / "a", SCORES_A), list_run(tmp_path / "b", fewer, lists=2)
    with pytest.raises(ConfigError, match=r"5 in .*, 2 in .*, 2 in both\n--common compares"):
        compare(a, b)
    done = compare(a, b, common=True)
    assert done.left_out == {"domains/without/list-score": 3}
    # q: -1 and 1; s: 1 and -1; matched by name, not by place.
    assert [(c.n, c.a, c.b, c.wins, c.losses) for c in done.cells] == [(2, 0.0, 0.0, 1, 1)] * 2


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"seed": 1}, r"judged other items \(dataset\.seed: 0 and 1\)"),
        ({"gold": [3, 2, 1, 0]}, r"item p of domains/without/list-score is another one"),
    ],
)
def test_other_data_is_refused_even_for_common_items(
    tmp_path: Path, change: dict[str, Any], message: str
) -> None:
    a, b = list_run(tmp_path / "a", SCORES_A), list_run(tmp_path / "b", SCORES_B, **change)
    with pytest.raises(ConfigError, match=message):
        compare(a, b, common=True)


def test_other_files_tasks_and_measures_are_refused(fake_results: Path, tmp_path: Path) -> None:
    fine = fake_results / "domainauth_fine" / "qwen3-8b"
    with pytest.raises(ConfigError, match=r"is listwise, .* is pairwise: they have no items in common"):
        compare(load_run(fine), load_run(fake_results / "domainauth_pairs" / "qwen3-8b"))
    with pytest.raises(ConfigError, match="has cells of ndcg@5; leave --metric out"):
        compare(load_run(fine), load_run(fine), metrics=["ndcg@5"])
    copy = tmp_path / "copy"
    shutil.copytree(fine, copy)
    facts = json.loads((copy / "run.json").read_text())
    facts["data"]["files"][0]["sha256"] = "0" * 64
    (copy / "run.json").write_text(json.dumps(facts))
    with pytest.raises(ConfigError, match="have different hashes, so their items differ"):
        compare(load_run(fine), load_run(copy))


def test_cells_of_one_run_only_are_named(tmp_path: Path) -> None:
    both = run_one(tmp_path / "both", "trial", PAIRS)
    one = run_one(tmp_path / "one", "trial", PAIRS.replace("[without, with]", "[with]"))
    done = compare(load_run(both), load_run(one))
    assert len(done.cells) == len(done.only_a) == 9 and not done.only_b
    assert not done.items  # The fake engine answers both the same.


def cli(*words: object) -> Any:
    return CliRunner().invoke(app, ["compare", *map(str, words)], catch_exceptions=False)


def test_fail_if_worse_is_an_exit_status(tmp_path: Path) -> None:
    a, b = list_run(tmp_path / "a", SCORES_A), list_run(tmp_path / "b", SCORES_B)
    assert cli(a.path, b.path, "--fail-if-worse", "0").exit_code == 0
    # Backwards rho falls by 0.12 and tau by (1/3 + 2/3 ... by hand below).
    # tau of A: 1, -1, 2/3, 1, 0; of B: 1, 1, 1/3, -1, 2/3; means 1/3 and 2/5.
    worse = cli(b.path, a.path, "--fail-if-worse", "0.1")
    assert worse.exit_code == 1
    assert "worse by 12.00 points: without text, ListJudge PointScore, Spearman's rho" in worse.output
    assert "Kendall" not in worse.output.split("worse by")[1]
    assert cli(b.path, a.path, "--fail-if-worse", "0.12").exit_code == 0
    both = cli(b.path, a.path, "--fail-if-worse", "0.06")
    assert "worse by 6.67 points: without text, ListJudge PointScore, Kendall's tau" in both.output


def test_what_is_printed_and_json(tmp_path: Path) -> None:
    a, b = list_run(tmp_path / "a", SCORES_A), list_run(tmp_path / "b", SCORES_B)
    lines = cli(a.path, b.path).output.splitlines()
    rho = next(line for line in lines if "Spearman" in line)
    assert rho.split()[2:5] == ["36.00", "48.00", "+12.00"] and rho.endswith("2/1/2")
    assert any(line.split() == ["t", "0.00!", "80.00", "domains/without/list-score"] for line in lines)
    assert all(len(line) <= 80 for line in lines if not line.startswith(("A:", "B:")))
    done = json.loads(cli(a.path, b.path, "--json", "--metric", "kendall").output)
    assert [cell["metric"] for cell in done["cells"]] == ["kendall"]
    assert done["cells"][0]["difference"] == pytest.approx(1 / 15) and done["worse"] == []
    assert done["items"][0]["item"] in ("q", "s")


def test_a_folder_with_several_runs_is_refused_by_name(fake_results: Path) -> None:
    one = fake_results / "ragauth" / "qwen3-8b"
    with pytest.raises(ConfigError, match=r"holds 2 runs; name one of them: .*qwen3-14b"):
        cli(fake_results / "ragauth", one)
    assert (
        cli(fake_results / "entityauth_coarse", fake_results / "entityauth_coarse" / "qwen3-8b").exit_code
        == 0
    )
