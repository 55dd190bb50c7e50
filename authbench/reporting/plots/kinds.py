"""Every kind of plot by name: what it shows, and how it is drawn from runs of one experiment."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.plots import answers, cost, forest, kept, lcr, position, scores
from authbench.reporting.plots.svg import Svg
from authbench.reporting.results import Run


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of plot.

    Attributes:
        title: as a heading.
        text: how it is read, in a sentence or two.
        draw: from the runs of one experiment and the facts about their items; None if there is nothing.
    """

    title: str
    text: str
    draw: Callable[[Sequence[Run], Sequence[GroupFacts]], Svg | None]


KINDS: dict[str, Kind] = {
    "forest": Kind(
        "Our intervals against the paper's points",
        "Each mark is a cell under the strict policy, the line its 95 % bootstrap interval over items. A "
        "hollow diamond is the number that the paper prints.",
        lambda runs, groups: forest.forest(runs),
    ),
    "pareto": Kind(
        "Quality against cost",
        "A method is on the front of its setting if none that costs as little is better. The paper says that "
        "ListJudge is the best trade-off. Costs are per item and count every call, also those answered from "
        "the store; tokens are those of unique calls.",
        lambda runs, groups: cost.pareto(runs),
    ),
    "distribution": Kind(
        "Predicted scores",
        "How often each score was given. The paper says (appendix E) that PointJudge concentrates on few.",
        lambda runs, groups: scores.distribution(groups),
    ),
    "heatmap": Kind(
        "Predicted against true level",
        "True levels to the right, predicted ones upwards; the darker, the larger the share of its column.",
        lambda runs, groups: scores.heat(groups),
    ),
    "position": Kind(
        "Position in the list",
        "How sources fare by the place at which they are shown, which a fair judge would not let matter.",
        lambda runs, groups: position.positions(groups),
    ),
    "sides": Kind(
        "Sides of a pair",
        "How often the source shown as A is preferred, and how often the preference is right when the better "
        "source is A or B. A judge without a lean has all three marks of a row close together.",
        lambda runs, groups: position.sides(groups),
    ),
    "answers": Kind(
        "Kinds of invalid answers",
        "Share of answers by status. An answer that cannot be used counts as wrong, or as no correlation.",
        lambda runs, groups: answers.statuses(groups),
    ),
    "kept": Kind(
        "Documents kept by each filter",
        "For how many questions the document at each place of the retrieval order is kept.",
        lambda runs, groups: kept.kept(groups),
    ),
    "confidence": Kind(
        "Confidence by relevance",
        "LCR's hypothesis is that confidence grows with relevance. A reranker can use what lies within "
        "queries: tau-b of confidence and grade among a query's own documents, averaged.",
        lambda runs, groups: lcr.confidence(groups),
    ),
    "thresholds": Kind(
        "Thresholds",
        "NDCG for every pair of bin thresholds (blue above the base ranking, orange below, outlined the "
        "best) and for every gate. Held out: thresholds chosen on other queries. Shuffled: the same search "
        "without any signal, which is what choosing on the test queries gains by itself.",
        lambda runs, groups: lcr.thresholds(groups),
    ),
    "moved": Kind(
        "What moved",
        "Queries that get better or worse under the thresholds of the table, and how many places documents "
        "of each relevance grade move up.",
        lambda runs, groups: lcr.moved(groups),
    ),
}

#: Kinds that are about items, not cells alone.
NEEDS_ITEMS = frozenset(KINDS) - {"forest", "pareto"}
