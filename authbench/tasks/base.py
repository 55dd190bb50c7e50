"""What a task is: settings become groups of units, and a group's records become measures."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from authbench.runtime.messages import Outcome, Procedure, Request
from authbench.tasks.fitting import Fitter
from authbench.tasks.settings import ExperimentSettings


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """One setting whose items are scored together.

    Attributes:
        id: the setting in words joined by slashes, such as `movies/without/list-score`.
        dims: its columns of `cells.json` (`authbench.measures.columns.DIMENSIONS`).
    """

    id: str
    dims: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One item of a group.

    Attributes:
        item: the item's identifier.
        number: from 0 within the group; decides the place in `items.jsonl`.
        gold: JSON-able facts that the measures compare with; each task's `units` says which.
        start: makes the procedure that asks about it.
    """

    group: Group
    item: str
    number: int
    gold: Mapping[str, Any]
    start: Callable[[], Procedure[Outcome]]


@dataclass(frozen=True, slots=True)
class Record:
    """A unit that was answered: what the measures need.

    Attributes:
        group: identifier of the group.
        item, number, gold: of the unit.
        values: of the procedure's outcome; empty where requests failed.
        statuses: how each answer was read, in the order asked; empty where requests failed.
        error: why requests failed, or None.
    """

    group: str
    item: str
    number: int
    gold: Mapping[str, Any]
    values: Mapping[str, Any]
    statuses: tuple[str, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class DataUse:
    """The data behind an experiment, for `run.json`.

    Attributes:
        files: with size, SHA-256 and where they were found.
        dropped: what was left out and why, with counts.
        seeds: of what was drawn.
        notes: sentences that a reader of the numbers should know.
    """

    files: Sequence[Mapping[str, Any]] = ()
    dropped: Mapping[str, Any] = field(default_factory=dict)
    seeds: Mapping[str, Any] = field(default_factory=dict)
    notes: Sequence[str] = ()


class Task(ABC):
    """Base class. Made anew for each model, since texts may have to be cut to its context.

    Attributes:
        fitter: says how much of each text fits the model.
        left_out: parts of the experiment that this machine cannot do, with the reason; they have no groups.
            `check_fit` finds out; `authbench score` leaves out what the run left out.
    """

    def __init__(self, settings: ExperimentSettings, fitter: Fitter) -> None:
        self.fitter = fitter
        self.left_out: dict[str, str] = {}

    def check_fit(self, limit: int | None) -> None:
        """Decide for every item how much of its texts fits the model, before any weights are loaded.

        Args:
            limit: only the first so many items of each group are to be run; None for all.

        Raises `ConfigError` for an item that does not fit, under the policy `error`.
        """

    def lacking(self, group: Group, limit: int | None) -> str | None:
        """What a run of this group needs and this machine lacks, as far as it shows without loading a model.

        For a dry run, which does not call `check_fit`. None where nothing is known to be lacking.
        """
        return None

    @abstractmethod
    def groups(self) -> Sequence[Group]:
        """Every group, in the order of the tables."""

    @abstractmethod
    def size(self, group: Group) -> int:
        """How many units a group has."""

    @abstractmethod
    def units(self, group: Group) -> Iterator[Unit]:
        """A group's units in order of their numbers, made lazily."""

    @abstractmethod
    def score(self, group: Group, records: Sequence[Record]) -> list[dict[str, Any]]:
        """The measures of a group as rows of `cells.json`. A pure function of its arguments.

        Each row has the columns `MEASURES` of `authbench.measures.columns`, and any of its `DIMENSIONS` that
        differs within the group (the aggregation, say).

        Args:
            group: one of `groups`.
            records: of its units, in the order of their numbers.
        """

    def remarks(self, records: Iterable[Record]) -> Sequence[str]:
        """What is to be said below the tables of the answers of all groups, beyond their measures.

        Sentences without full stops. A pure function of its arguments.
        """
        return ()

    @abstractmethod
    def data(self) -> DataUse:
        """The files that the items come from, and what a reader of the numbers should know of them."""


def first_round(procedure: Procedure[Outcome]) -> Sequence[Request]:
    """What a procedure asks first; it is closed afterwards."""
    try:
        return next(procedure)
    except StopIteration:
        return ()
    finally:
        procedure.close()


def take(units: Iterator[Unit], limit: int | None) -> Iterator[Unit]:
    """The first `limit` units of a group; all where it is None."""
    for unit in units:
        if limit is not None and unit.number >= limit:
            return
        yield unit
