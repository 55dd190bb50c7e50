"""Files of the hub: what it lists, tokens and redirects, revisions, official lists, patterns."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import BODY, SHA256, Loopback, Page, loopbacks

from authbench.data.authority import load_authority
from authbench.data.catalog import Dataset, FileSpec, Hub, dataset
from authbench.data.fetch import Places, expand, fetch
from authbench.data.questions import load_questions
from authbench.data.status import check_dataset, pull
from authbench.errors import DataError

HUB = Hub("group/set", "0123abc")
SPEC = FileSpec("base/corpus.jsonl", "corpus")
SET = Dataset("official", "t", "authority", (SPEC,), "l", "s", hub=HUB)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, tmp_cache: Path) -> Iterator[tuple[Loopback, Loopback]]:
    """The hub, and the storage that it sends to."""
    with loopbacks(monkeypatch, 2) as (hub, storage):
        yield hub, storage


@pytest.fixture
def server(servers: tuple[Loopback, Loopback]) -> Loopback:
    return servers[0]


def test_a_file_with_token_and_redirect(
    servers: tuple[Loopback, Loopback], tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, storage = servers
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    hub.be_the_hub(monkeypatch, HUB, {SPEC.path: BODY})
    hub.pages[hub.address(HUB, SPEC.path)] = Page(redirect=f"{storage.url}/blob")
    storage.pages["/blob"] = Page(cut_after=[70_000])
    record = fetch(SET, SPEC)
    assert (record.where, record.sha256, record.size) == ("network", SHA256, len(BODY))
    assert record.location == tmp_cache / "data" / SPEC.path  # a mirror of the repository, as it stands
    sent = {headers.get("authorization") for path, headers in hub.requests if HUB.id in path}
    assert sent == {"Bearer hf_secret"}
    assert storage.header("authorization") == [None, None]  # the token stays with the hub
    assert storage.header("range") == [None, "bytes=65536-"]
    assert fetch(SET, SPEC).where == "cache"
    assert len(storage.requests) == 2


@pytest.mark.parametrize("large", [True, False])
def test_files_are_held_against_what_the_hub_lists(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch, large: bool
) -> None:
    server.be_the_hub(monkeypatch, HUB, {SPEC.path: BODY}, large=large)
    places = Places.from_environment()
    path = tmp_cache / "data" / SPEC.path
    path.parent.mkdir(parents=True)
    path.write_bytes(BODY)
    assert [status.status for status in check_dataset(SET, places)] == ["unverified"]
    path.unlink()
    assert fetch(SET, SPEC).sha256 == SHA256
    assert [status.status for status in check_dataset(SET, places)] == ["ok"]
    path.write_bytes(BODY[:-1] + b"!")
    with pytest.raises(DataError, match=f"expected {SHA256}; left as" if large else "is not the file that"):
        fetch(SET, SPEC)
    assert path.read_bytes().endswith(b"!")
    path.write_bytes(BODY[:-1])
    with pytest.raises(DataError, match="is truncated"):
        fetch(SET, SPEC)


def test_a_file_of_another_revision_is_refused(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    newer = Hub("group/set", "9999")
    server.be_the_hub(monkeypatch, newer, {SPEC.path: BODY[::-1], "other": b"x"})
    server.be_the_hub(monkeypatch, HUB, {SPEC.path: BODY})
    fetch(SET, SPEC)
    other = FileSpec("other", "lists")
    entry = Dataset("official", "t", "authority", (SPEC, other), "l", "s", hub=newer)
    fetch(entry, other)
    with pytest.raises(DataError, match=f"has SHA-256 {SHA256}, expected"):
        fetch(entry, SPEC)


@pytest.mark.parametrize("status", [401, 404, 500])
def test_the_token_is_in_no_error(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch, status: int
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    server.be_the_hub(monkeypatch, HUB, {SPEC.path: BODY})
    for path in (server.address(HUB, SPEC.path), f"/api/datasets/{HUB.id}/revision/{HUB.revision}"):
        server.pages[path] = Page(status=status, body=b"")
        with pytest.raises(DataError) as caught:
            fetch(SET, SPEC)
        assert "hf_secret" not in str(caught.value)
        (tmp_cache / "data/hub/group--set@0123abc.json").unlink(missing_ok=True)


def test_a_file_with_an_address_of_its_own_gets_no_token(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    server.pages["/raw"] = Page()
    spec = FileSpec("x/f", "corpus", url=f"{server.url}/raw", size=len(BODY), sha256=SHA256)
    fetch(Dataset("d", "t", "authority", (spec,), "l", "s"), spec)
    assert server.header("authorization") == [None]


def lines(*records: object) -> bytes:
    return "".join(json.dumps(record) + "\n" for record in records).encode()


def test_an_official_corpus_brings_its_lists_but_not_those_the_hub_lacks(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    entry = dataset("domainauth")
    assert entry.hub is not None
    base = "AuthorityBench/dataset/DomainAuth"
    files = {
        f"{base}/corpus/corpus_10_scale.jsonl": lines(
            *({"domain": f"s{level}.org", "score": level} for level in range(10))
        ),
        f"{base}/pairwise/easy_pairs.jsonl": lines({"domain_a": "s0.org", "domain_b": "s9.org"}),
    }
    server.be_the_hub(monkeypatch, entry.hub, files)
    loaded = load_authority("domainauth", "fine")
    assert [record.where for record in loaded.files] == ["network", "network"]
    assert (dict(loaded.lists), list(loaded.pairs)) == ({}, ["easy"])
    assert server.asked("/api/datasets") == 1 and server.asked("listwise") == 0
    # What the hub has not is remembered, so a machine without a network loads the same.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    again = load_authority("domainauth", "fine")
    assert [record.where for record in again.files] == ["cache", "cache"]
    assert (again.domains, again.lists, again.pairs) == (loaded.domains, loaded.lists, loaded.pairs)


def test_whether_official_lists_are_used_does_not_depend_on_the_network(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = tmp_cache / "data" / dataset("domainauth").files[0].path
    corpus.parent.mkdir(parents=True)
    corpus.write_text('{"domain": "a.org", "score": 1}\n')
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"listwise_10_scale_no_text.jsonl not found .* HF_HUB_OFFLINE"):
        load_authority("domainauth", "fine")
    assert server.requests == []


PATTERN = FileSpec("base/RAGAuth", "questions", pattern="*/ragauth/*.json*")
RAG = Dataset("rag", "t", "questions", (PATTERN,), "l", "s", hub=HUB)


def test_a_pattern_is_resolved_by_the_hubs_listing(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    files = {"base/RAGAuth/q.jsonl": BODY, "base/RAGAuth/readme.md": b"", "base/Other/x.jsonl": b""}
    server.be_the_hub(monkeypatch, HUB, files)
    (found,) = expand(RAG, PATTERN)
    assert found.path == "base/RAGAuth/q.jsonl"
    records, failures = pull(RAG, Places.from_environment(), to=tmp_path / "mirror")
    assert (len(records), failures) == (1, [])
    assert (tmp_path / "mirror" / found.path).read_bytes() == BODY
    # Once it is here, the hub is not asked, and what it listed is still held against the file.
    server.requests.clear()
    (again,) = expand(RAG, PATTERN)
    assert fetch(RAG, again).sha256 == SHA256
    assert server.requests == []
    fetch(RAG, again).location.write_bytes(b"else")
    with pytest.raises(DataError, match="truncated"):
        fetch(RAG, again)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (Page(status=404, body=b""), "not found .*group/set: the host has no such"),
        (Page(status=503, body=b""), "group/set: the host answered 503"),
        (Page(body=b"<html>"), "cannot be read"),
        (Page(body=b"{}"), "cannot be read"),
        (Page(body=b'{"id": "group/set", "siblings": []}'), "lists no file like"),
        (
            Page(body=b'{"id": "x", "siblings": [{"rfilename": "../ragauth/x.json"}]}'),
            "outside its repository",
        ),
    ],
)
def test_listings_that_do_not_help(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch, page: Page, message: str
) -> None:
    server.be_the_hub(monkeypatch, HUB, {})
    server.pages["/api/datasets/group/set/revision/0123abc"] = page
    with pytest.raises(DataError, match=message):
        expand(RAG, PATTERN)
    assert server.asked("/api/datasets") == 1


def test_no_network(monkeypatch: pytest.MonkeyPatch, tmp_cache: Path) -> None:
    with loopbacks(monkeypatch, 1) as (gone,):
        gone.be_the_hub(monkeypatch, HUB, {})
    with pytest.raises(DataError, match=r"corpus.jsonl not found .*127.0.0.1:\d+ cannot be reached"):
        fetch(SET, SPEC)


def test_what_is_here_loads_without_a_client_of_the_hub(
    tmp_path: Path, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for library in ("datasets", "huggingface_hub", "pooch", "requests"):
        monkeypatch.setitem(sys.modules, library, None)
    (tmp_path / "mine.csv").write_text("name,level\na,1\n")
    (tmp_path / "q.jsonl").write_bytes(lines({"question": "Q", "answer": "no", "documents": [{"url": "u"}]}))
    assert load_authority("mine", "fine", path=tmp_path / "mine.csv").counts("domains")[1] == 1
    assert len(load_questions("mine", path=tmp_path / "q.jsonl").questions) == 1
    assert load_authority("sample", "fine").files[0].where == "shipped"
