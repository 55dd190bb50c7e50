"""Which pairs of a list PairJudge compares, and which of the two is shown as A."""

from __future__ import annotations

import hashlib
from itertools import combinations
from typing import Literal

from authbench.errors import ConfigError, did_you_mean

SCHEMES = ("anchors", "all")


def comparison_plan(
    count: int, scheme: Literal["anchors", "all"], seed_text: str, anchors: int = 5
) -> tuple[tuple[int, int], ...]:
    """The comparisons of one list as (shown as A, shown as B), places in the list from 0.

    `all`: every pair once (coarse scale: 5 sources, 10 pairs). `anchors` (fine scale): `anchors` sources
    are drawn; each other source is compared with every anchor, and the anchors with each other, each pair
    once: 25 + 10 = 35 for 10 sources and 5 anchors (AuthorityBench, section 4.1).

    The draw and the sides depend on `seed_text` alone, through SHA-256, so they are the same with every
    Python. The side of a pair does not depend on the scheme.
    """
    if scheme not in SCHEMES:
        raise ConfigError(
            f"comparison scheme '{scheme}' is not one of {', '.join(SCHEMES)}{did_you_mean(scheme, SCHEMES)}"
        )
    if anchors < 1:
        raise ConfigError(f"anchors: {anchors} are too few, a list needs 1 or more")
    chosen = set(range(count))
    if scheme == "anchors":
        chosen = set(sorted(chosen, key=lambda place: _draw(seed_text, "anchor", place))[:anchors])
    pairs = (pair for pair in combinations(range(count), 2) if not chosen.isdisjoint(pair))
    return tuple(sorted((j, i) if _draw(seed_text, "side", i, j)[0] & 1 else (i, j) for i, j in pairs))


def _draw(seed_text: str, what: str, *places: int) -> bytes:
    return hashlib.sha256("\0".join([seed_text, what, *map(str, places)]).encode()).digest()
