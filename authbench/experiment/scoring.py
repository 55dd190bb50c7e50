"""From finished procedures to `items.jsonl` and `cells.json`: pure functions of the answers."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

from authbench.measures.columns import DIMENSIONS, MEASURES
from authbench.runtime.scheduler import Call, Finished
from authbench.tasks.base import Group, Record, Task, Unit

#: Digits kept of values in `cells.json`: more than any measure means, and equal on every machine.
_DIGITS = 10


@dataclass(frozen=True, slots=True)
class Answered:
    """A record with the calls behind it."""

    record: Record
    calls: tuple[Call, ...]


def to_record(finished: Finished[Any], unit: Unit) -> Answered:
    """A finished procedure as the record of its unit."""
    outcome = finished.outcome
    record = Record(
        group=unit.group.id,
        item=unit.item,
        number=unit.number,
        gold=unit.gold,
        values={} if outcome is None else outcome.values,
        statuses=() if outcome is None else tuple(answer.status for answer in outcome.answers),
        error=finished.error,
    )
    return Answered(record, finished.calls)


def item_lines(answered: Iterable[Answered]) -> Iterable[str]:
    """The lines of `items.jsonl`: what was asked (by key), answered, and read out of it."""
    for entry in answered:
        record = entry.record
        answers = [
            {
                "key": call.key.hex(),
                "texts": [sample.text for sample in call.response.samples],
                "status": status,
            }
            for call, status in zip_longest(entry.calls, record.statuses)
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
        yield json.dumps(row, ensure_ascii=False, separators=(",", ":")) + "\n"


def costs(calls: Iterable[Call]) -> dict[str, int]:
    """What a group's answers cost: tokens are those of the unique calls, which is what was paid."""
    total = 0
    seen: set[bytes] = set()
    prompt_tokens = output_tokens = 0
    for call in calls:
        total += 1
        if call.key in seen:
            continue
        seen.add(call.key)
        prompt_tokens += call.response.prompt_tokens
        output_tokens += sum(sample.output_tokens for sample in call.response.samples)
    return {
        "calls": total,
        "unique_calls": len(seen),
        "prompt_tokens": prompt_tokens,
        "output_tokens": output_tokens,
    }


def cell_rows(
    task: Task,
    groups: Sequence[tuple[Group, Sequence[Answered]]],
    facts: Mapping[str, Any],
    *,
    partial: bool,
) -> list[dict[str, Any]]:
    """The rows of `cells.json`.

    Args:
        groups: every group that was run, its answers in order of their numbers.
        facts: `experiment`, `table`, `model` and `engine`.
        partial: whether the run was limited or some requests failed.
    """
    rows = []
    for group, entries in groups:
        cost = costs(call for entry in entries for call in entry.calls)
        for measured in task.score(group, [entry.record for entry in entries]):
            dims = {name: measured.get(name, group.dims.get(name)) for name in DIMENSIONS}
            measures = {name: _rounded(measured[name]) for name in MEASURES}
            rows.append({**facts, **dims, **measures, **cost, "partial": partial})
    return rows


def _rounded(value: object) -> object:
    return round(value, _DIGITS) if isinstance(value, float) else value


def count_statuses(answered: Iterable[Answered]) -> dict[str, int]:
    """How many answers had each status, and how many items failed."""
    counts: Counter[str] = Counter()
    for entry in answered:
        counts.update(entry.record.statuses)
        if entry.record.error is not None:
            counts["failed"] += 1
    return dict(sorted(counts.items()))
