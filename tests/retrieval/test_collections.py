from __future__ import annotations

import json
from pathlib import Path

import pytest

from authbench.errors import DataError
from authbench.retrieval.collections import (
    Collection,
    beir_folder,
    drop_own_documents,
    fit_run,
    from_files,
    from_ranking_file,
)
from authbench.retrieval.corpora import MemoryCorpus
from authbench.retrieval.runfile import Hit, Run
from authbench.retrieval.texts import Passage, read_queries

CORPUS = [("d1", "T", "one"), ("d2", "", "two"), ("d3", "", "")]


def beir(folder: Path, *, layout: str) -> Path:
    (folder / "qrels").mkdir(parents=True)
    (folder / "corpus.jsonl").write_text(
        "".join(json.dumps({"_id": d, "title": title, "text": text}) + "\n" for d, title, text in CORPUS)
    )
    if layout == "beir":
        rows = [{"_id": q, "text": f"query {q}"} for q in ("q1", "q2", "train")]
        (folder / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
        (folder / "qrels" / "test.tsv").write_text(
            "query-id\tcorpus-id\tscore\nq1\td1\t1\nq2\td2\t0\nq2\td9\t1\n"
        )
    else:
        (folder / "queries.test.tsv").write_text("q1\tquery q1\nq2\tquery q2\n")
        (folder / "qrels.test.trec").write_text("q1 0 d1 1\nq2 0 d2 0\nq2 0 d9 1\n")
    return folder


@pytest.mark.parametrize("layout", ["beir", "mirror"])
def test_both_layouts_of_a_folder(tmp_path: Path, layout: str) -> None:
    made = beir_folder(beir(tmp_path / "tiny", layout=layout))
    assert made.name == "tiny"
    assert made.queries == {"q1": "query q1", "q2": "query q2"}  # of this split only
    assert made.judged == {"q1": {"d1": 1}, "q2": {"d2": 0, "d9": 1}}
    assert made.documents["d1"].full == "T one"
    assert made.notes == (
        "1 relevant documents that the corpus lacks (they count in the ideal ranking)",
        "1 documents without any text",
    )
    assert made.files[0].name == "corpus.jsonl"


def test_queries_and_judgements_that_do_not_fit_together(tmp_path: Path) -> None:
    folder = beir(tmp_path, layout="mirror")
    (tmp_path / "qrels.test.trec").write_text("q1 0 d1 1\nq8 0 d1 1\n")
    made = beir_folder(folder)
    assert made.judged == {"q1": {"d1": 1}}
    assert made.notes[:2] == (
        "1 judged queries that have no text (left out)",
        "1 queries without judgements (left out of measures)",
    )


def test_what_is_missing_is_named(tmp_path: Path) -> None:
    folder = beir(tmp_path / "f", layout="beir")
    (folder / "qrels" / "test.tsv").unlink()
    with pytest.raises(DataError, match=r"none of qrels\.test\.trec, qrels/test\.tsv"):
        beir_folder(folder)
    (folder / "qrels" / "test.tsv").write_text("other\td1\t1\n")
    with pytest.raises(DataError, match="judges none of the queries"):
        beir_folder(folder)
    with pytest.raises(DataError, match="no such folder"):
        beir_folder(tmp_path / "nowhere")


def test_single_files(tmp_path: Path) -> None:
    (tmp_path / "c.tsv").write_text("a\tone\n")
    (tmp_path / "q.tsv").write_text("1\twhat?\n")
    (tmp_path / "j").write_text("1 0 a 2\n")
    made = from_files("own", tmp_path / "c.tsv", tmp_path / "q.tsv", tmp_path / "j")
    assert made.judged == {"1": {"a": 2}} and made.notes == ()


def test_a_ranking_file_is_a_collection_with_a_run(tmp_path: Path) -> None:
    hits = [{"content": "t", "qid": 1, "docid": d, "rank": r, "score": 1.0} for r, d in enumerate("ab", 1)]
    (tmp_path / "r.json").write_text(
        json.dumps([{"query": "what?", "hits": hits}, {"query": "none", "hits": []}])
    )
    (tmp_path / "j").write_text("1 0 a 2\n1 0 far 3\n2 0 a 1\n")
    made = from_ranking_file("dl", tmp_path / "r.json", tmp_path / "j")
    assert made.run is not None and made.run.documents("1") == ("a", "b")
    # Judged documents that were not retrieved say nothing against the file.
    assert made.notes == (
        "1 judged queries that have no text (left out)",
        "1 queries without results that the ranking file cannot name",
        "1 equal scores (kept in the order of the file)",
    )


@pytest.mark.parametrize(
    ("name", "own"),
    [
        ("numbered", ["same", "titled"]),
        ("beir/arguana", ["1", "same", "titled"]),
        ("quora", ["1", "same", "titled"]),
        ("quorate", ["same", "titled"]),
    ],
)
def test_only_results_that_are_the_query_itself_are_left_out(name: str, own: list[str]) -> None:
    documents = {
        "1": Passage("Fleas live long.", "Fleas"),
        "same": Passage("Is water  wet?\n"),
        "titled": Passage("or not?", "Is it so,"),
        "2": Passage("What?"),
    }
    queries = {"1": "Fleas", "same": "Is water wet?", "titled": "Is it so, or not?", "3": "What?"}
    made = Collection(name, MemoryCorpus(documents), queries, {})
    hits = tuple(Hit(document, -place) for place, document in enumerate(documents))
    run, dropped = drop_own_documents(Run(dict.fromkeys(queries, hits)), made)
    assert dropped == len(own)
    for query in queries:
        kept = [document for document in documents if document != query or query not in own]
        assert list(run.documents(query)) == kept
    assert drop_own_documents(run, made) == (run, 0)


def test_a_run_file_is_fitted_to_its_collection(tmp_path: Path) -> None:
    made = beir_folder(beir(tmp_path, layout="mirror"))
    run = Run({"q1": (Hit("d1", 2), Hit("d2", 1)), "q7": (Hit("d1", 1),)})
    fitted, notes = fit_run(run, made, Path("r"))
    assert list(fitted.rankings) == ["q1"]
    assert notes == (
        "1 queries of the run that mirror lacks (dropped)".replace("mirror", made.name),
        "1 judged queries without results (they count 0)",
    )
    with pytest.raises(DataError, match="document 'd7' of query 'q1' is not in the corpus"):
        fit_run(Run({"q1": (Hit("d7", 1),)}), made, Path("r"))
    with pytest.raises(DataError, match="none of its 1 queries"):
        fit_run(Run({"q7": (Hit("d1", 1),)}), made, Path("r"))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("q.tsv", "1 no tab\n", r"q\.tsv:1: a line is"),
        ("q.tsv", "1\t \n", r"q\.tsv:1: query '1' is empty"),
        ("q.tsv", "1\ta\n1\tb\n", r"q\.tsv:2: '1' comes twice"),
        ("q.jsonl", '{"_id": "1", "text": "a"}\n{"_id": "2", "te', r"q\.jsonl:2: .*cut here"),
        ("q.jsonl", "", "no queries"),
    ],
)
def test_bad_queries(tmp_path: Path, name: str, text: str, message: str) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(DataError, match=message):
        read_queries(tmp_path / name)
