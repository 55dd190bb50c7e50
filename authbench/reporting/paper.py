"""The papers' numbers (`data/paper`), looked up by the dimensions of a cell.

A table's id is the paper's short name and its number: `authoritybench/1`, `lcr/2`, `car/contriever`. All
values are percent, also NDCG, which the LCR paper prints between 0 and 1.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from authbench.errors import ConfigError, DataError, did_you_mean
from authbench.paths import share_dir

if TYPE_CHECKING:
    from authbench.reporting.results import Run

#: What the columns of a table leave out, since it is the same for all of it.
_FIXED: dict[str, dict[str, Any]] = {
    "authoritybench/1": {"dataset": "domainauth", "scale": "fine"},
    "authoritybench/2": {"dataset": "domainauth", "scale": "coarse"},
    "authoritybench/3": {"dataset": "domainauth", "scale": "fine"},
    "authoritybench/4": {"dataset": "entityauth", "scale": "fine", "context": "without"},
    "authoritybench/5": {"dataset": "ragauth"},
    "authoritybench/6": {"dataset": "entityauth", "scale": "coarse", "context": "without"},
    "lcr/2": {"retriever": "bm25", "k": None},
    "lcr/3": {"retriever": "contriever", "k": None},
    "car/contriever": {"retriever": "contriever", "k": None},
}
#: Further tables with numbers for the cells of one.
_ALSO = {"lcr/3": ("car/contriever",)}
#: CAR's table names no model; its group's default is taken.
_MODELS = {"car/contriever": "Qwen2.5-7B-Instruct"}
#: Collections on which both gains of NDCG are the same: grades are 0 and 1.
_BINARY = ("nq", "fever", "scidocs")
_AGGREGATION = {("pair", "score"): "average", ("pair", "rank"): "bubble"}


@dataclass(frozen=True, slots=True)
class PaperValue:
    """One number of a paper.

    Attributes:
        table: id of the table it stands in.
        dims: where in the table: the columns of its file, named as in `cells.json`; `model` as printed.
        metric: `spearman`, `kendall`, `accuracy` or `ndcg@5`.
        value: percent.
        sure: how sure the number is, where it was not read off the paper itself.
    """

    table: str
    dims: Mapping[str, Any]
    metric: str
    value: float
    sure: str = ""


def table_ids() -> list[str]:
    """The tables of which numbers are known."""
    return list(_FIXED)


@cache
def paper_table(table: str) -> tuple[PaperValue, ...]:
    """All known numbers of a table, in the paper's order.

    Raises:
        ConfigError: no such table.
        DataError: its file is missing or damaged.
    """
    if table not in _FIXED:
        raise ConfigError(
            f"there are no numbers of a table {table!r}{did_you_mean(table, table_ids())}\n"
            f"tables with numbers: {', '.join(_FIXED)}"
        )
    paper, number = table.split("/")
    if paper == "authoritybench":
        return _authoritybench(table, share_dir("data", "paper", f"authoritybench_table{number}.csv"))
    if paper == "lcr":
        return _lcr(table, number, share_dir("data", "paper", "lcr_known_cells.csv"))
    return _car(table, share_dir("data", "paper", "car_contriever.csv"))


def paper_value(table: str | None, cell: Mapping[str, Any], paper_name: str | None) -> float | None:
    """The paper's number (percent) for one row of `cells.json`, or None where there is none.

    Args:
        table: the table the run reproduces. Without numbers of its own (the aggregation table), the table
            with the cell's data set and scale is looked at.
        cell: a row of `cells.json`; the dimensions that the table has must be equal. A stand-in for the
            table's data set is accepted, the data set of another table is not.
        paper_name: the model's name in the papers, with or without `-Instruct`.
    """
    if paper_name is None:
        return None
    tables = [table, *_ALSO.get(table, ())] if table is not None and table in _FIXED else _tables_of(cell)
    for name in tables:
        value = _index(name).get(_key(name, *_as_printed(name, cell), paper_name))
        if value is not None and _comparable(name, cell):
            return value
    return None


def _as_printed(table: str, cell: Mapping[str, Any]) -> tuple[Mapping[str, Any], str]:
    """A cell and its measure under the names that a table has; another measure stays another.

    Tables of retrieval say NDCG@5. CAR's is with exponential gain, so a linear one is comparable where grades
    are binary; LCR's gain is unknown, and either is taken.
    """
    metric = str(cell.get("metric"))
    if table.startswith("authoritybench/"):
        return cell, metric
    collection = str(cell.get("collection")).removeprefix("beir/").removesuffix("/test")
    measure, _, gain = metric.partition("-")
    alike = gain == "exponential" or collection in _BINARY or table.startswith("lcr/")
    return {**cell, "collection": collection}, measure if alike else metric + "-linear"


def short_name(name: str) -> str:
    """A model's name as Tables 3 and 5 print it: without `-Instruct`."""
    return name.removesuffix("-Instruct")


