"""Layouts: which cells of which runs go where, for the tables of the paper and for any other results.

A paper's layout is a declaration: label columns, columns with the cells they take, and what is compared. What
a layout has no place for is never dropped: it follows in a table of its own.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from authbench.reporting.labels import dim_label, judge_label, metric_label

#: Dimensions of `cells.json` that tell results apart, in the order in which tables list them.
DIMENSIONS = (
    "model",
    "dataset",
    "domain",
    "scale",
    "context",
    "difficulty",
    "judge",
    "output",
    "aggregation",
    "filter",
    "k",
    "retriever",
    "base",
    "method",
    "collection",
)

#: Headings of the dimensions as label columns.
HEADINGS = {
    "model": "Model",
    "dataset": "Data",
    "domain": "Domain",
    "scale": "Scale",
    "context": "Ctx",
    "difficulty": "Pairs",
    "judge": "Judge",
    "filter": "Filter",
    "k": "k",
    "retriever": "Retriever",
    "base": "Base ranking",
    "method": "Method",
    "collection": "Collection",
}

#: The papers' order of values; others follow as they come.
ORDER: dict[str, tuple[Any, ...]] = {
    "model": (
        "Qwen3-8B",
        "Qwen3-14B",
        "Qwen3-32B",
        "Llama-3-8B-Instruct",
        "Llama-3-8B",
        "Llama-3.1-8B-Instruct",
        "Llama-3.1-8B",
    ),
    "domain": ("basketball", "movies", "songs"),
    "scale": ("fine", "coarse"),
    "context": ("without", "with"),
    "difficulty": ("easy", "hard"),
    "filter": ("none", "relevance", "utility", "authority"),
    "k": (None, 1, 3, 5),
    "base": ("retriever", "yesno", "qlm", "rankgpt", "colbert", "cross-encoder", "rankt5"),
}

#: Headings of measures; others stand as they are.
METRICS = {"spearman": "ρ", "kendall": "τ", "accuracy": "accuracy"}


@dataclass(frozen=True, slots=True)
class Slot:
    """A column of a layout: its headings, the measure and the dimensions of the cells it takes.

    A dimension of a label column among them is fixed: the column takes the same cell in every row. With
    `over` the column is derived: how much higher the cell is than the one that also has those dimensions, as
    a share of the latter.
    """

    groups: tuple[str, ...]
    label: str
    metric: str
    where: Mapping[str, Any]
    over: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Layout:
    """How a table of the paper is laid out.

    Attributes:
        title: what the paper's caption says it shows.
        stub: dimensions of the label columns.
        slots: the columns.
        among: what the marks compare, as footnotes say it.
        second: whether the second best is marked.
        short_models: whether models are printed without `-Instruct`.
        span: a row of each model that has a single number for all columns: its name, and the dimensions of
            the cells.
        extras: measures printed below those of the columns, by metric.
        elsewhere: dimensions of cells that belong to the same experiment and to another table.
        optional: label columns that are left out where they say the same in every row; a footnote says it.
        rivals: the dimension whose values compete in each column; None if the columns of a row compete.
        across: a dimension each of whose values has all columns, under a heading of its own. The measure of
            such a layout is whichever NDCG the results have.
    """

    title: str
    stub: tuple[str, ...]
    slots: tuple[Slot, ...]
    among: str
    second: bool = True
    short_models: bool = False
    span: tuple[str, Mapping[str, Any]] | None = None
    extras: Mapping[str, str] = field(default_factory=dict)
    elsewhere: Mapping[str, Any] = field(default_factory=dict)
    optional: frozenset[str] = frozenset()
    rivals: str | None = None
    across: str | None = None

    @property
    def placed(self) -> frozenset[str]:
        """The dimensions that decide the place of a cell in this layout."""
        named = {name for slot in self.slots for name in slot.where}
        return frozenset({*self.stub, *named, "judge", "output", "aggregation"})


def _correlations(*judges: tuple[tuple[str, ...], Mapping[str, Any]]) -> tuple[Slot, ...]:
    return tuple(
        Slot(groups, METRICS[metric], metric, where)
        for groups, where in judges
        for metric in ("spearman", "kendall")
    )


_LISTWISE = _correlations(
    (("PointJudge", ""), {"judge": "point"}),
    (("ListJudge", "ListRank"), {"judge": "list", "output": "rank"}),
    (("ListJudge", "PointScore"), {"judge": "list", "output": "score"}),
    (("PairJudge", "PairRank"), {"judge": "pair", "output": "rank"}),
    (("PairJudge", "PointScore"), {"judge": "pair", "output": "score", "aggregation": "average"}),
)
_BUBBLE_SCORES = {"judge": "pair", "output": "score", "aggregation": "bubble"}
_AGGREGATIONS = _correlations(
    (
        ("PairJudge PointScore", "AverageScore"),
        {"judge": "pair", "output": "score", "aggregation": "average"},
    ),
    (("PairJudge PointScore", "BubbleSort"), _BUBBLE_SCORES),
    (("PairJudge PairRank", "BubbleSort"), {"judge": "pair", "output": "rank"}),
)
_PAIRWISE = tuple(
    Slot((heading,), label, "accuracy", {**judge, "context": context})
    for heading, judge in (
        ("PairJudge(PR)", {"judge": "pair", "output": "rank"}),
        ("PairJudge(S)", {"judge": "pair", "output": "score"}),
        ("PointJudge", {"judge": "point"}),
    )
    for label, context in (("w/o ctx", "without"), ("w/ ctx", "with"))
)
_FILTERS = tuple(Slot((), name.capitalize(), "accuracy", {"filter": name}) for name in ORDER["filter"][1:])


def _listwise(data: str, stub: tuple[str, ...], among: str) -> Layout:
    title = f"{data}: Spearman's ρ and Kendall's τ (%)"
    return Layout(title, stub, _LISTWISE, among, elsewhere=_BUBBLE_SCORES)


_AGGREGATION = Layout(
    "AverageScore against BubbleSort for PairJudge (appendix F): Spearman's ρ and Kendall's τ (%)",
    ("dataset", "scale", "domain", "model", "context"),
    _AGGREGATIONS,
    "per row",
    optional=frozenset({"dataset", "scale", "domain", "context"}),
)

_PAIRS = Layout(
    "Easy and hard pairs: pairwise accuracy (%)",
    ("model", "difficulty"),
    _PAIRWISE,
    "per LLM and difficulty",
    short_models=True,
    extras={"accuracy-unequal": "unequal", "equal-tied": "eq.tied"},
)

_BASE = {"method": "base", "k": None}


def _reranked(title: str, *stub: str, rivals: str, method: str = "lcr", **where: Any) -> Layout:
    """Base ranking, reranked by confidence and the relative gain, for each collection."""
    found = {"method": method, **where}
    slots = (
        Slot((), "base", "ndcg", _BASE),
        Slot((), f"+{method.upper()}", "ndcg", found),
        Slot((), "gain %", "ndcg", found, over=_BASE),
    )
    optional = frozenset({"model", "retriever", "base"} - {rivals})
    among = f"among {'numbers of samples' if rivals == 'k' else HEADINGS[rivals].lower() + 's'}, per column"
    return Layout(
        title,
        ("model", "retriever", *stub),
        slots,
        among,
        optional=optional,
        rivals=rivals,
        across="collection",
    )


_UNCERTAINTY = Layout(
    "LCR and CAR, by MSCP and by semantic entropy",
    ("model", "retriever", "base", "method"),
    (Slot((), "NDCG", "ndcg", {"k": None}), Slot((), "gain %", "ndcg", {"k": None}, over=_BASE)),
    "among methods, per column",
    optional=frozenset({"model", "retriever", "base"}),
    rivals="method",
    across="collection",
)
_CONFIDENCE = "Base rankings, and reranked by confidence"

#: Layouts by the id of the table that an experiment names; `pairs` is Table 3 for any other data.
LAYOUTS: dict[str, Layout] = {
    "authoritybench/1": _listwise(
        "DomainAuth, fine-grained, 10 levels", ("model", "context"), "per LLM and context"
    ),
    "authoritybench/2": _listwise(
        "DomainAuth, coarse-grained, 5 levels", ("model", "context"), "per LLM and context"
    ),
    "authoritybench/3": _PAIRS,
    "authoritybench/4": _listwise(
        "EntityAuth, fine-grained, 10 levels, without text", ("domain", "model"), "per LLM and domain"
    ),
    "authoritybench/5": Layout(
        "RAGAuth: answer accuracy (%)",
        ("model", "k"),
        _FILTERS,
        "per LLM and k",
        second=False,
        short_models=True,
        span=("w/o Filter", {"filter": "none"}),
    ),
    "authoritybench/6": _listwise(
        "EntityAuth, coarse-grained, 5 levels, without text", ("domain", "model"), "per LLM and domain"
    ),
    "authoritybench/aggregation": _AGGREGATION,
    "aggregation": _AGGREGATION,
    "pairs": _PAIRS,
    "lcr/2": _reranked(_CONFIDENCE, "base", rivals="base", k=None),
    "lcr/3": _reranked(_CONFIDENCE, "base", rivals="base", k=None),
    "lcr/models": _reranked("LCR by model", "base", rivals="model", k=None),
    "lcr/samples": _reranked("LCR by number of samples k", "base", "k", rivals="k"),
    "lcr/uncertainty": _UNCERTAINTY,
    "car/contriever": _reranked("CAR over Contriever", "base", rivals="base", method="car", k=None),
}


def fitted(layout: Layout, cells: Iterable[Mapping[str, Any]]) -> list[Layout]:
    """The layout for these cells: with `across`, one for each NDCG among them, with its collections."""
    across = layout.across
    if across is None:
        return [layout]
    found: dict[str, dict[Any, None]] = {}
    for cell in cells:
        if cell["metric"].startswith("ndcg@"):
            found.setdefault(cell["metric"], {})[cell.get(across)] = None
    return [
        replace(
            layout,
            title=f"{layout.title}: {metric_label(metric)} (%)",
            slots=tuple(
                replace(
                    slot,
                    groups=(display(across, value), *slot.groups),
                    metric=metric,
                    where={across: value, **slot.where},
                )
                for value in values
                for slot in layout.slots
            ),
        )
        for metric, values in found.items()
    ]


def display(dimension: str, value: Any) -> str:
    """A value of a dimension as tables print it."""
    if value is None:
        return "–"
    if dimension == "context":
        return {"without": "w/o", "with": "w/"}.get(value, str(value))
    if dimension in ("difficulty", "domain"):
        return str(value).capitalize()
    return dim_label("method", value, {}) if dimension == "method" else str(value)


def judge_name(cell: Mapping[str, Any]) -> str | None:
    """The judge of a cell in the paper's words, with the aggregation where it is not the paper's."""
    judge, output = cell.get("judge"), cell.get("output")
    if judge is None:
        return None
    name = judge_label(judge, output)
    if output == "score" and cell.get("aggregation") == "bubble":
        name += " (BubbleSort)"
    return name


def sort_key(dimension: str, value: Any, seen: list[Any]) -> int:
    """Where a value stands: in the paper's order first, then as first seen."""
    order = ORDER.get(dimension, ())
    return order.index(value) if value in order else len(order) + seen.index(value)
