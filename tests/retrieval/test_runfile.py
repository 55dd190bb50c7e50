from __future__ import annotations

import gzip
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.errors import ConfigError, DataError
from authbench.retrieval.runfile import (
    Hit,
    read_qrels,
    read_run,
    strictly_decreasing,
    write_run,
)


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


def test_round_trip_plain_and_gzipped(tmp_path: Path) -> None:
    rankings = {"1": [Hit("a", 3.25), Hit("b", -1.5)], "2": [Hit("b", 0.1)]}
    for name in ("run.txt", "run.txt.gz"):
        write_run(tmp_path / name, rankings, "mine")
        run = read_run(tmp_path / name)
        assert run.documents("1") == ("a", "b")
        assert run.rankings["1"][1].score == -1.5
        assert run.notes == ()
    text = gzip.decompress((tmp_path / "run.txt.gz").read_bytes()).decode()
    assert text == (tmp_path / "run.txt").read_text()
    assert text.splitlines() == ["1 Q0 a 1 3.25 mine", "1 Q0 b 2 -1.5 mine", "2 Q0 b 1 0.100000001 mine"]
    before = (tmp_path / "run.txt.gz").read_bytes()
    write_run(tmp_path / "run.txt.gz", rankings, "mine")
    assert (tmp_path / "run.txt.gz").read_bytes() == before  # no time in the header


@given(st.lists(st.floats(-1e30, 1e30, allow_nan=False), max_size=30))
def test_written_scores_decrease_strictly_in_single_precision(scores: list[float]) -> None:
    made = strictly_decreasing(scores)
    single = np.array([np.float32(f"{score:.9g}") for score in made])
    assert (single[1:] < single[:-1]).all()


@given(st.lists(st.floats(-(2.0**100), 2.0**100, width=32), max_size=30, unique=True))
def test_scores_that_decrease_already_are_kept(scores: list[float]) -> None:
    ordered = sorted(scores, reverse=True)
    assert strictly_decreasing(ordered) == ordered


def test_order_counts_not_the_scores_given(tmp_path: Path) -> None:
    write_run(tmp_path / "r", {"q": [Hit("a", 1.0), Hit("b", 5.0), Hit("c", 5.0)]}, "t")
    assert read_run(tmp_path / "r").documents("q") == ("a", "b", "c")


def test_ties_keep_the_order_of_the_file_and_are_counted(tmp_path: Path) -> None:
    run = read_run(written(tmp_path / "r", "q Q0 b 2 1.0 t\nq Q0 a 1 1.0 t\nq Q0 c 3 0.5 t\n"))
    assert run.documents("q") == ("b", "a", "c")
    assert run.n_ties == 1
    assert run.notes == ("1 equal scores (kept in the order of the file)",)


def test_scores_decide_over_the_order_of_the_file_and_it_is_counted(tmp_path: Path) -> None:
    run = read_run(written(tmp_path / "r", "q Q0 a 1 -2 t\nq Q0 b 2 -1 t\n"))
    assert run.documents("q") == ("b", "a")
    assert run.notes == ("1 results out of the order of their scores (scores decide)",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 2.0\n", r"r:1: a run line is `query Q0 document rank score tag` \(.*expected 6, got 5"),
        ("q Q0 a 1 2.0 t\n\nq Q0 b 2 x t\n", r"r:3: a run line is .*'x'"),
        ("q Q0 a 1 nan t\n", r"r:1: score nan is not a finite number"),
        ("q Q0 b 1 2 t\nq Q0 a 1 inf t\n", r"r:2: score inf"),
        ("q Q0 a 1 2 t\nq Q0 b 2 1.5 t\nq Q0 a 3 1 t\n", r"r:3: document 'a' comes twice for query 'q'"),
        ("\n \n", r"r: no results"),
    ],
)
def test_bad_runs(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_run(written(tmp_path / "r", text))


def test_a_cut_gzip_file_and_other_unreadable_files(tmp_path: Path) -> None:
    whole = gzip.compress(b"".join(b"q Q0 d%d %d %d t\n" % (n, n, 9000 - n) for n in range(5000)))
    (tmp_path / "cut.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(DataError, match=r"cut\.gz:\d+: the gzip file is damaged.*fetch it again"):
        read_run(tmp_path / "cut.gz")
    (tmp_path / "not.gz").write_bytes(b"q Q0 a 1 1 t\n")
    with pytest.raises(DataError, match="gzip file is damaged"):
        read_run(tmp_path / "not.gz")
    (tmp_path / "latin").write_bytes(b"q Q0 \xe9 1 1 t\n")
    with pytest.raises(DataError, match="not UTF-8"):
        read_run(tmp_path / "latin")
    with pytest.raises(DataError, match="no such file"):
        read_run(tmp_path / "missing")


def test_what_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="white space"):
        write_run(tmp_path / "r", {"q": [Hit("a b", 1)]}, "t")
    with pytest.raises(DataError, match="comes twice"):
        write_run(tmp_path / "r", {"q": [Hit("a", 1), Hit("a", 0)]}, "t")
    with pytest.raises(DataError, match="not a finite"):
        write_run(tmp_path / "r", {"q": [Hit("a", 1e39)]}, "t")
    with pytest.raises(DataError, match="one word"):
        write_run(tmp_path / "r", {"q": [Hit("a", 1)]}, "my tag")
    assert not list(tmp_path.iterdir())  # nothing half-written is left


def test_qrels_in_both_forms(tmp_path: Path) -> None:
    trec = written(tmp_path / "qrels.trec", "1 0 a 1\n1 Q0 b -1\n2 0 a 3\n1 0 a 1\n")
    assert read_qrels(trec) == {"1": {"a": 1, "b": -1}, "2": {"a": 3}}
    beir = written(tmp_path / "test.tsv", "query-id\tcorpus-id\tscore\n1\ta b\t1\n")
    assert read_qrels(beir) == {"1": {"a b": 1}}
    assert read_qrels(written(tmp_path / "bare.tsv", "1\ta b\t1\n")) == {"1": {"a b": 1}}
    (tmp_path / "q.gz").write_bytes(gzip.compress(trec.read_bytes()))
    assert read_qrels(tmp_path / "q.gz") == read_qrels(trec)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1 0 a 0\n1 0 a 1 9\n", r"q:2: a qrels line is `query iteration document grade` \(too many"),
        ("1 0 a 1.5\n", r"q:1: a qrels line is .*'1.5'"),
        ("1\ta\tscore\n1\ta\tb\n", r"q:2: a line of BEIR's qrels is"),
        ("1 0 a 1\n1 0 a 2\n", r"q:2: a second, different grade for query '1', document 'a'"),
        ("", "no judgements"),
    ],
)
def test_bad_qrels(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_qrels(written(tmp_path / "q", text))


def test_without_ir_measures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_measures", None)
    with pytest.raises(ConfigError, match=r"pip install 'authbench\[retrieval\]'"):
        read_qrels(written(tmp_path / "q", "1 0 a 1\n"))
