"""SHA-256 of files, remembered by path, size and time of change, so that a re-run need not read them."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from pathlib import Path
from typing import Any

from authbench.paths import cache_dir


def sha256_of(path: Path) -> str:
    """Hexadecimal SHA-256 of a file, read now."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def digest(path: Path, *, fresh: bool = False) -> tuple[str, int]:
    """SHA-256 and size of a file.

    The digest is taken from the user's cache if size and time of change (in nanoseconds) are the ones it was
    computed for; with `fresh` the file is read in any case.
    """
    status = path.stat()
    key = str(path.resolve())
    known = {} if fresh else _read()
    entry = known.get(key)
    if isinstance(entry, list) and entry[:2] == [status.st_size, status.st_mtime_ns]:
        return str(entry[2]), status.st_size
    value = sha256_of(path)
    _remember(key, [status.st_size, status.st_mtime_ns, value])
    return value, status.st_size


def write_atomically(path: Path, content: str | bytes) -> None:
    """Write a small file (text as UTF-8) so that a reader sees the old content or the new, never a part."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        temporary.write_bytes(content.encode() if isinstance(content, str) else content)
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def _file() -> Path:
    return cache_dir("digests.json")


def _read() -> dict[str, Any]:
    try:
        known = json.loads(_file().read_text(encoding="utf-8"))
    except (OSError, ValueError):  # not there yet, or damaged: it is only a shortcut
        return {}
    return known if isinstance(known, dict) else {}


def _remember(key: str, entry: list[Any]) -> None:
    known = _read()
    known[key] = entry
    with contextlib.suppress(OSError):  # a read-only home only costs the time to hash again
        write_atomically(_file(), json.dumps(known, indent=0, sort_keys=True))
