"""Authority levels: the two scales, and how a raw value becomes a level (AuthorityBench, section 3.2).

Both schemes are made on the fine scale first; the coarse one collapses adjacent levels (0 and 1 become 0,
2 and 3 become 1, ...), as the paper states for domains.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from authbench.errors import ConfigError, DataError, did_you_mean


@dataclass(frozen=True, slots=True)
class Scale:
    """A scale of authority levels, 0 (the least authoritative) to `levels` - 1.

    Attributes:
        name: "fine" or "coarse".
        levels: how many levels there are; also the length of a list.
    """

    name: Literal["fine", "coarse"]
    levels: int


#: Ten levels, 0 to 9: the Toolbar's PageRank without its level 10.
FINE = Scale("fine", 10)

#: Five levels, 0 to 4: neighbours of the fine scale merged.
COARSE = Scale("coarse", 5)

SCALES: dict[str, Scale] = {scale.name: scale for scale in (FINE, COARSE)}


def get_scale(name: str) -> Scale:
    """The scale called "fine" or "coarse"; `ConfigError` for any other word."""
    if name in SCALES:
        return SCALES[name]
    raise ConfigError(f"dataset.scale: '{name}' is neither fine nor coarse{did_you_mean(name, list(SCALES))}")


def merge(level: int, scale: Scale) -> int:
    """A level 0..9 on the scale in use: itself, or half of it rounded down."""
    return level // (FINE.levels // scale.levels)


def pagerank_level(value: float, scale: Scale) -> int | None:
    """The level of an integer PageRank label 0 to 10, or None for 10, which the paper drops (section 3.2).

    Raises:
        DataError: not an integer, or outside 0 to 10.
    """
    if not float(value).is_integer() or not 0 <= value <= 10:
        raise DataError(f"{value:g} is no authority label (an integer from 0 to 10)")
    return None if value == 10 else merge(int(value), scale)


def log_space_levels(values: Sequence[float], scale: Scale) -> tuple[int, ...]:
    """Levels of positive values by the log-space rule of section 3.2.1, in the order of `values`.

    `np.digitize(s, np.logspace(log10 min, log10 max, 11)) - 1`, clipped to 0..9: rounding can put the first
    edge a hair above the minimum and the last one at or below the maximum, so that without clipping the
    smallest values fall into bin -1 and the largest into bin 10. The coarse scale merges adjacent fine levels
    rather than digitizing again with 6 edges: the paper makes its coarse scale by collapsing adjacent levels,
    and every second edge of the eleven is one of the six, so the two differ by rounding at most.

    Raises:
        DataError: a value that is not positive and finite, or values that are all equal.
    """
    import numpy as np

    if not values:
        return ()
    array = np.asarray(values, dtype=float)
    low, high = array.min(), array.max()
    if not (np.isfinite(array).all() and low > 0):
        raise DataError("the log-space rule needs positive, finite values")
    if low == high:
        raise DataError(f"all {len(values)} values are {low:g}: there is no range to split into levels")
    edges = np.logspace(np.log10(low), np.log10(high), FINE.levels + 1)
    fine = np.clip(np.digitize(array, edges) - 1, 0, FINE.levels - 1)
    return tuple(merge(level, scale) for level in fine.tolist())
