"""Authority data: the sets of the catalogue, as the mirror has them and as they ship."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from authbench.data.authority import load_authority
from authbench.data.fetch import Places
from authbench.errors import ConfigError, DataError


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
