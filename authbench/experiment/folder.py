"""The folder of one run: `results/<experiment>/<model>/{run.json, items.jsonl, cells.json}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from authbench import __version__
from authbench.errors import ConfigError, DataError

#: Version of the layout of the three files.
FORMAT = 1
#: Keys of a configuration that do not change what an answer means.
_IRRELEVANT = ("models", "engine", "title", "description")


class RunFolder:
    """Reads and writes one run. Files are written under another name and renamed, so none is ever half."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run.json"
        self.items = path / "items.jsonl"
        self.cells = path / "cells.json"

    def read(self) -> dict[str, Any] | None:
        """The run's facts; None where there is no run. Raises `DataError` if the file is damaged."""
        if not self.run.is_file():
            return None
        try:
            facts = json.loads(self.run.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise DataError(f"{self.run} is damaged ({error}); use --fresh to replace this run") from None
        if not isinstance(facts, dict):
            raise DataError(f"{self.run} is damaged (no mapping); use --fresh to replace this run")
        return facts

    def check(self, config: Mapping[str, Any], engine: str, limit: int | None) -> None:
        """Refuse to mix two experiments in one folder.

        Raises:
            ConfigError: the folder holds a run of another version, engine or configuration (with the
                difference), or a whole run that a limited one would replace.
        """
        facts = self.read()
        if facts is None:
            return
        out = "use --fresh to replace it, or another --results folder"
        if facts.get("format") != FORMAT:
            raise ConfigError(
                f"{self.path} was written by authbench {facts.get('authbench')} "
                f"(format {facts.get('format')}), "
                f"this is {__version__} (format {FORMAT}); {out}"
            )
        if facts["engine"]["name"] != engine:
            raise ConfigError(
                f"{self.path} was made with --engine {facts['engine']['name']}, not {engine}; {out}"
            )
        differences = list(_differences(facts["config"], config))
        if differences:
            shown = "; ".join(f"{key}: {old} there, {new} here" for key, old, new in differences[:4])
            raise ConfigError(f"{self.path} holds a run of another configuration ({shown})\n{out}")
        if limit is not None and facts.get("status") == "complete" and facts.get("limit") is None:
            raise ConfigError(f"{self.path} holds a whole run, and --limit {limit} would replace it; {out}")

    def write_run(self, facts: Mapping[str, Any]) -> None:
        """Write `run.json`."""
        self._write(self.run, json.dumps(facts, indent=1, ensure_ascii=False) + "\n")

    def write_cells(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write `cells.json`: one row a line, so that two of them can be compared with `diff`."""
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        self._write(self.cells, f"[\n{lines}\n]\n")

    def write_items(self, lines: Iterable[str]) -> None:
        """Write `items.jsonl`."""
        self._write(self.items, lines)

    def clear(self) -> None:
        """Remove the three files of an earlier run."""
        for file in (self.run, self.items, self.cells):
            file.unlink(missing_ok=True)

    def _write(self, file: Path, text: str | Iterable[str]) -> None:
        partial = file.with_name(file.name + ".partial")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("w", encoding="utf-8", errors="replace", newline="\n") as out:
                out.writelines([text] if isinstance(text, str) else text)
            partial.replace(file)
        except OSError as error:
            partial.unlink(missing_ok=True)
            raise DataError(
                f"{file} cannot be written: {error.strerror}; the answers are kept in the store, "
                "the same command continues"
            ) from None


def _differences(
    old: Mapping[str, Any], new: Mapping[str, Any], at: str = ""
) -> Iterable[tuple[str, object, object]]:
    for key in sorted({*old, *new}):
        if not at and key in _IRRELEVANT:
            continue
        here, there = new.get(key), old.get(key)
        if isinstance(here, dict) and isinstance(there, dict):
            yield from _differences(there, here, f"{at}{key}.")
        elif here != there:
            yield f"{at}{key}", there, here
