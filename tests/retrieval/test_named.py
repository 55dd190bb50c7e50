from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from authbench.data.fetch import Places
from authbench.errors import ConfigError, DataError
from authbench.measures.ndcg import mean_ndcg
from authbench.retrieval.bm25 import open_index
from authbench.retrieval.named import load_collection


def places(mirror: Path, cache: Path) -> Places:
    return Places(None, mirror, cache, online=False)


@pytest.mark.mirror
@pytest.mark.parametrize(
    ("name", "documents", "queries"),
    [
        ("scifact", 5183, 300),
        ("trec-dl-2019", 4297, 43),
        ("trec-dl-2020", 5396, 54),
        ("noveleval", 420, 21),
        ("cranfield", 1400, 225),
    ],
)
def test_collections_of_the_catalogue(
    mirror: Path, tmp_cache: Path, name: str, documents: int, queries: int
) -> None:
    made = load_collection(name, places=places(mirror, tmp_cache))
    assert (len(made.documents), len(made.queries), len(made.judged)) == (documents, queries, queries)
    assert [record.location for record in made.records] == list(made.files)
    assert {record.where for record in made.records} == {"mirror"}


@pytest.mark.mirror
def test_a_ranking_file_by_its_retriever(mirror: Path, tmp_cache: Path) -> None:
    # NDCG@5 of TAS-B on DL19, 0.7441, measured when the mirror was made.
    pytest.importorskip("ir_measures")
    made = load_collection("trec-dl-2019", retriever="tas-b", places=places(mirror, tmp_cache))
    assert made.run is not None
    rankings = {query: made.run.documents(query) for query in made.queries}
    assert mean_ndcg(rankings, made.judged) == pytest.approx(0.7441, abs=5e-5)


@pytest.mark.mirror
def test_cranfield(mirror: Path, tmp_cache: Path) -> None:
    # BM25 NDCG@5 0.3612, measured when the mirror was made.
    for library in ("bm25s", "Stemmer", "ir_measures"):
        pytest.importorskip(library)
    made = load_collection("cranfield", places=places(mirror, tmp_cache))
    run = open_index(made.documents).search(made.queries, 10)
    rankings = {query: run.documents(query) for query in made.queries}
    assert mean_ndcg(rankings, made.judged) == pytest.approx(0.3612, abs=0.002)


def test_cranfield_cut_in_the_middle(tmp_path: Path) -> None:
    from authbench.retrieval.cranfield import from_cranfield

    (tmp_path / "topics").write_text("<?xml version='1.0'?>\n<xml><top><title>a</title></top></xml>")
    (tmp_path / "qrels").write_text("1 0 1 1\n")
    (tmp_path / "docs").write_text("<doc><docno>1</docno><title>t</title><text>a\nb</text></doc>\n")
    made = from_cranfield(*(tmp_path / name for name in ("docs", "topics", "qrels")))
    assert made.documents["1"].full == "t a b" and made.queries == {"1": "a"}
    (tmp_path / "docs").write_text("<doc><docno>1</docno><te")
    with pytest.raises(DataError, match="docs: not the XML of Cranfield, or cut in the middle"):
        from_cranfield(*(tmp_path / name for name in ("docs", "topics", "qrels")))


def test_paths_of_ones_own(tmp_path: Path) -> None:
    hit = {"content": "t", "qid": 1, "docid": "a", "rank": 1, "score": 1.0}
    ranking = tmp_path / "r.json"
    ranking.write_text(json.dumps([{"query": "what?", "hits": [hit]}]))
    (tmp_path / "qrels").write_text("1 0 a 1\n")
    made = load_collection("mine", path=ranking, qrels=tmp_path / "qrels")
    assert made.name == "mine" and made.run is not None
    assert [(record.path, record.where) for record in made.records] == [("r.json", "own"), ("qrels", "own")]
    with pytest.raises(ConfigError, match="needs judgements"):
        load_collection("mine", path=ranking)
    with pytest.raises(DataError, match="a folder in BEIR's layout, a ranking file"):
        load_collection("mine", path=tmp_path / "qrels")
    with pytest.raises(DataError, match="/none: no such file or folder"):
        load_collection("mine", path=tmp_path / "none")
    with pytest.raises(DataError, match="none of corpus"):
        load_collection("mine", path=tmp_path)


def test_a_corpus_file_with_its_queries_and_judgements(tmp_path: Path) -> None:
    corpus, queries, qrels = (tmp_path / name for name in ("documents.tsv", "asked.tsv", "judged.txt"))
    corpus.write_text("d\tx y")
    queries.write_text("1\tx?")
    qrels.write_text("1 0 d 1")
    made = load_collection("mine", path=corpus, queries=queries, qrels=qrels)
    assert made.documents["d"].text == "x y" and made.judged == {"1": {"d": 1}}
    assert [record.location for record in made.records] == [corpus, queries, qrels]
    with pytest.raises(ConfigError, match=r"name dataset\.queries and dataset\.qrels"):
        load_collection("mine", path=corpus)
    with pytest.raises(ConfigError, match=r"name dataset\.qrels"):
        load_collection("mine", path=corpus, queries=queries)


def test_a_file_that_would_not_be_read_is_refused(tmp_path: Path) -> None:
    ranking = tmp_path / "r.json"
    ranking.write_text("[]")
    with pytest.raises(ConfigError, match=r"dataset.qrels .*has its own"):
        load_collection("mine", path=tmp_path, qrels=tmp_path / "qrels")
    with pytest.raises(ConfigError, match=r"dataset.queries .*has its own"):
        load_collection("mine", path=ranking, queries=ranking, qrels=ranking)


def test_a_retriever_without_a_ranking_file_needs_the_whole_corpus(
    tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    nowhere = Places(None, None, tmp_cache, online=False)
    with pytest.raises(ConfigError, match="'trec-dl-2019' comes through ir_datasets"):
        load_collection("trec-dl-2019", retriever="contriever", places=nowhere)
    with pytest.raises(ConfigError, match="'scifact' comes through ir_datasets"):
        load_collection("scifact", places=nowhere)
    with pytest.raises(ConfigError, match="'entityauth' is no retrieval collection"):
        load_collection("entityauth", places=nowhere)
    with pytest.raises(ConfigError, match=r"is called 'scifatc' \(did you mean 'scifact'\?\)\nir_datasets"):
        load_collection("scifatc", places=nowhere)
    with pytest.raises(DataError):
        load_collection("noveleval", places=nowhere)
