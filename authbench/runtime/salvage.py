"""What can be saved out of a damaged store. It is moved aside, never changed."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def move_aside(path: Path, kept: Path) -> None:
    """Rename a damaged store with the files that SQLite keeps beside it."""
    path.rename(kept)
    for suffix in ("-wal", "-shm"):
        beside = path.with_name(path.name + suffix)
        if beside.exists():
            beside.rename(kept.with_name(kept.name + suffix))


def salvage(kept: Path, db: sqlite3.Connection) -> int:
    """Copy every row that can still be read out of a damaged file; gives how many answers that is."""
    copy = _whole_pages(kept)
    source = sqlite3.connect(copy)
    try:
        # Without this SQLite refuses a file that is shorter than its header says, even to read it.
        source.execute("PRAGMA writable_schema = ON")
        return _copy_rows(source, db)
    except sqlite3.Error:
        return 0
    finally:
        source.close()
        for suffix in ("", "-wal", "-shm"):
            copy.with_name(copy.name + suffix).unlink(missing_ok=True)


def _copy_rows(source: sqlite3.Connection, db: sqlite3.Connection) -> int:
    saved = 0
    for table, width in (("models", 3), ("prompts", 4), ("samples", 10)):
        marks = ",".join("?" * width)
        key = "id" if table == "models" else "key"
        for direction in ("ASC", "DESC"):  # from both ends towards the damage
            for row in _readable(source, f"SELECT * FROM {table} ORDER BY {key} {direction}"):
                cursor = db.execute(f"INSERT OR IGNORE INTO {table} VALUES ({marks})", row)
                saved += cursor.rowcount if table == "samples" else 0
    db.execute("DELETE FROM prompts WHERE model NOT IN (SELECT id FROM models)")
    saved -= db.execute("DELETE FROM samples WHERE key NOT IN (SELECT key FROM prompts)").rowcount
    db.commit()
    return saved


def _whole_pages(kept: Path) -> Path:
    """A copy that ends with a whole page: half a page would be read as rows filled up with zeros."""
    copy = kept.with_name(kept.name + ".reading")
    shutil.copyfile(kept, copy)
    wal = kept.with_name(kept.name + "-wal")
    if wal.exists():
        shutil.copyfile(wal, copy.with_name(copy.name + "-wal"))
    with copy.open("r+b") as file:
        header = file.read(18)
        size = int.from_bytes(header[16:18], "big") if header.startswith(b"SQLite format 3") else 0
        page = 65536 if size == 1 else size
        if page:
            file.truncate(file.seek(0, 2) // page * page)
    return copy


def _readable(db: sqlite3.Connection, query: str) -> Iterator[tuple[Any, ...]]:
    try:
        yield from db.execute(query)
    except sqlite3.Error:
        return
