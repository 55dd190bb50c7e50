"""Runs experiments: plan, judge or continue, score, write. Several share one load of each model."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Protocol

from authbench import __version__
from authbench.engines.registry import default_engine, make_engine
from authbench.experiment import provenance, scoring
from authbench.experiment.fitting import Fitter
from authbench.experiment.folder import FORMAT, RunFolder
from authbench.experiment.loading import Experiment
from authbench.experiment.models import load_model
from authbench.experiment.tasks.base import Group, Task, Unit, take
from authbench.experiment.tasks.registry import make_task
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.scheduler import Progress, Scheduler
from authbench.runtime.store import Store

STORE_FILE = "responses.sqlite"


@dataclass(frozen=True, slots=True)
class Options:
    """How to run: where results go, and what of the matrix is asked."""

    results: Path
    limit: int | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Job:
    """One experiment with one model: one results folder."""

    experiment: Experiment
    model: ModelConfig
    engine: str
    engine_settings: Mapping[str, Any]

    def folder(self, results: Path) -> RunFolder:
        """Where the job's results go."""
        return RunFolder(results / self.experiment.name / self.model.name)


@dataclass(frozen=True, slots=True)
class Done:
    """A job that has ended. `failed` counts items whose requests failed."""

    job: Job
    folder: RunFolder
    failed: int


class Observer(Protocol):
    """Who watches a run: the terminal, a test, or nobody."""

    def note(self, text: str) -> None:
        """Something a person should know."""

    def begin(self, model: str, total: int, progress: Progress) -> None:
        """A model's work starts: `total` procedures, counted in `progress` as they end."""

    def end(self) -> None:
        """The model's work has ended, well or not."""


class Silent:
    """An observer that does nothing."""

    def note(self, text: str) -> None:
        """Say nothing."""

    def begin(self, model: str, total: int, progress: Progress) -> None:
        """Show nothing."""

    def end(self) -> None:
        """Show nothing."""


@dataclass(slots=True)
class Prepared:
    """A job with its task made, and the answers that have come in."""

    job: Job
    task: Task
    groups: Sequence[Group]
    answered: dict[str, list[scoring.Answered]] = field(default_factory=dict)

    def units(self, limit: int | None) -> Iterator[tuple[Prepared, Unit]]:
        """Every unit that is to be run."""
        for group in self.groups:
            for unit in take(self.task.units(group), limit):
                yield self, unit

    def total(self, limit: int | None) -> int:
        """How many units that is."""
        sizes = (self.task.size(group) for group in self.groups)
        return sum(size if limit is None else min(size, limit) for size in sizes)


def plan_jobs(experiments: Sequence[Experiment]) -> list[Job]:
    """Every experiment with every one of its models, those of one model side by side."""
    jobs = []
    for experiment in experiments:
        settings = experiment.settings
        engine = settings.engine.name if settings.engine else default_engine()
        for name in settings.models:
            model = load_model(name, experiment.path)
            own = settings.engine.settings() if settings.engine else {}
            jobs.append(Job(experiment, model, engine, {**model.engine.get(engine, {}), **own}))
    order: dict[str, int] = {}
    for job in jobs:
        order.setdefault(_engine_key(job), len(order))
    return sorted(jobs, key=lambda job: order[_engine_key(job)])


def _engine_key(job: Job) -> str:
    """Jobs of equal keys share an engine."""
    return json.dumps([job.model.name, job.engine, dict(job.engine_settings)], sort_keys=True, default=str)


def run(experiments: Sequence[Experiment], options: Options, observer: Observer | None = None) -> list[Done]:
    """Run every job; what was done before is not done again.

    Raises:
        ConfigError, DataError: before anything is asked.
        EngineError: an engine that cannot start or dies; the jobs before it are written, and the answers
            of this one are kept.
    """
    observer = observer or Silent()
    jobs = plan_jobs(experiments)
    if not options.fresh:
        for job in jobs:
            job.folder(options.results).check(job.experiment.resolved(), job.engine, options.limit)
    done: list[Done] = []
    with Store(options.results / STORE_FILE) as store:
        if store.repaired:
            observer.note(store.repaired)
        for batch in _batches(jobs):
            done += _run_batch(batch, store, options, observer)
    return done


def _batches(jobs: Sequence[Job]) -> list[list[Job]]:
    batches: dict[str, list[Job]] = {}
    for job in jobs:
        batches.setdefault(_engine_key(job), []).append(job)
    return list(batches.values())


def prepare(job: Job, engine: Engine, limit: int | None) -> Prepared:
    """Make a job's task and see that every prompt fits, before weights are loaded."""
    settings = job.experiment.settings
    task = make_task(settings, Fitter(engine, settings.overflow, settings.text_chars))
    task.check_fit(limit)
    return Prepared(job, task, task.groups())


