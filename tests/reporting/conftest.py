"""Fixtures of the reporting tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakeruns import big_run, make_results

from authbench.reporting.html import Report, write_report
from authbench.reporting.results import load_run


@pytest.fixture(scope="session")
def fake_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with every kind of table, made once and never changed."""
    return make_results(tmp_path_factory.mktemp("fake"))


@pytest.fixture(scope="session")
def big_report(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Report]:
    """A report over a hundred thousand items, made once."""
    folder = tmp_path_factory.mktemp("big")
    out = folder / "report.html"
    return out, write_report([load_run(big_run(folder / "results", 100_000))], out)
