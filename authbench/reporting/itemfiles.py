"""Reading `items.jsonl`: what was asked of each item, what was answered, and what was read out of it."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from authbench.errors import DataError
from authbench.runtime.messages import VALID

#: Statuses that are no answer: requests that failed.
FAILED = "failed"


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer of an item. `key` finds its prompt in the store; `texts` has one text a sample."""

    key: str
    texts: Sequence[str]
    status: str


@dataclass(frozen=True, slots=True)
class Item:
    """One line of `items.jsonl`.

    Attributes:
        group: the setting, in words joined by slashes.
        item: id within the group's data.
        number: place within the group.
        gold: what the measures compare with.
        values: what was read out of the answers.
        answers: every answer, in the order asked.
        error: why requests failed, or None.
        start: where its line begins in the file, in bytes.
    """

    group: str
    item: str
    number: int
    gold: Mapping[str, Any]
    values: Mapping[str, Any]
    answers: Sequence[Answer]
    error: str | None
    start: int = 0

    @property
    def valid(self) -> bool:
        """True if every answer could be read."""
        return self.error is None and all(answer.status in VALID for answer in self.answers)

    @property
    def worst(self) -> str:
        """The status that describes it: `failed`, else the first invalid one, else `repaired` or `ok`."""
        if self.error is not None:
            return FAILED
        statuses = [answer.status for answer in self.answers]
        for status in statuses:
            if status not in VALID:
                return status
        return "repaired" if "repaired" in statuses else "ok"


def read_items(folder: Path) -> Iterator[Item]:
    """The items of a run in the order of its file.

    Raises:
        DataError: the file is missing, or a line of it is damaged.
    """
    file = folder / "items.jsonl"
    again = f"`authbench score {folder}` makes it anew"
    try:
        with file.open("rb") as lines:
            start = 0
            for number, line in enumerate(lines, start=1):
                try:
                    yield parse_item(line, start)
                except (ValueError, KeyError, TypeError) as error:
                    raise DataError(f"{file}:{number}: damaged ({_said(error)}); {again}") from error
                start += len(line)
    except OSError as error:
        raise DataError(f"{file}: cannot be read ({error.strerror}); {again}") from error


def read_items_at(folder: Path, starts: Sequence[int]) -> Iterator[Item]:
    """The items whose lines begin at these places, in the order of the file."""
    with (folder / "items.jsonl").open("rb") as lines:
        for start in sorted(starts):
            lines.seek(start)
            yield parse_item(lines.readline(), start)


def parse_item(line: bytes, start: int = 0) -> Item:
    """One line. Raises `ValueError`, `KeyError` or `TypeError` where it is damaged."""
    row = json.loads(line)
    return Item(
        group=str(row["group"]),
        item=str(row["item"]),
        number=int(row["number"]),
        gold=row["gold"],
        values=row["values"],
        answers=[
            Answer(answer["key"], answer["texts"], answer.get("status") or FAILED)
            for answer in row["answers"]
        ],
        error=row.get("error"),
        start=start,
    )


def _said(error: Exception) -> str:
    return f"{error} missing" if isinstance(error, KeyError) else str(error)
