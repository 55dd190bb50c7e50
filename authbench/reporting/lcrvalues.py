"""Values by query of LCR's cells: base ranking, and reranked under the thresholds that the cells have."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from authbench.errors import DataError
from authbench.reporting.itemfiles import Item
from authbench.reporting.results import Run

if TYPE_CHECKING:
    from authbench.lcr.rerank import Rule
    from authbench.lcr.surface import Query, Surface
    from authbench.tasks.lcr.settings import LcrExperiment


@dataclass(frozen=True, slots=True, eq=False)
class Searched:
    """Queries under every rule of a grid, and the rule that the cells are made with."""

    queries: Sequence[Query]
    surface: Surface
    gate: int
    pair: int

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.surface.grid.rule(self.gate, self.pair)


def settings_of(run: Run) -> LcrExperiment:
    """The run's settings. Raises `DataError` where `run.json` has none that can be read."""
    from pydantic import ValidationError

    from authbench.tasks.lcr.settings import LcrExperiment

    try:
        return LcrExperiment.model_validate(run.run.get("config"))
    except ValidationError:
        raise DataError(
            f"{run.path}/run.json: its configuration cannot be read; run the experiment again"
        ) from None


def search(
    items: Sequence[Item],
    settings: LcrExperiment,
    method: str = "lcr",
    measure: str = "mscp",
    k: int | None = None,
) -> Searched | None:
    """The queries that were answered under every rule; None where there are none."""
    from authbench.lcr.grid import Grid, grid
    from authbench.lcr.items import to_query
    from authbench.lcr.rerank import Thresholds
    from authbench.lcr.surface import problem, surface
    from authbench.lcr.tuning import best

    queries = [
        to_query(item.item, item.gold, item.values, measure, k)  # type: ignore[arg-type]
        for item in items
        if item.error is None
    ]
    if not queries:
        return None
    given = problem(queries, depth=settings.dataset.depth, cutoff=settings.cutoff, gain=settings.gain)
    fixed = settings.thresholds.fixed
    if fixed is not None and method == "lcr":
        rule = Thresholds.of(fixed.query, fixed.upper, fixed.lower)
        return Searched(queries, surface(given, Grid((rule.query,), ((rule.upper, rule.lower),))), 0, 0)
    found = surface(given, grid(settings.thresholds.step, method=method))
    return Searched(queries, found, *best(found.sums()))


def lcr_values(
    run: Run, group: str, items: Sequence[Item]
) -> Iterator[tuple[dict[str, Any], list[float | None]]]:
    """Dimensions and NDCG of each query (None where its requests failed), for every cell of a base."""
    from authbench.measures.ndcg import metric_name

    settings = settings_of(run)
    collection, retriever, base = group.rsplit("/", 2)
    dims: dict[str, Any] = {"collection": collection, "retriever": retriever, "base": base}
    dims["metric"] = metric_name(settings.cutoff, settings.gain)
    first = True
    for method in settings.thresholds.methods:
        readings = [(measure, None) for measure in settings.confidence.measures]
        readings += [("mscp", k) for k in settings.confidence.at]  # type: ignore[misc]
        for measure, k in readings:
            found = search(items, settings, method, measure, k)
            if first:
                yield {**dims, "method": "base"}, _spread(items, found, reranked=False)
                first = False
            name = method if measure == "mscp" else f"{method}-{measure}"
            yield {**dims, "method": name, "k": k}, _spread(items, found, reranked=True)


def _spread(items: Sequence[Item], found: Searched | None, *, reranked: bool) -> list[float | None]:
    """One value an item, None for those that failed."""
    if found is None:
        return [None] * len(items)
    values = found.surface.values(found.gate, found.pair) if reranked else found.surface.base
    answered = iter(values.tolist())
    return [None if item.error is not None else next(answered) for item in items]
