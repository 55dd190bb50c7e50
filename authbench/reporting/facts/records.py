"""The facts about one group of items, as counts and shares that plots can draw."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from authbench.reporting.peritem import CellItems
from authbench.reporting.results import Run

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Positions:
    """How sources fare by the place at which they are shown in a list.

    Attributes:
        right: share of the comparisons with the list's other sources that come out right, ties one half.
        lift: mean of predicted minus true rank, in places; above 0 the source is put too high.
        valid: share of usable answers about that place; None where an answer is about the whole list.
        lists: lists that could be read.
    """

    right: Floats
    lift: Floats
    valid: Floats | None
    lists: int


@dataclass(frozen=True, slots=True)
class Sides:
    """What PairJudge makes of the two sides.

    Attributes:
        asked: comparisons.
        invalid: of these, without a usable answer.
        ties: of these, with equal scores.
        first: of the decided ones, those that prefer A.
        right_first: comparisons whose better source is A, and how many of them are right (ties are not).
        right_second: the same for B.
    """

    asked: int
    invalid: int
    ties: int
    first: int
    right_first: tuple[int, int]
    right_second: tuple[int, int]

    @property
    def decided(self) -> int:
        """Comparisons with a preference."""
        return self.asked - self.invalid - self.ties


@dataclass(frozen=True, slots=True, eq=False)
class Kept:
    """Which documents a filter keeps at one cut, by their place in retrieval order.

    Attributes:
        cut: `k = 3`, `score>=7` or `all`.
        k: the k of a top-k cut, else None.
        share: of the questions, how many keep the document at each place, shape (places,).
        questions: questions that were filtered.
        ties: of these, decided at the cut by the order of retrieval alone.
        level: mean authority level of the documents kept and of those left out, where levels are known.
        right: questions answered right.
        answers: how often `yes`, `no` or neither was answered, by the right answer.
    """

    cut: str
    k: int | None
    share: Floats
    questions: int
    ties: int
    level: tuple[float | None, float | None]
    right: int
    answers: Mapping[tuple[str, str], int]


@dataclass(frozen=True, slots=True, eq=False)
class GroupFacts:
    """Everything that the report shows of one group.

    Attributes:
        run: the run it belongs to.
        group: its id.
        dims: its dimensions, without measure and aggregation.
        items: how many there are.
        failed: of these, how many whose requests failed.
        statuses: answers by status.
        scores: how often each score was given, from 0; None where the judge gives no scores.
        heat: predicted (rows) against true level (columns), as counts; None where there are none.
        ranked: whether `heat` is by rank, since the judge gives no scores.
        positions: by place in the list, for lists.
        sides: by side, for PairJudge.
        kept: what was kept at each cut, for RAG.
        values: per-item values of its cells, the main measure first.
        extra: what a task adds for plots of its own.
    """

    run: Run
    group: str
    dims: Mapping[str, Any]
    items: int
    failed: int
    statuses: Counter[str]
    scores: Counts | None = None
    heat: Counts | None = None
    ranked: bool = False
    positions: Positions | None = None
    sides: Sides | None = None
    kept: Sequence[Kept] = ()
    values: Sequence[CellItems] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)
