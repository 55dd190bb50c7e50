"""Where authbench keeps and finds its own files: one place that resolves paths."""

from __future__ import annotations

import os
from pathlib import Path


def share_dir(*parts: str) -> Path:
    """A folder or file that ships with authbench: `configs/...` or `data/...`.

    In an installed wheel it lies in `authbench/share`, in a checkout beside the package.
    """
    package = Path(__file__).resolve().parent
    packaged = package / "share"
    root = packaged if packaged.is_dir() else package.parent
    return root.joinpath(*parts)


def cache_dir(*parts: str) -> Path:
    """The user's cache (`AUTHBENCH_CACHE`, else XDG); made when something is written into it."""
    base = os.environ.get("AUTHBENCH_CACHE")
    if base:
        return Path(base).expanduser().joinpath(*parts)
    home = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(home).joinpath("authbench", *parts)
