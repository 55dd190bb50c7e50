"""Authority data: the catalogue's sets, official files in every shape, a user's own files, every error."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from authbench.data.authority import load_authority
from authbench.data.fetch import Places
from authbench.data.items import lists_of, pairs_of
from authbench.data.records import Source
from authbench.data.sampling import PairRule
from authbench.errors import ConfigError, DataError

Write = Callable[[str, str], Path]


@pytest.fixture
def write(tmp_path: Path, tmp_cache: Path) -> Write:
    """Writes a file of the user's own."""

    def write_file(name: str, content: str) -> Path:
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    return write_file


# -- the sets of the catalogue


def only_mirror(mirror: Path, tmp_path: Path) -> Places:
    return Places(None, mirror, tmp_path / "cache", online=False)


@pytest.mark.mirror
def test_entityauth(mirror: Path, tmp_path: Path, tmp_cache: Path) -> None:
    places = only_mirror(mirror, tmp_path)
    data = load_authority("entityauth", "fine", places=places)
    assert data.family == "entity"
    assert {domain: len(sources) for domain, sources in data.domains.items()} == {
        "basketball": 10_000,  # section 3.2.1
        "movies": 10_000,
        "songs": 2_000,
    }
    assert dict(data.dropped) == {"not sampled": 3_309 + 964 + 157}
    assert (dict(data.lists), dict(data.pairs), data.has_text) == ({}, {}, False)
    assert [(record.path, record.where) for record in data.files] == [
        ("entityauth/basketball.jsonl", "mirror"),
        ("entityauth/movies.jsonl", "mirror"),
        ("entityauth/songs.jsonl", "mirror"),
    ]
    for domain in data.domains:
        counts = data.counts(domain)
        assert sum(counts) == len(data.domains[domain])
        assert all(counts), "each level has items, so lists can be made"
        # Figure 3: a long tail.
        assert sum(counts[:5]) > 0.7 * sum(counts)
    again = load_authority("entityauth", "fine", places=places)
    assert again.domains == data.domains
    other = load_authority("entityauth", "fine", seed=1, places=places)
    assert other.domains["songs"] != data.domains["songs"]


