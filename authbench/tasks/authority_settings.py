"""Settings of the authority tasks: `listwise` (AuthorityBench Tables 1, 2, 4, 6) and `pairwise` (Table 3)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, Literal

from pydantic import Field, field_validator

from authbench.tasks.settings import Context, ExperimentSettings, Name, Settings, as_tuple, each_once

ListJudge = Literal["point", "list-rank", "list-score", "pair-rank", "pair-score"]


class AuthorityDataset(Settings):
    """Sources with authority labels, and how many lists are drawn from them.

    Attributes:
        name: data set of the catalogue.
        scale: `fine`, levels 0 to 9, or `coarse`, 0 to 4 (section 3.2).
        lists: lists in each domain; fewer where the data brings its own lists and has fewer.
        seed: of everything that is drawn: the sample of the corpus, the lists, their order, the anchors.
        domains: which of the data set's domains; all if left out.
        columns: column names by role, where they are not found by name.
        path: a file of the user's own instead of the catalogue's.
    """

    name: Name
    scale: Literal["fine", "coarse"] = "fine"
    lists: int = Field(default=500, ge=1)
    seed: int = 0
    domains: tuple[str, ...] | None = Field(default=None, min_length=1)
    columns: Mapping[str, str] | None = None
    path: str | None = None

    @field_validator("domains")
    @classmethod
    def _domains_once(cls, value: tuple[str, ...] | None) -> tuple[str, ...] | None:
        return None if value is None else each_once(value)


class ListwiseExperiment(ExperimentSettings):
    """Settings of the task `listwise`.

    Attributes:
        context: without and/or with the text of web pages.
        judges: which of the five ways to ask (section 4.1).
        anchors: anchors of PairJudge on fine lists (section 4.1: 5).
        scoring: `text`, or `logprob`: one-token answers read from the label distribution; beyond the paper.
    """

    OPTIONS: ClassVar[tuple[str, ...]] = ("constrain", "scoring", "text_chars")

    task: Literal["listwise"]
    dataset: AuthorityDataset
    context: tuple[Context, ...] = Field(default=("without",), min_length=1)
    judges: tuple[ListJudge, ...] = Field(
        default=("point", "list-rank", "list-score", "pair-rank", "pair-score"), min_length=1
    )
    anchors: int = Field(default=5, ge=1, le=10)
    scoring: Literal["text", "logprob"] = "text"

    _one_or_many = field_validator("context", "judges", mode="before")(as_tuple)
    _once = field_validator("context", "judges")(each_once)


class PairDataset(AuthorityDataset):
    """Sources with authority labels, and how pairs are drawn from them (section 3.3.1).

    Attributes:
        pairs: pairs of each difficulty in each domain.
        easy_min_gap: smallest difference of levels of an easy pair (the paper: greater than 5).
        hard_max_gap: largest difference of a hard pair (the paper: less than 2).
        allow_equal: whether hard pairs may have equal levels, for which no answer is right.
    """

    pairs: int = Field(default=5000, ge=1)
    easy_min_gap: int = Field(default=6, ge=1)
    hard_max_gap: int = Field(default=1, ge=0)
    allow_equal: bool = True


class PairwiseExperiment(ExperimentSettings):
    """Settings of the task `pairwise`.

    Attributes:
        context: without and/or with the text of web pages.
        judges: which of the three ways to ask (section 4.1).
        scoring: `text`, or `logprob`: one-token answers read from the label distribution; beyond the paper.
        order: `drawn`, the recorded side, or `both` orders asked (position bias); beyond the paper.
    """

    OPTIONS: ClassVar[tuple[str, ...]] = ("constrain", "scoring", "order", "text_chars")

    task: Literal["pairwise"]
    dataset: PairDataset
    context: tuple[Context, ...] = Field(default=("without",), min_length=1)
    judges: tuple[Literal["pair-rank", "pair-score", "point"], ...] = Field(
        default=("pair-rank", "pair-score", "point"), min_length=1
    )
    scoring: Literal["text", "logprob"] = "text"
    order: Literal["drawn", "both"] = "drawn"

    _one_or_many = field_validator("context", "judges", mode="before")(as_tuple)
    _once = field_validator("context", "judges")(each_once)
