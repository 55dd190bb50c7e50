"""Two runs over the same items: paired differences with intervals and p-values, by cell and by item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from authbench.errors import ConfigError, DataError
from authbench.reporting.itemfiles import read_items
from authbench.reporting.peritem import KEY, CellItems, CellKey, cell_items
from authbench.reporting.results import Run

#: Settings of a data set that only say how many items are drawn; the first ones are the same.
_SIZES = frozenset({"lists", "pairs"})
#: Differences below this are rounding.
_EPS = 1e-9


@dataclass(frozen=True, slots=True)
class CellDifference:
    """One cell of both runs. Values are fractions, differences are B minus A.

    Attributes:
        dims: the cell's dimensions, `metric` included.
        group: the group of items.
        n: items that both runs judged.
        a: strict value of run A over them.
        b: likewise of run B.
        low: lower end of the 95 % bootstrap interval of the difference; None for a single item.
        high: upper end.
        p: of the two-sided paired randomisation test.
        p_holm: corrected for all cells compared (Holm 1979).
        wins: items on which B is better.
        ties: items on which they are equal.
        losses: items on which B is worse.
    """

    dims: Mapping[str, Any]
    group: str
    n: int
    a: float
    b: float
    low: float | None
    high: float | None
    p: float
    p_holm: float
    wins: int
    ties: int
    losses: int

    @property
    def difference(self) -> float:
        """B minus A."""
        return self.b - self.a


@dataclass(frozen=True, slots=True)
class ItemDifference:
    """An item that the runs judged differently, by its group's main measure."""

    group: str
    item: str
    metric: str
    a: float
    b: float
    valid_a: bool
    valid_b: bool


@dataclass(frozen=True, slots=True)
class Comparison:
    """Everything that `compare` gives.

    Attributes:
        a: the first run.
        b: the second one.
        cells: every cell that both have.
        items: the items on which they differ most, by falling difference.
        only_a: cells that only run A has, as keys.
        only_b: likewise.
        left_out: items that only one run judged, by group; empty unless common items were asked for.
    """

    a: Run
    b: Run
    cells: tuple[CellDifference, ...]
    items: tuple[ItemDifference, ...]
    only_a: tuple[CellKey, ...]
    only_b: tuple[CellKey, ...]
    left_out: Mapping[str, int]

    def worse_than(self, threshold: float) -> tuple[CellDifference, ...]:
        """Cells in which B lies more than `threshold` (a fraction) below A."""
        return tuple(cell for cell in self.cells if -cell.difference > threshold + _EPS)


def compare(
    a: Run,
    b: Run,
    *,
    common: bool = False,
    metrics: Sequence[str] = (),
    most: int = 10,
    seed: int = 0,
) -> Comparison:
    """Compare run B with run A.

    Args:
        a: the run that is compared with.
        b: the run that may be better or worse.
        common: compare on the items that both judged, where they are not the same.
        metrics: only these measures; all if empty.
        most: how many items to give.
        seed: of the resampling.

    Raises:
        ConfigError: other data, or other items and not `common`, or no cell in common.
        DataError: `items.jsonl` is missing or damaged.
    """
    check_same_data(a, b)
    cells_a, cells_b = _wanted(cell_items(a), metrics), _wanted(cell_items(b), metrics)
    shared = [key for key in cells_a if key in cells_b]
    if not shared:
        raise ConfigError(_nothing_shared(a, b, cells_a, cells_b, metrics))
    check_same_gold(a, b)
    left_out: dict[str, int] = {}
    pairs = []
    for key in shared:
        one, other = cells_a[key], cells_b[key]
        if one.items != other.items:
            only = set(one.items) ^ set(other.items)
            if only and not common:
                raise ConfigError(_other_items(a, b, one, other))
            left_out[one.group] = len(only)
            kept = set(one.items) & set(other.items)
            one, other = restrict(one, kept), restrict(other, kept)
        if one.items:
            pairs.append((one, other))
    cells = _with_holm([_difference(one, other, seed) for one, other in pairs])
    return Comparison(
        a,
        b,
        cells,
        _most_different(pairs, most),
        tuple(key for key in cells_a if key not in cells_b),
        tuple(key for key in cells_b if key not in cells_a),
        {group: count for group, count in left_out.items() if count},
    )


def check_same_data(a: Run, b: Run) -> None:
    """Refuse runs whose items cannot be the same: other tasks, data files, seeds or rules."""
    if a.run.get("task") != b.run.get("task"):
        raise ConfigError(
            f"{a.path} is {a.run.get('task')}, {b.path} is {b.run.get('task')}: they have no items in common"
        )
    mine, theirs = _dataset(a), _dataset(b)
    differ = [name for name in sorted({*mine, *theirs}) if mine.get(name) != theirs.get(name)]
    if differ:
        shown = "; ".join(f"dataset.{name}: {mine.get(name)} and {theirs.get(name)}" for name in differ[:4])
        raise ConfigError(
            f"the runs judged other items ({shown})\nrun one of them again with the other's data settings"
        )
    if _hashes(a) and _hashes(b) and _hashes(a) != _hashes(b):
        raise ConfigError(
            f"the data files of {a.path} and {b.path} have different hashes, so their items differ\n"
            "run one of them again with the other's data"
        )


