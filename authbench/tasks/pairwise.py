"""Easy and hard pairs, judged three ways: AuthorityBench Table 3."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, get_args

from authbench.data.records import PairItem
from authbench.data.sampling import Difficulty, PairRule, sample_pairs
from authbench.judging.judges import pairwise_judge, point_judge
from authbench.judging.logprob import pairwise_rank_logprob_judge, point_logprob_judge, tie_broken
from authbench.measures.accuracy import summarise_pairs
from authbench.measures.resampling import Policy, measure_row
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Procedure, Request
from authbench.tasks.authority import Authority
from authbench.tasks.authority_settings import PairwiseExperiment
from authbench.tasks.base import DataUse, Group, Record, Task, Unit
from authbench.tasks.fitting import Fitter

DIFFICULTIES: tuple[Difficulty, ...] = ("easy", "hard")


class PairwiseTask(Task):
    """Groups are domain x difficulty x context x judge; items are pairs.

    PointJudge asks of each source what it is asked for Table 1, with the same prompt, so what the two tables
    share is asked once.
    """

    def __init__(self, settings: PairwiseExperiment, fitter: Fitter) -> None:
        super().__init__(settings, fitter)
        self._settings = settings
        self._authority = Authority(settings.dataset, settings.context, settings.constrain, fitter)
        self._pairs = {
            (domain, difficulty): self._draw(domain, difficulty)
            for domain in self._authority.data.domains
            for difficulty in DIFFICULTIES
        }

    def _draw(self, domain: str, difficulty: Difficulty) -> Sequence[PairItem]:
        """Official pairs where the data brings them, else pairs drawn with the recorded seed.

        Official pairs are what the paper's authors say they are: their levels need not obey the rule, but
        pairs of equal levels are left out where the settings say so.
        """
        dataset, data = self._settings.dataset, self._authority.data
        official = data.pairs.get(difficulty, ())
        if official:
            admitted = (pair for pair in official if dataset.allow_equal or pair.gap)
            kept = [replace(pair, number=number) for number, pair in enumerate(admitted)]
            return kept[: dataset.pairs]
        rule = PairRule(dataset.easy_min_gap, dataset.hard_max_gap, dataset.allow_equal)
        return sample_pairs(data.domains[domain], dataset.pairs, dataset.seed, domain, difficulty, rule)

    def check_fit(self, limit: int | None) -> None:
        """Looks at every pair with texts; without texts at the one with the longest names."""
        for (domain, _), pairs in self._pairs.items():
            for context in self._settings.context:
                looked_at = pairs[:limit]
                if context == "without":
                    looked_at = sorted(looked_at, key=_name_length)[-1:]
                for pair in looked_at:
                    self._prompts(pair, domain, context)

    def groups(self) -> Sequence[Group]:
        """Domain by domain, easy before hard, context by context, judges as the configuration has them."""
        return [
            Group(
                f"{domain}/{difficulty}/{context}/{judge}",
                {**self._authority.dims(domain, context, judge), "difficulty": difficulty},
            )
            for domain, difficulty in self._pairs
            for context in self._settings.context
            for judge in self._settings.judges
        ]

    def _of(self, group: Group) -> Sequence[PairItem]:
        return self._pairs[group.dims["domain"], group.dims["difficulty"]]

    def size(self, group: Group) -> int:
        """Pairs of the group's domain and difficulty."""
        return len(self._of(group))

    def units(self, group: Group) -> Iterator[Unit]:
        """A unit a pair; `gold`: `levels`, `[first, second]`, the first being shown as A."""
        for pair in self._of(group):
            gold = {"levels": [pair.first.level, pair.second.level]}
            yield Unit(group, pair.id, pair.number, gold, partial(self._procedure, pair, group.dims))

    def _procedure(self, pair: PairItem, dims: Mapping[str, Any]) -> Procedure[Outcome]:
        prompts = self._prompts(pair, dims["domain"], dims["context"])
        low, high = 0, self._authority.data.scale.levels - 1
        by_label = self._settings.scoring == "logprob"
        order, output = self._settings.order, dims["output"]
        if dims["judge"] == "point":
            ask = point_logprob_judge if by_label else point_judge
            return ask((pair.first, pair.second), prompts, low, high)
        if by_label and output == "rank":
            return pairwise_rank_logprob_judge(pair, prompts, order)
        return pairwise_judge(pair, prompts, output, low, high, order)

    def _prompts(self, pair: PairItem, domain: str, context: str) -> PromptSet:
        """The prompts of a pair; one text budget for all judges, set by the prompt that shows both texts."""

        def longest(prompts: PromptSet) -> list[Request]:
            return [prompts.pair_score(pair.first, pair.second), prompts.pair_rank(pair.first, pair.second)]

        return self._authority.prompts(pair.id, domain, context, longest)

    def score(self, group: Group, records: Sequence[Record]) -> list[dict[str, Any]]:
        """Accuracy, strict and valid only; pairs of equal levels and both orders have rows of their own.

        `accuracy` counts every pair, `accuracy-unequal` only those of different levels (present where there
        are equal ones), `equal-tied` is the share of equal pairs that got equal scores. Where both orders
        were asked, `accuracy` is by the mean of the two, `accuracy-drawn` by the drawn order alone,
        `flip_rate` the share of pairs whose preference changed with the side, and `first_preferred` the
        share of preferences for the source shown as A (one half: no position bias).
        """
        gold = [record.gold["levels"] for record in records]
        scores = [_scores(record) for record in records]
        rows = _accuracies(scores, gold) + _equal_rows(scores, gold)
        orders = [record.values["by_order"] for record in records if "by_order" in record.values]
        if orders:
            drawn = [_drawn(record) for record in records]
            rows += [row | {"metric": f"{row['metric']}-drawn"} for row in _accuracies(drawn, gold)]
            rows += _order_rows(orders)
        return rows

    def data(self) -> DataUse:
        """The corpus and pair files, and the seed."""
        return self._authority.use()


