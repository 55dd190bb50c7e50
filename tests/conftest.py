"""Fixtures that all tests share."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from authbench.reporting.html import Report

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


@pytest.fixture(scope="session")
def fake_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with every kind of table, made once and never changed."""
    from fakeruns import make_results  # beside the tests of reporting, which alone ask for this

    return make_results(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="session")
def big_report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """A report over a hundred thousand items, made once."""
    from fakeruns import big_run

    from authbench.reporting.html import write_report
    from authbench.reporting.results import load_run

    folder = tmp_path_factory.mktemp("big")
    out = folder / "report.html"
    return out, write_report([load_run(big_run(folder / "results", 100_000))], out)
