"""Jobs: every experiment with each of its models, and the checks that need no model."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from authbench.engines.registry import default_engine, engines_that_can
from authbench.errors import ConfigError
from authbench.experiment.folder import RunFolder
from authbench.experiment.loading import Experiment
from authbench.experiment.models import load_model
from authbench.runtime.engine import Engine, ModelConfig
from authbench.tasks.base import Task, first_round

#: The store of a results folder.
STORE_FILE = "responses.sqlite"


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

    @property
    def engine_key(self) -> str:
        """Jobs of equal keys share an engine."""
        facts = [asdict(self.model), self.engine, dict(self.engine_settings)]
        return json.dumps(facts, sort_keys=True, default=str)


def plan_jobs(experiments: Sequence[Experiment]) -> list[Job]:
    """A job for every experiment and each of its models; jobs that share an engine stand side by side.

    Raises:
        ConfigError: an unknown model, or two jobs that would write the same folder.
        EngineError: no engine is named, and none fits this machine.
    """
    jobs = []
    for experiment in experiments:
        settings = experiment.settings
        engine = settings.engine.name if settings.engine else default_engine()
        own = settings.engine.settings() if settings.engine else {}
        for name in settings.models:
            model = load_model(name, experiment.path)
            jobs.append(Job(experiment, model, engine, {**model.engine.get(engine, {}), **own}))
    _refuse_shared_folders(jobs)
    return [job for batch in batches(jobs) for job in batch]


def batches(jobs: Sequence[Job]) -> list[list[Job]]:
    """Jobs that share an engine, in the order in which they first come up."""
    grouped: dict[str, list[Job]] = {}
    for job in jobs:
        grouped.setdefault(job.engine_key, []).append(job)
    return list(grouped.values())


def _refuse_shared_folders(jobs: Sequence[Job]) -> None:
    owners: dict[tuple[str, str], Job] = {}
    for job in jobs:
        place = (job.experiment.name, job.model.name)
        other = owners.setdefault(place, job)
        if other is job:
            continue
        first, second = other.experiment.path, job.experiment.path
        if other.experiment is job.experiment:
            raise ConfigError(f"{second}: two of its models are called '{job.model.name}'; rename one")
        if first.resolve() == second.resolve():
            raise ConfigError(f"{second} is given twice")
        raise ConfigError(
            f"{first} and {second} would both write results to {'/'.join(place)}\n"
            "rename one, or run them with different --results"
        )


def check_capabilities(job: Job, task: Task, engine: Engine) -> None:
    """Refuse a task that asks for what the engine cannot do, as far as its first rounds show.

    Raises `ConfigError` with the engines that would do.
    """
    for group in task.groups():
        for unit in task.units(group):
            for request in first_round(unit.start()):
                lacking = engine.capabilities.lacking(request)
                if lacking is not None:
                    can = ", ".join(engines_that_can(lacking.split()[0], but=job.engine))
                    raise ConfigError(
                        f"{job.experiment.path}: the engine '{job.engine}' cannot do what {group.id} asks "
                        f"for: {lacking}\nuse another with --engine: {can}"
                    )
            break
