"""What users see of small runs is what was recorded. `make golden-record` records a change that is meant."""

from __future__ import annotations

import pytest

from .difference import differences
from .record import expected, record


def test_nothing_that_was_recorded_changed() -> None:
    """One test, since everything comes out of one folder of runs; a failure shows the differences."""
    texts = list(differences(expected(), record()))
    if texts:
        pytest.fail(
            "\n".join([*texts, f"{len(texts)} recorded files differ; see `make golden`"]), pytrace=False
        )
