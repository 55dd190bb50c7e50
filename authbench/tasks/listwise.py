"""Lists of one source of each level, judged five ways: AuthorityBench Tables 1, 2, 4 and 6."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict
from functools import partial
from typing import Any, Literal

from authbench.data.items import lists_of
from authbench.data.records import ListItem
from authbench.judging import judges
from authbench.judging.aggregate import AGGREGATIONS, Aggregate
from authbench.judging.logprob import pair_rank_logprob_judge, point_logprob_judge, tie_broken
from authbench.measures.correlation import summarise_lists
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Procedure, Request
from authbench.tasks.authority import Authority
from authbench.tasks.authority_settings import ListwiseExperiment
from authbench.tasks.base import DataUse, Group, Record, Task, Unit
from authbench.tasks.fitting import Fitter


class ListwiseTask(Task):
    """Groups are domain x context x judge; items are lists."""

    def __init__(self, settings: ListwiseExperiment, fitter: Fitter) -> None:
        super().__init__(settings, fitter)
        self._settings = settings
        self._authority = Authority(settings.dataset, settings.context, settings.constrain, fitter)
        data, count, seed = self._authority.data, settings.dataset.lists, settings.dataset.seed
        self._lists = {domain: lists_of(data, domain, count, seed) for domain in data.domains}

    def check_fit(self, limit: int | None) -> None:
        """Looks at every list."""
        for domain, items in self._lists.items():
            for context in self._settings.context:
                for item in items[:limit]:
                    self._prompts(item, domain, context)

    def groups(self) -> Sequence[Group]:
        """Domain by domain, context by context, judges in the order of the configuration."""
        return [
            Group(f"{domain}/{context}/{judge}", self._authority.dims(domain, context, judge))
            for domain in self._lists
            for context in self._settings.context
            for judge in self._settings.judges
        ]

    def size(self, group: Group) -> int:
        """Lists in the group's domain."""
        return len(self._lists[group.dims["domain"]])

    def units(self, group: Group) -> Iterator[Unit]:
        """A unit a list; `gold`: `levels`, in the order shown."""
        domain, context, judge = group.id.split("/")
        for item in self._lists[domain]:
            gold = {"levels": [source.level for source in item.sources]}
            start = partial(self._procedure, item, domain, context, judge)
            yield Unit(group, item.id, item.number, gold, start)

    def _procedure(self, item: ListItem, domain: str, context: str, judge: str) -> Procedure[Outcome]:
        prompts = self._prompts(item, domain, context)
        sources, low, high = item.sources, 0, self._authority.data.scale.levels - 1
        by_label = self._settings.scoring == "logprob"
        if judge == "point":
            ask = point_logprob_judge if by_label else judges.point_judge
            return ask(sources, prompts, low, high)
        if judge == "list-rank":
            return judges.list_rank_judge(sources, prompts)
        if judge == "list-score":
            return judges.list_score_judge(sources, prompts, low, high)
        pairs = self._comparisons(item, domain)
        if judge == "pair-score":
            return judges.pair_score_judge(sources, prompts, pairs, low, high)
        prefer = pair_rank_logprob_judge if by_label else judges.pair_rank_judge
        return prefer(sources, prompts, pairs)

    def _prompts(self, item: ListItem, domain: str, context: str) -> PromptSet:
        """The prompts of a list; one text budget for all judges, set by the longest prompt of any of them.

        That is the list's own where there is one, since it shows every text; else a pair's, else a source's.
        """

        def longest(prompts: PromptSet) -> list[Request]:
            sources, asked = item.sources, self._settings.judges
            if any(judge.startswith("list") for judge in asked):
                return [prompts.list_score(sources), prompts.list_rank(sources)]
            if asked == ("point",):
                return [prompts.point(source) for source in sources]
            pairs = [(sources[i], sources[j]) for i, j in self._comparisons(item, domain)]
            return [ask(a, b) for a, b in pairs for ask in (prompts.pair_score, prompts.pair_rank)]

        return self._authority.prompts(item.id, domain, context, longest)

    def _comparisons(self, item: ListItem, domain: str) -> tuple[tuple[int, int], ...]:
        """PairJudge's comparisons: with anchors on fine lists, all pairs on coarse ones (section 4.1)."""
        scheme: Literal["anchors", "all"] = "anchors" if self._authority.data.scale.name == "fine" else "all"
        seed = f"{self._settings.dataset.seed}/{domain}/{item.id}"
        return judges.comparison_plan(len(item.sources), scheme, seed, self._settings.anchors)

    def score(self, group: Group, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Spearman and Kendall, strict and valid only; for PairJudge by each aggregation."""
        gold = [record.gold["levels"] for record in records]
        judge = group.id.split("/")[-1]
        ways: list[tuple[str | None, Aggregate | None]] = [*AGGREGATIONS.get(judge, {}).items()]
        rows = []
        for name, aggregate in ways or [(None, None)]:
            predicted = [_scores(record, aggregate) for record in records]
            rows += [{"aggregation": name, **asdict(row)} for row in summarise_lists(predicted, gold)]
        return rows

    def data(self) -> DataUse:
        """The corpus files and the seed."""
        return self._authority.use()


def _scores(record: Record, aggregate: Aggregate | None) -> list[float | None]:
    """One number a source, in the order shown; bigger is better, None where the answer was not valid."""
    count = len(record.gold["levels"])
    if record.error is not None:
        return [None] * count
    if aggregate is not None:
        return aggregate(count, record.values["pairs"])
    scores, expected = list(record.values["scores"]), record.values.get("expected")
    # With label log-probabilities the expected score breaks ties between equal likeliest labels.
    return scores if expected is None else tie_broken(scores, expected)
