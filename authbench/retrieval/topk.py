"""The best documents of a score vector, in an order that is always the same."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from authbench.retrieval.runfile import Hit


def best_positions(scores: npt.NDArray[Any], depth: int) -> npt.NDArray[np.int64]:
    """Positions of the `depth` highest scores, best first; equal scores in order of position."""
    if depth < len(scores):
        edge = np.partition(scores, len(scores) - depth)[len(scores) - depth]
        found = np.flatnonzero(scores >= edge)
    else:
        found = np.arange(len(scores))
    return found[np.argsort(-scores[found], kind="stable")][:depth].astype(np.int64)


def hits_of(
    documents: Sequence[str], scores: npt.NDArray[Any], positions: npt.NDArray[Any]
) -> tuple[Hit, ...]:
    """Hits from positions in the corpus and their scores."""
    return tuple(
        Hit(documents[p], float(s)) for p, s in zip(positions.tolist(), scores.tolist(), strict=True)
    )
