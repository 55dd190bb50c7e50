"""From ended procedures to `items.jsonl` and `cells.json`, which depend on nothing but the answers."""

from __future__ import annotations

import json
import pickle
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

from authbench.experiment.folder import ItemSpool
from authbench.measures.columns import DIMENSIONS, MEASURES
from authbench.runtime.scheduler import Call, Finished
from authbench.tasks.base import Group, Record, Task, Unit

#: Digits kept of values in `cells.json`: more than any measure means, and equal on every machine.
_DIGITS = 10


@dataclass(slots=True)
class Cost:
    """What the answers of a group cost.

    Attributes:
        calls: requests of all its units, equal ones counted each time.
        seconds: how long they were in flight, summed over all calls.
        unique: by key of each different request: number of the first unit that asked it, prompt tokens and
            output tokens. Their sum is what was paid.
    """

    calls: int = 0
    seconds: float = 0.0
    unique: dict[bytes, tuple[int, int, int]] = field(default_factory=dict)

    def add(self, number: int, calls: Sequence[Call]) -> None:
        """Count the calls of the unit with this number."""
        self.calls += len(calls)
        for call in calls:
            response = call.response
            self.seconds += response.seconds
            known = self.unique.get(call.key)
            if known is None or number < known[0]:
                output = sum(sample.output_tokens for sample in response.samples)
                self.unique[call.key] = (number, response.prompt_tokens, output)

    def columns(self) -> dict[str, int]:
        """The columns of `cells.json`."""
        return {
            "calls": self.calls,
            "unique_calls": len(self.unique),
            "prompt_tokens": sum(prompt for _, prompt, _ in self.unique.values()),
            "output_tokens": sum(output for _, _, output in self.unique.values()),
        }


class Answers:
    """The answered units of one job.

    Their lines of `items.jsonl` wait in a file, so that no text stays in memory; records stay packed, and are
    unpacked for the measures of one group at a time.

    Args:
        groups: of the task, in the order of the results.
        spool: takes the lines as units end, and gives them back in order.

    Attributes:
        costs: what the answers of each group cost, by its identifier.
        statuses: how many answers had each status.
        errors: why requests failed, one for each unit that failed.
    """

    def __init__(self, groups: Sequence[Group], spool: ItemSpool) -> None:
        self.groups = groups
        self.costs = {group.id: Cost() for group in groups}
        self.statuses: Counter[str] = Counter()
        self.errors: list[str] = []
        self._spool = spool
        #: By group: number of each unit, place of its line, and its record.
        self._units: dict[str, list[tuple[int, int, bytes]]] = {group.id: [] for group in groups}

    def add(self, finished: Finished[Any], unit: Unit) -> None:
        """Take in a unit whose procedure has ended."""
        record = to_record(finished, unit)
        for status in record.statuses:
            self.statuses[status] += 1
        if record.error is not None:
            self.errors.append(record.error)
        self.costs[record.group].add(record.number, finished.calls)
        place = self._spool.add(item_line(record, finished.calls))
        self._units[record.group].append((record.number, place, _packed(record)))

    def __len__(self) -> int:
        return sum(map(len, self._units.values()))

    def records(self, group: Group) -> Iterator[Record]:
        """The records of a group in order of their numbers."""
        return (Record(group.id, *pickle.loads(packed)) for _, _, packed in sorted(self._units[group.id]))

    def lines(self, group: Group) -> Iterator[bytes]:
        """The lines of `items.jsonl` of a group, in order of their numbers."""
        return (self._spool.line(place) for _, place, _ in sorted(self._units[group.id]))


def _packed(record: Record) -> bytes:
    """A record but for its group, in a fifth of the memory that its objects take."""
    values = (record.item, record.number, record.gold, record.values, record.statuses, record.error)
    return pickle.dumps(values, pickle.HIGHEST_PROTOCOL)


def to_record(finished: Finished[Any], unit: Unit) -> Record:
    """An ended procedure as the record of its unit."""
    outcome = finished.outcome
    return Record(
        group=unit.group.id,
        item=unit.item,
        number=unit.number,
        gold=unit.gold,
        values={} if outcome is None else outcome.values,
        statuses=() if outcome is None else tuple(answer.status for answer in outcome.answers),
        error=finished.error,
    )


def item_line(record: Record, calls: Iterable[Call]) -> str:
    """A line of `items.jsonl`: what was asked (by key), what was answered, and what was read out of it."""
    answers = [
        {
            "key": call.key.hex(),
            "texts": [sample.text for sample in call.response.samples],
            "status": status,
        }
        for call, status in zip_longest(calls, record.statuses)
    ]
    row = {
        "group": record.group,
        "item": record.item,
        "number": record.number,
        "gold": record.gold,
        "values": record.values,
        "answers": answers,
        "error": record.error,
    }
    return json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def cell_rows(
    task: Task, answers: Answers, facts: Mapping[str, Any], *, partial: bool
) -> list[dict[str, Any]]:
    """The rows of `cells.json`.

    Args:
        answers: of every group that was run.
        facts: `experiment`, `table`, `model` and `engine`.
        partial: whether the run was limited or some requests failed.
    """
    rows = []
    for group in answers.groups:
        cost = answers.costs[group.id].columns()
        for measured in task.score(group, list(answers.records(group))):
            dims = {name: measured.get(name, group.dims.get(name)) for name in DIMENSIONS}
            measures = {name: _rounded(measured[name]) for name in MEASURES}
            rows.append({**facts, **dims, **measures, **cost, "partial": partial})
    return rows


def _rounded(value: object) -> object:
    return round(value, _DIGITS) if isinstance(value, float) else value
