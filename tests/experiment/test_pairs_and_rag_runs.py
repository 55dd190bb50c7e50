"""Whole runs of both tasks with the `fake` engine: tables 3 and 5 from YAML to cells, and scored again."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.data.authority import load_authority
from authbench.errors import ConfigError
from authbench.experiment.loading import Experiment, load_experiment
from authbench.experiment.rescoring import rescore
from authbench.experiment.running import Options, run

LEVELS = (1, 9, 2, 0, 8, 1)
PAIRS = """\
table: authoritybench/3
task: pairwise
dataset: {name: sample-domains, pairs: 40, seed: 3}
models: [fake]
engine: fake
"""


def experiment(tmp_path: Path, text: str, **engine: Any) -> Experiment:
    path = tmp_path / "trial.yaml"
    path.write_text(text)
    return load_experiment(str(path), sets=[f"engine.{k}={json.dumps(v)}" for k, v in engine.items()])


def rag_yaml(tmp_path: Path, extra: str = "") -> str:
    rows = [
        {
            "id": f"q{number}",
            "question": f"Is claim {number} right?",
            "answer": "yes" if number % 2 else "no",
            "documents": [
                {"url": f"https://l{level}.example/{number}/{place}", "text": "Text.", "label": level}
                for place, level in enumerate(LEVELS)
            ],
        }
        for number in range(20)
    ]
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return (
        f"table: authoritybench/5\ntask: rag\ndataset: {{name: mine, path: {path}}}\nmodels: [fake]\n{extra}"
    )


def truth() -> dict[str, Any]:
    """The level of every host, and the answer to every question."""
    answers = {f"Is claim {number} right?": "yes" if number % 2 else "no" for number in range(20)}
    return {f"l{level}.example": level for level in LEVELS} | answers


def cells(results: Path) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((results / "trial" / "fake" / "cells.json").read_text())
    return rows


def strict(results: Path) -> dict[tuple[Any, ...], float]:
    return {
        (row["difficulty"], row["judge"], row["output"], row["filter"], row["k"]): row["value"]
        for row in cells(results)
        if row["policy"] == "strict" and row["metric"] in ("accuracy-unequal", "accuracy")
    }


def test_pairs_by_label_are_right_and_constant_ones_are_not(tmp_path: Path) -> None:
    labels = {s.name: s.level for s in load_authority("sample-domains", "fine").domains["domains"]}
    unequal = PAIRS.replace("seed: 3", "seed: 3, allow_equal: false")
    run([experiment(tmp_path, unequal, truth=labels, skill=1.0)], Options(tmp_path / "r"))
    assert set(strict(tmp_path / "r").values()) == {1.0} and len(strict(tmp_path / "r")) == 6
    run([experiment(tmp_path, unequal, constant=5)], Options(tmp_path / "c"))
    for (_, judge, output, *_), value in strict(tmp_path / "c").items():
        # The choice is always A, and A is the better one by a fair coin: 40 throws.
        assert 0.2 < value < 0.8 if (judge, output) == ("pair", "rank") else value == 0.0
    row = next(r for r in cells(tmp_path / "c") if r["judge"] == "point" and r["policy"] == "strict")
    assert (row["n_ties"], row["n"], row["n_invalid"]) == (40, 40, 0)


@pytest.mark.parametrize("order", ["drawn", "both"])
def test_one_token_scoring(tmp_path: Path, order: str) -> None:
    labels = {s.name: s.level for s in load_authority("sample-domains", "fine").domains["domains"]}
    text = PAIRS.replace("seed: 3", "seed: 3, allow_equal: false") + f"scoring: logprob\norder: {order}\n"
    run([experiment(tmp_path, text, name="fake", truth=labels, skill=1.0)], Options(tmp_path / "r"))
    assert set(strict(tmp_path / "r").values()) == {1.0}
    metrics = {row["metric"] for row in cells(tmp_path / "r") if row["output"] == "rank"}
    assert ("flip_rate" in metrics) == (order == "both")


def test_an_authority_filter_beats_none_where_the_label_decides(tmp_path: Path) -> None:
    text = rag_yaml(tmp_path)
    run([experiment(tmp_path, text, name="fake", truth=truth(), skill=1.0)], Options(tmp_path / "r"))
    found = {key[3:]: value for key, value in strict(tmp_path / "r").items()}
    # A made-up reader that is right where the documents' mean level is 4.5 or more: all six have 3.5, the
    # best one 9, the best three 6.33, the best five 4.2.
    assert found["none", None] == 0.0
    assert [found["authority", k] for k in (1, 3, 5)] == [1.0, 1.0, 0.0]
    assert len(found) == 10
    folder = tmp_path / "r" / "trial" / "fake"
    done = CliRunner().invoke(app, ["rag", "compare", str(folder), "--against", "none"])
    assert done.exception is None, done.output
    line = next(line for line in done.output.splitlines() if line.startswith("k=1  authority"))
    assert line.split()[3:10] == ["20", "100.00", "0.00", "100.00", "100.00", "100.00", "20"]
    # McNemar by hand: twenty questions, all for one side: 2 / 2**20.
    as_json = CliRunner().invoke(app, ["rag", "compare", str(folder), "--json"])
    pvalues = {(d["cut"], d["a"], d["b"]): d["pvalue"] for d in json.loads(as_json.output)}
    assert pvalues["k=1", "authority", "none"] == pytest.approx(2 / 2**20)
    wrong = CliRunner().invoke(app, ["rag", "compare", str(folder), "--against", "all"])
    assert isinstance(wrong.exception, ConfigError)


def test_constant_answers(tmp_path: Path) -> None:
    run([experiment(tmp_path, rag_yaml(tmp_path), name="fake", constant=5)], Options(tmp_path / "r"))
    found = strict(tmp_path / "r")
    assert set(found.values()) == {0.5}  # always yes, and half of the questions are
    for row in cells(tmp_path / "r"):
        if row["filter"] != "none":
            assert row["n_ties"] == 20
    # All scores are equal: every filter keeps the same first documents, and each set is answered once.
    facts = json.loads((tmp_path / "r" / "trial" / "fake" / "run.json").read_text())
    assert facts["session"]["submitted"] == 20 * (3 + 1 + 3)


@pytest.mark.parametrize("kind", ["wrong_format", "truncated", "empty", "refused"])
def test_bad_answers_are_counted(tmp_path: Path, kind: str) -> None:
    for text in (PAIRS, rag_yaml(tmp_path)):
        results = tmp_path / ("pairs" if text == PAIRS else "rag")
        run([experiment(tmp_path, text, name="fake", bad={kind: 1.0})], Options(results))
        for row in cells(results):
            if row["policy"] == "strict":
                assert row["value"] == 0.0 and row["n_invalid"] == row["n"]


def test_scored_again_from_the_store_alone(tmp_path: Path) -> None:
    extra = (
        "filters: [none, authority, authority+relevance, relevance-then-authority, oracle-authority]\n"
        "thresholds: [6]\ncalibration: true\ndocument_tokens: 1\noverflow: truncate\n"
    )
    for name, text in {"pairs": PAIRS + "order: both\n", "rag": rag_yaml(tmp_path, extra)}.items():
        results = tmp_path / name
        run([experiment(tmp_path, text, name="fake")], Options(results))
        folder = results / "trial" / "fake"
        before = [(folder / file).read_bytes() for file in ("cells.json", "items.jsonl")]
        for file in ("cells.json", "items.jsonl"):
            (folder / file).unlink()
        rescore(folder)
        assert [(folder / file).read_bytes() for file in ("cells.json", "items.jsonl")] == before
