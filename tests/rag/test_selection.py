"""Cuts of a ranking: ties by retrieval order, thresholds, too few documents."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.rag.selection import Cut, Selection, at_least, ranking, select, top_k


def test_ranking_keeps_retrieval_order_among_equals() -> None:
    assert ranking([5, 9, 5, None, 9, 0]) == [1, 4, 0, 2, 5]


@pytest.mark.parametrize(
    ("scores", "k", "kept", "tie"),
    [
        ([1, 9, 5], 1, (1,), False),
        ([9, 9, 5], 1, (0,), True),  # the second 9 loses by its place alone
        ([9, 9, 5], 2, (0, 1), False),
        ([3, 3, 3, 3], 3, (0, 1, 2), True),
        ([3, 3], 5, (0, 1), False),  # fewer documents than k: nothing is left out
        ([None, 2, None], 2, (1,), False),
        ([], 3, (), False),
    ],
)
def test_top_k(scores: list[float | None], k: int, kept: tuple[int, ...], tie: bool) -> None:
    assert top_k(scores, k) == Selection(kept, tie)


@pytest.mark.parametrize(
    ("scores", "threshold", "minimum", "kept", "tie"),
    [
        ([6, 7, 9, 7], 7, 0, (2, 1, 3), False),
        ([6, 6, 1], 7, 0, (), False),
        ([6, 6, 1], 7, 1, (0,), True),  # the minimum cuts between equal scores
        ([0, 0], 0, 0, (0, 1), False),
    ],
)
def test_threshold(
    scores: list[float | None], threshold: float, minimum: int, kept: tuple[int, ...], tie: bool
) -> None:
    assert at_least(scores, threshold, minimum) == Selection(kept, tie)


def test_select_by_cut() -> None:
    scores = [1.0, 8.0, 4.0]
    assert select(scores, Cut(k=2)).kept == (1, 2)
    assert select(scores, Cut(k=2)).in_order == (1, 2)
    assert select(scores, Cut(threshold=5)).kept == (1,)
    assert select(scores, Cut()).kept == (0, 1, 2)
    assert [cut.name for cut in (Cut(k=2), Cut(threshold=7.0), Cut(threshold=6.5), Cut())] == [
        "k=2",
        "score>=7",
        "score>=6.5",
        "all",
    ]


@given(st.lists(st.integers(0, 9), max_size=12), st.integers(1, 12))
def test_no_document_left_out_is_better_than_one_kept(scores: list[int], k: int) -> None:
    chosen = top_k(scores, k)
    left = [scores[place] for place in range(len(scores)) if place not in chosen.kept]
    assert len(chosen.kept) == min(k, len(scores))
    if chosen.kept and left:
        worst = min(scores[place] for place in chosen.kept)
        assert worst >= max(left)
        assert chosen.tie == (worst == max(left))
    # What k documents are kept, k + 1 keep as well: the sets are nested.
    assert set(chosen.kept) <= set(top_k(scores, k + 1).kept)
