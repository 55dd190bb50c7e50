"""What can be said of a configuration without running it, nor reading its data."""

from __future__ import annotations

from authbench.engines.registry import make_engine
from authbench.errors import DataError, EngineError
from authbench.experiment.jobs import plan_jobs
from authbench.experiment.loading import Experiment


def check_experiment(experiment: Experiment) -> list[str]:
    """Check models, data set and engine settings; no weights are loaded.

    Gives notes on what could not be checked: an engine or its files may well be elsewhere.

    Raises:
        ConfigError: an unknown model or data set, or a setting that the engine does not know.
    """
    _check_dataset(experiment)
    try:
        for job in plan_jobs([experiment]):
            make_engine(job.engine, job.model, job.engine_settings).close()
    except (EngineError, DataError) as error:
        return [f"the engine's settings could not be checked here: {str(error).splitlines()[0]}"]
    return []


def _check_dataset(experiment: Experiment) -> None:
    from authbench.data.catalog import dataset

    settings = experiment.settings.dataset
    if experiment.settings.task == "lcr":  # any collection that ir_datasets knows, or a folder
        return
    if getattr(settings, "path", None) is None:
        dataset(settings.name)
