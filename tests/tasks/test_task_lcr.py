"""LCR as a task: from YAML to cells, on a small collection whose right rankings are known."""

from __future__ import annotations

import json
from fractions import Fraction
from math import log2
from pathlib import Path
from typing import Any

import pytest
from lcr_collection import (
    DEPTH,
    PLACES,
    QUERIES,
    cells,
    collection,
    configuration,
    experiment,
    task_of,
    truth,
    tuned,
)

from authbench.errors import ConfigError, DataError
from authbench.experiment.rescoring import rescore
from authbench.experiment.running import Options, run
from authbench.lcr.items import to_points, to_query
from authbench.reporting.itemfiles import read_items
from authbench.reporting.results import load_run
from authbench.reporting.tables import render_tables
from authbench.tasks.base import Record
from authbench.tasks.lcr.settings import LcrExperiment
from authbench.tasks.lcr.tuning import Choice, grades_of
from authbench.tasks.registry import EXPERIMENT


@pytest.fixture
def beir(tmp_path: Path, tmp_cache: Path) -> Path:
    return collection(tmp_path / "beir")


def test_a_model_that_knows_when_it_knows_gains_and_shuffling_takes_the_gain(
    beir: Path, tmp_path: Path
) -> None:
    engine = {"name": "fake", "truth": truth()}
    run([experiment(beir, engine=engine)], Options(tmp_path / "r"))
    found = cells(tmp_path / "r")
    # The relevant document at rank p gives 1/log2(p + 1), and nothing below rank 5; moved to the front, 1.
    by_hand = sum(1 / log2(place + 2) for place in PLACES if place < 5) / len(PLACES)
    assert found["retriever", "base", None]["value"] == pytest.approx(by_hand, abs=1e-9)
    assert found["retriever", "lcr", None]["value"] == pytest.approx(1.0)
    best, held_out, shuffled = tuned(tmp_path / "r").columns
    assert best.value.value == pytest.approx(1.0)
    assert held_out.gain.low is not None and held_out.gain.low > 0.2
    assert held_out.p is not None and held_out.p < 0.001
    assert shuffled.gain.value is not None and best.gain.value is not None
    assert shuffled.gain.value < best.gain.value / 2
    assert tuned(tmp_path / "r").p_signal == pytest.approx(1 / 21)


def test_a_model_without_a_clue_gains_nothing_on_queries_it_was_not_tuned_on(
    beir: Path, tmp_path: Path
) -> None:
    run([experiment(beir, engine={"name": "fake", "truth": truth(False)})], Options(tmp_path / "r"))
    found = tuned(tmp_path / "r")
    held_out = found.columns[1]
    assert held_out.gain.low is not None and held_out.gain.low < 0.05
    assert found.p_signal > 0.05


def test_bases_share_their_confidences_and_a_rescored_run_is_the_same(beir: Path, tmp_path: Path) -> None:
    bases = ["retriever", "yesno", "qlm", "rankgpt"]
    engine = {"name": "fake", "truth": truth()}
    made = experiment(beir, engine=engine, bases=bases)
    run([made], Options(tmp_path / "r", limit=3))
    folder = tmp_path / "r" / "trial" / "fake"
    items = [json.loads(line) for line in (folder / "items.jsonl").read_text().splitlines()]
    assert [item["group"] for item in items[::3]] == [f"mine/first/{base}" for base in bases]
    for place in range(3):
        own = [item["values"] for item in items[place::3]]
        assert all(values["documents"] == own[0]["documents"] for values in own)
        assert len({json.dumps(values["query"]) for values in own}) == 1
        relevant = f"d{place}-{PLACES[place % 4]}"
        assert own[0]["order"] == [f"d{place}-{number}" for number in range(DEPTH)]
        assert [values["order"][0] for values in own[1:]] == [relevant] * 3
    before = [(folder / name).read_bytes() for name in ("items.jsonl", "cells.json")]
    rescore(folder)
    assert [(folder / name).read_bytes() for name in ("items.jsonl", "cells.json")] == before


def test_fewer_samples_entropy_and_margins_come_out_of_one_set_of_samples(beir: Path, tmp_path: Path) -> None:
    made = experiment(
        beir,
        engine={"name": "fake", "truth": truth()},
        confidence={"samples": 6, "at": [1, 3], "measures": ["mscp", "entropy"]},
        thresholds={"methods": ["lcr", "car"], "folds": 2},
    )
    run([made], Options(tmp_path / "r"))
    found = cells(tmp_path / "r")
    assert set(found) == {("retriever", "base", None)} | {
        ("retriever", method, k)
        for name in ("lcr", "car")
        for method, k in ((name, None), (f"{name}-entropy", None), (name, 1), (name, 3))
    }
    # One sample always agrees with itself: every confidence is 1, and nothing can be told apart.
    base = found["retriever", "base", None]["value"]
    assert found["retriever", "lcr", 1]["value"] == pytest.approx(base)
    assert found["retriever", "lcr-entropy", None]["value"] == pytest.approx(1.0)
    assert found["retriever", "car", None]["value"] > base + 0.2
    assert tuned(tmp_path / "r", Choice(samples=1)).columns[0].gain.value == pytest.approx(0)
    with pytest.raises(DataError, match="7 clustered samples are needed"):
        tuned(tmp_path / "r", Choice(samples=7))


