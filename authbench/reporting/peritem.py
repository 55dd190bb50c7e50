"""The value of every item in every cell: what comparisons are made of.

Values follow the strict policy: an item without a usable answer counts as 0 (no correlation, or wrong). The
mean of a cell's values is the `strict` value of its row in `cells.json`; a test holds the two against each
other for every task.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from authbench.errors import DataError
from authbench.measures.columns import DIMENSIONS
from authbench.reporting.itemfiles import Item, read_items
from authbench.reporting.results import Run

#: What tells the cells of a run apart: data set and scale are those of the run.
KEY = (*(name for name in DIMENSIONS if name not in ("dataset", "scale")), "metric")
CellKey = tuple[Any, ...]


@dataclass(frozen=True, slots=True, eq=False)
class CellItems:
    """The items behind a cell.

    Attributes:
        key: as `cell_key` gives it for the cell's row.
        group: the group they belong to.
        items: ids, in the order of the group.
        values: strict value of each item, shape (items,).
        valid: which of them had a usable answer, shape (items,).
    """

    key: CellKey
    group: str
    items: tuple[str, ...]
    values: NDArray[np.float64]
    valid: NDArray[np.bool_]


def cell_key(row: Mapping[str, Any]) -> CellKey:
    """What tells a row of `cells.json` from the others of its run, policies aside."""
    return tuple(row.get(name) for name in KEY)


def cell_items(run: Run) -> dict[CellKey, CellItems]:
    """The per-item values of every cell of a run that has some.

    Raises `DataError` where `items.jsonl` is missing or damaged.
    """
    groups: dict[str, list[Item]] = defaultdict(list)
    for item in read_items(run.path):
        groups[item.group].append(item)
    found = {}
    for group, items in groups.items():
        for cell in group_values(run, group, items):
            found[cell.key] = cell
    return found


def group_values(run: Run, group: str, items: Sequence[Item]) -> list[CellItems]:
    """The per-item values of the cells that a group has; the first one is the group's main measure."""
    read = _READERS.get(str(run.run.get("task")))
    if read is None:
        return []
    ids = tuple(item.item for item in items)
    try:
        return [_cell(group, ids, *measured) for measured in read(run, group, items)]
    except (KeyError, IndexError, TypeError, ValueError) as error:
        raise DataError(f"items of {group}: what was read is damaged ({error!r})") from error


#: Dimensions and measure, the value of each item (None where invalid), and which items it is about.
Measured = tuple[dict[str, Any], Sequence[float | None], Sequence[bool] | None]


def _cell(
    group: str,
    ids: tuple[str, ...],
    dims: Mapping[str, Any],
    values: Sequence[float | None],
    among: Sequence[bool] | None,
) -> CellItems:
    numbers = np.array(values, dtype=np.float64)
    if among is not None:
        ids = tuple(item for item, is_in in zip(ids, among, strict=True) if is_in)
        numbers = numbers[np.asarray(among, dtype=np.bool_)]
    valid = ~np.isnan(numbers)
    return CellItems(cell_key(dims), group, ids, np.where(valid, numbers, 0.0), valid)


def _listwise(run: Run, group: str, items: Sequence[Item]) -> Iterator[Measured]:
    """Spearman and Kendall of each list, for PairJudge by each aggregation."""
    from authbench.judging.aggregate import AGGREGATIONS
    from authbench.measures.correlation import list_correlations

    domain, context, judge = group.split("/")
    dims = {"domain": domain, "context": context, **judge_dims(judge)}
    gold = [item.gold["levels"] for item in items]
    for name, aggregate in AGGREGATIONS.get(judge, {None: None}).items():
        predicted = [list_scores(item, aggregate) for item in items]
        for metric, values in list_correlations(predicted, gold).items():
            yield {**dims, "aggregation": name, "metric": metric}, values, None


def list_scores(
    item: Item, aggregate: Callable[[int, Sequence[Any]], list[float | None]] | None = None
) -> list[float | None]:
    """The predicted score of each source of a list, in the order shown; None where there is none.

    Args:
        item: of a listwise experiment.
        aggregate: how comparisons of pairs become scores, for PairJudge.
    """
    count = len(item.gold["levels"])
    if item.error is not None:
        return [None] * count
    if aggregate is not None:
        return aggregate(count, item.values["pairs"])
    return _tie_broken(item)


def _pairwise(run: Run, group: str, items: Sequence[Item]) -> Iterator[Measured]:
    """Right or wrong for each pair; ties and equal labels are wrong, as in the paper."""
    from authbench.measures.accuracy import PairOutcome, pair_outcomes
    from authbench.measures.resampling import as_floats

    domain, difficulty, context, judge = group.split("/")
    dims = {"domain": domain, "difficulty": difficulty, "context": context, **judge_dims(judge)}
    scores = [pair_scores(item) for item in items]
    levels = np.array([item.gold["levels"] for item in items])
    first, second = (as_floats([pair[side] for pair in scores]) for side in (0, 1))
    outcomes = pair_outcomes(first, second, levels[:, 0], levels[:, 1])
    right = np.where(outcomes == PairOutcome.INVALID, np.nan, (outcomes == PairOutcome.CORRECT) * 1.0)
    unequal = levels[:, 0] != levels[:, 1]
    yield {**dims, "metric": "accuracy"}, right.tolist(), None
    if not unequal.all():
        yield {**dims, "metric": "accuracy-unequal"}, right.tolist(), unequal.tolist()


def pair_scores(item: Item) -> tuple[float | None, float | None]:
    """What the two sources of a pair got, ties broken by expected scores where there are any."""
    if item.error is not None:
        return None, None
    scores = _tie_broken(item)
    return scores[0], scores[1]


def _tie_broken(item: Item) -> list[float | None]:
    """An item's scores, as the tasks rank by them."""
    scores = list(item.values["scores"])
    expected = item.values.get("expected")
    if expected is None:
        return scores
    from authbench.judging.logprob import tie_broken

    return tie_broken(scores, expected)


def _rag(run: Run, group: str, items: Sequence[Item]) -> Iterator[Measured]:
    """Right or wrong at every cut for each question; neither yes nor no is invalid."""
    chosen = group.rpartition("/")[2]
    cuts: list[Mapping[str, Any]] = next((item.values["cuts"] for item in items if item.error is None), [])
    for place, cut in enumerate(cuts):
        dims = {"filter": chosen, "k": cut["k"], "metric": "accuracy"}
        if cut["threshold"] is not None:
            dims["method"] = f"score>={cut['threshold']:g}"
        yield dims, [_right(item, place) for item in items], None


def _lcr(run: Run, group: str, items: Sequence[Item]) -> Iterator[Measured]:
    """NDCG of each query, of the base ranking and reranked by every method."""
    from authbench.reporting.lcrvalues import lcr_values

    for dims, values in lcr_values(run, group, items):
        yield dims, values, None


def _right(item: Item, place: int) -> float | None:
    answer = None if item.error is not None else item.values["cuts"][place]["answer"]
    return None if answer is None else float(answer == item.gold["answer"])


def judge_dims(judge: str) -> dict[str, str]:
    """`list-rank` as the columns `judge` and `output`."""
    kind, _, output = judge.partition("-")
    return {"judge": kind, "output": output or "score"}


_READERS: dict[str, Callable[[Run, str, Sequence[Item]], Iterable[Measured]]] = {
    "listwise": _listwise,
    "pairwise": _pairwise,
    "rag": _rag,
    "lcr": _lcr,
}
