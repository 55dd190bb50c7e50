"""The tasks by name: their settings, and the class that makes groups and units of them."""

from __future__ import annotations

from importlib import import_module
from typing import Annotated

from pydantic import Field, TypeAdapter

from authbench.tasks.authority_settings import ListwiseExperiment, PairwiseExperiment
from authbench.tasks.base import Task
from authbench.tasks.fitting import Fitter
from authbench.tasks.lcr.settings import LcrExperiment
from authbench.tasks.rag.settings import RagExperiment
from authbench.tasks.settings import ExperimentSettings

AnyExperiment = ListwiseExperiment | PairwiseExperiment | RagExperiment | LcrExperiment

#: Settings of any task, told apart by `task`.
EXPERIMENT: TypeAdapter[AnyExperiment] = TypeAdapter(Annotated[AnyExperiment, Field(discriminator="task")])

#: Settings of each task by its name.
TASKS: dict[str, type[ExperimentSettings]] = {
    "listwise": ListwiseExperiment,
    "pairwise": PairwiseExperiment,
    "rag": RagExperiment,
    "lcr": LcrExperiment,
}

#: Module and class of each task. Imported only when one is run: they bring data sets and indexes along.
_CLASSES = {
    "listwise": ("authbench.tasks.listwise", "ListwiseTask"),
    "pairwise": ("authbench.tasks.pairwise", "PairwiseTask"),
    "rag": ("authbench.tasks.rag.task", "RagTask"),
    "lcr": ("authbench.tasks.lcr.task", "LcrTask"),
}


def make_task(settings: AnyExperiment, fitter: Fitter) -> Task:
    """The task that these settings describe.

    Raises `ConfigError` or `DataError` where its data cannot be had, or the engine cannot do what it asks.
    """
    module, name = _CLASSES[settings.task]
    task: Task = getattr(import_module(module), name)(settings, fitter)
    return task
