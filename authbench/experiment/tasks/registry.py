"""Which task belongs to which settings."""

from __future__ import annotations

from importlib import import_module

from authbench.experiment.fitting import Fitter
from authbench.experiment.schema import Base
from authbench.experiment.tasks.base import Task

#: Module and class of each task; imported when one is needed.
_TASKS = {
    "listwise": ("authbench.experiment.tasks.listwise", "ListwiseTask"),
    "pairwise": ("authbench.experiment.tasks.pairwise", "PairwiseTask"),
    "rag": ("authbench.experiment.tasks.rag", "RagTask"),
    "lcr": ("authbench.experiment.tasks.lcr", "LcrTask"),
}


def make_task(settings: Base, fitter: Fitter) -> Task:
    """The task that these settings describe."""
    module, name = _TASKS[settings.task]  # type: ignore[attr-defined]
    task: Task = getattr(import_module(module), name)(settings, fitter)
    return task
