"""A store that is locked or damaged, a folder that cannot be written, a disk that is full."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from pathlib import Path

import pytest
from command_line import Run, prepared, refused, runner

from authbench.runtime import storefile


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(tmp_path, monkeypatch)


@pytest.fixture
def run(at: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def test_a_locked_store(at: Path, run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    monkeypatch.setattr(storefile, "BUSY_TIMEOUT", 0.1)
    holder = sqlite3.connect(at / "results/responses.sqlite")
    try:
        holder.execute("PRAGMA locking_mode = EXCLUSIVE")
        holder.execute("BEGIN EXCLUSIVE")
        for words in (("run", "x.yaml"), ("score", "results"), ("store", "stats")):
            refused(run(*words), 3, "responses.sqlite is locked by another process", "wait for it")
    finally:
        holder.rollback()
        holder.close()
    assert run("run", "x.yaml")[0] == 0


def test_a_damaged_store_is_mended_by_a_run_and_by_repair_only(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    store = at / "results/responses.sqlite"
    whole = store.read_bytes()
    damaged = whole[:8192] + b"\xff" * 3000 + whole[11192:]
    store.write_bytes(damaged)
    looks = (("run", "x.yaml", "--dry-run"), ("score", "results"), ("store", "stats"))
    for words in (*looks, ("store", "export", "-o", "out.gz")):
        refused(run(*words), 3, "is damaged", "`authbench store repair --results results`")
    assert store.read_bytes() == damaged
    status, _, said = run("store", "repair")
    assert status == 0 and "answers were saved" in said
    [kept] = (at / "results").glob("responses.sqlite.damaged-*")
    assert kept.read_bytes() == damaged
    assert run("store", "repair")[2] == "nothing to repair\n"
    assert run("run", "x.yaml")[0] == 0


def test_an_empty_store(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    (at / "results/responses.sqlite").write_bytes(b"")
    for words in (("score", "results"), ("store", "stats")):
        refused(run(*words), 3, "responses.sqlite holds no answers: it is empty")


def test_looking_changes_nothing(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    before = {path: path.stat().st_mtime_ns for path in (at / "results").rglob("*")}
    for words in (("run", "x.yaml", "--dry-run"), ("store", "stats"), ("store", "export", "-o", "out.gz")):
        assert run(*words)[0] == 0
    assert {path: path.stat().st_mtime_ns for path in (at / "results").rglob("*")} == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_that_cannot_be_written(at: Path, run: Run) -> None:
    assert run("run", "x.yaml", "-q")[0] == 0
    folder = at / "results"
    folder.chmod(0o500)
    try:
        refused(run("run", "x.yaml", "--set", "dataset.lists=4"), 2, "another configuration")
        refused(run("run", "x.yaml", "--results", "results/sub"), 3, "cannot be made")
        assert run("store", "stats")[0] == 0
    finally:
        folder.chmod(0o700)


def test_a_full_disk(at: Path, run: Run, tmp_path: Path) -> None:
    """A small file system in memory; only root can make one."""
    full = tmp_path / "full"
    full.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(full)], check=False)
    if mounted.returncode != 0:
        pytest.skip("no file system can be mounted here")
    try:
        words = ("run", "x.yaml", "--results", str(full), "--set", "dataset.lists=100")
        refused(run(*words), 3, "kept")  # by the store or by the results, whichever needs room first
        assert (full / "responses.sqlite").exists()
        refused(run(*words), 3)
        subprocess.run(["mount", "-o", "remount,size=30m", str(full)], check=True)
        assert run(*words)[0] == 0
        subprocess.run(["mount", "-o", "remount,ro", str(full)], check=True)
        refused(
            run("run", "x.yaml", "--results", str(full / "sub")), 3, "cannot be made (Read-only file system"
        )
        refused(run("score", str(full)), 3, "items.jsonl cannot be written: Read-only file system")
        assert run("store", "stats", "--results", str(full))[0] == 0
        assert run(*words, "--dry-run")[0] == 0
    finally:
        subprocess.run(["umount", str(full)], check=True)
