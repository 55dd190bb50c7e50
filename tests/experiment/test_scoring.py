"""Answers wait in a file, and come out in order whatever the order in which units end."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from authbench.errors import DataError
from authbench.experiment.folder import ItemSpool
from authbench.experiment.scoring import Answers
from authbench.runtime.messages import Outcome, Parsed, Response, Sample
from authbench.runtime.scheduler import Call, Finished
from authbench.tasks.base import Group, Unit

GROUPS = [Group("b/second", {}), Group("a/first", {})]


def ended(group: Group, number: int, *calls: tuple[bytes, int], error: str | None = None) -> Finished[Unit]:
    """A unit that was told `calls`: a key, and how many tokens the answer has."""

    def start() -> None:
        raise AssertionError("it has ended")

    unit = Unit(group, f"i{number}", number, {"levels": [1, 0.1]}, start)  # type: ignore[arg-type]
    made = tuple(Call(key, Response((Sample("t\u2028 \ud83d", "stop", out),), 7)) for key, out in calls)
    outcome = None if error else Outcome(tuple(Parsed("ok") for _ in made), {"scores": [1 / 3, None]})
    return Finished(unit, outcome, made, error)


ENDED = [
    ended(GROUPS[0], 0, (b"k", 5), (b"k", 6)),
    ended(GROUPS[0], 1, (b"k", 9), (b"l", 2)),
    ended(GROUPS[1], 0, (b"k", 4)),
    ended(GROUPS[1], 1, (b"m", 1), error="out of memory"),
]


@pytest.mark.parametrize("order", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 3, 0, 2)])
def test_the_order_of_ending_changes_nothing(tmp_path: Path, order: tuple[int, ...]) -> None:
    answers = Answers(GROUPS, ItemSpool(tmp_path / "new"))
    for place in order:
        answers.add(ENDED[place], ENDED[place].unit)
    assert list((tmp_path / "new").iterdir()) == []  # the file has no name
    rows = [json.loads(line) for group in GROUPS for line in answers.lines(group)]
    assert [(row["group"], row["number"]) for row in rows] == [
        ("b/second", 0),
        ("b/second", 1),
        ("a/first", 0),
        ("a/first", 1),
    ]
    assert rows[0]["answers"][1] == {"key": b"k".hex(), "texts": ["t\u2028 ?"], "status": "ok"}
    first, failed = answers.records(GROUPS[0]), list(answers.records(GROUPS[1]))[1]
    assert [record.values["scores"] for record in first] == [[1 / 3, None]] * 2
    assert (failed.error, failed.statuses, failed.values) == ("out of memory", (), {})
    assert answers.errors == ["out of memory"] and answers.statuses == {"ok": 5} and len(answers) == 4
    # Equal requests are paid once: as the first unit that asked was told.
    cost = {"calls": 4, "unique_calls": 2, "prompt_tokens": 14, "output_tokens": 7}
    assert answers.costs["b/second"].columns() == cost


def test_a_folder_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    answers = Answers(GROUPS, ItemSpool(tmp_path / "file" / "run"))
    with pytest.raises(DataError, match="the answers are kept in the store"):
        answers.add(ENDED[0], ENDED[0].unit)
