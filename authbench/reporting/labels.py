"""What dimensions are called where people read: one place that names judges, settings and measures."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

_JUDGES = {
    ("point", "score"): "PointJudge",
    ("list", "rank"): "ListJudge ListRank",
    ("list", "score"): "ListJudge PointScore",
    ("pair", "rank"): "PairJudge PairRank",
    ("pair", "score"): "PairJudge PointScore",
}
_METRICS = {
    "spearman": "Spearman's rho",
    "kendall": "Kendall's tau",
    "accuracy": "accuracy",
    "accuracy-unequal": "accuracy, unequal labels",
}
#: Values of dimensions that are not called by their own name.
_WORDS: dict[str, dict[Any, str]] = {
    "context": {"with": "with text", "without": "without text"},
    "filter": {"none": "no filter"},
    "aggregation": {"average": "AverageScore", "bubble": "BubbleSort"},
    "method": {
        "base": "base ranking",
        "lcr": "+LCR",
        "car": "+CAR",
        "lcr-entropy": "+LCR by entropy",
        "car-entropy": "+CAR by entropy",
    },
}
_TABLES = {"authoritybench": "Table", "lcr": "LCR Table", "car": "CAR"}
#: The order in which the parts of a setting are named.
_SETTING = (
    "domain",
    "context",
    "judge",
    "aggregation",
    "difficulty",
    "filter",
    "retriever",
    "collection",
    "base",
    "method",
    "k",
)


def judge_label(judge: str | None, output: str | None) -> str:
    """`PointJudge`, `ListJudge ListRank` and so on, as the paper calls them."""
    return _JUDGES.get((str(judge), str(output)), f"{judge}-{output}" if output else str(judge))


def metric_label(metric: str) -> str:
    """A measure's name; of NDCG linear gain is not named."""
    measure, _, gain = metric.partition("-")
    if measure.startswith("ndcg@"):
        return f"{measure.upper()}, {gain} gain" if gain else measure.upper()
    return _METRICS.get(metric, metric)


def table_label(table: str | None) -> str:
    """`Table 1`, `LCR Table 2`, `CAR contriever`; an empty string where there is none."""
    if not table:
        return ""
    paper, _, number = table.partition("/")
    name = _TABLES.get(paper, paper)
    return f"{name} {number}" if number.isdigit() else name if paper in _TABLES else table


def dim_label(name: str, value: Any, dims: Mapping[str, Any]) -> str:
    """One dimension of a cell in words; an empty string where there is nothing to say."""
    if value is None or (name == "domain" and value == "domains"):  # Web domains have no further parts.
        return ""
    if name == "judge":
        return judge_label(value, dims.get("output"))
    if name in ("table", "metric"):
        return table_label(value) if name == "table" else metric_label(value)
    if name in _WORDS:
        return _WORDS[name].get(value, str(value))
    return {"k": f"k = {value}", "difficulty": f"{value} pairs"}.get(name, str(value))


def setting_label(dims: Mapping[str, Any], without: Iterable[str] = ()) -> str:
    """A cell's setting in words, without the dimensions named."""
    left_out = set(without)
    parts = [dim_label(name, dims.get(name), dims) for name in _SETTING if name not in left_out]
    return ", ".join(part for part in parts if part)
