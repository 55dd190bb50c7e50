"""Reading result folders: `results/EXPERIMENT/MODEL/{run.json, cells.json}`. No model is needed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pandas as pd

from authbench import RESULTS_FORMAT
from authbench.errors import DataError
from authbench.reporting.frames import FLOATS, cells_frame

#: What every row of `cells.json` must have; other columns are missing where a row lacks them.
_REQUIRED = ("metric", "policy", "value")


@dataclass(frozen=True, eq=False)
class Run:
    """One model's results in one experiment.

    Attributes:
        path: the folder.
        facts: `run.json`: configuration, versions, provenance.
        cells: `cells.json` as `authbench.reporting.frames.cells_frame` gives it; values are fractions.
    """

    path: Path
    facts: Mapping[str, Any]
    cells: pd.DataFrame

    @property
    def experiment(self) -> str:
        """Name of the experiment."""
        return str(self.facts.get("experiment") or self.path.parent.name)

    @property
    def table(self) -> str | None:
        """Id of the paper's table that is reproduced, such as `authoritybench/1`, or None."""
        return self.facts.get("table")

    @property
    def task(self) -> str:
        """`listwise`, `pairwise`, `rag` or `lcr`."""
        return str(self.facts.get("task"))

    @cached_property
    def _model(self) -> Mapping[str, Any]:
        return self.part("model") or {"name": self.facts.get("model")}

    @property
    def model(self) -> str:
        """The model's short name, as configurations have it."""
        return str(self._model.get("name") or self.path.name)

    @property
    def paper_name(self) -> str | None:
        """The model's name in the papers, or None if it is in neither."""
        return self._model.get("paper_name")

    @property
    def name(self) -> str:
        """The model as tables call it: by the paper's name where there is one."""
        return self.paper_name or self.model

    @property
    def label(self) -> str:
        """`experiment/model`, as the folder is called."""
        return f"{self.experiment}/{self.model}"

    @property
    def tiny(self) -> bool:
        """True for a model whose numbers prove machinery only."""
        return bool(self._model.get("tiny"))

    @property
    def engine(self) -> str:
        """Name of the engine that answered."""
        engine = self.facts.get("engine")
        return str(engine.get("name") if isinstance(engine, Mapping) else engine)

    @property
    def partial(self) -> bool:
        """True if not every item of the experiment has been judged."""
        return bool(self.facts.get("partial")) or bool(self.cells["partial"].any())

    @property
    def limit(self) -> int | None:
        """Items per group the run was limited to, or None."""
        return self.facts.get("limit")

    @property
    def items_file(self) -> Path:
        """Where its items are, if they were kept."""
        return self.path / "items.jsonl"

    def part(self, *keys: str) -> Mapping[str, Any]:
        """An object inside `run.json`, such as `part("config", "dataset")`; empty where there is none."""
        found: object = self.facts
        for key in keys:
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, Mapping) else {}


def load_run(path: Path) -> Run:
    """The results in a model's folder.

    Raises:
        DataError: a file is missing, damaged or of another version; the text names it and the way out.
    """
    run_file, cells_file = path / "run.json", path / "cells.json"
    if not run_file.is_file():
        raise DataError(f"{path}: no run.json here; give a folder that `authbench run` wrote")
    facts = _read(run_file, "remove it and run the experiment again: the answers are in the store")
    if not isinstance(facts, dict):
        raise DataError(f"{run_file}: an object is needed; run the experiment again")
    if facts.get("format", RESULTS_FORMAT) != RESULTS_FORMAT:
        raise DataError(
            f"{run_file} was written by authbench {facts.get('authbench')} (format {facts['format']}), "
            f"this one reads format {RESULTS_FORMAT}\n"
            "use the version that wrote it, or run the experiment again"
        )
    if not cells_file.is_file():
        raise DataError(f"{path}: no cells.json, so it is unfinished; `authbench score {path}` measures it")
    cells = _read(cells_file, f"`authbench score {path}` makes it anew")
    if not isinstance(cells, list):
        raise DataError(f"{cells_file}: a list of cells is needed; `authbench score {path}` makes it anew")
    for number, cell in enumerate(cells):
        _check(cells_file, number, cell)
    return Run(path, facts, cells_frame(cells))


def find_runs(paths: Sequence[Path], on_skipped: Callable[[str], None] | None = None) -> list[Run]:
    """All runs in the folders given, each a model's, an experiment's or a whole results folder; no run twice.

    Args:
        paths: folders.
        on_skipped: told of each run that was come upon in an experiment's or results folder and cannot be
            read, one that is still running for example; without it these raise as well.

    Raises:
        DataError: a folder does not exist or holds no run that can be read, or a model's folder is damaged.
    """
    found: dict[Path, Run] = {}
    for path in paths:
        if not path.is_dir():
            raise DataError(f"{path}: no such folder; give one that `authbench run` wrote")
        if (path / "run.json").is_file():
            found.setdefault(path.resolve(), load_run(path))
            continue
        folders = [file.parent for pattern in ("*/run.json", "*/*/run.json") for file in path.glob(pattern)]
        problems = []
        for folder in sorted(folders):
            try:
                found.setdefault(folder.resolve(), load_run(folder))
            except DataError as error:
                problems.append(error)
        if len(problems) == len(folders):
            nothing = DataError(f"{path}: no results in it; give a folder that `authbench run` wrote")
            raise problems[0] if problems else nothing
        for problem in problems:
            if on_skipped is None:
                raise problem
            on_skipped(str(problem))
    return list(found.values())


def _read(file: Path, way_out: str) -> Any:
    try:
        return json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise DataError(f"{file}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # Broken JSON, or bytes that are not UTF-8.
        raise DataError(f"{file}: damaged ({error}); {way_out}") from error


def _check(file: Path, number: int, cell: object) -> None:
    where = f"{file}: cell {number}"
    again = f"`authbench score {file.parent}` makes it anew"
    if not isinstance(cell, dict):
        raise DataError(f"{where}: an object is needed; {again}")
    lacking = [name for name in _REQUIRED if name not in cell]
    if lacking:
        raise DataError(f"{where}: {', '.join(lacking)} missing; {again}")
    for name in FLOATS:
        value = cell.get(name)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int | float)):
            raise DataError(f"{where}: {name} is {value!r}, not a number; {again}")
