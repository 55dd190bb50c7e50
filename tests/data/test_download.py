"""Downloads against a server on this machine: resume, cut connections, wrong files, wrong answers."""

from __future__ import annotations

import hashlib
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from loopback import BODY, SHA256, Loopback, Page, loopbacks

from authbench.data import download as download_module
from authbench.data.download import NotThere, Unreachable, download
from authbench.errors import DataError


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_cache: Path) -> Iterator[Loopback]:
    with loopbacks(monkeypatch, 1) as (state,):
        yield state


def test_download(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    told: list[tuple[int, int | None]] = []
    target = tmp_path / "deep" / "f.bin"
    download(f"{server.url}/f", target, SHA256, progress=lambda done, total: told.append((done, total)))
    assert target.read_bytes() == BODY
    assert [path.name for path in target.parent.iterdir()] == ["f.bin"]
    assert told[-1] == (len(BODY), len(BODY))
    assert server.header("accept-encoding") == ["identity"]
    download(f"{server.url}/f", tmp_path / "unknown", None)
    assert (tmp_path / "unknown").read_bytes() == BODY


@pytest.mark.parametrize("ranges", [True, False])
def test_a_cut_connection_is_resumed_at_once(server: Loopback, tmp_path: Path, ranges: bool) -> None:
    server.pages["/f"] = Page(cut_after=[140_000, 20_000], ranges=ranges)
    download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert (tmp_path / "f").read_bytes() == BODY
    first, second, third = server.header("range")
    # What came of the last chunk of 65,536 bytes before a cut is asked for again.
    assert (first, second) == (None, "bytes=131072-")
    assert third == ("bytes=131072-" if ranges else None)


def test_cut_too_often_then_resumed_by_the_next_command(server: Loopback, tmp_path: Path) -> None:
    page = server.pages["/f"] = Page(cut_after=[70_000, *[100] * (download_module.ATTEMPTS - 1)])
    with pytest.raises(DataError, match=r"cut after 65536 bytes, 4 times .*run the same command again"):
        download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert page.cut_after == [] and not (tmp_path / "f").exists()
    download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert server.header("range")[-1] == "bytes=65536-"
    assert (tmp_path / "f").read_bytes() == BODY


@pytest.mark.parametrize("leftover", [BODY, BODY + b"more"])
def test_a_leftover_with_nothing_to_follow_begins_again(
    server: Loopback, tmp_path: Path, leftover: bytes
) -> None:
    server.pages["/f"] = Page(cut_after=[70_000, 0, 0, 0])
    with pytest.raises(DataError, match="4 times"):
        download(f"{server.url}/f", tmp_path / "f", SHA256)
    (part,) = tmp_path.glob(".f.*.part")
    part.write_bytes(leftover)  # the server answers 416
    download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert (tmp_path / "f").read_bytes() == BODY


def test_wrong_hash(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page(body=BODY[::-1])
    found = hashlib.sha256(BODY[::-1]).hexdigest()
    with pytest.raises(DataError, match=f"SHA-256 is {found}, expected {SHA256}; not kept\n.*use a mirror"):
        download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert [path.name for path in tmp_path.iterdir()] == ["cache"]
    server.pages["/f"] = Page()
    download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert server.header("range") == [None, None]


@pytest.mark.parametrize(
    ("status", "message"), [(403, "access refused .403.*HF_TOKEN"), (500, "the host answered 500")]
)
def test_status(server: Loopback, tmp_path: Path, status: int, message: str) -> None:
    server.pages["/f"] = Page(status=status, body=b"")
    with pytest.raises(DataError, match=message):
        download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert len(server.requests) == 1


def test_not_there_and_no_host(server: Loopback, tmp_path: Path) -> None:
    with pytest.raises(NotThere, match="no such file"):
        download(f"{server.url}/nothing", tmp_path / "f", SHA256)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    with pytest.raises(
        Unreachable, match=rf"127.0.0.1:{port} cannot be reached \(\[Errno \d+\] Connection refused\)"
    ):
        download(f"http://127.0.0.1:{port}/f", tmp_path / "f", SHA256)


def test_a_folder_that_cannot_be_written(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(DataError, match="cannot be written"):
        download(f"{server.url}/f", tmp_path / "file" / "f", SHA256)


def test_several_at_once_fetch_it_once(server: Loopback, tmp_path: Path) -> None:
    server.pages["/f"] = Page()
    threads = [
        threading.Thread(target=download, args=(f"{server.url}/f", tmp_path / "f", SHA256)) for _ in range(6)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (tmp_path / "f").read_bytes() == BODY
    assert len(server.requests) == 1


def test_a_killed_process_leaves_a_part_that_the_next_one_goes_on_with(
    server: Loopback, tmp_path: Path
) -> None:
    page = server.pages["/f"] = Page(stall_after=140_000)
    code = (
        "import sys; from pathlib import Path; from authbench.data.download import download\n"
        "download(sys.argv[1], Path(sys.argv[2]), sys.argv[3])"
    )
    arguments = [sys.executable, "-c", code, f"{server.url}/f", str(tmp_path / "f"), SHA256]
    process = subprocess.Popen(arguments, env=dict(os.environ))
    until = monotonic() + 60
    while monotonic() < until and not any(
        path.stat().st_size >= 131_072 for path in tmp_path.glob(".f.*.part")
    ):
        sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait()
    page.stall_after = None
    page.resume.set()
    download(f"{server.url}/f", tmp_path / "f", SHA256)
    assert (tmp_path / "f").read_bytes() == BODY
    assert server.header("range")[-1] == "bytes=131072-"
