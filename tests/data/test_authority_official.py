"""Official files, whose column names are not known: corpus, lists and pairs in every shape."""

from __future__ import annotations

from pathlib import Path

import pytest
from authority_files import Write, rows, writer

from authbench.data.authority import load_authority
from authbench.data.fetch import Places
from authbench.data.items import lists_of, pairs_of
from authbench.data.records import Source
from authbench.data.sampling import PairRule
from authbench.errors import DataError

ROOT = "AuthorityBench/dataset/DomainAuth"
CORPUS = [{"domain": f"S{level}-{n}.org", "pagerank": level} for level in range(11) for n in range(2)]


@pytest.fixture
def write(tmp_path: Path, tmp_cache: Path) -> Write:
    return writer(tmp_path)


def official(write: Write, tmp_path: Path, **files: str) -> Places:
    """A data folder with official files: corpus, lists and pairs by short names."""
    paths = {
        "corpus": "corpus/corpus_10_scale.jsonl",
        "corpus_text": "corpus/corpus_10_scale_with_text.jsonl",
        "corpus_coarse": "corpus/corpus_5_scale.jsonl",
        "lists": "listwise/listwise_10_scale_no_text.jsonl",
        "lists_text": "listwise/listwise_10_scale_with_text.jsonl",
        "lists_coarse": "listwise/listwise_5_scale_with_text.jsonl",
        "easy": "pairwise/easy_pairs.jsonl",
        "hard": "pairwise/hard_pairs.jsonl",
    }
    for name, content in files.items():
        write(f"official/{ROOT}/{paths[name]}", content)
    return Places(tmp_path / "official", None, tmp_path / "cache", online=False)


def test_official_corpus(write: Write, tmp_path: Path) -> None:
    data = load_authority("domainauth", "fine", places=official(write, tmp_path, corpus=rows(*CORPUS)))
    assert data.counts("domains") == (2,) * 10
    assert dict(data.dropped) == {"level 10": 2}
    assert (dict(data.lists), dict(data.pairs)) == ({}, {})
    assert data.files[0].where == "data"


def test_official_coarse_labels_are_taken_as_they_are(write: Write, tmp_path: Path) -> None:
    coarse = rows(*({"domain": f"s{level}", "label": level} for level in range(5)))
    places = official(write, tmp_path, corpus_coarse=coarse)
    assert load_authority("domainauth", "coarse", places=places).counts("domains") == (1,) * 5
    places = official(write, tmp_path, corpus_coarse=rows({"domain": "a", "label": 5}))
    with pytest.raises(DataError, match=r"corpus_5_scale.jsonl, line 1: 5 is no coarse label"):
        load_authority("domainauth", "coarse", places=places)


def test_official_text(write: Write, tmp_path: Path) -> None:
    texts = rows(
        {"domain": "a.org", "pagerank": 1, "content": "about a"},
        {"domain": "b.org", "pagerank": 2, "content": "  "},
        {"domain": "c.org", "pagerank": 3, "content": None},
    )
    places = official(write, tmp_path, corpus=rows(*CORPUS), corpus_text=texts)
    data = load_authority("domainauth", "fine", need_text=True, places=places)
    assert data.domains["domains"] == (Source("a.org", 1, 1.0, "about a"),)
    assert dict(data.dropped) == {"no text": 2}
    assert data.has_text
    without = load_authority("domainauth", "fine", places=places)
    assert len(without.domains["domains"]) == 20 and not without.has_text


def test_official_columns_that_cannot_be_found(write: Write, tmp_path: Path) -> None:
    places = official(write, tmp_path, corpus=rows({"domain": "a", "grade": 3}))
    with pytest.raises(DataError) as caught:
        load_authority("domainauth", "fine", places=places)
    assert str(caught.value).endswith(
        "corpus_10_scale.jsonl: no column found for 'level'; columns found: domain, grade\n"
        "Name it: --set dataset.columns.level=COLUMN (authbench data: --column level=COLUMN)"
    )
    data = load_authority("domainauth", "fine", columns={"level": "grade"}, places=places)
    assert data.domains["domains"][0].level == 3
    places = official(write, tmp_path, corpus_text=rows({"domain": "a", "score": 3}))
    with pytest.raises(DataError, match=r"no column found for 'text'(.|\n)*set context: \[without\]"):
        load_authority("domainauth", "fine", need_text=True, places=places)


TWO = [{"domain": "s0-0.org", "score": 0}, {"domain": "S9-1.org", "score": 9}]


@pytest.mark.parametrize(
    "record",
    [
        {"id": 7, "items": TWO},
        {"list": [{"url": "s0-0.org", "label": "0"}, {"url": "S9-1.org", "label": "9"}]},
        {"domains": ["s0-0.org", "S9-1.org"], "scores": [0, 9]},
        {"domains": ["s0-0.org", "s9-1.org"]},  # levels are looked up in the corpus, whatever the case
        {"domains": {"s0-0.org": 0, "S9-1.org": 9}},
        TWO,
    ],
)
def test_official_lists_in_any_shape(write: Write, tmp_path: Path, record: object) -> None:
    places = official(write, tmp_path, corpus=rows(*CORPUS), lists=rows(record, record))
    data = load_authority("domainauth", "fine", places=places)
    first, second = data.lists["domains"]
    assert (first.id, first.number, second.id, second.number) == ("domains-0000", 0, "domains-0001", 1)
    assert [source.level for source in first.sources] == [0, 9]
    assert [source.name.lower() for source in first.sources] == ["s0-0.org", "s9-1.org"]
    assert len(data.files) == 2
    # Used where present: the first so many, or all there are.
    assert lists_of(data, "domains", 1, 0) == (first,)
    assert lists_of(data, "domains", 500, 0) == (first, second)


