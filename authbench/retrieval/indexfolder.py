"""Folders of built files (an index, embeddings) that are used only if they are whole and of this content."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from authbench.data.digests import sha256_of

_MANIFEST = "manifest.json"


def place_of(kind: str, facts: Mapping[str, Any], folder: Path) -> Path:
    """The folder below `folder` for an index that these facts (corpus, settings, versions) decide."""
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()
    return folder / f"{kind}-{key[:32]}"


def damage(folder: Path, facts: Mapping[str, Any]) -> str | None:
    """Why the folder cannot be used for `facts`, in a phrase; None if it is whole. Reads every file."""
    try:
        manifest = json.loads((folder / _MANIFEST).read_bytes())
        if manifest["facts"] != dict(facts):
            return "it was made from other data or with other settings"
        for name, wanted in dict(manifest["files"]).items():
            if sha256_of(folder / name) != wanted:
                return f"{name} is damaged"
    except FileNotFoundError as error:
        return f"{Path(str(error.filename)).name} is missing"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"it cannot be read ({error})"
    return None


def keep(folder: Path, facts: Mapping[str, Any], fill: Callable[[Path], None]) -> str | None:
    """Make the folder with what `fill` writes into it, whole or not at all; what was there goes.

    Returns why it could not be kept, in a phrase (a full or read-only disk), or None.
    """
    part = folder.with_name(f".{folder.name}.{os.getpid()}.part")
    try:
        part.mkdir(parents=True)
        fill(part)
        finish(part, folder, facts)
    except OSError as error:
        shutil.rmtree(part, ignore_errors=True)
        return f"{error.strerror or error}"
    return None


def finish(part: Path, folder: Path, facts: Mapping[str, Any]) -> None:
    """Give a filled folder its manifest and its final name; what was there goes. Raises `OSError`."""
    files = {path.name: sha256_of(path) for path in sorted(part.iterdir())}
    manifest = {"facts": dict(facts), "files": files}
    (part / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
    shutil.rmtree(folder, ignore_errors=True)
    part.rename(folder)
