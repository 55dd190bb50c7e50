"""What every part of a configuration is, and the names of the papers' tables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from pydantic import BaseModel, ConfigDict, model_validator

#: The papers' tables and the tasks that make them; any other name is an experiment's own.
PAPER_TABLES = {
    "authoritybench/1": "listwise",
    "authoritybench/2": "listwise",
    "authoritybench/3": "pairwise",
    "authoritybench/4": "listwise",
    "authoritybench/5": "rag",
    "authoritybench/6": "listwise",
    "authoritybench/aggregation": "listwise",
    "lcr/2": "lcr",
    "lcr/3": "lcr",
    "lcr/models": "lcr",
    "lcr/samples": "lcr",
    "lcr/uncertainty": "lcr",
    "car/contriever": "lcr",
}


class Settings(BaseModel):
    """Base of all parts of a configuration: strict about keys, and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _true_is_not_1(cls, values: object) -> object:
        """Pydantic takes `true` for the number 1: as a word it is refused, in its place."""
        if not isinstance(values, Mapping):
            return values
        return {
            name: str(value).lower() if isinstance(value, bool) and cls._is_number(name) else value
            for name, value in values.items()
        }

    @classmethod
    def _is_number(cls, name: str) -> bool:
        field = cls.model_fields.get(name)
        kinds = {field.annotation, *get_args(field.annotation)} if field is not None else set()
        return bool(kinds & {int, float}) and bool not in kinds


def check_table(table: str | None, task: str) -> str | None:
    """The name of a table: one of the papers' tables that the task makes, or an experiment's own name.

    Raises `ValueError` for a name like those of the papers' tables that is none, or another task's.
    """
    papers = {name.partition("/")[0] for name in PAPER_TABLES}
    if table is None or "/" not in table or table.partition("/")[0] not in papers:
        return table
    fitting = [name for name, maker in PAPER_TABLES.items() if maker == task]
    if table not in fitting:
        maker = PAPER_TABLES.get(table)
        what = f"the task {maker} makes it" if maker else "the papers have no such table"
        raise ValueError(f"{what}; those of the task {task}: {', '.join(fitting)}")
    return table