def test_lists_with_level_10_or_without_text_are_left_out_and_counted(write: Write, tmp_path: Path) -> None:
    ten = [{"domain": "a", "score": 10}, {"domain": "b", "score": 1}]
    places = official(write, tmp_path, corpus=rows(*CORPUS), lists=rows({"items": ten}, {"items": TWO}))
    data = load_authority("domainauth", "fine", places=places)
    assert len(data.lists["domains"]) == 1
    assert data.dropped["official lists"] == 1
    texts = [{**record, "text": f"of {record['domain']}"} for record in CORPUS[:2]]
    known = {"items": [{"domain": "S0-0.org"}, {"domain": "S0-1.org"}]}
    places = official(write, tmp_path, corpus_text=rows(*texts), lists_text=rows({"items": TWO}, known))
    data = load_authority("domainauth", "fine", need_text=True, places=places)
    assert [source.text for source in data.lists["domains"][0].sources] == ["of S0-0.org", "of S0-1.org"]
    assert data.dropped["official lists"] == 1


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"foo": 1, "bar": 2}, "no column found for 'items' or 'names'; columns found: foo, bar"),
        ({"items": "a, b"}, r"line 1: column 'items' does not hold a list"),
        ({"items": [{"level": 1}, {"level": 2}]}, "line 1: a source without a name"),
        ({"items": ["unknown.org", "s0-0.org"]}, "line 1: 'unknown.org' has no level here and is not in the"),
        ({"names": ["a", "b"], "levels": [1]}, "line 1: 2 names, but 1 in column 'levels'"),
        ({"names": ["a", "b"], "levels": [1, "x"]}, "line 1: 'x' is not a number"),
        ({"names": ["a", "b"], "levels": [1, 2.5]}, "line 1: 2.5 is no authority label"),
        ({"items": [TWO[0]]}, "line 1: a list of fewer than two"),
    ],
)
def test_official_lists_that_cannot_be_read(
    write: Write, tmp_path: Path, record: object, message: str
) -> None:
    places = official(write, tmp_path, corpus=rows(*CORPUS), lists=rows(record))
    with pytest.raises(DataError, match=message):
        load_authority("domainauth", "fine", places=places)


@pytest.mark.parametrize(
    "record",
    [
        {"domain_a": "s0-0.org", "domain_b": "s9-1.org"},
        {"domain1": "s0-0.org", "score1": 0, "domain2": "s9-1.org", "score2": 9},
        {"A": TWO[0], "B": TWO[1]},
        {"pair": TWO},
        {"domains": ["s0-0.org", "s9-1.org"], "labels": [0, 9]},
        TWO,
    ],
)
def test_official_pairs_in_any_shape(write: Write, tmp_path: Path, record: object) -> None:
    places = official(write, tmp_path, corpus=rows(*CORPUS), easy=rows(record))
    data = load_authority("domainauth", "fine", places=places)
    (pair,) = data.pairs["easy"]
    assert (pair.id, pair.difficulty, pair.first.level, pair.second.level) == (
        *("domains-easy-0000", "easy"),
        *(0, 9),
    )
    assert pairs_of(data, "domains", 10, 0, "easy") == (pair,)
    # Hard pairs are not there: they are sampled.
    hard = pairs_of(data, "domains", 5, 0, "hard")
    assert len(hard) == 5 and all(other.gap <= 1 for other in hard)


def test_official_pairs_under_another_rule(write: Write, tmp_path: Path) -> None:
    equal = {"domain_a": "s0-0.org", "domain_b": "s0-1.org"}
    near = {"domain_a": "s0-0.org", "domain_b": "s1-1.org"}
    places = official(write, tmp_path, corpus=rows(*CORPUS), hard=rows(equal, near))
    data = load_authority("domainauth", "fine", places=places)
    assert len(pairs_of(data, "domains", 10, 0, "hard")) == 2
    (kept,) = pairs_of(data, "domains", 10, 0, "hard", PairRule(allow_equal=False))
    assert kept.second.name == "s1-1.org"


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"foo": 1}, "no column found for 'first' or 'second'; columns found: foo"),
        ({"pair": ["a", "b", "c"]}, "line 1: column 'pair' does not hold two sources"),
        ({"a": "x.org", "b": "s0-0.org"}, "line 1: 'x.org' has no level here"),
    ],
)
def test_official_pairs_that_cannot_be_read(
    write: Write, tmp_path: Path, record: object, message: str
) -> None:
    places = official(write, tmp_path, corpus=rows(*CORPUS), hard=rows(record))
    with pytest.raises(DataError, match=message):
        load_authority("domainauth", "fine", places=places)


def test_pairs_with_level_10_are_counted(write: Write, tmp_path: Path) -> None:
    ten = {"domain1": "a", "score1": 10, "domain2": "b", "score2": 9}
    places = official(write, tmp_path, corpus=rows(*CORPUS), hard=rows(ten))
    data = load_authority("domainauth", "fine", places=places)
    assert (data.pairs["hard"], data.dropped["official hard pairs"]) == ((), 1)


def test_lists_and_pairs_are_sampled_where_there_are_none(tmp_cache: Path) -> None:
    data = load_authority("sample-domains", "coarse")
    assert len(lists_of(data, "domains", 7, 0)) == 7
    assert len(lists_of(data, "domains", 7, 0)[0].sources) == 5
