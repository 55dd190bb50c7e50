"""Results as tidy frames: one row a cell of `cells.json`, with the run that it belongs to.

Every table is a pivot of this frame, every comparison a join, every count a group-by. Dimensions that do not
apply are None (columns of objects), numbers that are not known are NaN (floats) or `<NA>` (whole numbers).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import pandas as pd

if TYPE_CHECKING:
    from authbench.reporting.runs import Run

#: The columns of `cells.json` that place a row in a table.
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
COUNTS = ("n", "n_invalid", "n_constant", "n_ties")
COSTS = ("calls", "unique_calls", "prompt_tokens", "output_tokens")
FLOATS = ("value", "low", "high")
#: All columns of `cells.json`, in its order.
COLUMNS = (
    "experiment",
    "table",
    "model",
    "engine",
    *DIMENSIONS,
    "metric",
    "policy",
    *FLOATS,
    *COUNTS,
    *COSTS,
    "partial",
)


def cells_frame(rows: Iterable[Mapping[str, Any]]) -> pd.DataFrame:
    """Rows of `cells.json` as a frame with `COLUMNS`; what a row lacks is missing in it.

    Values are fractions. Dimensions are objects (`k` a whole number), `FLOATS` float64, counts and costs
    Int64, `partial` bool.
    """
    frame = pd.DataFrame([[row.get(name) for name in COLUMNS] for row in rows], columns=COLUMNS, dtype=object)
    for name in FLOATS:
        frame[name] = pd.to_numeric(frame[name]).astype("float64")
    for name in (*COUNTS, *COSTS):
        frame[name] = pd.to_numeric(frame[name]).astype("Int64")
    frame["partial"] = frame["partial"].map(bool).astype("bool")
    return frame


def all_cells(runs: Sequence[Run], policy: str | None = None) -> pd.DataFrame:
    """The cells of several runs, in their order.

    Args:
        runs: the runs.
        policy: only cells under this policy; all if None.

    Returns:
        `COLUMNS`, and `run`, the place of the run in `runs`, and `name`, the model as the paper calls it (its
        own name where no paper has it). `experiment` is the run's.
    """
    frames = []
    for place, run in enumerate(runs):
        own = run.cells if policy is None else run.cells[run.cells["policy"] == policy]
        frames.append(own.assign(run=place, name=run.name, experiment=run.experiment))
    if not frames:
        return cells_frame(()).assign(run=pd.Series(dtype="int64"), name=pd.Series(dtype=object))
    return pd.concat(frames, ignore_index=True)


def missing(value: object) -> bool:
    """Whether an entry of a frame stands for nothing: None, NaN or `<NA>`."""
    return value is None or value is pd.NA or value != value  # noqa: PLR0124 (NaN differs from itself)


def plain(value: Any) -> Any:
    """An entry of a frame as JSON has it: None for what is missing, Python's own numbers."""
    if missing(value):
        return None
    return value.item() if hasattr(value, "item") else value
