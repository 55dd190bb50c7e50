"""Aggregations of pairs, with examples worked out by hand."""

from __future__ import annotations

from itertools import combinations, permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.judging.aggregate import average_score, bubble_sort
from authbench.judging.judges import comparison_plan

Row = list[float | None]


def won(*winners: tuple[int, int]) -> list[Row]:
    """Rows as PairRank gives them, the first of each pair preferred."""
    return [[i, j, 1, 0] for i, j in winners]


def test_average_is_the_mean_of_the_valid_scores() -> None:
    rows: list[Row] = [[0, 1, 7, 4], [2, 0, 5, 8], [1, 2, None, None]]
    # 0 got 7 and 8, 1 got 4, 2 got 5.
    assert average_score(3, rows) == [7.5, 4.0, 5.0]


def test_average_of_nothing_is_none() -> None:
    rows: list[Row] = [[0, 1, 7, 4], [2, 0, None, None], [1, 2, None, None]]
    assert average_score(3, rows) == [7.0, 4.0, None]
    assert average_score(2, []) == [None, None]


def test_bubble_sort_of_three_by_hand() -> None:
    # Shown 0, 1, 2; the answers say 2 before 0 before 1. First pass: 0, 1 stay; 1 and 2 change places:
    # 0, 2, 1. Second pass: 0 and 2 change places: 2, 0, 1. Of three the first has 3, the last 1.
    assert bubble_sort(3, won((0, 1), (2, 0), (2, 1))) == [2.0, 1.0, 3.0]


def test_bubble_sort_takes_the_side_into_account() -> None:
    assert bubble_sort(2, [[1, 0, 1, 0]]) == [1.0, 2.0]
    assert bubble_sort(2, [[1, 0, 0, 1]]) == [2.0, 1.0]


def test_bubble_sort_of_scores() -> None:
    rows: list[Row] = [[0, 1, 3, 8], [0, 2, 3, 5], [1, 2, 6, 5]]
    assert bubble_sort(3, rows) == [1.0, 3.0, 2.0]


def test_equal_scores_are_no_preference() -> None:
    assert bubble_sort(2, [[1, 0, 5, 5]]) == [2.0, 1.0]
    # 1 and 2 are equal although 0 lies between them: their own comparison decides.
    assert bubble_sort(3, [[1, 2, 5, 5], [2, 0, 9, 4], [0, 1, 6, 3]])[1:] == [2.0, 1.0]


def test_a_circle_of_preferences_ends() -> None:
    # 0 over 1, 1 over 2, 2 over 0: pass 1 leaves 0, 1 and 1, 2; pass 2 leaves 0, 1.
    assert bubble_sort(3, won((0, 1), (1, 2), (2, 0))) == [3.0, 2.0, 1.0]


def test_pairs_not_compared_are_inferred_through_anchors() -> None:
    # 0 and 1 meet only the anchors 2, 3, 4. 1 over 2 over 0 and 1 over 3 over 0 against 0 over 4 over 1:
    # two against one, so 1 comes before 0. Pass 1 over 0, 1, 2, 3, 4: 1 before 0; 0 and 2: 2 first;
    # 0 and 3: 3 first; 0 and 4 stay: 1, 2, 3, 0, 4. Pass 2: 1, 2; 2, 3; 3, 0 stay.
    rows = won((1, 2), (2, 0), (1, 3), (3, 0), (0, 4), (4, 1), (2, 3), (2, 4), (3, 4))
    assert bubble_sort(5, rows) == [2.0, 5.0, 4.0, 3.0, 1.0]


def test_a_tied_inference_leaves_the_order_shown() -> None:
    # 1 over 2 over 0, and 0 over 3 over 1: one against one.
    rows = won((1, 2), (2, 0), (0, 3), (3, 1), (3, 2))
    # Pass 1 over 0, 1, 2, 3: 0, 1 stay; 1, 2 stay; 3 before 2: 0, 1, 3, 2. Pass 2: 0, 1 stay; 3 before 1:
    # 0, 3, 1, 2. Pass 3: 0, 3 stay.
    assert bubble_sort(4, rows) == [4.0, 2.0, 1.0, 3.0]


def test_an_invalid_comparison_is_inferred_too() -> None:
    rows: list[Row] = [[0, 1, None, None], [1, 2, 1, 0], [2, 0, 1, 0]]
    assert bubble_sort(3, rows) == [1.0, 3.0, 2.0]  # 1 over 2 over 0


def test_a_source_without_a_valid_comparison_voids_the_list() -> None:
    assert bubble_sort(3, [[0, 1, 1, 0], [1, 2, None, None], [0, 2, None, None]]) == [None, None, None]


def test_repeated_comparisons_count_by_majority() -> None:
    assert bubble_sort(2, won((1, 0), (0, 1), (1, 0))) == [1.0, 2.0]
    assert bubble_sort(2, won((1, 0), (0, 1))) == [2.0, 1.0]


@given(order=st.permutations(range(10)), seed=st.integers(0, 1000))
def test_the_anchor_scheme_recovers_the_order_but_between_neighbours_without_anchor(
    order: list[int], seed: int
) -> None:
    plan = comparison_plan(10, "anchors", str(seed))
    place = {source: k for k, source in enumerate(order)}
    rows: list[Row] = [[i, j, int(place[i] < place[j]), int(place[j] < place[i])] for i, j in plan]
    scores = bubble_sort(10, rows)
    compared = {frozenset(pair) for pair in plan}
    anchors = {k for k in range(10) if sum(k in pair for pair in compared) == 9}
    for i, j in permutations(range(10), 2):
        between = any(place[i] < place[a] < place[j] for a in anchors)
        if place[i] < place[j] and (between or frozenset((i, j)) in compared):
            a, b = scores[i], scores[j]
            assert a is not None
            assert b is not None
            assert a > b


@given(scores=st.lists(st.integers(0, 9), min_size=2, max_size=7))
def test_all_pairs_of_consistent_scores_are_sorted_stably(scores: list[int]) -> None:
    count = len(scores)
    rows: list[Row] = [[i, j, scores[i], scores[j]] for i, j in combinations(range(count), 2)]
    order = sorted(range(count), key=lambda k: -scores[k])  # stable: equal ones as shown
    wanted = {source: float(count - place) for place, source in enumerate(order)}
    assert bubble_sort(count, rows) == [wanted[k] for k in range(count)]
    assert average_score(count, rows) == [float(score) for score in scores]


@pytest.mark.parametrize("aggregate", [average_score, bubble_sort])
def test_a_list_of_one_or_none(aggregate: object) -> None:
    assert callable(aggregate)
    assert aggregate(1, []) == [None]
    assert aggregate(0, []) == []
