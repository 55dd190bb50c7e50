from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.errors import ConfigError, DataError
from authbench.measures.ndcg import mean_ndcg
from authbench.retrieval.bm25 import Bm25Settings, open_index
from authbench.retrieval.collections import beir_folder
from authbench.retrieval.corpora import MemoryCorpus
from authbench.retrieval.texts import Passage
from authbench.retrieval.topk import best_positions

pytest.importorskip("bm25s")
pytest.importorskip("Stemmer")

CORPUS = MemoryCorpus(
    {
        "d1": Passage("the fleas live on cats"),
        "d2": Passage("dogs bark", title="Cats"),
        "d3": Passage("nothing of interest here at all"),
        "d4": Passage(""),
    }
)


def test_ranking_and_score_by_hand(tmp_path: Path) -> None:
    run = open_index(CORPUS, folder=tmp_path).search({"q": "CAT?", "none": "zebra", "stop": "the of"}, 10)
    # Stemmed: d1 flea live cat, d2 cat dog bark, d3 noth interest here all, d4 has no words. "cat" is in
    # two of four documents: Lucene's idf is ln(1 + (4 - 2 + 0.5) / (2 + 0.5)) = ln 2. Mean length 10/4.
    assert run.documents("q") == ("d1", "d2")  # equal scores keep the order of the corpus
    tf = 1 / (1 + 0.9 * (1 - 0.4 + 0.4 * 3 / 2.5))
    assert run.rankings["q"][0].score == pytest.approx(math.log(2) * tf, rel=1e-5)
    assert run.documents("none") == () and run.documents("stop") == ()


def test_an_index_is_kept_and_used_again(tmp_path: Path) -> None:
    first = open_index(CORPUS, folder=tmp_path)
    (place,) = tmp_path.iterdir()
    stamp = (place / "manifest.json").stat().st_mtime_ns
    again = open_index(MemoryCorpus(dict(CORPUS)), folder=tmp_path)
    assert (place / "manifest.json").stat().st_mtime_ns == stamp
    assert first.note is None and again.note is None
    queries = {"q": "cats bark"}
    assert again.search(queries, 3) == first.search(queries, 3)


def test_an_index_of_another_corpus_is_never_used(tmp_path: Path) -> None:
    open_index(CORPUS, folder=tmp_path)
    other = MemoryCorpus({"x": Passage("cats and more cats")})
    # Even if it lies where the other corpus's index would be.
    probe = tmp_path / "probe"
    open_index(other, folder=probe)
    wanted = next(probe.iterdir()).name
    (kept,) = [place for place in tmp_path.iterdir() if place.name.startswith("bm25-")]
    kept.rename(tmp_path / wanted)
    index = open_index(other, folder=tmp_path)
    assert index.search({"q": "cats"}, 5).documents("q") == ("x",)
    assert index.note is not None and "made from other data" in index.note and "built again" in index.note


@pytest.mark.parametrize("damage", ["cut", "gone", "manifest", "broken manifest"])
def test_a_damaged_index_is_built_again_and_it_is_said(tmp_path: Path, damage: str) -> None:
    open_index(CORPUS, folder=tmp_path)
    (place,) = tmp_path.iterdir()
    part = place / "data.csc.index.npy"
    if damage == "cut":
        part.write_bytes(part.read_bytes()[:-1])
    elif damage == "gone":
        part.unlink()
    elif damage == "manifest":
        (place / "manifest.json").unlink()
    else:
        (place / "manifest.json").write_text("[1")
    index = open_index(CORPUS, folder=tmp_path)
    assert index.note is not None and "built again" in index.note
    assert index.search({"q": "cats"}, 5).documents("q") == ("d1", "d2")
    assert open_index(CORPUS, folder=tmp_path).note is None


def test_an_index_that_cannot_be_kept_is_still_used(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    index = open_index(CORPUS, folder=tmp_path / "file")
    assert index.search({"q": "cats"}, 1).documents("q") == ("d1",)
    assert index.note is not None and "could not be kept" in index.note


def test_settings_have_indexes_of_their_own(tmp_path: Path) -> None:
    open_index(CORPUS, folder=tmp_path)
    plain = open_index(CORPUS, Bm25Settings(stemmer=None, stop_words=None), folder=tmp_path)
    assert plain.search({"q": "the"}, 5).documents("q") == ("d1",)
    assert plain.search({"q": "cat"}, 5).documents("q") == ()
    assert len(list(tmp_path.iterdir())) == 2


def test_settings_that_cannot_be(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="did you mean 'lucene'"):
        open_index(CORPUS, Bm25Settings(method="lucen"), folder=tmp_path)
    with pytest.raises(ConfigError, match="no Snowball language"):
        open_index(CORPUS, Bm25Settings(stemmer="klingon"), folder=tmp_path)
    with pytest.raises(ConfigError, match="stop words 'klingon'"):
        open_index(CORPUS, Bm25Settings(stop_words="klingon"), folder=tmp_path)
    with pytest.raises(DataError, match="no document of the corpus has a word"):
        open_index(MemoryCorpus({"a": Passage("?"), "b": Passage("")}), folder=tmp_path)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=20), st.integers(1, 25))
def test_best_positions_are_those_of_a_stable_sort(scores: list[int], depth: int) -> None:
    wanted = sorted(range(len(scores)), key=lambda place: -scores[place])[:depth]
    assert best_positions(np.array(scores, dtype=np.float32), depth).tolist() == wanted


@pytest.mark.mirror
def test_scifact(mirror: Path, tmp_path: Path) -> None:
    # NDCG@5 0.6548 and NDCG@10 0.6762, measured with these settings when the mirror was made.
    collection = beir_folder(mirror / "scifact")
    run = open_index(collection.documents, folder=tmp_path).search(collection.queries, 100)
    rankings = {query: run.documents(query) for query in collection.queries}
    assert mean_ndcg(rankings, collection.judged, 5) == pytest.approx(0.6548, abs=0.002)
    assert mean_ndcg(rankings, collection.judged, 10) == pytest.approx(0.6762, abs=0.002)
