"""Runs experiments: plan, judge or continue, score, write. Several share one load of each model."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Protocol

from authbench.engines.registry import make_engine
from authbench.experiment.facts import measured_facts, opening_facts, session_facts
from authbench.experiment.folder import RunFolder
from authbench.experiment.jobs import STORE_FILE, Job, batches, check_capabilities, plan_jobs
from authbench.experiment.loading import Experiment
from authbench.experiment.scoring import Answers, cell_rows
from authbench.runtime.engine import Engine
from authbench.runtime.keys import rendering_digest
from authbench.runtime.scheduler import Progress, Scheduler
from authbench.runtime.store import Store
from authbench.tasks.base import Task, Unit, take
from authbench.tasks.fitting import Fitter
from authbench.tasks.registry import make_task
from authbench.words import left_out_sentences


@dataclass(frozen=True, slots=True)
class Options:
    """How to run.

    Attributes:
        results: where results go.
        limit: only the first so many items of each group.
        fresh: replace what is there and ask everything again. A fresh run that was stopped goes on.
    """

    results: Path
    limit: int | None = None
    fresh: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A job that has ended. `failed` counts items whose requests failed; `errors` are some of the reasons."""

    job: Job
    folder: RunFolder
    failed: int
    errors: Sequence[str] = ()


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


class Prepared:
    """A job that is ready to be asked, and what comes of it.

    Attributes:
        job: the experiment with one model.
        task: made for this model.
        folder: where its results go.
        answers: of its units, as they come in.
        asked: requests that went to the engine.
    """

    def __init__(self, job: Job, task: Task, folder: RunFolder) -> None:
        self.job = job
        self.task = task
        self.folder = folder
        self.asked = 0
        self._spool = folder.spool()
        self.answers = Answers(task.groups(), self._spool)

    def units(self, limit: int | None) -> Iterator[tuple[Prepared, Unit]]:
        """Every unit that is to be run."""
        for group in self.answers.groups:
            for unit in take(self.task.units(group), limit):
                yield self, unit

    def total(self, limit: int | None) -> int:
        """How many units are to be run."""
        sizes = (self.task.size(group) for group in self.answers.groups)
        return sum(size if limit is None else min(size, limit) for size in sizes)

    def write_results(self, facts: Mapping[str, Any]) -> None:
        """Measure the answers and write all three files; `run.json` last, with these facts."""
        columns = {
            "experiment": facts["experiment"],
            "table": facts["table"],
            "model": facts["model"]["name"],
            "engine": facts["engine"]["name"],
        }
        rows = cell_rows(self.task, self.answers, columns, partial=facts["partial"])
        self.folder.write_items(line for group in self.answers.groups for line in self.answers.lines(group))
        self.folder.write_cells(rows)
        self.folder.write_run(facts)
        self._spool.close()


def run(experiments: Sequence[Experiment], options: Options, observer: Observer | None = None) -> list[Done]:
    """Run every job; what was done before is not done again.

    Everything that can be checked is checked for all jobs before anything is asked or written.

    Raises:
        ConfigError, DataError: before anything is asked; `DataError` later if results cannot be written.
        EngineError: an engine that cannot start or dies; the jobs before it are written, and the answers
            of this one are kept.
    """
    observer = observer or Silent()
    jobs = plan_jobs(experiments)
    if not options.fresh:
        for job in jobs:
            job.folder(options.results).check(job.experiment.resolved(), job.engine, options.limit)
    done: list[Done] = []
    with ExitStack() as engines:
        waiting = [_prepare_batch(batch, options, engines) for batch in batches(jobs)]
        for note in dict.fromkeys(n for _, batch in waiting for p in batch for n in _notes(p.task)):
            observer.note(note)
        with Store(options.results / STORE_FILE) as store:
            if store.repaired:
                observer.note(store.repaired)
            while waiting:
                engine, batch = waiting.pop(0)
                with closing(engine):
                    done += _run_batch(engine, batch, store, options, observer)
    return done


def _notes(task: Task) -> Iterator[str]:
    """What a person should know before the run."""
    yield from task.data().notes
    yield from left_out_sentences(task.left_out)


def _prepare_batch(
    batch: Sequence[Job], options: Options, engines: ExitStack
) -> tuple[Engine, list[Prepared]]:
    """The engine that jobs share, and each of them ready to be asked."""
    first = batch[0]
    engine = engines.enter_context(closing(make_engine(first.engine, first.model, first.engine_settings)))
    prepared = []
    for job in batch:
        folder = job.folder(options.results)
        if not options.fresh:
            folder.check_model(asdict(engine.identity), rendering_digest(engine.rendering))
        prepared.append(_prepare(job, engine, folder, options.limit))
        if not options.fresh:
            folder.check_left_out(prepared[-1].task.left_out)
    fitters = [p.task.fitter for p in prepared]
    engine.expect(lambda: max(fitter.longest() for fitter in fitters))
    return engine, prepared