def _run_batch(batch: Sequence[Job], store: Store, options: Options, observer: Observer) -> list[Done]:
    """Run the jobs that share an engine."""
    first = batch[0]
    engine = make_engine(first.engine, first.model, first.engine_settings)
    try:
        prepared = [prepare(job, engine, options.limit) for job in batch]
        number = store.register(engine.identity, engine.rendering)
        scheduler = Scheduler(engine, store, number, since=time.time() if options.fresh else None)
        facts = {id(p): _opening_facts(p, engine, options) for p in prepared}
        for p in prepared:
            folder = p.job.folder(options.results)
            if options.fresh:
                folder.clear()
            folder.write_run(facts[id(p)])
        started = time.monotonic()
        observer.begin(first.model.name, sum(p.total(options.limit) for p in prepared), scheduler.progress)
        try:
            judge(prepared, scheduler, options.limit)
        finally:
            observer.end()
        seconds = time.monotonic() - started
        done = []
        for p in prepared:
            folder = p.job.folder(options.results)
            failed = write_results(p, folder, facts[id(p)])
            folder.write_run(
                facts[id(p)] | _closing_facts(p, engine, scheduler.progress, options.limit, failed, seconds)
            )
            done.append(Done(p.job, folder, failed))
        return done
    finally:
        engine.close()


def judge(prepared: Sequence[Prepared], scheduler: Scheduler, limit: int | None) -> None:
    """Run every unit of these jobs through one scheduler and keep what comes out."""
    units = (pair for p in prepared for pair in p.units(limit))
    for finished in scheduler.run(units, lambda pair: pair[1].start()):
        owner, unit = finished.unit
        record = scoring.to_record(finished, unit)
        owner.answered.setdefault(unit.group.id, []).append(record)


def write_results(prepared: Prepared, folder: RunFolder, facts: Mapping[str, Any]) -> int:
    """Score a job's answers and write `items.jsonl` and `cells.json`; gives how many items failed."""
    groups = []
    for group in prepared.groups:
        entries = sorted(prepared.answered.get(group.id, []), key=lambda entry: entry.record.number)
        groups.append((group, entries))
    failed = sum(entry.record.error is not None for _, entries in groups for entry in entries)
    columns = {
        "experiment": facts["experiment"],
        "table": facts["table"],
        "model": facts["model"]["name"],
        "engine": facts["engine"]["name"],
    }
    partial = bool(failed) or facts["limit"] is not None
    rows = scoring.cell_rows(prepared.task, groups, columns, partial=partial)
    folder.write_items(line for _, entries in groups for line in scoring.item_lines(entries))
    folder.write_cells(rows)
    return failed


def _opening_facts(prepared: Prepared, engine: Engine, options: Options) -> dict[str, Any]:
    """What is known before the first answer."""
    from authbench.prompts.render import prompt_set_hash

    job = prepared.job
    settings = job.experiment.settings
    data = prepared.task.data()
    identity = asdict(engine.identity)
    return {
        "format": FORMAT,
        "authbench": __version__,
        "status": "running",
        "experiment": job.experiment.name,
        "table": settings.table,
        "title": settings.title,
        "task": settings.task,
        "partial": True,
        "limit": options.limit,
        "config": job.experiment.resolved(),
        "passed": list(job.experiment.passed),
        "model": {**asdict(job.model), **{k: identity[k] for k in ("revision", "precision")}},
        "identity": identity,
        "rendering_hash": _digest(engine.rendering),
        "engine": {"name": job.engine, "settings": dict(job.engine_settings)},
        "options": _beyond_the_papers(settings.model_dump(mode="json")),
        "data": asdict(data),
        "prompts": prompt_set_hash(),
        "truncated": dict(prepared.task.fitter.truncated),
        "versions": provenance.versions(),
        "git": provenance.git(),
        "machine": provenance.machine(),
        "started": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _closing_facts(
    prepared: Prepared, engine: Engine, progress: Progress, limit: int | None, failed: int, seconds: float
) -> dict[str, Any]:
    """What is known after the last answer."""
    answered = [entry for entries in prepared.answered.values() for entry in entries]
    return {
        "status": "failed" if failed else "complete",
        "partial": bool(failed) or limit is not None,
        "statuses": scoring.count_statuses(answered),
        "failed_items": failed,
        "errors": sorted({e.record.error for e in answered if e.record.error})[:5],
        "truncated": dict(prepared.task.fitter.truncated),
        "seconds_by_group": {
            group: round(sum(c.response.seconds for e in entries for c in e.calls), 3)
            for group, entries in prepared.answered.items()
        },
        "session": {**asdict(progress), "seconds": round(seconds, 3)},
        "engine": {
            "name": prepared.job.engine,
            "settings": dict(prepared.job.engine_settings),
            "info": dict(engine.info()),
        },
        "ended": datetime.now(UTC).isoformat(timespec="seconds"),
    }


def _beyond_the_papers(config: Mapping[str, Any]) -> dict[str, Any]:
    """Options that are on although the papers do not have them: named wherever numbers show."""
    defaults = {"constrain": "none", "scoring": "text", "order": "drawn", "text_chars": None}
    return {key: config[key] for key, usual in defaults.items() if config.get(key, usual) != usual}


def _digest(rendering: Mapping[str, Any]) -> str:
    import hashlib

    return hashlib.sha256(json.dumps(dict(rendering), sort_keys=True, default=str).encode()).hexdigest()
