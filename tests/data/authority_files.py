"""Files with authority labels, written by the tests that read them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

#: Writes a file of a name and a content; gives its path.
Write = Callable[[str, str], Path]


def writer(folder: Path) -> Write:
    """Writes files into a folder, and the folders they are in."""

    def write_file(name: str, content: str) -> Path:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
        return path

    return write_file


def rows(*records: object) -> str:
    """Records as JSON lines."""
    return "".join(json.dumps(record) + "\n" for record in records)
