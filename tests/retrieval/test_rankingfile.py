from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from authbench.errors import DataError
from authbench.retrieval.rankingfile import read_ranking_file


def hit(document: str, rank: int, score: float, query: object = 7, text: str = "text") -> dict[str, Any]:
    return {"content": text, "qid": query, "docid": document, "rank": rank, "score": score}


def written(path: Path, entries: object) -> Path:
    path.write_text(json.dumps(entries))
    return path


def test_reading(tmp_path: Path) -> None:
    entries = [
        {"query": "what?", "hits": [hit("a", 1, 2.0), hit("b", 2, 2.0, text="b's")]},
        {"query": "who?", "hits": [hit("a", 1, 1.5, "x")]},
        {"query": "nobody", "hits": []},
    ]
    found = read_ranking_file(written(tmp_path / "r.json", entries))
    assert found.queries == {"7": "what?", "x": "who?"}
    assert found.run.documents("7") == ("a", "b") and found.run.n_ties == 1
    assert found.passages["b"].text == "b's"
    assert found.n_unnamed == 1


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"query": "x"}, "a ranking file is a list of queries with hits"),
        ([{"query": "x"}], r"query 1: 'hits': Field required"),
        ([{"query": "x", "hits": [{"qid": 1}]}], r"query 1, hit 1: 'docid': Field required"),
        ([{"query": "x", "hits": [hit("a", 1, float("nan"))]}], "hit 1: 'score': .* finite number"),
        ([{"query": "x", "hits": [hit("a", 1, 1.0, None)]}], "hit 1: 'qid'"),
        ([{"query": "x", "hits": [hit("a", 1, 1.0), hit("b", 2, 0.5, 8)]}], r"hit 2: 'qid' is '8'"),
        ([{"query": "x", "hits": [hit("a", 1, 1.0)]}] * 2, r"query 2: query '7' comes twice"),
        ([{"query": "x", "hits": [hit("a", 1, 1.0), hit("a", 2, 0.5)]}], "document 'a' comes twice"),
        (
            [
                {"query": "x", "hits": [hit("a", 1, 1.0)]},
                {"query": "y", "hits": [hit("a", 1, 1, 8, "other")]},
            ],
            "document 'a' has two different texts",
        ),
        ([], "no results"),
    ],
)
def test_bad_files(tmp_path: Path, entries: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_ranking_file(written(tmp_path / "r.json", entries))


def test_a_file_cut_in_the_middle(tmp_path: Path) -> None:
    path = written(tmp_path / "r.json", [{"query": "x", "hits": [hit("a", 1, 1.0)]}])
    path.write_text(path.read_text()[:40])
    with pytest.raises(DataError, match=r"r\.json: Invalid JSON: EOF .* line 1 .* cut here; fetch it again"):
        read_ranking_file(path)
    with pytest.raises(DataError, match="no such file"):
        read_ranking_file(tmp_path / "missing.json")
