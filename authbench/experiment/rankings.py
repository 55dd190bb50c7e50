"""`authbench rerank`: the base rankings of an lcr experiment, with the engines and the store of a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from authbench.engines.registry import make_engine
from authbench.experiment.jobs import STORE_FILE, plan_jobs
from authbench.experiment.loading import Experiment
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store
from authbench.tasks.lcr.first_stage import FirstStage
from authbench.tasks.lcr.rankings import Ranking, Rankings
from authbench.tasks.lcr.settings import LcrExperiment


def rankings_of(
    experiment: Experiment,
    settings: LcrExperiment,
    results: Path,
    left_out: dict[str, str],
    limit: int | None = None,
) -> tuple[FirstStage, Iterator[Ranking]]:
    """The first stage of an experiment, and its base rankings, made one after the other.

    Engines are made only for base rankings that ask the experiment's LLM; answers go to the store of
    `results`, and what it knows is not asked again.

    Args:
        experiment: whose models are asked.
        settings: of the experiment.
        results: the folder of the store.
        left_out: gets a line for each base ranking that cannot be had here and is to be left out.
        limit: only the first so many judged queries; None for all.
    """
    rankings = Rankings(settings, limit)
    return rankings.stage, _rankings(rankings, experiment, results, left_out)


def _rankings(
    rankings: Rankings, experiment: Experiment, results: Path, left_out: dict[str, str]
) -> Iterator[Ranking]:
    yield from rankings.without_llm(left_out)
    for job in plan_jobs([experiment]) if rankings.asked else ():
        engine = make_engine(job.engine, job.model, job.engine_settings)
        with closing(engine), Store(results / STORE_FILE) as store:
            scheduler = Scheduler(engine, store, store.register(engine.identity, engine.rendering))
            yield from rankings.by_llm(job.model.name, engine, scheduler)
