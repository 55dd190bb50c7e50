"""The store's SQLite file: how it is opened, checked and mended, and what its errors mean to a user."""

from __future__ import annotations

import sqlite3
import time
from pathlib import Path

from authbench.errors import DataError
from authbench.runtime.salvage import move_aside, salvage

#: Seconds to wait for another process that writes.
BUSY_TIMEOUT = 20.0
_FORMAT = 1

_SCHEMA = """
CREATE TABLE IF NOT EXISTS models (
  id INTEGER PRIMARY KEY, identity TEXT NOT NULL UNIQUE, rendering TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS prompts (
  key BLOB PRIMARY KEY, model INTEGER NOT NULL, prompt BLOB NOT NULL, prompt_tokens INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS samples (
  key BLOB NOT NULL, sample INTEGER NOT NULL, text TEXT NOT NULL, finish TEXT NOT NULL,
  output_tokens INTEGER NOT NULL, label_logprobs TEXT, target_logprob REAL,
  cached_tokens INTEGER NOT NULL, seconds REAL NOT NULL, created REAL NOT NULL,
  PRIMARY KEY (key, sample)
) WITHOUT ROWID;
"""


class Guard:
    """Turns SQLite's errors into one line that a user can act on."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: object, error: BaseException | None, _: object) -> None:
        if isinstance(error, sqlite3.Error):
            raise DataError(_explain(self._path, error)) from error


def open_to_write(path: Path) -> tuple[sqlite3.Connection, str | None]:
    """The file, made if it is not there. A damaged one is moved aside and what can be read is saved.

    Gives the connection, and what had to be mended or None.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(
            f"{path.parent} cannot be made ({error.strerror}); choose another --results"
        ) from None
    with Guard(path):
        try:
            return _connect(path), None
        except sqlite3.OperationalError:
            raise
        except sqlite3.DatabaseError as error:
            kept = path.with_name(f"{path.name}.damaged-{time.strftime('%Y%m%d-%H%M%S')}")
            move_aside(path, kept)
            db = _connect(path)
            saved = salvage(kept, db)
            return db, f"{path} was damaged ({error}); it lies in {kept.name}, {saved:,} answers were saved"


def open_to_read(path: Path) -> sqlite3.Connection:
    """The file as it is: nothing is made, mended or written, and its folder need not be writable.

    Raises `DataError` if it is damaged, of another format, or cannot be opened.
    """
    with Guard(path):
        try:
            return _checked(path, f"{path.resolve().as_uri()}?mode=rw")
        except sqlite3.OperationalError:
            # WAL needs an index beside the file, which a folder that cannot be written has no room for.
            # Where nothing waits in the WAL, the file is complete by itself.
            wal = path.with_name(path.name + "-wal")
            if _locked(path) or (wal.exists() and wal.stat().st_size):
                raise
            return _checked(path, f"{path.resolve().as_uri()}?immutable=1")


def _checked(path: Path, uri: str) -> sqlite3.Connection:
    db = sqlite3.connect(uri, timeout=BUSY_TIMEOUT, uri=True)
    try:
        db.execute("PRAGMA query_only = ON")
        _check_format(path, db)
        db.execute("SELECT COUNT(*) FROM models").fetchone()
        _check_pages(db)
    except BaseException:
        db.close()
        raise
    return db


def _locked(path: Path) -> bool:
    db = sqlite3.connect(path, timeout=0)
    try:
        db.execute("SELECT COUNT(*) FROM sqlite_master").fetchone()
    except sqlite3.OperationalError as error:
        return "locked" in str(error)
    finally:
        db.close()
    return False


def _connect(path: Path) -> sqlite3.Connection:
    db = sqlite3.connect(path, timeout=BUSY_TIMEOUT)
    try:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = NORMAL")
        db.executescript(_SCHEMA)
        if db.execute("PRAGMA user_version").fetchone()[0] == 0:
            db.execute(f"PRAGMA user_version = {_FORMAT}")
        _check_format(path, db)
        db.execute("SELECT COUNT(*) FROM models").fetchone()
        _check_pages(db)
        db.commit()
    except BaseException:
        db.close()
        raise
    return db


def _check_format(path: Path, db: sqlite3.Connection) -> None:
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if version not in (0, _FORMAT):
        raise DataError(
            f"{path} has format {version}, this authbench reads {_FORMAT}; use another --results folder"
        )


def _check_pages(db: sqlite3.Connection) -> None:
    """Notice a cut-off file early: SQLite itself would only when it reads the missing pages."""
    first = db.execute("PRAGMA quick_check(1)").fetchone()[0] if _small(db) else "ok"
    if first != "ok":
        raise sqlite3.DatabaseError(f"malformed: {first}")


def _small(db: sqlite3.Connection) -> bool:
    pages = db.execute("PRAGMA page_count").fetchone()[0]
    size = db.execute("PRAGMA page_size").fetchone()[0]
    return int(pages) * int(size) < 64_000_000


def _explain(path: Path, error: sqlite3.Error) -> str:
    text = str(error)
    if "locked" in text or "busy" in text:
        return f"{path} is locked by another process that writes; wait for it, or use another --results"
    if "full" in text:
        return f"{path}: the disk is full; what was committed is kept. Free space and run the command again"
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be written ({text}); choose another folder with --results"
    if "malformed" in text or "not a database" in text:
        return (
            f"{path} is damaged ({text})\n"
            f"`authbench store repair --results {path.parent}` moves it aside and saves what can be read"
        )
    if "no such table" in text:
        return f"{path} holds no answers: it is empty, or no store of authbench ({text})"
    return f"{path}: {text}"
