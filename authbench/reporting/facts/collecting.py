"""One pass over a run's items: facts by group, and one light row an item for lists of items."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from authbench.reporting.facts.lcr import lcr_facts
from authbench.reporting.facts.lists import list_facts
from authbench.reporting.facts.pairs import pair_facts
from authbench.reporting.facts.rag import rag_facts
from authbench.reporting.facts.records import Floats, GroupFacts
from authbench.reporting.itemfiles import Answer, Item, read_items
from authbench.reporting.peritem import group_values, judge_dims
from authbench.reporting.results import Run

_FACTS: dict[str, Callable[[Run, str, Sequence[Item]], dict[str, Any]]] = {
    "listwise": lambda run, group, items: list_facts(group, items),
    "pairwise": lambda run, group, items: pair_facts(group, items),
    "rag": lambda run, group, items: rag_facts(group, items),
    "lcr": lcr_facts,
}


@dataclass(frozen=True, slots=True, eq=False)
class ItemRow:
    """One item in a list of items.

    Attributes:
        facts: the group it belongs to.
        item: its id.
        value: its main measure under the strict policy (mean over cuts or methods); NaN where there is none.
        worst: the status that describes it best, see `Item.worst`.
        start: where its line begins in `items.jsonl`.
        answers: how many it has.
    """

    facts: GroupFacts
    item: str
    value: float
    worst: str
    start: int
    answers: int

    @property
    def valid(self) -> bool:
        """True if every answer could be read."""
        return self.worst in ("ok", "repaired")


def collect(run: Run) -> Iterator[tuple[GroupFacts, list[ItemRow]]]:
    """The groups of a run, in the order of its file, each with its items.

    Raises `DataError` where `items.jsonl` is missing or damaged.
    """
    task = str(run.run.get("task"))
    for group, members in groupby(map(_light, read_items(run.path)), key=lambda item: item.group):
        items = list(members)
        facts = group_facts(run, task, group, items)
        values = main_values(facts, items)
        yield (
            facts,
            [
                ItemRow(facts, item.item, float(value), item.worst, item.start, len(item.answers))
                for item, value in zip(items, values, strict=True)
            ],
        )


def group_facts(run: Run, task: str, group: str, items: Sequence[Item]) -> GroupFacts:
    """The facts about one group of items."""
    statuses: Counter[str] = Counter()
    for item in items:
        statuses.update(answer.status for answer in item.answers)
    found = _FACTS[task](run, group, items) if task in _FACTS else {}
    return GroupFacts(
        run=run,
        group=group,
        dims=group_dims(run, task, group),
        items=len(items),
        failed=sum(item.error is not None for item in items),
        statuses=statuses,
        values=tuple(group_values(run, group, items)),
        **found,
    )


def group_dims(run: Run, task: str, group: str) -> dict[str, Any]:
    """A group's dimensions, read from its id; `model` and `experiment` are the run's."""
    parts = group.split("/")
    own: dict[str, Any] = {"model": run.model, "experiment": run.experiment}
    if task == "listwise" and len(parts) == 3:
        own |= {"domain": parts[0], "context": parts[1], **judge_dims(parts[2])}
    elif task == "pairwise" and len(parts) == 4:
        own |= dict(zip(("domain", "difficulty", "context"), parts, strict=False)) | judge_dims(parts[3])
    elif task == "rag":
        own["filter"] = parts[-1]
    elif task == "lcr" and len(parts) >= 3:
        own |= dict(zip(("collection", "retriever", "base"), group.rsplit("/", 2), strict=True))
    return own


def main_values(facts: GroupFacts, items: Sequence[Item]) -> Floats:
    """The main measure of each item: over several cells of one measure (cuts, methods) their mean."""
    cells = list(facts.values)
    if not cells:
        return np.full(len(items), np.nan)
    metric = cells[0].key[-1]
    same = [cell for cell in cells if cell.key[-1] == metric and len(cell.values) == len(items)]
    if metric in ("spearman", "kendall"):
        same = same[:1]  # Another aggregation is another reading of the same answers.
    if metric.startswith("ndcg"):
        same = same[1:2] or same  # Reranked by the first method, rather than the base ranking.
    return np.asarray(np.mean([cell.values for cell in same], axis=0), dtype=np.float64)


def _light(item: Item) -> Item:
    """Without the texts, which would fill the memory for a large run."""
    answers = tuple(Answer("", (), answer.status) for answer in item.answers)
    return Item(item.group, item.item, item.number, item.gold, item.values, answers, item.error, item.start)


def collect_all(runs: Iterable[Run]) -> tuple[list[GroupFacts], list[ItemRow]]:
    """All groups and all items of several runs; runs without `items.jsonl` are left out."""
    facts: list[GroupFacts] = []
    rows: list[ItemRow] = []
    for run in runs:
        if not (run.path / "items.jsonl").is_file():
            continue
        for group, members in collect(run):
            facts.append(group)
            rows += members
    return facts, rows
