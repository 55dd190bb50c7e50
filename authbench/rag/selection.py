"""Which documents a filter keeps: the first k by score, or all that reach a threshold.

Pure arithmetic over scores in retrieval order. A score of None marks a document that is out of the running
(the second stage of a combined filter has no place for it); it is never kept.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Cut:
    """Where a ranking is cut: after `k` documents, or at a score; neither keeps all documents."""

    k: int | None = None
    threshold: float | None = None

    @property
    def name(self) -> str:
        """`k=3`, `score>=7` or `all`."""
        if self.k is not None:
            return f"k={self.k}"
        return "all" if self.threshold is None else f"score>={self.threshold:g}"


@dataclass(frozen=True, slots=True)
class Selection:
    """The documents kept.

    Attributes:
        kept: their places in retrieval order, best score first; equal scores in retrieval order.
        tie: True if a document was left out whose score equals that of one kept, so that only the rule
            for ties decided between them.
    """

    kept: tuple[int, ...]
    tie: bool = False

    @property
    def in_order(self) -> tuple[int, ...]:
        """The documents kept, in retrieval order."""
        return tuple(sorted(self.kept))


def ranking(scores: Sequence[float | None]) -> list[int]:
    """Places by falling score; equal scores stay in retrieval order, and None is left out."""
    scored = [(score, place) for place, score in enumerate(scores) if score is not None]
    return [place for _, place in sorted(scored, key=lambda pair: -pair[0])]


def top_k(scores: Sequence[float | None], k: int) -> Selection:
    """The `k` best documents, all where there are fewer (AuthorityBench, section 4.4)."""
    order = ranking(scores)
    kept, left = order[:k], order[k:]
    tie = bool(kept and left) and scores[kept[-1]] == scores[left[0]]
    return Selection(tuple(kept), tie)


def at_least(scores: Sequence[float | None], threshold: float, minimum: int = 0) -> Selection:
    """Every document whose score is `threshold` or more, and never fewer than the `minimum` best ones."""
    enough = sum(1 for score in scores if score is not None and score >= threshold)
    return top_k(scores, max(enough, minimum))


def select(scores: Sequence[float | None], cut: Cut, minimum: int = 0) -> Selection:
    """The documents that a cut keeps; `minimum` is for thresholds, see `at_least`."""
    if cut.k is not None:
        return top_k(scores, cut.k)
    if cut.threshold is not None:
        return at_least(scores, cut.threshold, minimum)
    return Selection(tuple(range(len(scores))))
