from __future__ import annotations

import gzip
import hashlib
import json
from pathlib import Path

import pytest

from authbench.errors import DataError
from authbench.retrieval.corpora import JsonlCorpus, MemoryCorpus, read_corpus
from authbench.retrieval.texts import Passage, read_queries


def lines(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows), encoding="utf-8")
    return path


ROWS = (
    {"_id": "a", "title": "Fleas", "text": "live long"},
    {"_id": "b", "text": "日本語 \u2028 text"},
    {"_id": "c", "title": "", "text": ""},
)


def test_a_jsonl_corpus_is_read_lazily_and_in_order(tmp_path: Path) -> None:
    path = lines(tmp_path / "corpus.jsonl", *ROWS)
    corpus = read_corpus(path)
    assert isinstance(corpus, JsonlCorpus)
    assert list(corpus) == ["a", "b", "c"] and len(corpus) == 3
    assert corpus["b"] == Passage("日本語 \u2028 text")
    assert corpus["a"].full == "Fleas live long"
    assert "a" in corpus and "z" not in corpus
    assert dict(corpus.passages()) == {name: corpus[name] for name in corpus}
    assert corpus.n_empty == 1
    assert corpus.digest == hashlib.sha256(path.read_bytes()).hexdigest()
    with pytest.raises(KeyError):
        corpus["z"]


def test_a_gzipped_corpus_and_a_table_hold_the_same(tmp_path: Path) -> None:
    plain = lines(tmp_path / "corpus.jsonl", *ROWS)
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(plain.read_bytes()))
    packed = read_corpus(tmp_path / "corpus.jsonl.gz")
    assert isinstance(packed, MemoryCorpus)
    assert dict(packed.passages()) == dict(read_corpus(plain).passages())
    (tmp_path / "corpus.tsv").write_text("a\tlive long\n")
    assert read_corpus(tmp_path / "corpus.tsv")["a"] == Passage("live long")


def test_a_mark_at_the_beginning_is_no_part_of_the_text(tmp_path: Path) -> None:
    path = lines(tmp_path / "corpus.jsonl", *ROWS)
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
    assert read_corpus(path)["a"].title == "Fleas"
    assert read_corpus(path)["b"].text.startswith("日")


def test_whole_numbers_as_identifiers_and_null_titles(tmp_path: Path) -> None:
    path = lines(tmp_path / "corpus.jsonl", {"_id": 7, "title": None, "text": "x"}, {"_id": 0, "text": "y"})
    assert dict(read_corpus(path)) == {"7": Passage("x"), "0": Passage("y")}
    assert read_queries(path) == {"7": "x", "0": "y"}
    again = lines(tmp_path / "twice.jsonl", {"_id": 7, "text": "x"}, {"_id": "7", "text": "y"})
    with pytest.raises(DataError, match=r"twice\.jsonl:2: '7' comes twice"):
        read_corpus(again)


def test_the_digest_names_the_content() -> None:
    one = MemoryCorpus({"a": Passage("x", "t")})
    assert one.digest == MemoryCorpus({"a": Passage("x", "t")}).digest
    others = [{"a": Passage("t x")}, {"b": Passage("x", "t")}, {"a": Passage("x", "t"), "c": Passage("")}]
    assert len({one.digest, *(MemoryCorpus(other).digest for other in others)}) == 4


def test_a_corpus_cut_in_the_middle(tmp_path: Path) -> None:
    path = lines(tmp_path / "corpus.jsonl", *ROWS)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(DataError, match=r"corpus\.jsonl:3: not a JSON object, .* cut here; fetch it again"):
        len(read_corpus(path))
    path.write_bytes("é".encode()[:1])
    with pytest.raises(DataError, match=r"corpus\.jsonl:1: not UTF-8"):
        len(read_corpus(path))


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"_id": True, "text": "x"}, '"_id" must be a text or a whole number'),
        ({"_id": 1.5, "text": "x"}, '"_id" must be a text or a whole number'),
        ({"_id": "", "text": "x"}, '"_id" must be a text or a whole number'),
        ({"text": "x"}, '"_id" must be a text or a whole number'),
        ({"_id": "x"}, "a line is"),
        ({"_id": "x", "text": None}, "a line is"),
        ({"_id": "x", "text": "x", "title": 1}, "a line is"),
        ({"_id": "a", "text": "again"}, "'a' comes twice"),
        (["a"], "not a JSON object"),
    ],
)
def test_bad_rows(tmp_path: Path, row: object, message: str) -> None:
    path = lines(tmp_path / "corpus.jsonl", ROWS[0], row)
    with pytest.raises(DataError, match=rf"corpus\.jsonl:2: .*{message}"):
        len(read_corpus(path))
    (tmp_path / "corpus.jsonl.gz").write_bytes(gzip.compress(path.read_bytes()))
    with pytest.raises(DataError, match=rf":2: .*{message}"):
        read_corpus(tmp_path / "corpus.jsonl.gz")


def test_files_that_are_no_corpus(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="no such file"):
        read_corpus(tmp_path / "corpus.jsonl")
    (tmp_path / "empty.jsonl").write_text("\n")
    with pytest.raises(DataError, match="no documents"):
        len(read_corpus(tmp_path / "empty.jsonl"))
    (tmp_path / "empty.tsv").write_text("")
    with pytest.raises(DataError, match="no documents"):
        read_corpus(tmp_path / "empty.tsv")
    (tmp_path / "bad.tsv").write_text("only one column\n")
    with pytest.raises(DataError, match=r"bad\.tsv:1"):
        read_corpus(tmp_path / "bad.tsv")
    with pytest.raises(DataError, match=r"\.jsonl or \.tsv"):
        read_corpus(tmp_path / "corpus.xml")
