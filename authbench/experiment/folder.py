"""The folder of one run: `results/<experiment>/<model>/{run.json, items.jsonl, cells.json}`."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryFile
from typing import IO, Any

from authbench import RESULTS_FORMAT, __version__
from authbench.errors import ConfigError, DataError

#: Keys of a configuration that do not change what an answer means.
_IRRELEVANT = ("models", "engine", "title", "description")
#: What `run.json` must have for a run to be continued or measured again.
_NEEDED: Mapping[str, type] = {
    "experiment": str,
    "config": dict,
    "engine": dict,
    "model": dict,
    "identity": dict,
}
_OUT = "use --fresh to replace it, or another --results folder"


class RunFolder:
    """Reads and writes one run. Files are written under another name and renamed, so none is ever half."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.run = path / "run.json"
        self.items = path / "items.jsonl"
        self.cells = path / "cells.json"

    def read(self) -> dict[str, Any] | None:
        """The run's facts; None where there is no run. Raises `DataError` if the file is damaged."""
        try:
            facts = json.loads(self.run.read_text(encoding="utf-8"))
        except (FileNotFoundError, NotADirectoryError):
            return None
        except OSError as error:
            raise DataError(f"{self.run} cannot be read: {error.strerror}") from None
        except (ValueError, RecursionError) as error:
            raise self._damaged(str(error)) from None
        if not isinstance(facts, dict) or "format" not in facts:
            raise self._damaged("it is no mapping with a format")
        if facts["format"] == RESULTS_FORMAT:
            for key, kind in _NEEDED.items():
                if not isinstance(facts.get(key), kind):
                    raise self._damaged(f"{key!r} is missing or of the wrong kind")
        return facts

    def _damaged(self, why: str) -> DataError:
        return DataError(
            f"{self.run} is damaged: {why}\n"
            "remove it and run the experiment again: the answers are in the store"
        )

    def check(self, config: Mapping[str, Any], engine: str, limit: int | None) -> None:
        """Refuse to mix two experiments in one folder.

        Raises:
            ConfigError: the folder holds a run of another version, engine or configuration (with the
                difference), or a whole run that a limited one would replace.
        """
        facts = self.read()
        if facts is None:
            return
        if facts["format"] != RESULTS_FORMAT:
            raise ConfigError(
                f"{self.path} was written by authbench {facts.get('authbench')} (format {facts['format']}), "
                f"this is {__version__} (format {RESULTS_FORMAT})\n{_OUT}"
            )
        if facts["engine"].get("name") != engine:
            raise ConfigError(
                f"{self.path} was made with --engine {facts['engine'].get('name')}, not {engine}\n{_OUT}"
            )
        self._refuse("configuration", _differences(facts["config"], config))
        if limit is not None and facts.get("status") == "complete" and facts.get("limit") is None:
            raise ConfigError(f"{self.path} holds a whole run, and --limit {limit} would replace it\n{_OUT}")

    def check_model(self, identity: Mapping[str, Any], rendering_hash: str) -> None:
        """Refuse to continue a run with another model or chat template: `ConfigError` with the difference."""
        facts = self.read()
        if facts is None:
            return
        old = {**facts["identity"], "chat template": facts.get("rendering_hash")}
        self._refuse("model", _differences(old, {**identity, "chat template": rendering_hash}))

    def check_left_out(self, left_out: Mapping[str, str]) -> None:
        """Refuse to lose results: `ConfigError` if the folder has some of what is left out this time.

        Args:
            left_out: see `Task.left_out`.
        """
        facts = self.read()
        if facts is None or facts.get("status") not in ("complete", "failed"):
            return
        lost = [name for name in left_out if name not in facts.get("left_out", {})]
        if lost:
            names = ", ".join(lost)
            raise ConfigError(
                f"{self.path} has results of {names}, which would be lost: {left_out[lost[0]]}\n{_OUT}"
            )

    def _refuse(self, what: str, differences: Iterable[tuple[str, object, object]]) -> None:
        shown = [f"{key}: {_short(old)} there, {_short(new)} here" for key, old, new in differences]
        if shown:
            more = f"; and {len(shown) - 4} more" if len(shown) > 4 else ""
            raise ConfigError(
                f"{self.path} holds a run of another {what} ({'; '.join(shown[:4])}{more})\n{_OUT}"
            )

    def unfinished_fresh(self, config: Mapping[str, Any]) -> float | None:
        """When a `--fresh` run of this configuration began that has not ended well; None if there is none."""
        try:
            facts = self.read()
        except DataError:
            return None
        if facts is None or facts["format"] != RESULTS_FORMAT or any(_differences(facts["config"], config)):
            return None
        since = facts.get("fresh_since")
        return since if facts.get("status") != "complete" and isinstance(since, float) else None

    def spool(self) -> ItemSpool:
        """A temporary file for the lines of `items.jsonl`, until all are there."""
        return ItemSpool(self.path)

    def write_run(self, facts: Mapping[str, Any]) -> None:
        """Write `run.json`."""
        self._write(self.run, [_encoded(json.dumps(facts, indent=1, ensure_ascii=False) + "\n")])

    def write_cells(self, rows: Sequence[Mapping[str, Any]]) -> None:
        """Write `cells.json`: one row a line, so that two of them can be compared with `diff`."""
        lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
        self._write(self.cells, [_encoded(f"[\n{lines}\n]\n")])

    def write_items(self, lines: Iterable[bytes]) -> None:
        """Write `items.jsonl`."""
        self._write(self.items, lines)

    def clear(self) -> None:
        """Remove the three files of an earlier run."""
        for file in (self.run, self.items, self.cells):
            file.unlink(missing_ok=True)

    def _write(self, file: Path, lines: Iterable[bytes]) -> None:
        partial = file.with_name(file.name + ".partial")
        try:
            file.parent.mkdir(parents=True, exist_ok=True)
            with partial.open("wb") as out:
                out.writelines(lines)
            partial.replace(file)
        except OSError as error:
            with suppress(OSError):
                partial.unlink()
            raise _unwritable(file, error) from None


class ItemSpool:
    """A temporary file in the folder of a run that holds the lines of `items.jsonl` until all are there.

    Units end in any order, and `items.jsonl` has an order; with this file, texts need not stay in memory. It
    has no name, so it is gone when the process ends, however it ends.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._end = 0

    def add(self, line: str) -> int:
        """Keep a line; gives its place. Raises `DataError` if it cannot be written."""
        place, data = self._end, _encoded(line)
        try:
            if self._file is None:
                self._folder.mkdir(parents=True, exist_ok=True)
                self._file = TemporaryFile(dir=self._folder)  # noqa: SIM115 - closed by `close`
            self._file.write(data)
        except OSError as error:
            raise _unwritable(self._folder / "items.jsonl", error) from None
        self._end += len(data)
        return place

    def line(self, place: int) -> bytes:
        """The line at a place that `add` gave. When one has been read, no more are added."""
        assert self._file is not None
        self._file.seek(place)
        return self._file.readline()

    def close(self) -> None:
        """Give up the file."""
        if self._file is not None:
            self._file.close()


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "replace")


def _unwritable(file: Path, error: OSError) -> DataError:
    return DataError(
        f"{file} cannot be written: {error.strerror}; the answers are kept in the store, "
        "the same command continues"
    )


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= 40 else f"{text[:12]}..{text[-12:]}"


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
