"""Files of the hub: tokens and redirects, revisions, official lists, patterns resolved by a listing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import BODY, SHA256, Loopback, Page, loopbacks

from authbench.data.authority import load_authority
from authbench.data.catalog import Dataset, FileSpec, Hub, dataset
from authbench.data.fetch import Places, expand, fetch
from authbench.data.status import pull
from authbench.errors import DataError

HUB = Hub("group/set", "0123abc")
SPEC = FileSpec("base/corpus.jsonl", "corpus", hub="base/corpus.jsonl")
SET = Dataset("official", "t", "authority", (SPEC,), "l", "s", hub=HUB)


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, tmp_cache: Path) -> Iterator[tuple[Loopback, Loopback]]:
    """The hub, and the storage that it sends to."""
    with loopbacks(monkeypatch, 2) as (hub, storage):
        yield hub, storage


@pytest.fixture
def server(servers: tuple[Loopback, Loopback]) -> Loopback:
    return servers[0]


def test_hub_file_with_token_and_redirect(
    servers: tuple[Loopback, Loopback], tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, storage = servers
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    path = "/datasets/group/set/resolve/0123abc/base/corpus.jsonl"
    hub.pages[path] = Page(redirect=f"{storage.url}/blob")
    storage.pages["/blob"] = Page()
    record = fetch(SET, SPEC)
    assert (record.where, record.sha256, record.size) == ("network", SHA256, len(BODY))
    assert record.location == tmp_cache / "data" / "base" / "corpus.jsonl"
    assert hub.header("authorization") == ["Bearer hf_secret"]
    assert storage.header("authorization") == [None]  # the token stays with the hub
    # The catalogue knows no hash: what came is what is expected from now on.
    assert fetch(SET, SPEC).where == "cache"
    assert len(hub.requests) == 1
    record.location.write_bytes(BODY[:-1] + b"!")
    with pytest.raises(DataError, match=f"expected {SHA256}; left as it is"):
        fetch(SET, SPEC, fresh=True)
    assert record.location.read_bytes().endswith(b"!")


def test_a_download_of_another_revision_is_refused(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.pages["/datasets/group/set/resolve/0123abc/base/corpus.jsonl"] = Page()
    fetch(SET, SPEC)
    newer = Dataset("official", "t", "authority", (SPEC,), "l", "s", hub=Hub("group/set", "9999"))
    with pytest.raises(DataError, match=r"is of another revision .*not of 9999"):
        fetch(newer, SPEC)


def test_token_is_not_in_an_error(server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    for status in (401, 404, 500):
        server.pages["/datasets/group/set/resolve/0123abc/base/corpus.jsonl"] = Page(status=status, body=b"")
        with pytest.raises(DataError) as caught:
            fetch(SET, SPEC)
        assert "hf_secret" not in str(caught.value)


def test_a_file_with_url_gets_no_token(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    server.pages["/raw"] = Page()
    spec = FileSpec("x/f", "corpus", url=f"{server.url}/raw", size=len(BODY), sha256=SHA256)
    fetch(Dataset("d", "t", "authority", (spec,), "l", "s"), spec)
    assert server.header("authorization") == [None]


def test_an_official_corpus_brings_its_lists_but_not_those_the_hub_lacks(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    entry = dataset("domainauth")
    assert entry.hub is not None
    base = f"/datasets/{entry.hub.id}/resolve/{entry.hub.revision}/AuthorityBench/dataset/DomainAuth"
    corpus = [{"domain": f"s{level}.org", "score": level} for level in range(10)]
    lines = "".join(json.dumps(row) + "\n" for row in corpus).encode()
    server.pages[f"{base}/corpus/corpus_10_scale.jsonl"] = Page(body=lines)
    pair = b'{"domain_a": "s0.org", "domain_b": "s9.org"}\n'
    server.pages[f"{base}/pairwise/easy_pairs.jsonl"] = Page(body=pair)
    loaded = load_authority("domainauth", "fine")
    assert [record.where for record in loaded.files] == ["network", "network"]
    assert (dict(loaded.lists), list(loaded.pairs)) == ({}, ["easy"])
    # What the hub has not is remembered, so a machine without a network loads the same.
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    again = load_authority("domainauth", "fine")
    assert [record.where for record in again.files] == ["cache", "cache"]
    assert (again.domains, again.lists, again.pairs) == (loaded.domains, loaded.lists, loaded.pairs)


def test_whether_official_lists_are_used_does_not_depend_on_the_network(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    entry = dataset("domainauth")
    corpus = tmp_cache / "data" / entry.files[0].path
    corpus.parent.mkdir(parents=True)
    corpus.write_text('{"domain": "a.org", "score": 1}\n')
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(DataError, match=r"listwise_10_scale_no_text.jsonl not found"):
        load_authority("domainauth", "fine")
    assert server.requests == []


def test_a_pattern_is_resolved_by_the_hubs_listing(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    entries = [
        {"type": "directory", "path": "base/RAGAuth"},
        {
            "type": "file",
            "path": "base/RAGAuth/q.jsonl",
            "size": len(BODY),
            "lfs": {"oid": SHA256, "size": len(BODY)},
        },
        {"type": "file", "path": "base/RAGAuth/readme.md", "size": 3},
        {"type": "file", "path": "base/Other/x.jsonl", "size": 3},
    ]
    server.pages["/api/datasets/group/set/tree/0123abc/base"] = Page(body=json.dumps(entries).encode())
    server.pages["/datasets/group/set/resolve/0123abc/base/RAGAuth/q.jsonl"] = Page()
    pattern = FileSpec("base/RAGAuth", "questions", hub="base", pattern="*/ragauth/*.json*")
    entry = Dataset("rag", "t", "questions", (pattern,), "l", "s", hub=HUB)
    (found,) = expand(entry, pattern)
    assert (found.path, found.size, found.sha256) == ("base/RAGAuth/q.jsonl", len(BODY), SHA256)
    records, failures = pull(entry, Places.from_environment())
    assert (len(records), failures) == (1, [])
    # Once it is here, no listing is asked for, and the hash that the hub stated is still held against it.
    server.requests.clear()
    (again,) = expand(entry, pattern)
    assert fetch(entry, again).sha256 == SHA256
    assert server.requests == []
    records[0].location.write_bytes(b"else")
    with pytest.raises(DataError, match="truncated"):
        fetch(entry, again)


@pytest.mark.parametrize(
    ("page", "message"),
    [
        (Page(status=404, body=b""), "not found"),
        (Page(status=503, body=b""), "the hub answered 503"),
        (Page(body=b"<html>"), "not JSON"),
        (Page(body=b"{}"), "not a list"),
        (Page(body=b"[]"), "lists no file like"),
        (Page(body=b'[{"type": "file", "path": "../ragauth/x.json"}]'), "outside its repository"),
    ],
)
def test_listings_that_do_not_help(
    server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch, page: Page, message: str
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    server.pages["/api/datasets/group/set/tree/0123abc/base"] = page
    pattern = FileSpec("base/RAGAuth", "questions", hub="base", pattern="*/ragauth/*.json*")
    with pytest.raises(DataError, match=message):
        expand(Dataset("rag", "t", "questions", (pattern,), "l", "s", hub=HUB), pattern)
