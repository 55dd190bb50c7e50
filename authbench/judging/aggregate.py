"""From comparisons of pairs to one number per source of a list (AuthorityBench, section 4.1).

`pairs` are rows `[i, j, a, b]` as the pair judges give them: places in the list, and what i and j got
(scores, or 1 and 0); None where the answer was not valid. The results are in the order shown, bigger is
better, ready for a rank correlation.

The paper uses AverageScore for PointScore and BubbleSort for PairRank, and finds (appendix F) that on the
same scores AverageScore is better throughout: it takes every comparison into account at once, where a sort
follows single comparisons, of which some contradict each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

Pair = Sequence[float | None]
Aggregate = Callable[[int, Sequence[Pair]], list[float | None]]


def average_score(count: int, pairs: Sequence[Pair]) -> list[float | None]:
    """Mean of a source's valid scores over its comparisons; None for a source that has none."""
    sums, numbers = [0.0] * count, [0] * count
    for row in pairs:
        for place, score in ((row[0], row[2]), (row[1], row[3])):
            if place is not None and score is not None:
                sums[int(place)] += score
                numbers[int(place)] += 1
    return [total / number if number else None for total, number in zip(sums, numbers, strict=True)]


def bubble_sort(count: int, pairs: Sequence[Pair]) -> list[float | None]:
    """Bubble sort by preference, from the order shown; `count` minus the place reached, from 0.

    Two neighbours change places if the lower one is preferred. The preference of two sources is that of
    their own comparison if there is a valid one (the majority, if there are several); equal scores are no
    preference. Two sources that were never compared, or only with an invalid answer, are compared through
    the sources that both were compared with: i comes before j if more of these lie between them as
    i > a > j than as j > a > i. No preference, no change.

    The paper names the method only; the inference is what makes its remark true that the anchors'
    comparisons "suffice to infer the complete ranking". Passes end after `count - 1`, so a circle of
    preferences ends too. None for all if a source has no valid comparison at all: its place would be
    that in which it happened to be shown.
    """
    direct = _direct(count, pairs)
    compared = [
        [other for other in range(count) if direct[place][other] is not None] for place in range(count)
    ]
    if not all(compared):
        return [None] * count
    order = list(range(count))
    for end in range(count - 1, 0, -1):
        for k in range(end):
            if _preference(direct, compared, order[k + 1], order[k]) > 0:
                order[k], order[k + 1] = order[k + 1], order[k]
    scores: list[float | None] = [None] * count
    for place, source in enumerate(order):
        scores[source] = float(count - place)
    return scores


def _direct(count: int, pairs: Sequence[Pair]) -> list[list[int | None]]:
    """Net number of comparisons that i won against j; None where there is no valid one."""
    net: list[list[int | None]] = [[None] * count for _ in range(count)]
    for i, j, a, b in pairs:
        if i is None or j is None or a is None or b is None:
            continue
        first, second = int(i), int(j)
        sign = (a > b) - (a < b)
        net[first][second] = (net[first][second] or 0) + sign
        net[second][first] = (net[second][first] or 0) - sign
    return net


def _preference(
    direct: Sequence[Sequence[int | None]], compared: Sequence[Sequence[int]], i: int, j: int
) -> int:
    """Above 0 if i is preferred to j, below 0 if j is, 0 if neither."""
    own = direct[i][j]
    if own is not None:
        return own
    balance = 0
    for between in compared[i]:
        above, below = direct[i][between] or 0, direct[between][j] or 0
        if above * below > 0:
            balance += 1 if above > 0 else -1
    return balance


#: The aggregations of each PairJudge by name; the first is the paper's.
AGGREGATIONS: Mapping[str, Mapping[str, Aggregate]] = {
    "pair-score": {"average": average_score, "bubble": bubble_sort},
    "pair-rank": {"bubble": bubble_sort},
}