Scores = tuple[float | None, float | None]


def _name_length(pair: PairItem) -> int:
    return len(pair.first.name.encode()) + len(pair.second.name.encode())


def _scores(record: Record) -> Scores:
    """The scores of the two, ties broken by expected scores where there are any."""
    if record.error is not None:
        return None, None
    scores = record.values["scores"]
    if "expected" in record.values:
        scores = tie_broken(scores, record.values["expected"])
    return scores[0], scores[1]


def _drawn(record: Record) -> Scores:
    if record.error is not None:
        return None, None
    first, second = record.values["by_order"][0]
    return first, second


def _accuracies(scores: Sequence[Scores], gold: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    first, second = [pair[0] for pair in scores], [pair[1] for pair in scores]
    rows = summarise_pairs(first, second, [pair[0] for pair in gold], [pair[1] for pair in gold])
    return [asdict(row) for row in rows]


def _equal_rows(scores: Sequence[Scores], gold: Sequence[Sequence[int]]) -> list[dict[str, Any]]:
    """How often pairs of equal levels got equal scores, which is what would be right for them."""
    equal = [pair for pair, levels in zip(scores, gold, strict=True) if levels[0] == levels[1]]
    if not equal:
        return []
    tied = [float(pair[0] == pair[1] and None not in pair) for pair in equal]
    valid = [float(pair[0] == pair[1]) for pair in equal if None not in pair]
    counts = {"n_invalid": len(equal) - len(valid), "n_ties": int(sum(tied))}
    return [
        asdict(measure_row("equal-tied", "strict", tied, 0, **counts)),
        asdict(measure_row("equal-tied", "valid", valid, 0, **counts)),
    ]


def _order_rows(orders: Sequence[Sequence[Sequence[float | None]]]) -> list[dict[str, Any]]:
    """Position bias, over pairs that were answered in both orders, whatever the policy."""
    flips: list[float] = []
    first_preferred: list[float] = []
    invalid = ties = 0
    for (a, b), (c, d) in orders:
        if a is None or b is None or c is None or d is None:
            invalid += 1
            continue
        # In the drawn order the first source is shown as A, in the other the second is.
        differences = (a - b, d - c)
        flips.append(float((a - b) * (c - d) < 0))
        ties += 0 in differences
        first_preferred += [float(difference > 0) for difference in differences if difference]
    counts = {"n_invalid": invalid, "n_ties": ties}
    return [
        asdict(measure_row(metric, policy, values, 0, **counts))
        for metric, values in (("flip_rate", flips), ("first_preferred", first_preferred))
        for policy in get_args(Policy)
    ]
