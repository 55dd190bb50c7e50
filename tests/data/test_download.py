"""Downloads against a server on this machine: resume, cut connections, wrong files, wrong answers."""

from __future__ import annotations

import hashlib
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from loopback import BODY, SHA256, Loopback, Page, loopbacks

from authbench.data import download as download_module
from authbench.data.download import NotThere, Unreachable, download
from authbench.errors import DataError


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_cache: Path) -> Iterator[Loopback]:
    with loopbacks(monkeypatch, 1) as (state,):
        yield state


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