def paper_runs(table: str) -> list[Run]:
    """A table's numbers as runs, one a model, so that everything that reads runs can read the paper.

    Values are fractions, as in `cells.json`, and have no intervals or counts.
    """
    from authbench.reporting.results import Run

    by_model: dict[str, list[dict[str, Any]]] = {}
    source = table.partition("/")[0].upper()  # CAR names no model
    for value in paper_table(table):
        cell = {**_FIXED[table], **value.dims, "metric": value.metric, "value": value.value / 100}
        aggregation = _AGGREGATION.get((str(cell.get("judge")), str(cell.get("output"))))
        cell |= {"experiment": "paper", "table": table, "engine": "paper", "aggregation": aggregation}
        by_model.setdefault(value.dims.get("model") or f"unnamed ({source})", []).append(cell)
    return [
        Run(
            path=Path(table),
            run={
                "experiment": "paper",
                "table": table,
                "model": {"name": model, "paper_name": model, "tiny": False},
                "engine": "paper",
                "partial": False,
                "limit": None,
            },
            cells=[{**cell, "policy": policy} for policy in ("strict", "valid") for cell in cells],
        )
        for model, cells in by_model.items()
    ]


def runs_or_paper(names: Sequence[str], on_skipped: Callable[[str], None] | None = None) -> list[Run]:
    """The runs in folders, and the paper's numbers for names that are the id of a table and no folder.

    Raises:
        DataError: as `authbench.reporting.results.find_runs`, or no such table.
    """
    from authbench.reporting.results import find_runs

    papers = {table.partition("/")[0] for table in _FIXED}
    for name in names:
        if name not in _FIXED and name.partition("/")[0] in papers and not Path(name).exists():
            known = ", ".join(_FIXED)
            raise DataError(f"{name}: no folder, and no table of the papers; these are {known}")
    tables = [name for name in names if name in _FIXED and not Path(name).exists()]
    runs = find_runs([Path(name) for name in names if name not in tables], on_skipped)
    return [*runs, *(run for table in tables for run in paper_runs(table))]


def _comparable(table: str, cell: Mapping[str, Any]) -> bool:
    """Whether the cell measures what the table does: a stand-in's data may, another table's may not."""
    for name, value in _FIXED[table].items():
        found = cell.get(name)
        if name == "dataset":
            others = {fixed["dataset"] for fixed in _FIXED.values() if "dataset" in fixed} - {value}
            if str(found).split("-")[0] in others:
                return False
        elif found is not None and found != value:
            return False
    return True


def _tables_of(cell: Mapping[str, Any]) -> list[str]:
    """Tables over the data set, scale and kind of item that the cell is about."""
    found = []
    for table, fixed in _FIXED.items():
        same = all(cell.get(name) == value for name, value in fixed.items())
        if same and "dataset" in fixed and (table == "authoritybench/3") == bool(cell.get("difficulty")):
            found.append(table)
    return found


@cache
def _index(table: str) -> dict[tuple[Any, ...], float]:
    return {
        _key(table, value.dims, value.metric, value.dims.get("model") or _MODELS.get(table, "")): value.value
        for value in paper_table(table)
    }


def _key(table: str, dims: Mapping[str, Any], metric: str, model: str) -> tuple[Any, ...]:
    names = paper_table(table)[0].dims
    judged = (dims.get("judge"), dims.get("output"))
    # The paper's numbers are those of one aggregation; another one has no number there.
    expected = _AGGREGATION.get(judged)  # type: ignore[arg-type]
    aggregation = dims.get("aggregation") or expected
    place = tuple(dims.get(name) for name in names if name != "model")
    return (short_name(model), metric, aggregation == expected, place)


def _authoritybench(table: str, path: Path) -> tuple[PaperValue, ...]:
    values = []
    for line, row in _rows(path):
        metric, value = row.pop("metric"), _number(path, line, row.pop("value"))
        dims: dict[str, Any] = dict(row)
        if "k" in dims:
            dims["k"] = int(dims["k"]) if dims["k"] else None
        values.append(PaperValue(table, dims, metric, value))
    return tuple(values)


def _lcr(table: str, number: str, path: Path) -> tuple[PaperValue, ...]:
    values = []
    for line, row in _rows(path):
        if row["table"] != number:
            continue
        dims = {name: row[name] for name in ("model", "base", "collection")}
        for method, column in (("base", "without_lcr"), ("lcr", "with_lcr")):
            value = round(100 * _number(path, line, row[column]), 6)
            values.append(PaperValue(table, {**dims, "method": method}, row["metric"], value, row["sure"]))
    return tuple(values)


def _car(table: str, path: Path) -> tuple[PaperValue, ...]:
    values = []
    for line, row in _rows(path):
        dims = {name: row[name] for name in ("base", "collection")}
        for method, column in (("base", "without_car"), ("car", "with_car")):
            value = _number(path, line, row[column])
            values.append(PaperValue(table, {**dims, "method": method}, row["metric"], value))
    return tuple(values)


def _rows(path: Path) -> list[tuple[int, dict[str, str]]]:
    try:
        with path.open(encoding="utf-8", newline="") as file:
            return list(enumerate(csv.DictReader(file), start=2))
    except OSError as error:
        raise DataError(f"{path}: the paper's numbers cannot be read: {error.strerror}") from error


def _number(path: Path, line: int, text: str) -> float:
    try:
        return float(text)
    except ValueError as error:
        raise DataError(f"{path}:{line}: {text!r} is not a number") from error