def _prepare(job: Job, engine: Engine, folder: RunFolder, limit: int | None) -> Prepared:
    """Make a job's task and see that it can be asked, before weights are loaded.

    Raises:
        ConfigError: a prompt that does not fit, or something asked for that the engine cannot do.
        DataError: data that are missing or not enough.
    """
    settings = job.experiment.settings
    task = make_task(settings, Fitter(engine, settings.overflow, settings.text_chars))
    task.check_fit(limit)
    check_capabilities(job, task, engine)
    return Prepared(job, task, folder)


def _run_batch(
    engine: Engine, batch: Sequence[Prepared], store: Store, options: Options, observer: Observer
) -> list[Done]:
    """Run the jobs that share an engine."""
    since = _fresh_since(batch, options, observer)
    number = store.register(engine.identity, engine.rendering)
    scheduler = Scheduler(engine, store, number, since=since)
    runs = [_Run(p, options.limit, since) for p in batch]
    if options.fresh:
        scheduler.load()  # what is there is replaced only if there is a model to ask
    for one in runs:
        one.open(engine)
    started = time.monotonic()
    name, total = batch[0].job.model.name, sum(p.total(options.limit) for p in batch)
    observer.begin(name, total, scheduler.progress)
    try:
        judge(batch, scheduler, options.limit)
    finally:
        observer.end()
    seconds = time.monotonic() - started
    return [one.close(engine, scheduler.progress, seconds) for one in runs]


def _fresh_since(batch: Sequence[Prepared], options: Options, observer: Observer) -> float | None:
    """From which time on answers count in a `--fresh` run: when it first began. None for any other run."""
    begun = [
        since for p in batch if (since := p.folder.unfinished_fresh(p.job.experiment.resolved())) is not None
    ]
    if begun:
        since = min(begun)
        when = time.strftime("%Y-%m-%d %H:%M", time.localtime(since))
        observer.note(f"{batch[0].job.model.name}: the --fresh run of {when} goes on")
        return since
    return time.time() if options.fresh else None


@dataclass(slots=True)
class _Run:
    """A job that is being run, with what its `run.json` says."""

    prepared: Prepared
    limit: int | None
    since: float | None
    facts: dict[str, Any] = field(default_factory=dict)
    earlier: dict[str, Any] | None = None

    def open(self, engine: Engine) -> None:
        """Write that the run has begun; a complete one that is not replaced stays as it is until `close`."""
        p = self.prepared
        self.facts = opening_facts(p.job, p.task, engine, self.limit, self.since)
        if self.since is not None:
            p.folder.clear()
        else:
            earlier = p.folder.read()
            if earlier and earlier.get("status") == "complete" and earlier.get("limit") == self.limit:
                self.earlier = earlier
                return
        p.folder.write_run(self.facts)

    def close(self, engine: Engine, progress: Progress, seconds: float) -> Done:
        """Write everything. Where nothing had to be asked, the facts of the earlier session stay."""
        p = self.prepared
        if self.earlier is not None and not p.asked:
            facts = self.earlier
        else:
            facts = self.facts | session_facts(p.job, engine, progress, seconds)
        facts = facts | measured_facts(p.task, p.answers, self.limit, self.since)
        p.write_results(facts)
        return Done(p.job, p.folder, facts["failed_items"], facts["errors"])


def judge(prepared: Sequence[Prepared], scheduler: Scheduler, limit: int | None) -> None:
    """Run every unit of these jobs through one scheduler and keep what comes out."""
    units = (pair for p in prepared for pair in p.units(limit))
    with _few_collections(), closing(scheduler.run(units, lambda pair: pair[1].start())) as ended:
        for finished in ended:
            owner, unit = finished.unit
            owner.asked += finished.asked
            owner.answers.add(finished, unit)
    for p in prepared:
        count, wanted = len(p.answers), p.total(limit)
        if count != wanted:
            raise RuntimeError(f"{p.job.experiment.name}: {count} of {wanted} items came back: a bug")


@contextmanager
def _few_collections() -> Iterator[None]:
    """Collect garbage less often: a run makes many objects and no cycles, and looking for them takes time."""
    before = gc.get_threshold()
    gc.set_threshold(50_000, 20, 100)
    try:
        yield
    finally:
        gc.set_threshold(*before)
