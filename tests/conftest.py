"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import settings

ROOT = Path(__file__).resolve().parent.parent


@pytest.fixture(scope="session")
def mirror() -> Path:
    """The local mirror of real data; the test is skipped, visibly, where there is none."""
    folder = Path(os.environ.get("AUTHBENCH_MIRROR") or ROOT.parent / "shared" / "data")
    if not (folder / "entityauth").is_dir():
        pytest.skip(f"no data mirror (set AUTHBENCH_MIRROR; looked at {folder})")
    return folder


@pytest.fixture
def tmp_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty user cache, and no mirror or data folder from the environment."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("AUTHBENCH_CACHE", str(folder))
    monkeypatch.delenv("AUTHBENCH_MIRROR", raising=False)
    monkeypatch.delenv("AUTHBENCH_DATA", raising=False)
    return folder


# Machines are shared: how long one example takes says nothing about the code.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")
