"""Rendered prompts of a run, looked up in the store beside it; nothing is made or changed there."""

from __future__ import annotations

import zlib
from collections.abc import Iterable
from pathlib import Path

from authbench.errors import DataError
from authbench.reporting.results import Run
from authbench.runtime.store import Store

#: Where `authbench run` keeps the answers of a results folder.
STORE_FILE = "responses.sqlite"


class PromptTexts:
    """The prompts of several runs. Where a run's store is missing or damaged its prompts are unknown.

    `problems` says of which runs, and why.
    """

    def __init__(self) -> None:
        self.problems: dict[Path, str] = {}
        self._stores: dict[Path, Store | None] = {}

    def __enter__(self) -> PromptTexts:
        return self

    def __exit__(self, *_: object) -> None:
        for store in self._stores.values():
            if store is not None:
                store.close()

    def find(self, run: Run, keys: Iterable[str]) -> dict[str, str]:
        """The rendered prompts of these keys, as far as the run's store has them."""
        path = store_path(run)
        store = self._open(path)
        if store is None:
            return {}
        wanted = []
        for key in dict.fromkeys(keys):
            try:
                wanted.append(bytes.fromhex(key))
            except ValueError:
                continue
        try:
            return {key.hex(): prompt for key, prompt in store.prompts(wanted).items()}
        except (DataError, zlib.error) as error:
            self.problems[path] = f"{path}: prompts cannot be read ({error})"
            return {}

    def _open(self, path: Path) -> Store | None:
        if path not in self._stores:
            self._stores[path] = None
            if not path.is_file():
                self.problems[path] = f"{path}: no store there, so prompts cannot be shown"
            else:
                try:
                    self._stores[path] = Store(path)
                except DataError as error:
                    self.problems[path] = str(error)
        return self._stores[path]


def store_path(run: Run) -> Path:
    """The store of a run: two folders above it."""
    return run.path.resolve().parent.parent / STORE_FILE
