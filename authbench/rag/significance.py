"""Paired differences between filters on the same questions: McNemar's exact test, from `items.jsonl`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, Protocol

from authbench.rag.selection import Cut


class RagItem(Protocol):
    """A question as a run leaves it: a `Record`, or a line of `items.jsonl`."""

    @property
    def group(self) -> str:
        """`<data set>/<filter>`."""

    @property
    def item(self) -> str:
        """The question's id."""

    @property
    def gold(self) -> Mapping[str, Any]:
        """With the right `answer`."""

    @property
    def values(self) -> Mapping[str, Any]:
        """See `authbench.rag.procedure.rag_procedure`; empty where requests failed."""


@dataclass(frozen=True, slots=True)
class FilterDifference:
    """Two filters at one cut, over the questions that both were asked.

    Attributes:
        cut: `k=3` or `score>=7`; the filter `none` has no cut and is held against each.
        a, b: the filters.
        n: questions.
        accuracy_a, accuracy_b: strict, as fractions: anything but the right answer is wrong.
        difference: `accuracy_a - accuracy_b`, with its 95 % bootstrap interval `low` to `high` (None for
            fewer than two questions).
        only_a, only_b: questions that only one of the two got right.
        pvalue: McNemar's exact test, two-sided.
        adjusted: the same after Holm's correction over all differences given.
    """

    cut: str
    a: str
    b: str
    n: int
    accuracy_a: float
    accuracy_b: float
    difference: float
    low: float | None
    high: float | None
    only_a: int
    only_b: int
    pvalue: float
    adjusted: float


#: Right or wrong by question, for one filter at one cut.
Right = dict[str, bool]


def right_answers(items: Iterable[RagItem]) -> dict[tuple[str, str], Right]:
    """Strict verdicts by (filter, cut) and question, out of the items of a RAG run.

    A question that failed or was answered with neither yes nor no is wrong.
    """
    verdicts: dict[tuple[str, str], Right] = {}
    failed: list[tuple[str, str]] = []
    for item in items:
        name = item.group.rpartition("/")[2]
        cuts = item.values.get("cuts")
        if cuts is None:
            failed.append((name, item.item))
            continue
        for values in cuts:
            cut = Cut(values["k"], values["threshold"]).name
            verdicts.setdefault((name, cut), {})[item.item] = values["answer"] == item.gold["answer"]
    for name, question in failed:
        for (other, _), verdict in verdicts.items():
            if other == name:
                verdict[question] = False
    return verdicts


def compare_filters(
    items: Iterable[RagItem], *, against: str | None = None, seed: int = 0
) -> list[FilterDifference]:
    """Every two filters of a run at every cut, each with McNemar's exact test.

    Args:
        items: all questions of all filters of one run.
        against: only differences to this filter.
    """
    from authbench.measures.resampling import holm

    verdicts = right_answers(items)
    found = []
    for cut in dict.fromkeys(cut for _, cut in verdicts if cut != "all"):
        here = {name: right for (name, at), right in verdicts.items() if at in (cut, "all")}
        for a, b in combinations(here, 2):
            if against is None or against in (a, b):
                # What others are held against comes second: `authority` minus `none`.
                first, second = (b, a) if a == (against or "none") else (a, b)
                difference = _difference(cut, first, second, here[first], here[second], seed)
                found += [difference] if difference.n else []
    if not found:
        return []
    adjusted = holm([difference.pvalue for difference in found])
    return [replace(d, adjusted=float(p)) for d, p in zip(found, adjusted, strict=True)]


def _difference(cut: str, a: str, b: str, right_a: Right, right_b: Right, seed: int) -> FilterDifference:
    from authbench.measures.accuracy import mcnemar_exact
    from authbench.measures.resampling import bootstrap_difference

    common = [question for question in right_a if question in right_b]
    first, second = _values(right_a, common), _values(right_b, common)
    test = mcnemar_exact(first, second)
    interval = bootstrap_difference([float(v) for v in first], [float(v) for v in second], seed)
    n = len(common)
    return FilterDifference(
        cut,
        a,
        b,
        n,
        sum(first) / n if n else 0.0,
        sum(second) / n if n else 0.0,
        interval.value or 0.0,
        interval.low,
        interval.high,
        test.only_a,
        test.only_b,
        test.pvalue,
        test.pvalue,
    )


def _values(right: Right, questions: Sequence[str]) -> list[bool]:
    return [right[question] for question in questions]
