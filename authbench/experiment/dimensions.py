"""What tells the rows of `cells.json` apart."""

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
