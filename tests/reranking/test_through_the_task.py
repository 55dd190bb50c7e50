"""Dense first stage and rerankers with models of their own through `authbench run` and `authbench rerank`.

The models are tiny and random, of the classes that the real checkpoints have; the expected rankings come from
the models themselves, asked one text or pair at a time.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError
from authbench.experiment.rescoring import rescore
from authbench.reporting.itemfiles import read_items
from authbench.reranking.colbert import ColbertScorer
from authbench.reranking.common import PairScorer
from authbench.reranking.crossencoder import CrossEncoderScorer
from authbench.reranking.rankt5 import RankT5Scorer
from authbench.retrieval.runfile import read_run
from authbench.tasks.lcr import bases as lcr_bases

pytest.importorskip("sentence_transformers", minversion="6")

OWN = ("cross-encoder", "colbert", "rankt5")
DEPTH = 4
QUERIES = {"q1": "how long do fleas live", "q2": "capital of france ?", "q3": "cats : dogs"}
DOCUMENTS = {
    "d1": "fleas live weeks",
    "d2": "paris capital of france",
    "d3": "cats dogs",
    "d4": "the query",
    "d5": "a document of dogs",
    "d6": "how long",
}
RELEVANT = {"q1": "d1", "q2": "d2", "q3": "d3"}


@pytest.fixture(scope="module")
def checkpoints(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    import tinymodels

    folder = tmp_path_factory.mktemp("weights")
    return {
        "dense": str(tinymodels.bare_bert(folder / "bert")),
        "cross-encoder": str(tinymodels.cross_encoder(folder / "cross-encoder")),
        "colbert": str(tinymodels.colbert(folder / "colbert")),
        "rankt5": str(tinymodels.rank_t5(folder / "rankt5")),
    }


@pytest.fixture
def config(checkpoints: dict[str, str], tmp_path: Path, tmp_cache: Path) -> Path:
    """An experiment over a small folder in BEIR's layout; the fake model is sure of relevant documents."""
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    for name, texts in (("corpus", DOCUMENTS), ("queries", QUERIES)):
        lines = [json.dumps({"_id": key, "text": text}) for key, text in texts.items()]
        (beir / f"{name}.jsonl").write_text("\n".join(lines))
    lines = [f"{query}\t{document}\t1" for query, document in RELEVANT.items()]
    (beir / "qrels" / "test.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *lines]))
    truth = {text: int(name in RELEVANT.values()) for name, text in DOCUMENTS.items()}
    made = {
        "task": "lcr",
        "table": "lcr/3",
        "dataset": {
            "name": "tiny",
            "path": str(beir),
            "retriever": "contriever",
            "depth": DEPTH,
            "dense": {"checkpoint": checkpoints["dense"], "max_length": 32},
        },
        "bases": ["retriever", *OWN],
        "checkpoints": {base: checkpoints[base] for base in OWN},
        "confidence": {"samples": 3},
        "thresholds": {"folds": 3, "shuffles": 2},
        "models": ["fake"],
        "engine": {"name": "fake", "truth": {**truth, **dict.fromkeys(QUERIES.values(), 0)}},
    }
    path = tmp_path / "trial.yaml"
    path.write_text(json.dumps(made))
    return path


def invoke(*words: object) -> Any:
    made = CliRunner().invoke(app, [*map(str, words)], catch_exceptions=False)
    assert made.exit_code == 0, made.output
    return made


def nearest(checkpoint: str) -> dict[str, list[str]]:
    """The documents of each query by dot product, each text encoded by itself: the mean over its tokens."""
    import torch
    from transformers import AutoModel, AutoTokenizer

    tokenizer, model = AutoTokenizer.from_pretrained(checkpoint), AutoModel.from_pretrained(checkpoint).eval()

    def encode(text: str) -> Any:
        with torch.inference_mode():
            return model(**tokenizer(text, return_tensors="pt")).last_hidden_state[0].mean(dim=0)

    documents = {name: encode(text) for name, text in DOCUMENTS.items()}
    return {
        query: sorted(documents, key=lambda name: -float(documents[name] @ encode(text)))
        for query, text in QUERIES.items()
    }


def scores(base: str, checkpoint: str, query: str, documents: list[str]) -> list[float]:
    """What a reranker gives, one pair at a time."""
    made: dict[str, type[Any]] = {
        "cross-encoder": CrossEncoderScorer,
        "colbert": ColbertScorer,
        "rankt5": RankT5Scorer,
    }
    scorer: PairScorer = made[base](checkpoint, device="cpu")
    return [scorer.score([(QUERIES[query], DOCUMENTS[name])])[0] for name in documents]


def test_run_ranks_as_the_models_do_and_a_rescored_run_loads_none(
    config: Path, checkpoints: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = invoke("run", config, "--results", tmp_path / "r", "-q").output
    assert all(base in said for base in OWN) and "+LCR" in said
    folder = tmp_path / "r" / "trial" / "fake"
    items = {(item.group.rpartition("/")[2], item.item): item for item in read_items(folder)}
    assert len(items) == 4 * len(QUERIES) and all(item.error is None for item in items.values())
    first = nearest(checkpoints["dense"])
    moved = 0
    for query in QUERIES:
        found = first[query][:DEPTH]
        assert items["retriever", query].values["order"] == found
        for base in OWN:
            values = items[base, query].values
            wanted = scores(base, checkpoints[base], query, found)
            assert values["scores"] == pytest.approx(wanted, abs=1e-4)
            ranked = sorted(range(len(found)), key=lambda place: -values["scores"][place])
            assert values["order"] == [found[place] for place in ranked]
            moved += values["order"] != found
    assert moved  # random models agree by chance at most
    cells = json.loads((folder / "cells.json").read_text())
    assert {(cell["base"], cell["method"]) for cell in cells} == {
        (base, method) for base in ("retriever", *OWN) for method in ("base", "lcr")
    }
    notes = json.loads((folder / "run.json").read_text())["data"]["notes"]
    called = f"the first stage is called contriever and is {checkpoints['dense']}"
    assert any(note.startswith(called) for note in notes)
    before = [(folder / name).read_bytes() for name in ("items.jsonl", "cells.json")]

    def refuse(base: str, checkpoint: str | None) -> PairScorer:
        raise AssertionError(f"{base} was loaded again")

    monkeypatch.setattr(lcr_bases, "make_scorer", refuse)
    rescore(folder)
    assert [(folder / name).read_bytes() for name in ("items.jsonl", "cells.json")] == before


def test_rerank_writes_the_same_rankings(config: Path, checkpoints: dict[str, str], tmp_path: Path) -> None:
    said = invoke("rerank", config, "-o", tmp_path / "runs", "--results", tmp_path / "r", "--json", "-q")
    files = {row["base"]: Path(row["file"]) for row in json.loads(said.stdout)}
    assert list(files) == ["retriever", *OWN]
    first = nearest(checkpoints["dense"])
    for base, file in files.items():
        ranking = read_run(file)
        for query in QUERIES:
            found = first[query]
            if base != "retriever":
                values = scores(base, checkpoints[base], query, found[:DEPTH])
                ranked = sorted(range(DEPTH), key=lambda place: -values[place])
                found = [*(found[place] for place in ranked), *found[DEPTH:]]
            assert list(ranking.documents(query)) == found


def test_answers_are_clustered_around_the_centroid_of_their_embeddings(
    config: Path, checkpoints: dict[str, str], tmp_path: Path
) -> None:
    sets = [
        "confidence.clustering=centroid",
        f"confidence.embedding={checkpoints['dense']}",
        "bases=[retriever]",
    ]
    words = [word for text in sets for word in ("--set", text)]
    invoke("run", config, *words, "--results", tmp_path / "r", "-q")
    for item in read_items(tmp_path / "r" / "trial" / "fake"):
        for name, found in zip(item.values["order"], item.values["documents"], strict=True):
            assert (found["largest"] == found["k"]) == (name in RELEVANT.values())


def test_a_checkpoint_that_is_not_there_is_refused_before_anything_is_asked(
    config: Path, tmp_path: Path
) -> None:
    for key in ("checkpoints.rankt5", "dataset.dense.checkpoint"):
        with pytest.raises(ConfigError, match="no model in"):
            invoke("run", config, "--set", f"{key}={tmp_path / 'nowhere'}", "--results", tmp_path / "r")
        assert not list((tmp_path / "r").rglob("items.jsonl"))