def test_adaptive_confidences_give_the_same_rankings_with_fewer_samples(beir: Path, tmp_path: Path) -> None:
    engine = {"name": "fake", "truth": truth()}
    fixed = {"fixed": {"query": 0.9, "upper": 0.9, "lower": 0.2}}
    run([experiment(beir, engine=engine, thresholds=fixed)], Options(tmp_path / "whole"))
    adaptive = experiment(beir, engine=engine, thresholds=fixed, confidence={"samples": 6, "adaptive": True})
    run([adaptive], Options(tmp_path / "less"))
    whole, less = (cells(tmp_path / name)["retriever", "lcr", None] for name in ("whole", "less"))
    assert less["value"] == whole["value"] and less["value"] > 0.9
    assert less["output_tokens"] < whole["output_tokens"]
    folder = tmp_path / "less" / "trial" / "fake"
    rows = [row for item in read_items(folder) for row in (item.values["query"], *item.values["documents"])]
    drawn = sum(len(row["labels"]) for row in rows if row is not None)
    said = (
        f"Adaptive: {drawn} of {6 * QUERIES * (1 + DEPTH):,} samples were drawn, and {rows.count(None)} of "
        f"{QUERIES * DEPTH} documents were not asked; the rankings are those of all samples."
    )
    printed = " ".join(render_tables([load_run(folder)]).split())
    assert said in printed and 0 < drawn < 6 * len(rows)
    rescore(folder)
    assert " ".join(render_tables([load_run(folder)]).split()) == printed
    assert load_run(tmp_path / "whole" / "trial" / "fake").run["remarks"] == []
    with pytest.raises(ConfigError, match="adaptive"):
        tuned(tmp_path / "less")


def test_a_failed_query_counts_zero_and_is_counted(beir: Path) -> None:
    task = task_of(beir)
    (group,) = task.groups()
    units = list(task.units(group))[:2]
    confidence = {"k": 6, "largest": 6, "labels": [0] * 6}
    values = {
        "order": [f"d0-{place}" for place in (2, 0, 1, 3, 4, 5)],
        "query": confidence,
        "documents": [confidence] * DEPTH,
    }
    good = Record(group.id, units[0].item, 0, units[0].gold, values, ("ok",))
    failed = Record(group.id, units[1].item, 1, units[1].gold, {}, (), "broken")
    rows = task.score(group, [good, failed])
    assert [(row["method"], row["policy"], row["value"], row["n"], row["n_invalid"]) for row in rows] == [
        ("base", "strict", 0.5, 2, 1),
        ("base", "valid", 1.0, 1, 1),
        ("lcr", "strict", 0.5, 2, 1),
        ("lcr", "valid", 1.0, 1, 1),
    ]
    assert [row["value"] for row in task.score(group, [failed])] == [0.0, None, 0.0, None]


def test_what_is_read_out_of_an_item() -> None:
    def confidence(largest: int) -> dict[str, Any]:
        return {"k": 4, "largest": largest, "labels": [0] * largest + list(range(1, 5 - largest))}

    gold = {"documents": ["a", "b", "c"], "grades": [0, None, 2], "relevant": [2, 1]}
    values = {
        "order": ["b", "a"],
        "query": confidence(1),
        "documents": [confidence(4), confidence(2)],
    }
    query = to_query("q", gold, values)
    assert (list(query.grades), query.own) == ([0, 0, 2], Fraction(1, 4))
    assert list(query.documents) == [Fraction(1, 2), Fraction(1)]
    assert [(p.confidence, p.grade) for p in to_points("q", gold, values)] == [(1, 0), (Fraction(1, 2), None)]


def test_grades_are_counted_once_a_first_stage(beir: Path, tmp_path: Path) -> None:
    engine = {"name": "fake", "truth": truth()}
    run([experiment(beir, engine=engine, bases=["retriever", "rankgpt"])], Options(tmp_path / "r"))
    folder = tmp_path / "r" / "trial" / "fake"
    settings = EXPERIMENT.validate_python(configuration(beir))
    assert isinstance(settings, LcrExperiment)
    (table,) = grades_of([("fake", settings, list(read_items(folder)))])
    assert [(row.grade, row.n) for row in table.rows] == [(1, QUERIES), (None, QUERIES * (DEPTH - 1))]
    assert table.rows[0].confidence.value == 1.0
