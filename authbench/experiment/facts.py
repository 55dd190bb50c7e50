"""What `run.json` says: what was asked and how, by which versions on which machine, and what came of it."""

from __future__ import annotations

from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from authbench import RESULTS_FORMAT, __version__
from authbench.experiment import provenance
from authbench.experiment.jobs import Job
from authbench.experiment.scoring import Answers
from authbench.runtime.engine import Engine
from authbench.runtime.keys import rendering_digest
from authbench.runtime.scheduler import Progress
from authbench.tasks.base import Task


def opening_facts(
    job: Job, task: Task, engine: Engine, limit: int | None, since: float | None
) -> dict[str, Any]:
    """The facts that are known before the first answer: configuration, model, data, versions, machine."""
    from authbench.prompts.render import prompt_set_hash

    settings = job.experiment.settings
    identity = asdict(engine.identity)
    return {
        "format": RESULTS_FORMAT,
        "authbench": __version__,
        "status": "running",
        "experiment": job.experiment.name,
        "table": settings.table,
        "title": settings.title,
        "task": settings.task,
        "partial": True,
        "limit": limit,
        "fresh_since": since,
        "config": job.experiment.resolved(),
        "passed": list(job.experiment.passed),
        "model": {**asdict(job.model), **{k: identity[k] for k in ("revision", "precision")}},
        "identity": identity,
        "rendering_hash": rendering_digest(engine.rendering),
        "engine": {"name": job.engine, "settings": dict(job.engine_settings)},
        "options": settings.beyond_the_papers(),
        "data": asdict(task.data()),
        "prompts": prompt_set_hash(),
        "truncated": dict(task.fitter.truncated),
        "left_out": dict(task.left_out),
        "versions": provenance.versions(),
        "git": provenance.git(),
        "machine": provenance.machine(),
        "started": now(),
    }


def session_facts(job: Job, engine: Engine, progress: Progress, seconds: float) -> dict[str, Any]:
    """The facts of the session that asked the model: its counters, its time, and what the engine reports."""
    return {
        "session": {**asdict(progress), "seconds": round(seconds, 3)},
        "engine": {
            "name": job.engine,
            "settings": dict(job.engine_settings),
            "info": dict(engine.info()),
        },
        "ended": now(),
    }


def measured_facts(
    task: Task,
    answers: Answers,
    limit: int | None,
    since: float | None,
) -> dict[str, Any]:
    """The facts that are read out of the answers; `authbench score` makes them again from the store."""
    errors = answers.errors
    statuses = dict(answers.statuses, **({"failed": len(errors)} if errors else {}))
    records = (record for group in answers.groups for record in answers.records(group))
    return {
        "status": "failed" if errors else "complete",
        "partial": bool(errors) or limit is not None,
        "fresh_since": since if errors else None,
        "statuses": dict(sorted(statuses.items())),
        "remarks": list(task.remarks(records)),
        "failed_items": len(errors),
        "errors": sorted(set(errors))[:5],
        "truncated": dict(task.fitter.truncated),
        "left_out": dict(task.left_out),
        "seconds_by_group": {group.id: round(answers.costs[group.id].seconds, 3) for group in answers.groups},
        "measured": {"authbench": __version__, "git": provenance.git()},
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
