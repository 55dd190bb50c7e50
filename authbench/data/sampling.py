"""Drawing lists and pairs with a recorded seed (AuthorityBench, section 3.3.1).

Draws come from `random.Random` seeded with a string, which is the same on every machine, so a seed names its
items for good. The first k lists or pairs of a larger request are those of a smaller one.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Literal

from authbench.data.records import ListItem, PairItem, Source
from authbench.errors import DataError

Difficulty = Literal["easy", "hard"]


@dataclass(frozen=True, slots=True)
class PairRule:
    """Which pairs are easy and which hard, by the absolute difference of their fine levels.

    The paper: easy if the difference exceeds 5, hard if it is less than 2. The latter admits equal labels,
    for which no answer is right; `allow_equal=False` leaves them out.

    Attributes:
        easy_min_gap: the smallest difference of an easy pair.
        hard_max_gap: the largest difference of a hard pair.
        allow_equal: whether a hard pair may have equal labels.
    """

    easy_min_gap: int = 6
    hard_max_gap: int = 1
    allow_equal: bool = True

    def admits(self, gap: int, difficulty: Difficulty) -> bool:
        """True if a pair of that difference belongs to that difficulty."""
        if difficulty == "easy":
            return gap >= self.easy_min_gap
        return gap <= self.hard_max_gap and (gap > 0 or self.allow_equal)

    def text(self, difficulty: Difficulty) -> str:
        """The rule in words, for a message."""
        if difficulty == "easy":
            return f"levels differ by {self.easy_min_gap} or more"
        return f"levels differ by {self.hard_max_gap} or less" + ("" if self.allow_equal else ", not equal")


PAPER_RULE = PairRule()


def by_level(sources: Sequence[Source], levels: int) -> list[list[Source]]:
    """The sources of each level 0..levels-1, in their order."""
    groups: list[list[Source]] = [[] for _ in range(levels)]
    for source in sources:
        groups[source.level].append(source)
    return groups


def sample_lists(
    sources: Sequence[Source], levels: int, count: int, seed: int, domain: str
) -> tuple[ListItem, ...]:
    """`count` lists of one source of each level 0..levels-1, each shuffled.

    List number n depends on (seed, domain, n) and the sources alone. Each level's source is drawn uniformly;
    a source may come up in several lists, never twice in one. Ids are `DOMAIN-0000` and so on.

    Raises:
        DataError: a level without sources, or more lists wanted than there are different ones.
    """
    groups = by_level(sources, levels)
    empty = [str(level) for level, group in enumerate(groups) if not group]
    if count and empty:
        raise DataError(
            f"{domain}: no items of level {', '.join(empty)}, and a list needs one of each "
            f"({_counted(groups)}); try another seed, another file or scale: coarse"
        )
    different = math.prod(len(group) for group in groups)
    if count > different:
        raise DataError(
            f"{domain}: {count} lists wanted, but only {different} different ones can be made "
            f"({_counted(groups)}); set dataset.lists={different} or less"
        )
    lists = []
    for number in range(count):
        random = Random(f"{seed}/{domain}/lists/{number}")
        chosen = [random.choice(group) for group in groups]
        random.shuffle(chosen)
        lists.append(ListItem(f"{domain}-{number:04d}", number, tuple(chosen)))
    return tuple(lists)


def sample_pairs(
    sources: Sequence[Source],
    count: int,
    seed: int,
    domain: str,
    difficulty: Difficulty,
    rule: PairRule = PAPER_RULE,
) -> tuple[PairItem, ...]:
    """`count` different pairs of one difficulty, drawn uniformly from all that the rule admits.

    No two pairs hold the same two sources; which is shown as A is a fair coin of the same stream. The n-th
    pair depends on (seed, domain, difficulty, rule) and the sources alone, not on `count`. Ids are
    `DOMAIN-easy-0000` and so on.

    Raises:
        DataError: fewer such pairs than wanted.
    """
    levels = max((source.level for source in sources), default=0) + 1
    groups = by_level(sources, levels)
    cells = [(low, high) for low in range(levels) for high in range(low, levels)]
    cells = [(low, high) for low, high in cells if rule.admits(high - low, difficulty)]
    sizes = [_pairs_between(len(groups[low]), len(groups[high]), low == high) for low, high in cells]
    ends = list(accumulate(sizes))
    total = ends[-1] if ends else 0
    if count > total:
        raise DataError(
            f"{domain}: {count} {difficulty} pairs wanted, but only {total} exist "
            f"({_counted(groups)}; rule: {rule.text(difficulty)}); set dataset.pairs lower"
        )
    random = Random(f"{seed}/{domain}/pairs/{difficulty}")
    moved: dict[
        int, int
    ] = {}  # the touched part of a permutation of range(total): a lazy Fisher-Yates shuffle
    pairs = []
    for number in range(count):
        chosen = random.randrange(number, total)
        index = moved.get(chosen, chosen)
        moved[chosen] = moved.get(number, number)
        cell = bisect_right(ends, index)
        low, high = cells[cell]
        first, second = _pair_at(groups[low], groups[high], low == high, index - ends[cell] + sizes[cell])
        if random.random() < 0.5:
            first, second = second, first
        pairs.append(PairItem(f"{domain}-{difficulty}-{number:04d}", number, first, second, difficulty))
    return tuple(pairs)


def _counted(groups: Sequence[Sequence[Source]]) -> str:
    counts = ", ".join(str(len(group)) for group in groups)
    return f"items of level 0 to {len(groups) - 1}: {counts}"


def _pairs_between(low: int, high: int, same: bool) -> int:
    return low * (low - 1) // 2 if same else low * high


def _pair_at(low: Sequence[Source], high: Sequence[Source], same: bool, index: int) -> tuple[Source, Source]:
    """The pair number `index` of two levels; of one level with itself, the pairs (i, j) with i > j by i."""
    if not same:
        row, column = divmod(index, len(high))
        return low[row], high[column]
    row = (1 + math.isqrt(1 + 8 * index)) // 2
    return low[row], low[index - row * (row - 1) // 2]
