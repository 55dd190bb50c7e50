"""What `run.json` says: what was asked and how, by which versions on which machine, and what came of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from typing import Any

from authbench import RESULTS_FORMAT, __version__
from authbench.experiment import provenance, scoring
from authbench.experiment.jobs import Job
from authbench.runtime.engine import Engine
from authbench.runtime.keys import rendering_digest
from authbench.runtime.scheduler import Progress
from authbench.tasks.base import Task


def opening_facts(
    job: Job, task: Task, engine: Engine, limit: int | None, since: float | None
) -> dict[str, Any]:
    """What is known before the first answer."""
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
    """What the session that asked the model says of itself when it ends."""
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
    answered: Mapping[str, Sequence[scoring.Answered]],
    limit: int | None,
    since: float | None,
) -> dict[str, Any]:
    """What was read out of the answers, and by what; the same whenever and wherever it is measured again."""
    entries = [entry for group in answered.values() for entry in group]
    errors = [entry.record.error for entry in entries if entry.record.error is not None]
    return {
        "status": "failed" if errors else "complete",
        "partial": bool(errors) or limit is not None,
        "fresh_since": since if errors else None,
        "statuses": scoring.count_statuses(entries),
        "remarks": list(task.remarks([entry.record for entry in entries])),
        "failed_items": len(errors),
        "errors": sorted(set(errors))[:5],
        "truncated": dict(task.fitter.truncated),
        "left_out": dict(task.left_out),
        "seconds_by_group": {
            group.id: round(sum(c.response.seconds for e in answered.get(group.id, ()) for c in e.calls), 3)
            for group in task.groups()
        },
        "measured": {"authbench": __version__, "git": provenance.git()},
    }


def now() -> str:
    """The time in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")
