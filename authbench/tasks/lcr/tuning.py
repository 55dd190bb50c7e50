"""`authbench tune`: thresholds from the confidences in the items of runs. No model, no collection."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from authbench.errors import ConfigError
from authbench.lcr.confidence import Measure
from authbench.lcr.grades import GradeCorrelation, GradeRow, by_grade, grade_correlation
from authbench.lcr.items import to_points, to_query
from authbench.lcr.search import Method, Search
from authbench.lcr.surface import Query
from authbench.lcr.tuning import Tuned, adjust, tune
from authbench.measures.ndcg import Gain
from authbench.tasks.lcr.settings import LcrExperiment


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
        step, folds, seed, shuffles, cutoff, gain: see `Search`.
        method: `lcr` or `car`.
        measure: of confidence.
        samples: only the first so many; None for all.
    """

    step: float | None = None
    folds: int | None = None
    seed: int | None = None
    shuffles: int | None = None
    cutoff: int | None = None
    gain: Gain | None = None
    method: Method = "lcr"
    measure: Measure = "mscp"
    samples: int | None = None

    def search(self, settings: LcrExperiment) -> Search:
        """The search of the run's configuration with what is given here in its place.

        Raises `ConfigError` for a cutoff beyond the documents that the run kept of each query.
        """
        names = ("step", "folds", "seed", "shuffles", "cutoff", "gain")
        given = {name: value for name in names if (value := getattr(self, name)) is not None}
        kept = max(settings.dataset.depth, settings.cutoff)
        if self.cutoff is not None and self.cutoff > kept:
            raise ConfigError(f"--cutoff {self.cutoff}: this run kept {kept} documents a query")
        return replace(settings.search, **given)


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
        search = choice.search(settings)
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
            tuned[setting] = _tune(queries, search, choice.method)
    return [Row(setting, found, failed[setting]) for setting, found in adjust(tuned).items()]


def _tune(queries: Sequence[Query], search: Search, method: Method) -> Tuned:
    return tune(
        search.problem(queries),
        search.grid(method),
        folds=search.folds,
        seed=search.seed,
        shuffles=search.shuffles,
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
