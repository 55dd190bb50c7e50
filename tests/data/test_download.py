"""Downloads against a server on this machine: resume, cut connections, wrong files, redirects, the hub."""

from __future__ import annotations

import hashlib
import json
import socket
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from authbench.data import download as download_module
from authbench.data.authority import load_authority
from authbench.data.catalog import Dataset, FileSpec, Hub, dataset
from authbench.data.download import NotThere, Unreachable, download
from authbench.data.fetch import Places, expand, fetch
from authbench.data.status import pull
from authbench.errors import DataError

BODY = bytes(range(256)) * 700  # 179,200 bytes: more than one chunk
SHA256 = hashlib.sha256(BODY).hexdigest()


@dataclass
class Page:
    """How one address behaves."""

    body: bytes = BODY
    status: int = 200
    ranges: bool = True
    cut_after: list[int] = field(
        default_factory=list
    )  # bytes sent before the line is cut, request by request
    redirect: str | None = None


@dataclass
class Loopback:
    url: str
    pages: dict[str, Page] = field(default_factory=dict)
    requests: list[tuple[str, dict[str, str]]] = field(default_factory=list)

    def header(self, name: str) -> list[str | None]:
        return [headers.get(name) for _, headers in self.requests]


def _handler(state: Loopback) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            state.requests.append((self.path, {k.lower(): v for k, v in self.headers.items()}))
            page = state.pages.get(self.path.split("?")[0], Page(status=404, body=b"no"))
            if page.redirect:
                self.send_response(302)
                self.send_header("Location", page.redirect)
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            start = 0
            asked = self.headers.get("Range")
            if asked and page.ranges and page.status == 200:
                start = int(asked.removeprefix("bytes=").removesuffix("-"))
            body = page.body[start:]
            if start and not body:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(page.body)}")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            self.send_response(206 if start else page.status)
            if start:
                self.send_header("Content-Range", f"bytes {start}-{len(page.body) - 1}/{len(page.body)}")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            if page.cut_after:
                self.wfile.write(body[: page.cut_after.pop(0)])
                self.wfile.flush()
                self.connection.shutdown(socket.SHUT_RDWR)
                self.close_connection = True
            else:
                self.wfile.write(body)

        def log_message(self, format: str, *args: Any) -> None:
            """Keep the test output quiet."""

    return Handler


@pytest.fixture
def servers(monkeypatch: pytest.MonkeyPatch, tmp_cache: Path) -> Iterator[tuple[Loopback, Loopback]]:
    """Two servers on this machine, reached directly whatever proxy is set."""
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(download_module, "PAUSE", 0.01)
    running = []
    states = []
    for _ in range(2):
        state = Loopback("")
        server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(state))
        state.url = f"http://127.0.0.1:{server.server_address[1]}"
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        running.append((server, thread))
        states.append(state)
    yield states[0], states[1]
    for server, thread in running:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture
def server(servers: tuple[Loopback, Loopback]) -> Loopback:
    return servers[0]


