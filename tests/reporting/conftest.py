"""Fixtures of the reporting tests."""

from __future__ import annotations

from pathlib import Path

import pytest
from fakeruns import make_results


@pytest.fixture(scope="session")
def fake_results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with every kind of table, made once and never changed."""
    return make_results(tmp_path_factory.mktemp("fake"))
