"""Settings of the task `rag`: answers from filtered documents, AuthorityBench Table 5."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, ClassVar, Literal

from pydantic import Field, ValidationInfo, field_validator

from authbench.errors import ConfigError, did_you_mean
from authbench.tasks.settings import ExperimentSettings, Name, Settings, as_tuple, each_once


class RagDataset(Settings):
    """Yes/no questions with retrieved documents (section 3.2.2).

    Attributes:
        name: data set of the catalogue, or any name beside `path`.
        path: a file of the user's own instead of the catalogue's.
        columns: column names by role, where they are not found by name.
        depth: only the first so many documents of each question; all if left out.
        no_text: documents without text are kept, with nothing as content, or dropped.
        no_url: likewise for documents without URL.
        labels: data set of domains whose levels label the documents, for `oracle-authority` and calibration.
    """

    name: Name
    path: str | None = None
    columns: Mapping[str, str] | None = None
    depth: int | None = Field(default=None, ge=1)
    no_text: Literal["keep", "drop"] = "keep"
    no_url: Literal["keep", "drop"] = "keep"
    labels: str | None = None


class RagExperiment(ExperimentSettings):
    """Settings of the task `rag`.

    Attributes:
        filters: `none`, `relevance`, `utility`, `authority` (the paper's); beyond it `oracle-stance`,
            `oracle-authority`, and joined ones: `authority+relevance`, `relevance-then-authority`.
        keep: how many documents are kept, k; each filter but `none` is asked with every one.
        thresholds: keep the documents with at least this score, 0 to 9; beside `keep`, beyond the paper.
        threshold_minimum: fewest documents that a threshold keeps: those with the best scores.
        weights: of single filters in a sum; 1 where one is not named.
        pool: share of the documents that the first stage of a `-then-` filter hands on.
        shown: whether the generator sees what is kept in the order of retrieval, or best score first.
        document_tokens: most tokens shown of each document; None for all.
        by_topic: also accuracy by topic, where the data has topics; beyond the paper.
        calibration: also authority scores against labels, where there are numbers; beyond the paper.
    """

    OPTIONS: ClassVar[tuple[str, ...]] = (
        "constrain",
        "text_chars",
        "weights",
        "pool",
        "shown",
        "document_tokens",
    )

    task: Literal["rag"]
    dataset: RagDataset
    filters: tuple[str, ...] = Field(default=("none", "relevance", "utility", "authority"), min_length=1)
    keep: tuple[Annotated[int, Field(ge=1)], ...] = (1, 3, 5)
    thresholds: tuple[Annotated[float, Field(ge=0, le=9)], ...] = Field(default=(), validate_default=True)
    threshold_minimum: int = Field(default=1, ge=0)
    weights: Mapping[str, Annotated[float, Field(ge=0)]] = Field(default_factory=dict)
    pool: float = Field(default=0.5, gt=0, le=1)
    shown: Literal["original", "score"] = "original"
    document_tokens: int | None = Field(default=None, ge=1)
    by_topic: bool = False
    calibration: bool = False

    _one_or_many = field_validator("filters", mode="before")(as_tuple)
    _each_k_once = field_validator("keep")(each_once)

    @field_validator("keep", "thresholds", mode="before")
    @classmethod
    def _number_as_tuple(cls, value: object) -> object:
        return (value,) if isinstance(value, int | float) else value

    @field_validator("filters")
    @classmethod
    def _known_filters(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from authbench.rag.filters import parse_filter

        try:
            for name in value:
                parse_filter(name)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return each_once(value)

    @field_validator("thresholds")
    @classmethod
    def _some_cut(cls, value: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        filters = info.data.get("filters", ())
        if not value and not info.data.get("keep", True) and set(filters) != {"none"}:
            raise ValueError("neither keep nor thresholds says how many documents the filters keep")
        return each_once(value)

    @field_validator("weights")
    @classmethod
    def _known_weights(cls, value: Mapping[str, float]) -> Mapping[str, float]:
        from authbench.rag.filters import ASKED, ORACLES

        known = (*ASKED, *ORACLES)
        for name in value:
            if name not in known:
                raise ValueError(f"{name!r} is no single filter{did_you_mean(name, known)}")
        return value
