"""The columns of `cells.json`: what tells its rows apart, and what each of them says."""

from __future__ import annotations

#: The columns that place a row in a table; null where they do not apply.
DIMENSIONS = (
    "dataset",
    "domain",
    "scale",
    "context",
    "judge",
    "output",
    "aggregation",
    "difficulty",
    "filter",
    "k",
    "retriever",
    "base",
    "method",
    "collection",
)

#: The columns of the measure itself: the fields of `authbench.measures.resampling.MeasureRow`.
MEASURES = ("metric", "policy", "value", "low", "high", "n", "n_invalid", "n_constant", "n_ties")
