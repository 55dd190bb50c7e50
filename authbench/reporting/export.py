"""Results as flat tables for other tools: one row a value, an answer or a cell."""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from importlib import import_module
from itertools import groupby
from pathlib import Path
from typing import Any, Literal, get_args

from authbench.errors import ConfigError
from authbench.reporting.compare import key_dims
from authbench.reporting.itemdetails import item_detail
from authbench.reporting.itemfiles import Item, read_items
from authbench.reporting.peritem import KEY, group_values
from authbench.reporting.prompttexts import PromptTexts
from authbench.reporting.results import Run

What = Literal["values", "answers", "cells"]
WHATS: tuple[What, ...] = get_args(What)

_RUN = ("experiment", "model", "engine")
_DIMS = tuple(name for name in KEY if name != "metric")
#: Columns by kind of row; every row has all of them.
COLUMNS: dict[What, tuple[str, ...]] = {
    "values": (*_RUN, "group", *_DIMS, "metric", "item", "value", "valid"),
    "answers": (*_RUN, "group", "item", "answer", "sample", "status", "read", "text", "key"),
    "cells": (
        *_RUN,
        "table",
        "dataset",
        "scale",
        *_DIMS,
        "metric",
        "policy",
        "value",
        "low",
        "high",
        "n",
        "n_invalid",
        "n_constant",
        "n_ties",
        "calls",
        "unique_calls",
        "prompt_tokens",
        "output_tokens",
        "partial",
    ),
}
#: Rows written to a Parquet file at a time.
_BATCH = 20_000


def rows(runs: Iterable[Run], what: What, *, prompts: bool = False) -> Iterator[dict[str, Any]]:
    """Rows of a kind, all with the columns of `columns_of(what, prompts)`.

    `values`: the strict value of every item in every cell. `answers`: every answer, one row a sample, with
    the rendered prompt if asked for. `cells`: the rows of `cells.json`.
    """
    for run in runs:
        own = {"experiment": run.experiment, "model": run.model, "engine": run.engine}
        if what == "cells":
            for cell in run.cells:
                yield {name: {**cell, **own}.get(name) for name in COLUMNS["cells"]}
        elif what == "values":
            yield from ({**own, **row} for row in _values(run))
        else:
            yield from ({**own, **row} for row in _answers(run, prompts))


def columns_of(what: What, prompts: bool = False) -> tuple[str, ...]:
    """The columns of a kind of row."""
    return (*COLUMNS[what], "prompt") if what == "answers" and prompts else COLUMNS[what]


def write_csv(path: Path, columns: Sequence[str], data: Iterable[dict[str, Any]]) -> int:
    """Write rows as CSV with a heading; gives how many."""
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for row in data:
            writer.writerow(row)
            count += 1
    return count


def write_jsonl(path: Path, columns: Sequence[str], data: Iterable[dict[str, Any]]) -> int:
    """Write rows as JSON, one a line; gives how many."""
    count = 0
    with path.open("w", encoding="utf-8", errors="replace", newline="\n") as file:
        for row in data:
            file.write(json.dumps({name: row[name] for name in columns}, ensure_ascii=False) + "\n")
            count += 1
    return count


def write_parquet(path: Path, columns: Sequence[str], data: Iterable[dict[str, Any]]) -> int:
    """Write rows as Parquet; gives how many. Raises `ConfigError` where pyarrow is not installed."""
    try:
        pyarrow, parquet = import_module("pyarrow"), import_module("pyarrow.parquet")
    except ImportError:
        raise ConfigError(
            "Parquet needs pyarrow: pip install 'authbench[parquet]'; csv and jsonl need nothing more"
        ) from None
    schema = pyarrow.schema([(name, _type(pyarrow, name)) for name in columns])
    count = 0
    with parquet.ParquetWriter(path, schema) as writer:
        batch: list[dict[str, Any]] = []
        for row in data:
            batch.append({name: _typed(name, row[name]) for name in columns})
            if len(batch) == _BATCH:
                writer.write_table(pyarrow.Table.from_pylist(batch, schema))
                count += len(batch)
                batch = []
        writer.write_table(pyarrow.Table.from_pylist(batch, schema))
        return count + len(batch)


WRITERS: dict[str, Callable[[Path, Sequence[str], Iterable[dict[str, Any]]], int]] = {
    "csv": write_csv,
    "jsonl": write_jsonl,
    "parquet": write_parquet,
}

_FLOATS = frozenset({"value", "low", "high"})
_INTEGERS = frozenset(
    {
        "k",
        "answer",
        "sample",
        "n",
        "n_invalid",
        "n_constant",
        "n_ties",
        "calls",
        "unique_calls",
        "prompt_tokens",
        "output_tokens",
    }
)
_BOOLEANS = frozenset({"valid", "partial"})


def _type(pyarrow: Any, name: str) -> Any:
    if name in _FLOATS:
        return pyarrow.float64()
    if name in _INTEGERS:
        return pyarrow.int64()
    return pyarrow.bool_() if name in _BOOLEANS else pyarrow.string()


def _typed(name: str, value: Any) -> Any:
    if value is None or name in _FLOATS or name in _INTEGERS or name in _BOOLEANS:
        return value
    return str(value).encode("utf-8", "replace").decode("utf-8")


def _values(run: Run) -> Iterator[dict[str, Any]]:
    for group, items in grouped_items(run):
        for cell in group_values(run, group, items):
            dims = dict.fromkeys(KEY) | key_dims(cell.key)
            for place, item in enumerate(cell.items):
                value, valid = float(cell.values[place]), bool(cell.valid[place])
                yield {"group": group, **dims, "item": item, "value": value, "valid": valid}


def _answers(run: Run, with_prompts: bool) -> Iterator[dict[str, Any]]:
    task = str(run.run.get("task"))
    with PromptTexts() as prompts:
        for item in read_items(run.path):
            found = prompts.find(run, [a.key for a in item.answers]) if with_prompts else {}
            detail = item_detail(task, item)
            for number, answer in enumerate(item.answers):
                for sample, text in enumerate(answer.texts):
                    row = {
                        "group": item.group,
                        "item": item.item,
                        "answer": number,
                        "sample": sample,
                        "status": answer.status,
                        "read": detail.answers[number].read or None,
                        "text": text,
                        "key": answer.key,
                    }
                    yield {**row, "prompt": found.get(answer.key)} if with_prompts else row


def grouped_items(run: Run) -> Iterator[tuple[str, list[Item]]]:
    """The items of a run by group, in the order of its file."""
    for group, members in groupby(read_items(run.path), key=lambda item: item.group):
        yield group, list(members)
