"""`authbench tune`: thresholds from the confidences that runs have kept. No model, no collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from authbench.errors import ConfigError
from authbench.experiment.schema import LcrExperiment
from authbench.experiment.tasks.lcr_items import Measure, to_points, to_query
from authbench.lcr.grades import GradeCorrelation, GradeRow, by_grade, grade_correlation
from authbench.lcr.grid import grid
from authbench.lcr.surface import Query, problem
from authbench.lcr.tuning import Tuned, adjust, tune


class Item(Protocol):
    """What is read of a line of `items.jsonl`."""

    @property
    def group(self) -> str:
        """`collection/retriever/base`."""

    @property
    def item(self) -> str:
        """The query."""

    @property
    def gold(self) -> Mapping[str, Any]:
        """See `FirstStage.gold`."""

    @property
    def values(self) -> Mapping[str, Any]:
        """See `LcrTask`."""

    @property
    def error(self) -> str | None:
        """Why requests failed, or None."""


@dataclass(frozen=True, slots=True)
class Choice:
    """How to tune; None for what the run's configuration says.

    Attributes:
        method: `lcr` or `car`.
        measure: of confidence.
        samples: only the first so many; None for all.
    """

    step: float | None = None
    folds: int | None = None
    seed: int | None = None
    shuffles: int | None = None
    cutoff: int | None = None
    gain: Literal["linear", "exponential"] | None = None
    method: Literal["lcr", "car"] = "lcr"
    measure: Measure = "mscp"
    samples: int | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """A base ranking of a collection by a model."""

    model: str
    collection: str
    retriever: str
    base: str


@dataclass(frozen=True, slots=True)
class Row:
    """A setting with its three columns; `n_failed` queries had no answers and are left out."""

    setting: Setting
    tuned: Tuned
    n_failed: int


def tune_runs(runs: Iterable[tuple[str, LcrExperiment, Sequence[Item]]], choice: Choice) -> list[Row]:
    """Tune every base ranking of every run; p-values are corrected over all of them.

    Args:
        runs: model, configuration and items of each.
        choice: see `Choice`.

    Raises:
        ConfigError: an adaptive run, which has no confidences to tune from; two runs of one setting; fewer
            queries than folds.
        DataError: more samples are wanted than were drawn.
    """
    tuned: dict[Setting, Tuned] = {}
    failed: dict[Setting, int] = {}
    for model, settings, items in runs:
        if settings.confidence.adaptive:
            raise ConfigError(
                f"the run of {model} was adaptive: it kept no full confidences to tune from\n"
                "run it with --set confidence.adaptive=false"
            )
        for setting, found in _by_setting(model, items):
            if setting in tuned:
                name = "/".join((setting.collection, setting.retriever, setting.base))
                raise ConfigError(f"two of these runs have {name} by {setting.model}; name one of them")
            answered = [entry for entry in found if entry.error is None]
            failed[setting] = len(found) - len(answered)
            queries = [
                to_query(entry.item, entry.gold, entry.values, choice.measure, choice.samples)
                for entry in answered
            ]
            tuned[setting] = _tune(queries, settings, choice)
    return [Row(setting, found, failed[setting]) for setting, found in adjust(tuned).items()]


def _tune(queries: Sequence[Query], settings: LcrExperiment, choice: Choice) -> Tuned:
    thresholds = settings.thresholds
    cutoff = settings.cutoff if choice.cutoff is None else choice.cutoff
    depth = settings.dataset.depth
    if cutoff > max(depth, settings.cutoff):
        raise ConfigError(f"--cutoff {cutoff}: this run kept {max(depth, settings.cutoff)} documents a query")
    given = problem(queries, depth=depth, cutoff=cutoff, gain=choice.gain or settings.gain)
    return tune(
        given,
        grid(thresholds.step if choice.step is None else choice.step, method=choice.method),
        folds=thresholds.folds if choice.folds is None else choice.folds,
        seed=thresholds.seed if choice.seed is None else choice.seed,
        shuffles=thresholds.shuffles if choice.shuffles is None else choice.shuffles,
    )


def _by_setting(model: str, items: Sequence[Item]) -> Iterator[tuple[Setting, list[Item]]]:
    groups: dict[str, list[Item]] = {}
    for entry in items:
        groups.setdefault(entry.group, []).append(entry)
    for group, found in groups.items():
        yield Setting(model, *group.rsplit("/", 2)), found


@dataclass(frozen=True, slots=True)
class Grades:
    """Confidence by relevance grade, of a collection and first stage."""

    setting: Setting
    rows: Sequence[GradeRow]
    correlation: GradeCorrelation


def grades_of(
    runs: Iterable[tuple[str, LcrExperiment, Sequence[Item]]], measure: Measure = "mscp"
) -> list[Grades]:
    """Confidence by grade, once a first stage: the base ranking does not change a document's confidence."""
    found: dict[Setting, Grades] = {}
    for model, _, items in runs:
        for setting, entries in _by_setting(model, items):
            whole = replace(setting, base="")
            if whole in found:
                continue
            points = [
                point
                for entry in entries
                if entry.error is None
                for point in to_points(entry.item, entry.gold, entry.values, measure)
            ]
            found[whole] = Grades(whole, by_grade(points), grade_correlation(points))
    return list(found.values())
