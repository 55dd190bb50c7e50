"""A user's own file of sources: levels, values, texts, entities, and what cannot be used."""

from __future__ import annotations

from pathlib import Path

import pytest
from authority_files import Write, rows, writer

from authbench.data.authority import load_authority
from authbench.data.records import Source
from authbench.errors import ConfigError, DataError


@pytest.fixture
def write(tmp_path: Path, tmp_cache: Path) -> Write:
    return writer(tmp_path)


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


def test_columns_are_found_whatever_their_spelling_the_likeliest_first(write: Write) -> None:
    path = write("mine.csv", "score,Page-Rank,Web_Text,Domain Name,title\n1,7,words,a.org,A\n")
    data = load_authority("mine", "fine", path=path, need_text=True)
    assert data.domains["domains"] == (Source("a.org", 7, 7.0, "words"),)
    with pytest.raises(ConfigError, match=r"dataset.columns.levle: no such role .did you mean 'level"):
        load_authority("mine", "fine", path=path, columns={"levle": "x"})
    with pytest.raises(ConfigError, match="known: name, level"):
        load_authority("mine", "fine", path=path, columns={"zzz": "x"})


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
