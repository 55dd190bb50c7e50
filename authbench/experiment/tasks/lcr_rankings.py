"""Base rankings by themselves, for `authbench rerank`: no confidences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from authbench.engines.registry import make_engine
from authbench.experiment.fitting import Fitter
from authbench.experiment.jobs import STORE_FILE, Job, plan_jobs
from authbench.experiment.loading import Experiment
from authbench.experiment.schema import LcrExperiment
from authbench.experiment.tasks.base import Group, Unit
from authbench.experiment.tasks.lcr import LcrTask
from authbench.experiment.tasks.lcr_bases import ASKED, score_or_leave_out, scored_rankings
from authbench.experiment.tasks.lcr_data import FirstStage, first_stage
from authbench.measures.ndcg import mean_ndcg
from authbench.retrieval.runfile import Hit
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store

#: Cutoffs of NDCG that are printed.
CUTOFFS = (5, 10)


@dataclass(frozen=True, slots=True)
class Ranking:
    """A ranking of every judged query.

    Attributes:
        base: see `schema_lcr.BaseRanking`.
        model: the LLM that was asked, or None.
        hits: by query, best first: the reranked documents, then the rest of the first stage.
        failed: queries whose requests failed; they keep the order of the first stage.
        ndcg: mean by cutoff.
    """

    base: str
    model: str | None
    hits: Mapping[str, Sequence[Hit]]
    failed: int
    ndcg: Mapping[int, float]


def rankings_of(
    experiment: Experiment,
    settings: LcrExperiment,
    results: Path,
    left_out: dict[str, str],
    limit: int | None = None,
) -> tuple[FirstStage, Iterator[Ranking]]:
    """The first stage of an experiment, and its base rankings, made one after the other.

    Those that cannot be had here get a line in `left_out`, if the experiment is to leave them out.

    Engines are made for base rankings that ask the experiment's LLM only; answers go to the store of
    `results`, and what it knows is not asked again.
    """
    stage = first_stage(settings.dataset)
    return stage, _rankings(stage, experiment, settings, results, left_out, limit)


def _rankings(
    stage: FirstStage,
    experiment: Experiment,
    settings: LcrExperiment,
    results: Path,
    left_out: dict[str, str],
    limit: int | None,
) -> Iterator[Ranking]:
    queries = list(stage.queries)[:limit]
    depth = settings.dataset.depth
    make = partial(_ranking, stage, queries, settings)
    first = {query: stage.run.rankings.get(query, ()) for query in queries}
    yield Ranking("retriever", None, first, 0, _measure(stage, first, settings))
    candidates = {query: stage.candidates(query, depth) for query in queries}
    for base, ranking in scored_rankings(settings).items():
        found = score_or_leave_out(ranking, stage.queries, candidates, settings.missing, left_out)
        if base not in left_out:
            yield make(base, None, {query: reranked.order for query, reranked in found.items()})
    asked = tuple(base for base in settings.bases if base in ASKED)
    if asked:
        for job in plan_jobs([experiment]):
            for name, orders in _ask(job, settings.model_copy(update={"bases": asked}), results, limit):
                yield make(name, job.model.name, orders)


def _ranking(
    stage: FirstStage,
    queries: Sequence[str],
    settings: LcrExperiment,
    base: str,
    model: str | None,
    orders: Mapping[str, Sequence[str]],
) -> Ranking:
    """Rankings out of the orders of their first documents; scores are places counted from the end."""
    hits: dict[str, list[Hit]] = {}
    failed = 0
    for query in queries:
        names = stage.run.documents(query)
        order = orders.get(query)
        if order is not None:
            names = (*order, *names[len(order) :])
        elif names:
            failed += 1
        hits[query] = [Hit(name, float(len(names) - place)) for place, name in enumerate(names)]
    return Ranking(base, model, hits, failed, _measure(stage, hits, settings))


def _measure(
    stage: FirstStage, hits: Mapping[str, Sequence[Hit]], settings: LcrExperiment
) -> dict[int, float]:
    rankings = {query: [hit.document for hit in found] for query, found in hits.items()}
    judged = {query: stage.collection.judged[query] for query in hits}
    return {cutoff: mean_ndcg(rankings, judged, cutoff, settings.gain) for cutoff in CUTOFFS}


def _ask(
    job: Job, settings: LcrExperiment, results: Path, limit: int | None
) -> list[tuple[str, dict[str, list[str]]]]:
    """The orders that the LLM gives, by base and query; queries whose requests failed are not in them."""
    engine = make_engine(job.engine, job.model, job.engine_settings)
    with closing(engine), Store(results / STORE_FILE) as store:
        task = LcrTask(settings, Fitter(engine, settings.overflow, settings.text_chars))
        task.check_fit(limit)
        scheduler = Scheduler(engine, store, store.register(engine.identity, engine.rendering))
        orders: dict[str, dict[str, list[str]]] = {base: {} for base in settings.bases}
        units = (unit for group in task.groups() for unit in _units(task, group, limit))
        for finished in scheduler.run(units, lambda unit: unit.start()):
            if finished.outcome is not None:
                base = finished.unit.group.dims["base"]
                orders[base][finished.unit.item] = list(finished.outcome.values["order"])
    return list(orders.items())


def _units(task: LcrTask, group: Group, limit: int | None) -> Iterator[Unit]:
    """A unit a query that has documents, with the base ranking alone as its procedure."""
    base = group.dims["base"]
    for number, query in enumerate(task.queries[:limit]):
        if task.candidates(query):
            yield Unit(group, query, number, {}, partial(task.base_procedure, query, base))