def check_same_gold(a: Run, b: Run) -> None:
    """Refuse runs in which an item of the same name has another gold."""
    gold = {(item.group, item.item): item.gold for item in read_items(a.path)}
    for item in read_items(b.path):
        known = gold.get((item.group, item.item))
        if known is not None and known != item.gold:
            raise ConfigError(
                f"item {item.item} of {item.group} is another one in {a.path} than in {b.path}: "
                "its labels differ\nrun one of them again with the other's data"
            )


def restrict(cell: CellItems, kept: set[str]) -> CellItems:
    """The cell over these items, ordered by id."""
    places = sorted((i for i, item in enumerate(cell.items) if item in kept), key=lambda i: cell.items[i])
    return CellItems(
        cell.key, cell.group, tuple(cell.items[i] for i in places), cell.values[places], cell.valid[places]
    )


def key_dims(key: CellKey) -> dict[str, Any]:
    """A cell's key as dimensions that have a value."""
    return {name: value for name, value in zip(KEY, key, strict=True) if value is not None}


def _wanted(cells: Mapping[CellKey, CellItems], metrics: Sequence[str]) -> dict[CellKey, CellItems]:
    return {key: cell for key, cell in cells.items() if not metrics or key[-1] in metrics}


def _difference(one: CellItems, other: CellItems, seed: int) -> CellDifference:
    from authbench.measures.resampling import bootstrap_difference, randomisation_test

    gained: NDArray[np.float64] = other.values - one.values
    interval = bootstrap_difference(other.values, one.values, seed)
    return CellDifference(
        dims=key_dims(one.key),
        group=one.group,
        n=len(one.items),
        a=float(one.values.mean()),
        b=float(other.values.mean()),
        low=interval.low,
        high=interval.high,
        p=randomisation_test(other.values, one.values, seed),
        p_holm=1.0,
        wins=int((gained > _EPS).sum()),
        ties=int((np.abs(gained) <= _EPS).sum()),
        losses=int((gained < -_EPS).sum()),
    )


def _with_holm(cells: Sequence[CellDifference]) -> tuple[CellDifference, ...]:
    from authbench.measures.resampling import holm

    corrected = holm([cell.p for cell in cells])
    return tuple(replace(cell, p_holm=float(p)) for cell, p in zip(cells, corrected, strict=True))


def _most_different(pairs: Sequence[tuple[CellItems, CellItems]], most: int) -> tuple[ItemDifference, ...]:
    """By the first measure of each group, so that an item comes up once."""
    seen: set[str] = set()
    found: list[ItemDifference] = []
    for one, other in pairs:
        if one.group in seen:
            continue
        seen.add(one.group)
        gained = np.abs(other.values - one.values)
        for place in np.argsort(-gained, kind="stable")[:most].tolist():
            if gained[place] > _EPS:
                found.append(
                    ItemDifference(
                        one.group,
                        one.items[place],
                        str(one.key[-1]),
                        float(one.values[place]),
                        float(other.values[place]),
                        bool(one.valid[place]),
                        bool(other.valid[place]),
                    )
                )
    return tuple(sorted(found, key=lambda item: -abs(item.b - item.a))[:most])


def _dataset(run: Run) -> dict[str, Any]:
    config = run.run.get("config")
    dataset = config.get("dataset") if isinstance(config, Mapping) else None
    if not isinstance(dataset, Mapping):
        raise DataError(f"{run.path}/run.json has no data set settings; run the experiment again")
    return {name: value for name, value in dataset.items() if name not in _SIZES}


def _hashes(run: Run) -> set[str]:
    data = run.run.get("data")
    files = data.get("files", ()) if isinstance(data, Mapping) else ()
    return {str(file["sha256"]) for file in files if isinstance(file, Mapping) and file.get("sha256")}


def _nothing_shared(
    a: Run, b: Run, cells_a: Mapping[Any, Any], cells_b: Mapping[Any, Any], metrics: Sequence[str]
) -> str:
    if metrics and not (cells_a and cells_b):
        return (
            f"neither {a.path} nor {b.path} has cells of {', '.join(metrics)}; leave --metric out to see all"
        )
    return f"{a.path} and {b.path} have no cell in common (other judges, contexts or domains)"


def _other_items(a: Run, b: Run, one: CellItems, other: CellItems) -> str:
    both = len(set(one.items) & set(other.items))
    return (
        f"the runs judged other items of {one.group}: {len(one.items)} in {a.path}, {len(other.items)} in "
        f"{b.path}, {both} in both\n--common compares them on what both judged"
    )
