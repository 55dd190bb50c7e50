"""The look-up on this machine: its order, its checks, and what its errors say."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import pytest

from authbench.data.catalog import Dataset, FileSpec, Hub
from authbench.data.digests import digest, sha256_of, write_atomically
from authbench.data.fetch import Places, check, expand, fetch, own_file
from authbench.errors import DataError

TEXT = b"one\ntwo\n"
SHA256 = hashlib.sha256(TEXT).hexdigest()
SPEC = FileSpec("set/file.csv", "corpus", size=len(TEXT), sha256=SHA256)
ENTRY = Dataset("myset", "t", "authority", (SPEC,), "l", "s", by_hand="ask its authors")


@pytest.fixture
def places(tmp_path: Path, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Places:
    """Three folders, each with the file; the names of the environment point to them."""
    monkeypatch.setenv("AUTHBENCH_DATA", str(tmp_path / "own"))
    monkeypatch.setenv("AUTHBENCH_MIRROR", str(tmp_path / "mirror"))
    found = Places.from_environment()
    for _, folder in found.folders():
        (folder / "set").mkdir(parents=True)
        (folder / SPEC.path).write_bytes(TEXT)
    return found


def test_order_of_the_places(places: Places, tmp_path: Path) -> None:
    for where, folder in places.folders():
        record = fetch(ENTRY, SPEC, places)
        assert record.to_dict() == {"path": "set/file.csv", "sha256": SHA256, "size": 8, "where": where}
        assert record.location == folder / SPEC.path
        (folder / SPEC.path).unlink()
    assert [where for where, _ in places.folders()] == ["data", "mirror", "cache"]
    with pytest.raises(DataError) as caught:
        fetch(ENTRY, SPEC, places)
    first, second = str(caught.value).split("\n")
    assert first.startswith("myset: set/file.csv not found (looked in data ")
    assert all(str(folder) in first for _, folder in places.folders())
    assert second == "To have it, set AUTHBENCH_MIRROR to a folder that has set/file.csv: ask its authors"


def test_a_folder_on_the_command_line_goes_before_the_environment(places: Places, tmp_path: Path) -> None:
    given = tmp_path / "given"
    (given / "set").mkdir(parents=True)
    (given / SPEC.path).write_bytes(TEXT)
    record = fetch(ENTRY, SPEC, Places.from_environment(given))
    assert record.location == given / SPEC.path


def test_offline_and_no_address(tmp_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    spec = FileSpec("a/b.jsonl", "corpus")
    entry = Dataset("h", "t", "authority", (spec,), "l", "s", hub=Hub("g/s", "r"), stand_in="other")
    with pytest.raises(DataError) as caught:
        fetch(entry, spec)
    first, second = str(caught.value).split("\n")
    assert "network: off, HF_HUB_OFFLINE is set" in first
    assert second == (
        "Run `authbench data pull h` where there is a network, or set AUTHBENCH_MIRROR to a folder that has "
        "a/b.jsonl, or use the stand-in other"
    )
    pattern = FileSpec("a/q", "questions", pattern="*/q.json*")
    with pytest.raises(DataError, match="HF_HUB_OFFLINE"):
        expand(entry, pattern)
    monkeypatch.delenv("HF_HUB_OFFLINE")
    with pytest.raises(DataError, match="HF_HUB_OFFLINE"):
        fetch(entry, spec, Places(None, None, tmp_cache, online=False))


def test_truncated_and_wrong_files_are_named_and_left_alone(places: Places) -> None:
    assert places.data is not None
    path = places.data / SPEC.path
    path.write_bytes(TEXT[:5])
    with pytest.raises(DataError) as caught:
        fetch(ENTRY, SPEC, places)
    assert str(caught.value) == (
        f"myset: {path} is truncated, 5 bytes instead of 8; left as it is\n"
        "Replace it, or move it away and run: authbench data pull myset"
    )
    assert path.read_bytes() == TEXT[:5]
    path.write_bytes(TEXT + b"three\n")
    with pytest.raises(DataError, match="is 14 bytes instead of 8"):
        fetch(ENTRY, SPEC, places)
    path.write_bytes(b"one\nTwo\n")
    wrong = hashlib.sha256(b"one\nTwo\n").hexdigest()
    with pytest.raises(DataError, match=f"has SHA-256 {wrong}, expected {SHA256}; left as it is"):
        fetch(ENTRY, SPEC, places)
    assert path.read_bytes() == b"one\nTwo\n"


def test_expand_on_this_machine(places: Places) -> None:
    pattern = FileSpec("root/RAGAuth", "questions", pattern="*/ragauth/*.json*")
    entry = Dataset("rag", "t", "questions", (pattern,), "l", "s", hub=Hub("g/s", "r"))
    assert expand(entry, SPEC, places) == (SPEC,)
    assert places.mirror is not None
    folder = places.mirror / "root" / "RAGAuth"
    folder.mkdir(parents=True)
    for name in ("b.jsonl", "a.json", ".a.json.part", "c.md"):
        (folder / name).write_text("{}")
    assert [spec.path for spec in expand(entry, pattern, places)] == [
        "root/RAGAuth/a.json",
        "root/RAGAuth/b.jsonl",
    ]


def test_own_file(tmp_path: Path, tmp_cache: Path) -> None:
    path = tmp_path / "mine.csv"
    path.write_bytes(TEXT)
    assert own_file(path).to_dict() == {"path": "mine.csv", "sha256": SHA256, "size": 8, "where": "own"}
    with pytest.raises(DataError, match=r"nothing.csv: cannot be read \(No such file"):
        own_file(tmp_path / "nothing.csv")
    with pytest.raises(DataError, match="cannot be read"):
        check(ENTRY, SPEC, "data", tmp_path / "nothing.csv")


def test_digests_are_remembered_by_size_and_time(tmp_path: Path, tmp_cache: Path) -> None:
    path = tmp_path / "f"
    path.write_bytes(TEXT)
    os.utime(path, ns=(1, 1))
    assert digest(path) == (SHA256, 8)
    path.write_bytes(TEXT[::-1])
    os.utime(path, ns=(1, 1))  # same size, same time: only a fresh look can tell
    assert digest(path) == (SHA256, 8)
    assert digest(path, fresh=True)[0] == sha256_of(path) != SHA256
    assert digest(path)[0] == sha256_of(path)
    os.utime(path, ns=(2, 2))
    path.write_bytes(TEXT)
    assert digest(path) == (SHA256, 8)


def test_a_damaged_or_readonly_digest_cache_only_costs_time(
    tmp_path: Path, tmp_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "f"
    path.write_bytes(TEXT)
    tmp_cache.mkdir()
    for damage in ("{", "[]", '{"x": 1}'):
        (tmp_cache / "digests.json").write_text(damage)
        assert digest(path) == (SHA256, 8)
    monkeypatch.setenv("AUTHBENCH_CACHE", str(path / "below-a-file"))
    assert digest(path) == (SHA256, 8)


def test_write_atomically(tmp_path: Path) -> None:
    write_atomically(tmp_path / "new" / "f", "text")
    assert [file.name for file in (tmp_path / "new").iterdir()] == ["f"]
