"""A small collection whose right rankings are known, and LCR on it: what the tests of the task share."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from engine_double import DoubleEngine

from authbench.experiment.loading import Experiment, load_experiment
from authbench.lcr.tuning import Tuned
from authbench.reporting.itemfiles import read_items
from authbench.tasks.fitting import Fitter
from authbench.tasks.lcr.settings import LcrExperiment
from authbench.tasks.lcr.task import LcrTask
from authbench.tasks.lcr.tuning import Choice, tune_runs
from authbench.tasks.registry import EXPERIMENT

QUERIES = 24

DEPTH = 6

#: Place of the relevant document in the first stage, by turns: always where LCR can move it up.
PLACES = (2, 3, 4, 5)

FROM_CONFIGURATION = Choice()


def text(query: int, place: int) -> str:
    return f"passage {place} on subject {query}"


def collection(folder: Path) -> Path:
    """BEIR's layout: six documents a query, one of them relevant, and a run with a seventh, of another."""
    folder.mkdir(parents=True)
    corpus, queries, qrels, ranking = [], [], ["query-id\tcorpus-id\tscore"], []
    for query in range(QUERIES):
        queries.append(json.dumps({"_id": f"q{query}", "text": f"subject {query}?"}))
        qrels.append(f"q{query}\td{query}-{PLACES[query % 4]}\t1")
        for place in range(DEPTH):
            corpus.append({"_id": f"d{query}-{place}", "title": "", "text": text(query, place)})
            ranking.append(f"q{query} Q0 d{query}-{place} {place + 1} {9 - place} first")
        other = (query + 1) % QUERIES
        ranking.append(f"q{query} Q0 d{other}-0 7 1 first")
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(queries))
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("\n".join(qrels))
    (folder / "first.run").write_text("\n".join(ranking))
    return folder


def configuration(folder: Path, **options: Any) -> dict[str, Any]:
    dataset = {"name": "mine", "path": str(folder), "run": str(folder / "first.run"), "retriever": "first"}
    return {
        "task": "lcr",
        "dataset": {**dataset, "depth": DEPTH},
        "bases": ["retriever"],
        "confidence": {"samples": 6},
        "models": ["fake"],
        "engine": "fake",
        **options,
    }


def experiment(folder: Path, **options: Any) -> Experiment:
    path = folder / "trial.yaml"
    path.write_text(json.dumps(configuration(folder, **options)))
    return load_experiment(str(path))


def truth(confident: bool = True) -> dict[str, Any]:
    """The fake engine agrees with itself exactly on relevant documents, and on no query."""
    known: dict[str, Any] = {}
    for query in range(QUERIES):
        known[f"subject {query}?"] = 0
        for place in range(DEPTH):
            known[text(query, place)] = int(confident and place == PLACES[query % 4])
    return known


def cells(results: Path) -> dict[tuple[Any, ...], dict[str, Any]]:
    rows = json.loads((results / "trial" / "fake" / "cells.json").read_text())
    return {(row["base"], row["method"], row["k"]): row for row in rows}


def task_of(folder: Path, engine: DoubleEngine | None = None, **options: Any) -> LcrTask:
    settings = EXPERIMENT.validate_python(configuration(folder, **options))
    assert isinstance(settings, LcrExperiment)
    return LcrTask(settings, Fitter(engine or DoubleEngine()))


def tuned(results: Path, choice: Choice = FROM_CONFIGURATION) -> Tuned:
    folder = results / "trial" / "fake"
    facts = json.loads((folder / "run.json").read_text())
    (row,) = tune_runs(
        [("fake", LcrExperiment.model_validate(facts["config"]), list(read_items(folder)))], choice
    )
    return row.tuned
