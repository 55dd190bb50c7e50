"""The filters by name: what each scores, and how scores of several become one.

The paper's four are `none`, `relevance`, `utility` and `authority` (AuthorityBench, section 4.4). Beyond
it: `oracle-stance` and `oracle-authority`, which read the data's own labels instead of asking a model, and
two ways to join filters, `authority+relevance` (a weighted mean) and `relevance-then-authority` (in stages).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from authbench.errors import ConfigError, did_you_mean
from authbench.rag.selection import Cut, Selection, select, top_k

#: Filters that ask a model for a score of each document.
ASKED = ("relevance", "utility", "authority")
#: Filters that read labels: the upper bounds.
ORACLES = ("oracle-stance", "oracle-authority")

Scores = Mapping[str, Sequence[float]]


@dataclass(frozen=True, slots=True)
class Filter:
    """A filter, made by `parse_filter`.

    Attributes:
        name: as in the configuration.
        parts: the single filters it is made of; none for the filter `none`.
        mode: `sum`, the weighted mean of the parts' scores (a single filter is one part of weight 1), or
            `stages`, where the first part chooses a pool of documents for the second, and so on.
        weights: of the parts, summing to 1; only for `sum`.
        pool: share of the documents that each stage but the last hands on, in (0, 1].
    """

    name: str
    parts: tuple[str, ...]
    mode: Literal["sum", "stages"] = "sum"
    weights: tuple[float, ...] = ()
    pool: float = 0.5

    @property
    def asked(self) -> tuple[str, ...]:
        """The parts that a model is asked for."""
        return tuple(part for part in self.parts if part in ASKED)

    def scores(self, by_part: Scores) -> list[float]:
        """The scores that decide between documents in the end: the weighted mean, or the last stage's."""
        if self.mode == "stages":
            return list(by_part[self.parts[-1]])
        columns = [by_part[part] for part in self.parts]
        # Rounded, so that means that are equal on paper are equal here, and count as ties.
        return [
            round(math.fsum(w * score for w, score in zip(self.weights, row, strict=True)), 9)
            for row in zip(*columns, strict=True)
        ]

    def select(self, by_part: Scores, cut: Cut, minimum: int = 0) -> Selection:
        """The documents kept at a cut.

        In stages, each stage but the last keeps `ceil(pool * documents)` of them, and never fewer than
        `cut.k` or `minimum`. `Selection.tie` is True if any stage was cut between equal scores.

        Args:
            by_part: scores of every part, in retrieval order.
            minimum: for thresholds, see `authbench.rag.selection.at_least`.
        """
        final: list[float | None] = list(self.scores(by_part))
        if self.mode == "sum":
            return select(final, cut, minimum)
        size = max(math.ceil(self.pool * len(final)), cut.k or 0, minimum)
        inside, tie = set(range(len(final))), False
        for part in self.parts[:-1]:
            stage = top_k([s if place in inside else None for place, s in enumerate(by_part[part])], size)
            inside, tie = set(stage.kept), tie or stage.tie
        chosen = select([s if place in inside else None for place, s in enumerate(final)], cut, minimum)
        return Selection(chosen.kept, tie or chosen.tie)


def parse_filter(name: str, weights: Mapping[str, float] | None = None, pool: float = 0.5) -> Filter:
    """The filter of this name.

    Args:
        name: `none`, a single filter, single filters joined by `+`, or by `-then-`.
        weights: of single filters, for `+`; 1 where one is not named. Only their ratios matter.
        pool: see `Filter`.

    Raises:
        ConfigError: a name that is none of these, a filter joined with itself, weights that sum to 0.
    """
    if name == "none":
        return Filter(name, ())
    mode: Literal["sum", "stages"] = "stages" if "-then-" in name else "sum"
    parts = tuple(part.strip() for part in name.split("-then-" if mode == "stages" else "+"))
    known = (*ASKED, *ORACLES)
    for part in parts:
        if part not in known:
            hint = did_you_mean(part, ("none", *known))
            raise ConfigError(
                f"no filter is called '{part}'{hint}\n"
                f"use none, {', '.join(known)}, or join them: authority+relevance, relevance-then-authority"
            )
    if len(set(parts)) < len(parts):
        raise ConfigError(f"filter '{name}' names the same filter twice")
    if mode == "stages":
        return Filter(name, parts, mode, pool=pool)
    raw = [float((weights or {}).get(part, 1.0)) for part in parts]
    if min(raw) < 0 or sum(raw) <= 0:
        raise ConfigError(f"filter '{name}': weights must be 0 or more, and not all 0")
    return Filter(name, parts, mode, tuple(weight / sum(raw) for weight in raw), pool)
