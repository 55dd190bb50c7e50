"""What the two authority tasks share: the data, the prompts, and texts that fit the model."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from authbench.errors import ConfigError
from authbench.experiment.schema import AuthorityDataset, ListwiseExperiment, PairwiseExperiment
from authbench.experiment.tasks.base import DataUse
from authbench.prompts.render import ENTITY_NOUNS, PromptSet, prompt_set
from authbench.runtime.messages import Request

if TYPE_CHECKING:
    from authbench.data.authority import AuthorityData
    from authbench.experiment.fitting import Fitter


def load_data(settings: ListwiseExperiment | PairwiseExperiment) -> AuthorityData:
    """The experiment's sources. Raises `ConfigError` where texts are asked for and there are none."""
    from authbench.data.authority import load_authority

    dataset = settings.dataset
    need_text = "with" in settings.context
    data = load_authority(
        dataset.name,
        dataset.scale,
        seed=dataset.seed,
        columns=dataset.columns,
        domains=dataset.domains,
        path=None if dataset.path is None else Path(dataset.path),
        need_text=need_text,
    )
    if need_text and not data.has_text:
        raise ConfigError(
            f"the data set {dataset.name} has no web page text, and context asks for it\n"
            "leave it out with --set context=[without], or name a data set with texts"
        )
    return data


def data_use(data: AuthorityData, dataset: AuthorityDataset) -> DataUse:
    """The data's files, what was left out of it, and the seed of what was drawn."""
    files = [record.to_dict() for record in data.files]
    notes = []
    for why, count in data.dropped.items():
        if why == "no text":
            notes.append(f"{count:,} sources without text are left out of every context.")
        elif why.startswith("official"):
            notes.append(f"{count:,} {why} are left out: of level 10, or without text.")
    return DataUse(files, dict(data.dropped), {"dataset.seed": dataset.seed}, notes)


class Prompts:
    """Prompt sets of one experiment, made once for each domain, context and text budget."""

    def __init__(
        self, settings: ListwiseExperiment | PairwiseExperiment, data: AuthorityData, fitter: Fitter
    ) -> None:
        self._settings = settings
        self._data = data
        self._fitter = fitter
        self._made: dict[tuple[Any, ...], PromptSet] = {}

    def get(self, domain: str, context: str, budget: int | None) -> PromptSet:
        """The prompts of a setting, with texts cut to `budget` characters."""
        key = (domain, context, budget)
        if key not in self._made:
            self._made[key] = prompt_set(
                self._data.family_of(domain),
                context=context,
                scale_levels=self._data.scale.levels,
                noun=ENTITY_NOUNS.get(domain),
                constrain=self._settings.constrain,
                text_budget=budget,
            )
        return self._made[key]

    def fitting(
        self, item: str, domain: str, context: str, longest: Callable[[PromptSet], Sequence[Request]]
    ) -> PromptSet:
        """The prompts of an item, its texts cut as far as the model's context and the policy say.

        Args:
            longest: the item's longest requests under given prompts.
        """
        budget = self._fitter.budget(item, lambda b: longest(self.get(domain, context, b)))
        return self.get(domain, context, budget)
