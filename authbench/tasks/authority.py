"""What the two authority tasks share: data set, prompts, and texts that fit the model's context."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from authbench.errors import ConfigError
from authbench.prompts.render import ENTITY_NOUNS, PromptSet, prompt_set
from authbench.runtime.messages import Request
from authbench.tasks.authority_settings import AuthorityDataset
from authbench.tasks.base import DataUse
from authbench.tasks.fitting import Fitter
from authbench.tasks.settings import Context

if TYPE_CHECKING:
    from authbench.data.authority import AuthorityData


class Authority:
    """The data of an experiment and its prompts, made once for each domain, context and text budget.

    Args:
        dataset: which sources.
        context: the contexts that are asked for; `with` needs texts.
        constrain: see `ExperimentSettings`.
        fitter: says how much of a text fits the model.

    Raises:
        ConfigError: texts are asked for and the data has none.
        DataError: files that are missing or damaged.
    """

    def __init__(
        self, dataset: AuthorityDataset, context: Sequence[Context], constrain: str, fitter: Fitter
    ) -> None:
        self.data = _load(dataset, need_text="with" in context)
        self._seed = dataset.seed
        self._constrain = constrain
        self._fitter = fitter
        self._made: dict[tuple[str, str, int | None], PromptSet] = {}

    def dims(self, domain: str, context: str, judge: str) -> dict[str, Any]:
        """The columns of `cells.json` that every group has, of a judge named like `pair-rank`."""
        kind, _, output = judge.partition("-")
        return {
            "dataset": self.data.name,
            "domain": domain,
            "scale": self.data.scale.name,
            "context": context,
            "judge": kind,
            "output": output or "score",
        }

    def prompts(
        self, item: str, domain: str, context: str, longest: Callable[[PromptSet], Sequence[Request]]
    ) -> PromptSet:
        """The prompts of an item, its texts cut as far as the model's context and the policy say.

        Args:
            item: the item's identifier within its domain.
            longest: makes the item's longest requests under given prompts.
        """

        def with_budget(budget: int | None) -> PromptSet:
            return self._prompt_set(domain, context, budget)

        name = f"{domain}/{context}/{item}"
        return with_budget(self._fitter.budget(name, lambda budget: longest(with_budget(budget))))

    def _prompt_set(self, domain: str, context: str, budget: int | None) -> PromptSet:
        key = (domain, context, budget)
        if key not in self._made:
            self._made[key] = prompt_set(
                self.data.family_of(domain),
                context=context,
                scale_levels=self.data.scale.levels,
                noun=ENTITY_NOUNS.get(domain),
                constrain=self._constrain,
                text_budget=budget,
            )
        return self._made[key]

    def use(self) -> DataUse:
        """The data's files, what was left out of it, and the seed of what was drawn."""
        data, notes = self.data, []
        for why, count in data.dropped.items():
            if why == "no text":
                notes.append(f"{count:,} sources without text are left out of every context.")
            elif why.startswith("official"):
                notes.append(f"{count:,} {why} are left out: of level 10, or without text.")
        files = [record.to_dict() for record in data.files]
        return DataUse(files, dict(data.dropped), {"dataset.seed": self._seed}, notes)


def _load(dataset: AuthorityDataset, *, need_text: bool) -> AuthorityData:
    from authbench.data.authority import load_authority

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
