"""What a claim is: a sentence of a paper as a check on cells. `claimlist` has the claims, `audit` decides.

A side, such as `{"judge": "list", "output": "score"}`, names cells by their dimensions. Two cells are
compared if they agree in everything that the sides do not name. Aggregations are those of the paper
(AverageScore for scores, BubbleSort for ranks) unless a side names another one.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

Side = Mapping[str, Any]
Quantifier = Literal["all", "most"]


@dataclass(frozen=True, slots=True)
class Beats:
    """Every cell of `left` is above its partner of `right` (or equal to it, with `or_equal`).

    Attributes:
        left: sides, each compared with each of `right`.
        right: what they are compared with.
        best: compare only the best cell of `left` with the best of `right`, once in each setting.
        or_equal: whether equal values hold.
        value: column that is compared; columns other than `value` are counts and have no intervals.
        ignore: dimensions in which partners may differ.
    """

    left: tuple[Side, ...]
    right: tuple[Side, ...]
    best: bool = False
    or_equal: bool = False
    value: str = "value"
    ignore: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Grows:
    """Values rise along `steps` of a dimension, each step being one comparison."""

    dim: str
    steps: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class AtLeast:
    """No cell is below `floor`, a fraction."""

    floor: float


@dataclass(frozen=True, slots=True)
class OnFront:
    """No method that costs as little as `side` (prompt and output tokens together) has a higher value."""

    side: Side


@dataclass(frozen=True, slots=True)
class GainsMost:
    """The relative gain of `method` over the base ranking is largest for one base, in each collection."""

    base: str


@dataclass(frozen=True, slots=True)
class Possible:
    """A proportion of n items is a multiple of 1/n. `items` are the papers' n by table; runs bring theirs."""

    items: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class NoCopies:
    """No two models share all measures of a setting to the last digit."""


@dataclass(frozen=True, slots=True)
class NoRepeats:
    """No two values of `dim` share the whole row of a model (three cells or more)."""

    dim: str


@dataclass(frozen=True, slots=True)
class Extremes:
    """The smallest and largest number of sitelinks in a domain of EntityAuth's upstream files, and how many
    entities have the smallest. A test holds them against the files."""

    domain: str
    smallest: int
    with_smallest: int
    largest: int


@dataclass(frozen=True, slots=True)
class Binned:
    """EntityAuth's formula puts the smallest and the largest value of each domain into the levels 0 to 9."""

    domains: tuple[Extremes, ...]


Check = Beats | Grows | AtLeast | OnFront | GainsMost | Possible | NoCopies | NoRepeats | Binned


@dataclass(frozen=True, slots=True)
class Claim:
    """One sentence of a paper as a check.

    Attributes:
        name: how it is called on the command line and in results.
        text: what is checked, in one sentence.
        source: where the paper says so; "sanity" where it is a check of ours on the numbers.
        tables: ids of the tables it speaks of.
        check: how it is decided.
        where: dimensions of the cells it speaks of: a value or several.
        quantifier: `all`, or `most` where the paper says "generally" or "in most settings".
    """

    name: str
    text: str
    source: str
    tables: tuple[str, ...]
    check: Check
    where: Mapping[str, Any] = field(default_factory=dict)
    quantifier: Quantifier = "all"
