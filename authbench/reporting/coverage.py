"""What of the papers' matrix is there: tables by models, done, partial or missing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from authbench.reporting.labels import table_label
from authbench.reporting.paper import paper_table, short_name
from authbench.reporting.results import Run

State = Literal["done", "partial", "missing", "none"]
#: The tables that `make reproduce-all` is about.
TABLES = (
    "authoritybench/1",
    "authoritybench/2",
    "authoritybench/3",
    "authoritybench/4",
    "authoritybench/5",
    "authoritybench/6",
    "lcr/2",
    "lcr/3",
)


@dataclass(frozen=True, slots=True)
class Coverage:
    """A matrix of states. `none`: the paper has no such cell, and neither have we.

    Attributes:
        models: headings of the columns.
        rows: table or experiment with the state and a remark for each model.
    """

    models: tuple[str, ...]
    rows: tuple[tuple[str, tuple[tuple[State, str], ...]], ...]

    @property
    def missing(self) -> int:
        """Cells of the papers' matrix that have not been run."""
        return sum(state == "missing" for _, states in self.rows for state, _ in states)


def coverage(runs: Sequence[Run]) -> Coverage:
    """Which tables of the papers are there for which models; other experiments follow below them."""
    wanted = {table: _paper_models(table) for table in TABLES}
    models: list[str] = []
    for name in [name for names in wanted.values() for name in names] + [_name(run) for run in runs]:
        if not any(same_model(name, known) for known in models):
            models.append(name)
    rows = [
        (table_label(table), tuple(_state(runs, table, model, wanted[table]) for model in models))
        for table in TABLES
    ]
    others = dict.fromkeys(run.experiment for run in runs if run.table not in TABLES)
    for experiment in others:
        own = [run for run in runs if run.experiment == experiment]
        rows.append((experiment, tuple(_own_state(own, model) for model in models)))
    return Coverage(tuple(models), tuple(rows))


def _state(runs: Sequence[Run], table: str, model: str, wanted: Sequence[str]) -> tuple[State, str]:
    own = [run for run in runs if run.table == table]
    state = _own_state(own, model)
    if state[0] == "none" and any(same_model(model, name) for name in wanted):
        return "missing", "not run"
    return state


def _own_state(runs: Sequence[Run], model: str) -> tuple[State, str]:
    own = [run for run in runs if same_model(_name(run), model)]
    if not own:
        return "none", ""
    if all(run.partial for run in own):
        limits = sorted({run.limit for run in own if run.limit is not None})
        return "partial", f"first {limits[-1]} items" if limits else "not every item"
    return "done", _items(own)


def _items(runs: Sequence[Run]) -> str:
    numbers: list[Any] = [cell.get("n") for run in runs for cell in run.cells if cell["policy"] == "strict"]
    known = [number for number in numbers if number]
    return f"n = {max(known):,}" if known else ""


def same_model(one: str, other: str) -> bool:
    """Whether two printed names mean one model: Tables 3 and 5 leave out `-Instruct`."""
    return short_name(one) == short_name(other)


def _name(run: Run) -> str:
    return run.paper_name or run.model


def _paper_models(table: str) -> list[str]:
    return list(dict.fromkeys(str(v.dims["model"]) for v in paper_table(table) if v.dims.get("model")))
