"""What a task is: it turns settings into groups of units, and a group's records into measures.

A *group* is one setting whose items are scored together (one domain, context and judge); a *unit* is one
item of a group, run as one procedure; a *record* is a unit that has been answered. Adding a task means one
module here, its settings in `schema.py` and a line in `registry.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from authbench.experiment.fitting import Fitter
from authbench.experiment.schema import Base
from authbench.runtime.messages import VALID, Outcome, Procedure, Request


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """Items that are scored together. `id` names the setting, in words joined by slashes."""

    id: str
    dims: Mapping[str, Any]


@dataclass(frozen=True, slots=True, eq=False)
class Unit:
    """One item of a group.

    Attributes:
        number: from 0 within the group; decides the place in `items.jsonl`.
        gold: JSON-able facts that the measures compare with.
        start: makes the procedure.
    """

    group: Group
    item: str
    number: int
    gold: Mapping[str, Any]
    start: Callable[[], Procedure[Outcome]]


@dataclass(frozen=True, slots=True)
class Record:
    """A unit that was run: what scoring needs, and no more. `error` is set where requests failed."""

    group: str
    item: str
    number: int
    gold: Mapping[str, Any]
    values: Mapping[str, Any]
    statuses: tuple[str, ...]
    error: str | None = None

    @property
    def valid(self) -> bool:
        """True if every answer could be read."""
        return self.error is None and all(status in VALID for status in self.statuses)


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
    """Base class. Made anew for each model, since texts may have to be cut to its context."""

    def __init__(self, settings: Base, fitter: Fitter) -> None:
        self.fitter = fitter
        #: What this machine cannot do of the experiment, with why: it has no groups. `check_fit` finds out;
        #: `authbench score` leaves out what the run did.
        self.left_out: dict[str, str] = {}

    def check_fit(self, limit: int | None) -> None:
        """Decide for every item what of its texts fits the model, before any weights are loaded.

        Raises `ConfigError` under the policy `error`.
        """

    def lacking(self, group: Group, limit: int | None) -> str | None:
        """What a run of this group needs and this machine lacks, as far as it shows without loading a model.

        For a dry run, which does not call `check_fit`. None where nothing speaks against it.
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
        """The measures of a group: `dims` to change or add, and one measure row each.

        Each row has `metric, policy, value, low, high, n, n_invalid, n_constant, n_ties` and any of
        `DIMENSIONS` (`authbench.experiment.dimensions`) that differs within the group (the aggregation,
        say). A pure function of its arguments.
        """

    def remarks(self, records: Sequence[Record]) -> Sequence[str]:
        """What tables say of the answers of all groups beside their measures, a sentence without its full
        stop each. A pure function of its arguments."""
        return ()

    @abstractmethod
    def data(self) -> DataUse:
        """Where the items come from."""


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
