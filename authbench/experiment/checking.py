"""Checks of a configuration that neither run it nor read its data."""

from __future__ import annotations

from authbench.engines.registry import make_engine
from authbench.errors import DataError, EngineError
from authbench.experiment.jobs import plan_jobs
from authbench.experiment.loading import Experiment


def check_experiment(experiment: Experiment) -> list[str]:
    """Check models, data set and engine settings; no weights are loaded.

    Gives notes on what could not be checked: the engine or its files may be on another machine.

    Raises:
        ConfigError: an unknown model or data set, or a setting that the engine does not know.
    """
    experiment.settings.check_dataset()
    try:
        for job in plan_jobs([experiment]):
            make_engine(job.engine, job.model, job.engine_settings).close()
    except (EngineError, DataError) as error:
        return [f"the engine's settings could not be checked here: {str(error).splitlines()[0]}"]
    return []
