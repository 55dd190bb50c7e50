"""LCR as a task: from YAML to cells, on a small collection whose right rankings are known."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from fractions import Fraction
from math import log2
from pathlib import Path
from typing import Any

import pytest
from engine_double import DoubleEngine, watch_lengths

from authbench.errors import ConfigError, DataError, EngineError
from authbench.experiment.fitting import Fitter
from authbench.experiment.loading import Experiment, load_experiment
from authbench.experiment.planning import plan
from authbench.experiment.rescoring import rescore
from authbench.experiment.running import Options, run
from authbench.experiment.schema import EXPERIMENT, LcrExperiment
from authbench.experiment.schema_lcr import Bm25Options, LcrDataset
from authbench.experiment.tasks.base import Record
from authbench.experiment.tasks.lcr import LcrTask
from authbench.experiment.tasks.lcr_bases import ScoredRanking, scoring_of
from authbench.experiment.tasks.lcr_data import first_stage
from authbench.experiment.tasks.lcr_items import to_points, to_query
from authbench.experiment.tasks.lcr_tuning import Choice, grades_of, tune_runs
from authbench.lcr.tuning import Tuned
from authbench.reporting.itemfiles import read_items
from authbench.reporting.results import load_run
from authbench.reporting.tables import render_tables
from authbench.reranking.common import Candidate
from authbench.runtime.engine import Capabilities

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


@pytest.fixture
def beir(tmp_path: Path, tmp_cache: Path) -> Path:
    return collection(tmp_path / "beir")


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


def test_a_grade_that_cannot_be_measured_is_refused_before_anything_is_asked(
    beir: Path, tmp_path: Path
) -> None:
    with (beir / "qrels" / "test.tsv").open("a") as file:
        file.write("\nq1\td1-5\t31")
    with pytest.raises(DataError, match="grade 31: exponential gain"):
        run([experiment(beir, gain="exponential")], Options(tmp_path / "r"))
    assert not (tmp_path / "r").exists()


def test_an_embedding_that_is_not_there_is_refused_before_anything_is_asked(
    beir: Path, tmp_path: Path
) -> None:
    taken = {"samples": 4, "clustering": "centroid", "embedding": str(tmp_path / "nowhere")}
    with pytest.raises(ConfigError, match=r"no model in|not installed"):
        run([experiment(beir, confidence=taken)], Options(tmp_path / "r"))
    assert not (tmp_path / "r").exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bases": ["qlm"]}, "qlm needs an engine that scores given text, which 'double'"),
        ({"bases": ["yesno"], "yesno": {"scoring": "logprob"}}, "gives no log-probabilities"),
    ],
)
def test_what_an_engine_cannot_do_is_refused_before_anything_is_asked(
    beir: Path, options: dict[str, Any], said: str
) -> None:
    engine = DoubleEngine(capabilities=Capabilities(samples=True))
    with pytest.raises(ConfigError, match=said):
        task_of(beir, engine, **options)
    assert engine.asked == []


def test_the_substitute_of_yes_no_is_chosen_and_stated(beir: Path) -> None:
    for able, wanted in (
        (Capabilities(label_logprobs=True), "logprob"),
        (Capabilities(), "sampled"),
        (Capabilities(samples=False), "greedy"),
    ):
        engine = DoubleEngine(capabilities=able)
        confidence = {"samples": 1}
        task = task_of(beir, engine, bases=["yesno"], confidence=confidence)
        assert f"yesno scored by: {wanted}" in task.data().notes
        assert scoring_of(task.settings, engine) == wanted
    with pytest.raises(ConfigError, match="gives one answer to a request"):
        task_of(beir, DoubleEngine(capabilities=Capabilities(samples=False)))


def test_rerankers_with_their_own_model_score_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from authbench.experiment.tasks import lcr_bases

    asked: list[tuple[str, str]] = []

    class ByLength:
        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            asked.extend(pairs)
            return [float(len(document)) for _, document in pairs]

    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    monkeypatch.setattr(lcr_bases, "_scorer", lambda base, checkpoint: ByLength())
    candidates = {"q": [Candidate("a", "x"), Candidate("b", "xxx")], "empty": []}
    queries = {"q": "why", "empty": "no"}
    ranking = ScoredRanking("cross-encoder", str(weights), tmp_path / "kept")
    for _ in range(2):
        assert ranking.rerank(queries, candidates)["q"].order == ["b", "a"]
    assert asked == [("why", "x"), ("why", "xxx")]
    (kept,) = (tmp_path / "kept").iterdir()
    kept.write_text("cut in the mid")
    assert ranking.rerank(queries, candidates)["q"].scores == [1.0, 3.0] and len(asked) == 4


def test_a_hub_checkpoint_without_the_library_is_refused_in_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "transformers", None)  # as if it were not installed
    ranking = ScoredRanking("rankt5", None, tmp_path)
    with pytest.raises(ConfigError, match=r"needs transformers, which is not installed; pip install"):
        ranking.rerank({"q": "why"}, {"q": [Candidate("a", "x")]})


def test_first_stages(beir: Path) -> None:
    settings = EXPERIMENT.validate_python(configuration(beir))
    assert isinstance(settings, LcrExperiment)
    stage = first_stage(settings.dataset)
    assert stage.gold("q0", 7)["documents"][-1] == "d1-0" and stage.gold("q0", 7)["relevant"] == [1]
    assert [file["where"] for file in stage.use().files][-1] == "own"
    index = {"retriever": "bm25", "bm25": Bm25Options(k1=1.2)}
    said = "dataset.bm25 changes nothing: the first stage is the run first.run"
    assert said in first_stage(settings.dataset.model_copy(update=index)).notes and said not in stage.notes
    pytest.importorskip("bm25s")
    own = first_stage(settings.dataset.model_copy(update={"run": None, "retriever": "bm25", "retrieved": 6}))
    # The number of the subject is the one word that only a query's own documents have.
    assert {name.split("-")[0] for name in own.run.documents("q17")} == {"d17"}
    with pytest.raises(ConfigError, match="retriever 'splade'"):
        first_stage(settings.dataset.model_copy(update={"run": None, "retriever": "splade"}))


def test_a_query_that_is_a_document_is_not_its_own_result_and_that_is_said(beir: Path) -> None:
    pytest.importorskip("bm25s")
    with (beir / "corpus.jsonl").open("a") as file:
        file.write("\n" + json.dumps({"_id": "q17", "text": "subject 17?"}))
    settings = EXPERIMENT.validate_python(configuration(beir))
    assert isinstance(settings, LcrExperiment)
    stage = first_stage(settings.dataset.model_copy(update={"run": None, "retriever": "bm25"}))
    assert "q17" not in stage.run.documents("q17") and "q17" in stage.run.documents("q3")
    assert "1 judged queries that are documents too (their own document is left out)" in stage.notes


def test_judgements_of_another_collection_are_refused(tmp_path: Path, tmp_cache: Path) -> None:
    hit = {"qid": "1", "docid": "d", "score": 1.0, "rank": 1, "content": "text"}
    ranking, qrels = tmp_path / "r.json", tmp_path / "qrels"
    ranking.write_text(json.dumps([{"query": "x?", "hits": [hit]}]))
    qrels.write_text("2 0 d 1")
    with pytest.raises(DataError, match="none of its 1 queries is judged"):
        first_stage(LcrDataset(name="mine", path=str(ranking), qrels=str(qrels), retriever="first"))


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"confidence": {"samples": 4, "at": [5]}}, "only 4 samples are drawn"),
        ({"confidence": {"samples": 1, "measures": ["entropy"]}}, "entropy needs at least two samples"),
        ({"confidence": {"clustering": "centroid"}}, "centroid clustering needs"),
        ({"confidence": {"adaptive": True}}, "adaptive needs thresholds.fixed"),
        ({"thresholds": {"step": 0.3}}, "it must divide 1"),
        ({"thresholds": {"fixed": {"query": 1, "upper": 0.2, "lower": 0.4}}}, "must not be above upper"),
        ({"rankgpt": {"window": 4, "step": 6}}, "must not be larger than the window"),
        ({"bases": ["retriever", "retriever"]}, "stands there twice"),
        ({"dataset": {"name": "scifact", "qrels": "mine.txt"}}, "name that with path"),
        ({"bases": ["yesnno"]}, "did you mean 'yesno'"),
        ({"checkpoints": {"colbret": "x"}}, "unknown key 'checkpoints.colbret'"),
    ],
)
def test_settings_that_contradict_each_other(beir: Path, change: dict[str, Any], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        experiment(beir, **change)


def test_shipped_configurations_name_the_tables_of_the_paper() -> None:
    names = ("lcr_bm25", "lcr_contriever", "lcr_models", "lcr_samples", "lcr_uncertainty")
    loaded = [load_experiment(name).settings for name in names]
    assert [settings.table for settings in loaded] == [
        "lcr/2",
        "lcr/3",
        "lcr/models",
        "lcr/samples",
        "lcr/uncertainty",
    ]
    first = loaded[0]
    assert isinstance(first, LcrExperiment) and len(first.bases) == 7
    # The default model, and the three that CAR names.
    assert set(loaded[2].models) == {
        "qwen2.5-7b-instruct",
        "llama-3-8b-instruct",
        "glm-4-9b-chat",
        "internlm2.5-7b-chat",
    }
    assert first.checkpoints.of("cross-encoder") == "cross-encoder/ms-marco-MiniLM-L6-v2"
    assert load_experiment("lcr_bm25").resolved()["confidence"]["samples"] == 10


def test_no_request_of_any_round_is_longer_than_the_engine_is_told(
    beir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, asked = watch_lengths(monkeypatch)
    bases = ["retriever", "yesno", "qlm", "rankgpt"]
    run([experiment(beir, bases=bases, rankgpt={"window": 3, "step": 2})], Options(tmp_path / "r"))
    assert len(told) == 1 and max(asked) <= told[0]


def test_a_base_that_cannot_be_had_is_an_error_or_left_out_and_said(beir: Path, tmp_path: Path) -> None:
    nowhere: dict[str, Any] = {
        "bases": ["retriever", "rankt5"],
        "checkpoints": {"rankt5": str(tmp_path / "nowhere")},
    }
    with pytest.raises((ConfigError, EngineError), match=r"bases: rankt5: "):
        run([experiment(beir, **nowhere)], Options(tmp_path / "r"))
    done = run([experiment(beir, **nowhere, missing="leave_out")], Options(tmp_path / "r"))
    facts = json.loads(done[0].folder.run.read_text())
    assert list(facts["left_out"]) == ["rankt5"] and facts["status"] == "complete"
    assert {base for base, _, _ in cells(tmp_path / "r")} == {"retriever"}
    table = render_tables([load_run(done[0].folder.path)], "md")
    assert "rankt5 is left out: checkpoint" in table
    before = done[0].folder.items.read_bytes()
    rescore(done[0].folder.path)
    assert done[0].folder.items.read_bytes() == before
    with pytest.raises(ConfigError, match="none can be had here"):
        only = {**nowhere, "bases": ["rankt5"], "missing": "leave_out"}
        run([experiment(beir, **only)], Options(tmp_path / "other"))


def test_a_base_comes_and_its_results_are_not_lost_where_it_cannot_be_had(
    beir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from authbench.experiment.tasks import lcr_bases

    class ByNumber:
        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [float(document.split()[1]) for _, document in pairs]

    monkeypatch.setattr(lcr_bases, "_scorer", lambda base, checkpoint: ByNumber())
    weights = tmp_path / "weights"
    options: dict[str, Any] = {"checkpoints": {"rankt5": str(weights)}, "missing": "leave_out"}
    trial, results = experiment(beir, bases=["retriever", "rankt5"], **options), Options(tmp_path / "r")
    (done,) = run([trial], results)
    assert {base for base, _, _ in cells(tmp_path / "r")} == {"retriever"}
    lacking = [row.lacking for row in plan([trial], tmp_path / "r")]
    assert lacking[0] is None and "no model in" in str(lacking[1])
    before = json.loads(done.folder.run.read_text())
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    (done,) = run([trial], results)
    facts = json.loads(done.folder.run.read_text())
    assert facts["left_out"] == {} and list(before["left_out"]) == ["rankt5"]
    assert facts["session"] == before["session"]  # the session that asked the model: this one asked nothing
    assert {base for base, _, _ in cells(tmp_path / "r")} == {"retriever", "rankt5"}
    whole = done.folder.items.read_bytes()
    assert [row.lacking for row in plan([trial], tmp_path / "r")] == [None, None]
    (weights / "config.json").unlink()
    with pytest.raises(ConfigError, match="has results of rankt5, which would be lost: checkpoint"):
        run([trial], results)
    assert done.folder.items.read_bytes() == whole
    run([trial], Options(tmp_path / "r", fresh=True))
    assert {base for base, _, _ in cells(tmp_path / "r")} == {"retriever"}
