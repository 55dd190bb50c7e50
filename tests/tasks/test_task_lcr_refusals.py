"""LCR as a task: first stages, settings, and what a machine, an engine or the data cannot do."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_double import DoubleEngine, watch_lengths
from lcr_collection import (
    cells,
    collection,
    configuration,
    experiment,
    task_of,
)

from authbench.errors import ConfigError, DataError, EngineError
from authbench.experiment.loading import load_experiment
from authbench.experiment.planning import plan
from authbench.experiment.rescoring import rescore
from authbench.experiment.running import Options, run
from authbench.reporting.results import load_run
from authbench.reporting.tables import render_tables
from authbench.reranking.common import Candidate
from authbench.runtime.engine import Capabilities
from authbench.tasks.lcr.bases import ScoredRanking, scoring_of
from authbench.tasks.lcr.first_stage import first_stage
from authbench.tasks.lcr.settings import Bm25Options, LcrDataset, LcrExperiment
from authbench.tasks.registry import EXPERIMENT


@pytest.fixture
def beir(tmp_path: Path, tmp_cache: Path) -> Path:
    return collection(tmp_path / "beir")


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
    from authbench.tasks.lcr import bases as lcr_bases

    asked: list[tuple[str, str]] = []

    class ByLength:
        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            asked.extend(pairs)
            return [float(len(document)) for _, document in pairs]

    weights = tmp_path / "weights"
    weights.mkdir()
    (weights / "config.json").write_text("{}")
    monkeypatch.setattr(lcr_bases, "make_scorer", lambda base, checkpoint: ByLength())
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
    assert "1 results that are the query itself (dropped)" in stage.notes


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
    from authbench.tasks.lcr import bases as lcr_bases

    class ByNumber:
        def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
            return [float(document.split()[1]) for _, document in pairs]

    monkeypatch.setattr(lcr_bases, "make_scorer", lambda base, checkpoint: ByNumber())
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
