"""Base rankings by themselves, without confidences: what `authbench rerank` writes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from authbench.measures.ndcg import mean_ndcg
from authbench.reranking.registry import LLM_BASES
from authbench.retrieval.runfile import Hit
from authbench.runtime.engine import Engine
from authbench.runtime.scheduler import Scheduler
from authbench.tasks.base import Group, Unit
from authbench.tasks.fitting import Fitter
from authbench.tasks.lcr.bases import score_or_leave_out, scored_rankings
from authbench.tasks.lcr.first_stage import first_stage
from authbench.tasks.lcr.settings import LcrExperiment
from authbench.tasks.lcr.task import LcrTask

#: Cutoffs of NDCG that are printed.
CUTOFFS = (5, 10)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranking of every judged query.

    Attributes:
        base: name of the base ranking.
        model: name of the LLM that was asked, or None.
        hits: by query, best first: the reranked documents, then the rest of the first stage.
        failed: queries whose requests failed; they keep the order of the first stage.
        ndcg: mean over the judged queries, by cutoff.
    """

    base: str
    model: str | None
    hits: Mapping[str, Sequence[Hit]]
    failed: int
    ndcg: Mapping[int, float]


class Rankings:
    """The base rankings of an experiment.

    Attributes:
        stage: the first stage.
        asked: names of the base rankings that ask the experiment's LLM.

    Args:
        limit: only the first so many judged queries; None for all.
    """

    def __init__(self, settings: LcrExperiment, limit: int | None = None) -> None:
        self.stage = first_stage(settings.dataset)
        self.asked = tuple(base for base in settings.bases if base in LLM_BASES)
        self._settings = settings
        self._limit = limit
        self._queries = list(self.stage.queries)[:limit]

    def without_llm(self, left_out: dict[str, str]) -> Iterator[Ranking]:
        """The first stage, and the base rankings by models of their own.

        Those that cannot be had here get a line in `left_out`, if the experiment is to leave them out.
        """
        first = {query: self.stage.run.rankings.get(query, ()) for query in self._queries}
        yield Ranking("retriever", None, first, 0, self._measure(first))
        depth, policy = self._settings.dataset.depth, self._settings.missing
        candidates = {query: self.stage.candidates(query, depth) for query in self._queries}
        for base, ranking in scored_rankings(self._settings).items():
            found = score_or_leave_out(ranking, self.stage.queries, candidates, policy, left_out)
            if base not in left_out:
                yield self._ranking(base, None, {query: reranked.order for query, reranked in found.items()})

    def by_llm(self, model: str, engine: Engine, scheduler: Scheduler) -> list[Ranking]:
        """The base rankings (`asked`) by an LLM that is called `model`."""
        settings = self._settings.model_copy(update={"bases": self.asked})
        task = LcrTask(settings, Fitter(engine, settings.overflow, settings.text_chars))
        task.check_fit(self._limit)
        orders: dict[str, dict[str, list[str]]] = {base: {} for base in self.asked}
        units = (unit for group in task.groups() for unit in self._units(task, group))
        for finished in scheduler.run(units, lambda unit: unit.start()):
            if finished.outcome is not None:
                base = finished.unit.group.dims["base"]
                orders[base][finished.unit.item] = list(finished.outcome.values["order"])
        return [self._ranking(base, model, found) for base, found in orders.items()]

    def _units(self, task: LcrTask, group: Group) -> Iterator[Unit]:
        """A unit a query that has documents, with the base ranking alone as its procedure."""
        base = group.dims["base"]
        for number, query in enumerate(self._queries):
            if task.candidates(query):
                yield Unit(group, query, number, {}, partial(task.base_procedure, query, base))

    def _ranking(self, base: str, model: str | None, orders: Mapping[str, Sequence[str]]) -> Ranking:
        """A ranking from the order of its first documents; scores are places counted from the end."""
        hits: dict[str, list[Hit]] = {}
        failed = 0
        for query in self._queries:
            names = self.stage.run.documents(query)
            order = orders.get(query)
            if order is not None:
                names = (*order, *names[len(order) :])
            elif names:
                failed += 1
            hits[query] = [Hit(name, float(len(names) - place)) for place, name in enumerate(names)]
        return Ranking(base, model, hits, failed, self._measure(hits))

    def _measure(self, hits: Mapping[str, Sequence[Hit]]) -> dict[int, float]:
        rankings = {query: [hit.document for hit in found] for query, found in hits.items()}
        judged = {query: self.stage.collection.judged[query] for query in hits}
        return {cutoff: mean_ndcg(rankings, judged, cutoff, self._settings.gain) for cutoff in CUTOFFS}