def leftovers(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_download(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    told: list[tuple[int, int | None]] = []
    target = tmp_path / "deep" / "f.bin"
    value = download(
        f"{server.url}/f",
        target,
        size=len(BODY),
        sha256=SHA256,
        progress=lambda done, total: told.append((done, total)),
    )
    assert value == SHA256
    assert target.read_bytes() == BODY
    assert leftovers(target.parent) == ["f.bin"]
    assert told[-1] == (len(BODY), len(BODY))
    assert server.header("accept-encoding") == ["identity"]


def test_size_and_hash_unknown(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    assert download(f"{server.url}/f", tmp_path / "f") == SHA256


def test_cut_connection_is_resumed_at_once(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page(cut_after=[70_000, 50_000])
    assert download(f"{server.url}/f", tmp_path / "f", size=len(BODY), sha256=SHA256) == SHA256
    assert (tmp_path / "f").read_bytes() == BODY
    first, second, third = server.header("range")
    assert first is None
    assert second is not None and third is not None
    assert (second, third) == ("bytes=70000-", "bytes=120000-")


def test_cut_too_often_then_resumed_by_the_next_command(server: Loopback, tmp_path: Path) -> None:
    page = server.pages["/f"] = Page(cut_after=[40_000] * download_module.ATTEMPTS)
    with pytest.raises(DataError, match=r"cut after \d+ bytes, 4 times .*run the same command again"):
        download(f"{server.url}/f", tmp_path / "f", size=len(BODY), sha256=SHA256)
    (part,) = tmp_path.glob(".f.*.part")
    kept = part.stat().st_size
    assert kept == 40_000 * download_module.ATTEMPTS
    assert page.cut_after == []
    assert download(f"{server.url}/f", tmp_path / "f", size=len(BODY), sha256=SHA256) == SHA256
    assert server.header("range")[-1] == f"bytes={kept}-"
    assert (tmp_path / "f").read_bytes() == BODY


def test_a_server_without_ranges_starts_over(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page(ranges=False, cut_after=[70_000])
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA256) == SHA256
    assert (tmp_path / "f").read_bytes() == BODY


def test_a_complete_leftover_is_only_checked(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page(cut_after=[len(BODY)])  # all came, then the line was cut
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA256) == SHA256
    server.pages["/g"] = Page()
    part = tmp_path / f".g.{hashlib.sha256(f'{server.url}/g'.encode()).hexdigest()[:8]}.part"
    part.write_bytes(BODY)
    assert download(f"{server.url}/g", tmp_path / "g") == SHA256  # the server answers 416
    part.write_bytes(BODY + b"more")  # a leftover that cannot be of this file
    assert download(f"{server.url}/g", tmp_path / "h", sha256=SHA256) == SHA256
    server.requests.clear()
    part.write_bytes(BODY)
    (tmp_path / "g").unlink()
    assert download(f"{server.url}/g", tmp_path / "g", size=len(BODY), sha256=SHA256) == SHA256
    assert server.requests == []


def test_a_leftover_longer_than_the_file(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    part = tmp_path / f".f.{hashlib.sha256(f'{server.url}/f'.encode()).hexdigest()[:8]}.part"
    part.write_bytes(BODY + b"more")
    assert download(f"{server.url}/f", tmp_path / "f", sha256=SHA256) == SHA256
    assert len(server.requests) == 2


def test_wrong_hash(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page(body=BODY[::-1])
    found = hashlib.sha256(BODY[::-1]).hexdigest()
    with pytest.raises(DataError, match=f"SHA-256 is {found}, expected {SHA256}; kept as .*f.rejected"):
        download(f"{server.url}/f", tmp_path / "f", size=len(BODY), sha256=SHA256)
    assert leftovers(tmp_path) == ["cache", "f.rejected"]
    assert (tmp_path / "f.rejected").read_bytes() == BODY[::-1]
    server.pages["/f"] = Page()
    assert download(f"{server.url}/f", tmp_path / "f", size=len(BODY), sha256=SHA256) == SHA256


def test_wrong_size(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page(body=BODY[:1000])
    with pytest.raises(DataError, match=f"1000 bytes came, {len(BODY)} were expected"):
        download(f"{server.url}/f", tmp_path / "f", size=len(BODY), sha256=SHA256)
    assert not (tmp_path / "f").exists()


@pytest.mark.parametrize(
    ("status", "message"), [(403, "access refused .403.*HF_TOKEN"), (500, "the host answered 500")]
)
def test_status(server: Loopback, tmp_path: Path, status: int, message: str) -> None:
    server.pages["/f"] = Page(status=status, body=b"")
    with pytest.raises(DataError, match=message):
        download(f"{server.url}/f", tmp_path / "f")


def test_not_there_and_no_host(server: Loopback, tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no such file"):
        download(f"{server.url}/nothing", tmp_path / "f")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(Unreachable, match=f"127.0.0.1:{port} cannot be reached"):
        download(f"http://127.0.0.1:{port}/f", tmp_path / "f")


def test_a_folder_that_cannot_be_written(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        download(f"{server.url}/f", tmp_path / "file" / "f")


def test_two_at_once_fetch_it_once_each_whole(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    results: list[str] = []

    def one() -> None:
        results.append(download(f"{server.url}/f", tmp_path / "f", sha256=SHA256))

    threads = [threading.Thread(target=one) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [SHA256] * 6
    assert len(server.requests) == 1


HUB = Hub("group/set", "0123abc")
SPEC = FileSpec("root/corpus.jsonl", "corpus", hub="root/corpus.jsonl")
SET = Dataset("official", "t", "authority", (SPEC,), "l", "s", hub=HUB)


def test_hub_file_with_token_and_redirect(
    servers: tuple[Loopback, Loopback], tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub, storage = servers
    monkeypatch.setenv("HF_ENDPOINT", f"{hub.url}/")
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    path = "/datasets/group/set/resolve/0123abc/root/corpus.jsonl"
    hub.pages[path] = Page(redirect=f"{storage.url}/blob")
    storage.pages["/blob"] = Page()
    record = fetch(SET, SPEC)
    assert (record.where, record.sha256, record.size) == ("network", SHA256, len(BODY))
    assert record.location == tmp_cache / "data" / "root" / "corpus.jsonl"
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
    server.pages["/datasets/group/set/resolve/0123abc/root/corpus.jsonl"] = Page()
    fetch(SET, SPEC)
    newer = Dataset("official", "t", "authority", (SPEC,), "l", "s", hub=Hub("group/set", "9999"))
    with pytest.raises(DataError, match=r"is of another revision .*not of 9999"):
        fetch(newer, SPEC)


def test_token_is_not_in_an_error(server: Loopback, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_ENDPOINT", server.url)
    monkeypatch.setenv("HF_TOKEN", "hf_secret")
    for status in (401, 404, 500):
        server.pages["/datasets/group/set/resolve/0123abc/root/corpus.jsonl"] = Page(status=status, body=b"")
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
        {"type": "directory", "path": "root/RAGAuth"},
        {
            "type": "file",
            "path": "root/RAGAuth/q.jsonl",
            "size": len(BODY),
            "lfs": {"oid": SHA256, "size": len(BODY)},
        },
        {"type": "file", "path": "root/RAGAuth/readme.md", "size": 3},
        {"type": "file", "path": "root/Other/x.jsonl", "size": 3},
    ]
    server.pages["/api/datasets/group/set/tree/0123abc/root"] = Page(body=json.dumps(entries).encode())
    server.pages["/datasets/group/set/resolve/0123abc/root/RAGAuth/q.jsonl"] = Page()
    pattern = FileSpec("root/RAGAuth", "questions", hub="root", pattern="*/ragauth/*.json*")
    entry = Dataset("rag", "t", "questions", (pattern,), "l", "s", hub=HUB)
    (found,) = expand(entry, pattern)
    assert (found.path, found.size, found.sha256) == ("root/RAGAuth/q.jsonl", len(BODY), SHA256)
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
    server.pages["/api/datasets/group/set/tree/0123abc/root"] = page
    pattern = FileSpec("root/RAGAuth", "questions", hub="root", pattern="*/ragauth/*.json*")
    with pytest.raises(DataError, match=message):
        expand(Dataset("rag", "t", "questions", (pattern,), "l", "s", hub=HUB), pattern)