@pytest.mark.mirror
def test_entityauth_coarse_is_the_same_sample_merged(mirror: Path, tmp_path: Path, tmp_cache: Path) -> None:
    places = only_mirror(mirror, tmp_path)
    fine = load_authority("entityauth", "fine", seed=3, domains=["songs"], places=places)
    coarse = load_authority("entityauth", "coarse", seed=3, domains=["songs"], places=places)
    assert list(fine.domains) == ["songs"]
    assert len(fine.files) == 1, "other domains are not even read"
    pairs = zip(fine.domains["songs"], coarse.domains["songs"], strict=True)
    assert all((a.name, a.level // 2, a.value) == (b.name, b.level, b.value) for a, b in pairs)


@pytest.mark.mirror
def test_openpagerank(mirror: Path, tmp_path: Path, tmp_cache: Path) -> None:
    data = load_authority("domainauth-openpagerank", "fine", places=only_mirror(mirror, tmp_path))
    assert data.family == "domain"
    assert data.counts("domains") == (101, 165, 632, 772, 990, 894, 273, 103, 28, 4)
    assert dict(data.dropped) == {"level 10": 8}
    assert sum(data.counts("domains")) + 8 == 3970
    sources = data.domains["domains"]
    assert (sources[0].name, sources[0].level) == ("05366.com.ua", 4)
    assert (sources[-1].name, sources[-1].level) == ("zougla.gr", 5)
    coarse = load_authority("domainauth-openpagerank", "coarse", places=only_mirror(mirror, tmp_path))
    assert coarse.counts("domains") == (101 + 165, 632 + 772, 990 + 894, 273 + 103, 28 + 4)


@pytest.mark.mirror
def test_commoncrawl(mirror: Path, tmp_path: Path, tmp_cache: Path) -> None:
    data = load_authority("domainauth-commoncrawl", "fine", places=only_mirror(mirror, tmp_path))
    # worked out with numpy's digitize and logspace over the file's pr_val
    assert data.counts("domains") == (276, 2459, 1333, 463, 146, 52, 36, 16, 10, 4)
    assert data.domains["domains"][0].name == "facebook.com"
    assert data.domains["domains"][-1].name == "hostinger.com"


def test_the_shipped_samples(tmp_cache: Path) -> None:
    domains = load_authority("sample-domains", "fine", need_text=True)
    assert domains.counts("domains") == (6,) * 10
    assert domains.has_text and all(source.text for source in domains.domains["domains"])
    assert domains.domains["domains"][0].name == "wikipedia.org"
    assert domains.domains["domains"][-1].name == "hooooooooo.com"
    entities = load_authority("sample-entities", "coarse")
    assert entities.family == "entity"
    assert {name: entities.counts(name) for name in entities.domains} == {
        "basketball": (8,) * 5,
        "movies": (8,) * 5,
        "songs": (8,) * 5,
    }
    assert [record.where for record in entities.files] == ["shipped"]
    assert list(load_authority("sample-entities", "fine", domains=["songs"]).domains) == ["songs"]


@pytest.mark.mirror
def test_the_sample_is_not_copied_from_the_mirror(mirror: Path, tmp_path: Path, tmp_cache: Path) -> None:
    real = load_authority("domainauth-openpagerank", "fine", places=only_mirror(mirror, tmp_path))
    level = {source.name: source.level for source in real.domains["domains"]}
    sample = load_authority("sample-domains", "fine").domains["domains"]
    shared = [source for source in sample if source.name in level]
    assert len(shared) < 20 and any(source.level != level[source.name] for source in shared)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"name": "sample-domain", "scale": "fine"}, "did you mean 'sample-domains'"),
        ({"name": "sample-domains", "scale": "fin"}, "dataset.scale"),
        ({"name": "sample-domains", "scale": "fine", "columns": {"lvl": "x"}}, "dataset.columns.lvl"),
        (
            {"name": "factcheckgpt", "scale": "fine"},
            "a set of questions, and this task needs authority labels",
        ),
        ({"name": "scifact", "scale": "fine"}, "a retrieval collection"),
        (
            {"name": "entityauth", "scale": "fine", "need_text": True},
            r"dataset 'entityauth' has no web page text; set context: \[without\]",
        ),
        (
            {"name": "entityauth", "scale": "fine", "domains": ["song"]},
            r"dataset.domains: no domain is called 'song' .did you mean 'songs'",
        ),
        ({"name": "sample-entities", "scale": "fine", "domains": ["zz"]}, "known: basketball, movies, songs"),
    ],
)
def test_wrong_use(tmp_cache: Path, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_authority(**arguments)


def test_a_column_of_the_catalogue_can_be_overruled(tmp_cache: Path) -> None:
    with pytest.raises(DataError, match=r"no column 'lvel' .dataset.columns.level. .did you mean 'level'"):
        load_authority("sample-domains", "fine", columns={"level": "lvel"})


# -- official files, whose column names are not known

ROOT = "AuthorityBench/dataset/DomainAuth"


def rows(*records: object) -> str:
    return "".join(json.dumps(record) + "\n" for record in records)


CORPUS = [{"domain": f"S{level}-{n}.org", "pagerank": level} for level in range(11) for n in range(2)]


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


# -- a user's own file


def test_own_levels(write: Write) -> None:
    path = write("mine.csv", "Site,Label\na.org,0\nb.org,9\nc.org,10\n A.ORG ,3\n,4\nd.org,\n")
    data = load_authority("mine", "fine", path=path)
    assert (data.name, data.family) == ("mine", "domain")
    assert data.domains["domains"] == (Source("a.org", 0, 0.0), Source("b.org", 9, 9.0))
    assert dict(data.dropped) == {"duplicate name": 1, "level 10": 1, "no label": 1, "no name": 1}
    assert data.files[0].to_dict()["where"] == "own"
    assert load_authority("mine", "coarse", path=path).counts("domains") == (1, 0, 0, 0, 1)


def test_own_values_and_text(write: Write) -> None:
    path = write(
        "mine.jsonl",
        rows(
            {"domain": "a", "value": 1, "text": "t"},
            {"domain": "b", "value": 1024},
            {"domain": "c", "value": 0},
            {"domain": "d", "value": 40, "text": ""},
        ),
    )
    data = load_authority("mine", "fine", path=path)
    # 1 to 1024: each doubling is a level, 40 lies between 2**5 and 2**6
    assert [(source.name, source.level) for source in data.domains["domains"]] == [
        ("a", 0),
        ("b", 9),
        ("d", 5),
    ]
    assert dict(data.dropped) == {"no positive value": 1}
    with pytest.raises(DataError, match="all 1 values are 1"):
        load_authority("mine", "fine", path=path, need_text=True)


def test_own_coarse_levels(write: Write) -> None:
    path = write("mine.csv", "name,grade\na,0\nb,4\n")
    columns = {"coarse_level": "grade"}
    data = load_authority("mine", "coarse", path=path, columns=columns)
    assert [source.level for source in data.domains["domains"]] == [0, 4]
    with pytest.raises(ConfigError, match=r"labels of five levels only; set dataset.scale=coarse"):
        load_authority("mine", "fine", path=path, columns=columns)


def test_what_is_set_goes_before_what_is_found(write: Write) -> None:
    path = write("mine.csv", "name,score,visits\na,1,7\nb,2,7000\n")
    data = load_authority("mine", "fine", path=path, columns={"value": "visits"})
    assert [source.level for source in data.domains["domains"]] == [0, 9]


def test_own_entities(write: Write) -> None:
    path = write(
        "mine.csv", "entity,domain,popularity\na,rivers,2\nb,rivers,4\nA,rivers,3\nc,lakes,1\nd,lakes,9\n"
    )
    data = load_authority("mine", "fine", path=path)
    assert data.family == "entity"
    assert {name: len(sources) for name, sources in data.domains.items()} == {"rivers": 3, "lakes": 2}
    assert list(load_authority("mine", "fine", path=path, domains=["lakes"]).domains) == ["lakes"]
    with pytest.raises(ConfigError, match="no domain is called 'lake'"):
        load_authority("mine", "fine", path=path, domains=["lake"])


def test_an_official_entity_file_by_path(write: Write) -> None:
    path = write("basketball_10_scale.jsonl", rows({"entity": "a", "score": 0}, {"entity": "b", "score": 9}))
    with pytest.raises(DataError, match=r"no column says which domain(.|\n)*dataset.domains=\[movies\]"):
        load_authority("entityauth", "fine", path=path)
    data = load_authority("entityauth", "fine", path=path, domains=["basketball"])
    assert data.family == "entity"
    assert [source.level for source in data.domains["basketball"]] == [0, 9]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", r"mine.csv: empty"),
        ("name,level\n", r"mine.csv: no records"),
        ("name,level\na,3\nb,high\n", r"mine.csv, line 3, column 'level': 'high' is not a number"),
        (
            "name,level\na,3\nb,0.37\n",
            r"mine.csv, line 3: 0.37 is no authority label(.|\n)*columns.value=COLUMN",
        ),
        ("name,level\na,nan\n", r"mine.csv, line 2: nan is no authority label"),
        ("name,level\na,10\n", r"mine: no source left of .*mine.csv \(1 level 10\)"),
        ("name,level\na,\n", r"no source left of .*\(1 no label\)"),
        ("name,value\na,5\nb,5\n", r"mine.csv: all 2 values are 5"),
        ("name,foo\na,5\n", r"no column found for 'level' or 'value'; columns found: name, foo"),
        ("foo,level\na,5\n", r"no column found for 'name'; columns found: foo, level"),
    ],
)
def test_own_files_that_cannot_be_used(write: Write, content: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load_authority("mine", "fine", path=write("mine.csv", content))


def test_own_file_is_not_there(tmp_path: Path, tmp_cache: Path) -> None:
    with pytest.raises(DataError, match=r"no.csv: cannot be read .* see dataset.path"):
        load_authority("mine", "fine", path=tmp_path / "no.csv")
