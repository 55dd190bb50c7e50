"""What every experiment's YAML may say; each task adds its own keys. Unknown keys are errors.

`authbench.experiment.loading` reads the files and turns pydantic's complaints into one line with file and
line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

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

Name = Annotated[str, Field(min_length=1)]
Context = Literal["without", "with"]
T = TypeVar("T")


class Settings(BaseModel):
    """Base of all parts of a configuration: strict about keys, and immutable."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    @model_validator(mode="before")
    @classmethod
    def _true_is_not_1(cls, values: object) -> object:
        """Pydantic takes `true` for the number 1. Made a word, it is refused where a number is wanted."""
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


class EngineSettings(BaseModel):
    """An engine by name, with the settings that this engine takes (it checks them itself)."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Name

    def settings(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.model_extra or {})


class ExperimentSettings(Settings):
    """What every experiment has.

    Attributes:
        table: the table of a paper that it makes, such as `authoritybench/1`, or a name of one's own.
        models: names of files in `configs/models`, hub ids, or paths.
        engine: an engine's name, or a mapping with `name` and its settings.
        constrain: limit decoding to the wanted format; beyond the papers.
        overflow: what happens to a prompt longer than the model's context: `error`, or `truncate` its texts.
        text_chars: most characters shown of each text; None for all.
    """

    #: Options whose defaults are the papers' protocol: where one has another value, results say so.
    OPTIONS: ClassVar[tuple[str, ...]] = ("constrain", "text_chars")

    title: str | None = None
    description: str | None = None
    table: str | None = None
    models: tuple[Name, ...] = Field(min_length=1)
    engine: EngineSettings | None = None
    constrain: Literal["none", "json", "choice"] = "none"
    overflow: Literal["error", "truncate"] = "error"
    text_chars: int | None = Field(default=None, ge=1)

    @field_validator("table")
    @classmethod
    def _table_of_the_task(cls, value: str | None) -> str | None:
        (task,) = get_args(cls.model_fields["task"].annotation)
        return check_table(value, task)

    @field_validator("engine", mode="before")
    @classmethod
    def _engine_by_name(cls, value: object) -> object:
        return {"name": value} if isinstance(value, str) else value

    @field_validator("models", mode="before")
    @classmethod
    def _one_or_many_models(cls, value: object) -> object:
        return as_tuple(value)

    @field_validator("models")
    @classmethod
    def _models_once(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        return each_once(value)

    def beyond_the_papers(self) -> dict[str, Any]:
        """The options (`OPTIONS`) that do not have the value of the papers' protocol."""
        values, fields = self.model_dump(mode="json"), type(self).model_fields
        return {
            name: values[name]
            for name in self.OPTIONS
            if values[name] != fields[name].get_default(call_default_factory=True)
        }

    def check_dataset(self) -> None:
        """See that the data set is one of the catalogue, unless a file is named; reads no data.

        Raises `ConfigError` for an unknown data set.
        """
        from authbench.data.catalog import dataset

        named: Any = self.dataset  # type: ignore[attr-defined]  # every task has one of its own kind
        if named.path is None:
            dataset(named.name)


def as_tuple(value: object) -> object:
    """A single word where a list is wanted, as a list of one."""
    return (value,) if isinstance(value, str) else value


def each_once(values: tuple[T, ...]) -> tuple[T, ...]:
    """The values as they are. Raises `ValueError` if one stands there twice."""
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"the same value stands there twice: {value!r}")
    return values


def check_table(table: str | None, task: str) -> str | None:
    """The name of a table: one of the papers' tables that the task makes, or an experiment's own name.

    Raises `ValueError` for a name that looks like a paper's table and is none, or is another task's.
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
