"""The catalogue: complete, unambiguous, and true to the files that are at hand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from authbench.data.catalog import catalog, dataset
from authbench.data.columns import CANDIDATES
from authbench.data.digests import sha256_of
from authbench.errors import ConfigError
from authbench.paths import share_dir


def test_entries() -> None:
    assert list(catalog())[:2] == ["entityauth", "domainauth"]
    assert {entry.kind for entry in catalog().values()} == {"authority", "questions", "retrieval"}
    for entry in catalog().values():
        assert (entry.files or entry.parts) and entry.title and entry.licence and entry.source
        assert set(entry.columns) <= set(CANDIDATES)
        assert entry.stand_in in {"", *catalog()}
        for spec in entry.files:
            assert spec.sha256 is None or re.fullmatch("[0-9a-f]{64}", spec.sha256)
            assert (spec.sha256 is None) == (spec.size is None)
            assert not spec.path.startswith("/") and ".." not in spec.path
            # Each file can be had in some way that an error can name.
            assert spec.url or entry.hub or spec.shipped or entry.by_hand


def test_addresses_are_pinned() -> None:
    for entry in catalog().values():
        for spec in entry.files:
            if spec.url and "githubusercontent" in spec.url:
                assert re.search(r"/([0-9a-f]{40}|5b819c1)/", spec.url), spec.url
    hub = dataset("domainauth").hub
    assert hub is not None
    assert hub.id == "Trustworthy-Information-Access/AuthorityBench"
    assert hub.revision == "cda30f2af37ea8fd5c6cd892e668e716242da165"


def test_select() -> None:
    entry = dataset("domainauth")
    assert [spec.name for spec in entry.select("corpus", scale="coarse", text=False)] == [
        "corpus_5_scale.jsonl"
    ]
    assert [spec.difficulty for spec in entry.select("pairs")] == ["easy", "hard"]
    assert len(dataset("entityauth").select("corpus", scale="fine")) == 3


def test_unknown_name() -> None:
    with pytest.raises(ConfigError, match=r"no data set is called 'entityaut' .did you mean 'entityauth'"):
        dataset("entityaut")
    with pytest.raises(ConfigError, match=r"known: entityauth, domainauth"):
        dataset("zzz")


def test_shipped_files_are_what_the_catalogue_says() -> None:
    shipped = [spec for entry in catalog().values() for spec in entry.files if spec.shipped]
    assert len(shipped) == 2
    for spec in shipped:
        path = share_dir("data", spec.path)
        assert (path.stat().st_size, sha256_of(path)) == (spec.size, spec.sha256)
        assert len(path.read_text(encoding="utf-8").splitlines()) - 1 == spec.rows


#: What marks the beginning of a record, in the files whose records are not lines.
MARKS = {".json": '"query":', "cran.all.1400.xml": "<docno>", "cran.qry.xml": "<num>"}


@pytest.mark.mirror
def test_sizes_hashes_and_rows_of_the_mirror(mirror: Path) -> None:
    checked = 0
    for entry in catalog().values():
        for spec in entry.files:
            path = mirror / spec.path
            if spec.sha256 is None or spec.shipped:
                continue
            assert (path.stat().st_size, sha256_of(path)) == (spec.size, spec.sha256), spec.path
            text = path.read_text(encoding="utf-8")
            mark = MARKS.get(spec.name) or MARKS.get(path.suffix)
            rows = text.count(mark) if mark else sum(1 for line in text.splitlines() if line)
            assert rows - (path.suffix == ".csv") == spec.rows, spec.path
            checked += 1
    assert checked == 25
