"""Lists of one source of each level, judged five ways: AuthorityBench Tables 1, 2, 4 and 6."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict
from typing import Any, Literal

from authbench.data.items import lists_of
from authbench.data.records import ListItem
from authbench.experiment.fitting import Fitter
from authbench.experiment.schema import ListwiseExperiment
from authbench.experiment.tasks.authority import Prompts, data_use, load_data
from authbench.experiment.tasks.base import DataUse, Group, Record, Task, Unit
from authbench.judging import listwise, logprob, pairwise, point
from authbench.judging.aggregate import average_score, bubble_sort
from authbench.judging.pairwise import comparison_plan
from authbench.measures.correlation import summarise_lists
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Procedure, Request

#: How PairJudge's comparisons become one ranking (section 4.1, appendix F). The first is the paper's.
AGGREGATIONS: dict[str, dict[str, Callable[[int, Sequence[Any]], list[float | None]]]] = {
    "pair-score": {"average": average_score, "bubble": bubble_sort},
    "pair-rank": {"bubble": bubble_sort},
}


class ListwiseTask(Task):
    """Groups are domain x context x judge; items are lists."""

    def __init__(self, settings: ListwiseExperiment, fitter: Fitter) -> None:
        super().__init__(settings, fitter)
        self._settings = settings
        self._data = load_data(settings)
        self._prompts = Prompts(settings, self._data, fitter)
        count, seed = settings.dataset.lists, settings.dataset.seed
        self._lists = {domain: lists_of(self._data, domain, count, seed) for domain in self._data.domains}

    def check_fit(self, limit: int | None) -> None:
        """Looks at every list."""
        for domain, items in self._lists.items():
            for context in self._settings.context:
                for item in items[:limit]:
                    self.prompts_for(item, domain, context)

    def groups(self) -> Sequence[Group]:
        """Domain by domain, context by context, judges in the order of the configuration."""
        return [
            self._group(domain, context, judge)
            for domain in self._data.domains
            for context in self._settings.context
            for judge in self._settings.judges
        ]

    def _group(self, domain: str, context: str, judge: str) -> Group:
        kind, _, output = judge.partition("-")
        dims = {
            "dataset": self._data.name,
            "domain": domain,
            "scale": self._data.scale.name,
            "context": context,
            "judge": kind,
            "output": output or "score",
        }
        return Group(f"{domain}/{context}/{judge}", dims)

    def size(self, group: Group) -> int:
        """Lists in the group's domain."""
        return len(self._lists[group.id.split("/")[0]])

    def units(self, group: Group) -> Iterator[Unit]:
        """A unit a list; gold holds the levels in the order shown."""
        domain, context, judge = group.id.split("/")
        for item in self._lists[domain]:
            gold = {"levels": [source.level for source in item.sources]}
            yield Unit(group, item.id, item.number, gold, self._starter(item, domain, context, judge))

    def _starter(
        self, item: ListItem, domain: str, context: str, judge: str
    ) -> Callable[[], Procedure[Outcome]]:
        return lambda: self._procedure(item, domain, context, judge)

    def _procedure(self, item: ListItem, domain: str, context: str, judge: str) -> Procedure[Outcome]:
        prompts = self.prompts_for(item, domain, context)
        sources, low, high = item.sources, 0, self._data.scale.levels - 1
        by_label = self._settings.scoring == "logprob"
        if judge == "point":
            ask = logprob.point_logprob_judge if by_label else point.point_judge
            return ask(sources, prompts, low, high)
        if judge == "list-rank":
            return listwise.list_rank_judge(sources, prompts)
        if judge == "list-score":
            return listwise.list_score_judge(sources, prompts, low, high)
        plan = self.comparisons(item, domain)
        if judge == "pair-score":
            return pairwise.pair_score_judge(sources, prompts, plan, low, high)
        prefer = logprob.pair_rank_logprob_judge if by_label else pairwise.pair_rank_judge
        return prefer(sources, prompts, plan)

    def prompts_for(self, item: ListItem, domain: str, context: str) -> PromptSet:
        """The prompts of a list; one budget for all judges, set by the longest prompt that any of them asks.

        That is the list's own where there is one, since it shows every text; else a pair's, else a source's.
        """
        judges = self._settings.judges

        def longest(prompts: PromptSet) -> list[Request]:
            sources = item.sources
            if any(judge.startswith("list") for judge in judges):
                return [prompts.list_score(sources), prompts.list_rank(sources)]
            if judges == ("point",):
                return [prompts.point(source) for source in sources]
            pairs = [(sources[i], sources[j]) for i, j in self.comparisons(item, domain)]
            return [ask(a, b) for a, b in pairs for ask in (prompts.pair_score, prompts.pair_rank)]

        return self._prompts.fitting(f"{domain}/{context}/{item.id}", domain, context, longest)

    def comparisons(self, item: ListItem, domain: str) -> tuple[tuple[int, int], ...]:
        """PairJudge's comparisons: with anchors on fine lists, all pairs on coarse ones (section 4.1)."""
        scheme: Literal["anchors", "all"] = "anchors" if self._data.scale.name == "fine" else "all"
        seed = f"{self._settings.dataset.seed}/{domain}/{item.id}"
        return comparison_plan(len(item.sources), scheme, seed, self._settings.anchors)

    def score(self, group: Group, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Spearman and Kendall, strict and valid only; for PairJudge by each aggregation."""
        gold = [record.gold["levels"] for record in records]
        judge = group.id.split("/")[-1]
        if judge not in AGGREGATIONS:
            predicted = [_scores(record) for record in records]
            return [asdict(row) for row in summarise_lists(predicted, gold)]
        rows = []
        for name, aggregate in AGGREGATIONS[judge].items():
            predicted = [_aggregated(record, aggregate) for record in records]
            rows += [{"aggregation": name, **asdict(row)} for row in summarise_lists(predicted, gold)]
        return rows

    def data(self) -> DataUse:
        """The corpus files and the seed."""
        return data_use(self._data, self._settings.dataset)


def _scores(record: Record) -> list[float | None]:
    if record.error is not None:
        return [None] * len(record.gold["levels"])
    scores = list(record.values["scores"])
    expected = record.values.get("expected")
    # With label log-probabilities the expected score breaks ties between equal likeliest labels.
    return scores if expected is None else logprob.tie_broken(scores, expected)


def _aggregated(
    record: Record, aggregate: Callable[[int, Sequence[Any]], list[float | None]]
) -> list[float | None]:
    count = len(record.gold["levels"])
    if record.error is not None:
        return [None] * count
    return aggregate(count, record.values["pairs"])
