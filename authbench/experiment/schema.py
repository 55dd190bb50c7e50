"""What an experiment's YAML may say. One model a task; unknown keys are errors.

Read with `authbench.experiment.loading`, which turns pydantic's complaints into one line with file and line.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, TypeAdapter, ValidationInfo, field_validator

from authbench.errors import did_you_mean
from authbench.experiment.schema_lcr import (
    BaseRanking,
    Checkpoints,
    Confidence,
    LcrDataset,
    RankGptOptions,
    Thresholds,
    YesNoOptions,
)
from authbench.experiment.schema_parts import Settings, check_table

ListJudge = Literal["point", "list-rank", "list-score", "pair-rank", "pair-score"]
Context = Literal["without", "with"]
Constrain = Literal["none", "json", "choice"]
Name = Annotated[str, Field(min_length=1)]
T = TypeVar("T")


def _as_tuple(value: object) -> object:
    return (value,) if isinstance(value, str) else value


def _each_once(values: tuple[T, ...]) -> tuple[T, ...]:
    for place, value in enumerate(values):
        if value in values[:place]:
            raise ValueError(f"the same value stands there twice: {value!r}")
    return values


class EngineSettings(BaseModel):
    """An engine by name, and whatever settings that engine takes (it checks them itself)."""

    model_config = ConfigDict(extra="allow", frozen=True)

    name: Name

    def settings(self) -> dict[str, Any]:
        """Everything but the name."""
        return dict(self.model_extra or {})


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
        return None if value is None else _each_once(value)


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


class Base(Settings):
    """What every experiment has.

    Attributes:
        table: the paper's table it makes, `authoritybench/1`, or a name of one's own.
        models: names of files in `configs/models`, hub ids, or paths.
        engine: an engine's name, or a mapping with `name` and its settings.
        constrain: limit decoding to the wanted format; beyond the papers.
        overflow: what happens to a prompt longer than the model's context: `error`, or `truncate` its texts.
        text_chars: most characters shown of each text; None for all.
    """

    title: str | None = None
    description: str | None = None
    table: str | None = None
    models: tuple[Name, ...] = Field(min_length=1)
    engine: EngineSettings | None = None
    constrain: Constrain = "none"
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

    _models_once = field_validator("models")(_each_once)


class ListwiseExperiment(Base):
    """Lists of one source of each level, judged five ways: AuthorityBench Tables 1, 2, 4, 6.

    Attributes:
        context: without and/or with web page text.
        judges: which of the five ways to ask.
        anchors: anchors of PairJudge on fine lists (section 4.1: 5).
        scoring: `text`, or `logprob`: one-token answers read from the label distribution; beyond the paper.
    """

    task: Literal["listwise"]
    dataset: AuthorityDataset
    context: tuple[Context, ...] = Field(default=("without",), min_length=1)
    judges: tuple[ListJudge, ...] = Field(
        default=("point", "list-rank", "list-score", "pair-rank", "pair-score"), min_length=1
    )
    anchors: int = Field(default=5, ge=1, le=10)
    scoring: Literal["text", "logprob"] = "text"

    _one_or_many = field_validator("context", "judges", "models", mode="before")(_as_tuple)
    _once = field_validator("context", "judges")(_each_once)


class PairwiseExperiment(Base):
    """Easy and hard pairs: AuthorityBench Table 3.

    Attributes:
        order: `drawn`, the recorded side, or `both` orders asked (position bias); beyond the paper.
    """

    task: Literal["pairwise"]
    dataset: PairDataset
    context: tuple[Context, ...] = Field(default=("without",), min_length=1)
    judges: tuple[Literal["pair-rank", "pair-score", "point"], ...] = Field(
        default=("pair-rank", "pair-score", "point"), min_length=1
    )
    scoring: Literal["text", "logprob"] = "text"
    order: Literal["drawn", "both"] = "drawn"

    _one_or_many = field_validator("context", "judges", "models", mode="before")(_as_tuple)
    _once = field_validator("context", "judges")(_each_once)


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


class RagExperiment(Base):
    """Answers from filtered documents: AuthorityBench Table 5.

    Attributes:
        filters: `none`, `relevance`, `utility`, `authority` (the paper's); beyond it `oracle-stance`,
            `oracle-authority`, and joined ones: `authority+relevance`, `relevance-then-authority`.
        keep: how many documents are kept, k; each filter but `none` is asked with every one.
        thresholds: scores from which on documents are kept, 0 to 9, beside `keep`; beyond the paper.
        threshold_minimum: fewest documents that a threshold keeps: the best ones.
        weights: of single filters in a sum; 1 where one is not named.
        pool: share of the documents that the first stage of a `-then-` filter hands on.
        shown: whether the generator sees what is kept in the order of retrieval, or best score first.
        document_tokens: most tokens shown of each document; None for all.
        by_topic: also accuracy by topic, where the data has topics; beyond the paper.
        calibration: also authority scores against labels, where there are numbers; beyond the paper.
    """

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

    _one_or_many = field_validator("filters", "models", mode="before")(_as_tuple)

    @field_validator("keep", "thresholds", mode="before")
    @classmethod
    def _number_as_tuple(cls, value: object) -> object:
        return (value,) if isinstance(value, int | float) else value

    @field_validator("filters")
    @classmethod
    def _known_filters(cls, value: tuple[str, ...]) -> tuple[str, ...]:
        from authbench.errors import ConfigError
        from authbench.rag.filters import parse_filter

        try:
            for name in value:
                parse_filter(name)
        except ConfigError as error:
            raise ValueError(str(error)) from None
        return _each_once(value)

    @field_validator("keep")
    @classmethod
    def _each_k_once(cls, value: tuple[int, ...]) -> tuple[int, ...]:
        return _each_once(value)

    @field_validator("thresholds")
    @classmethod
    def _some_cut(cls, value: tuple[float, ...], info: ValidationInfo) -> tuple[float, ...]:
        filters = info.data.get("filters", ())
        if not value and not info.data.get("keep", True) and set(filters) != {"none"}:
            raise ValueError("neither keep nor thresholds says how many documents the filters keep")
        return _each_once(value)

    @field_validator("weights")
    @classmethod
    def _known_weights(cls, value: Mapping[str, float]) -> Mapping[str, float]:
        from authbench.rag.filters import ASKED, ORACLES

        known = (*ASKED, *ORACLES)
        for name in value:
            if name not in known:
                raise ValueError(f"{name!r} is no single filter{did_you_mean(name, known)}")
        return value


class LcrExperiment(Base):
    """Base rankings, confidences and Algorithm 1: the tables of LCR (arXiv 2602.13571).

    Attributes:
        bases: base rankings; `qlm` needs an engine that scores given text.
        thresholds: see `Thresholds`.
        confidence: see `Confidence`.
        checkpoints: of the base rerankers with models of their own.
        missing: what happens where the library or the checkpoint of one of these is not there: `error`, or
            `leave_out`, the base ranking, which is said in the results. A later run of the same adds it.
        gain: of NDCG: `linear`, the grade, or `exponential`, 2^grade - 1. The paper does not say.
        cutoff: of NDCG.
    """

    task: Literal["lcr"]
    dataset: LcrDataset
    bases: tuple[BaseRanking, ...] = Field(default=("retriever",), min_length=1)
    thresholds: Thresholds = Thresholds()
    confidence: Confidence = Confidence()
    yesno: YesNoOptions = YesNoOptions()
    rankgpt: RankGptOptions = RankGptOptions()
    checkpoints: Checkpoints = Checkpoints()
    missing: Literal["error", "leave_out"] = "error"
    gain: Literal["linear", "exponential"] = "linear"
    cutoff: int = Field(default=5, ge=1)

    _one_or_many = field_validator("bases", "models", mode="before")(_as_tuple)
    _once = field_validator("bases")(_each_once)

    @field_validator("confidence")
    @classmethod
    def _adaptive_needs_a_rule(cls, value: Confidence, info: ValidationInfo) -> Confidence:
        thresholds = info.data.get("thresholds")
        if value.adaptive and thresholds is not None:
            if thresholds.fixed is None:
                raise ValueError("adaptive needs thresholds.fixed: without a rule, every sample counts")
            if value.clustering != "greedy" or value.at or value.measures != ("mscp",):
                raise ValueError("adaptive needs greedy clustering, measures: [mscp], and no `at`")
        return value


AnyExperiment = ListwiseExperiment | PairwiseExperiment | RagExperiment | LcrExperiment

#: Every task's settings, told apart by `task`.
EXPERIMENT: TypeAdapter[AnyExperiment] = TypeAdapter(Annotated[AnyExperiment, Field(discriminator="task")])
TASKS: dict[str, type[Base]] = {
    "listwise": ListwiseExperiment,
    "pairwise": PairwiseExperiment,
    "rag": RagExperiment,
    "lcr": LcrExperiment,
}


class GgufFile(Settings):
    """Where a GGUF of a model lies: a path, a file of an installed package, or a file of a hub repository."""

    path: str | None = None
    package: str | None = None
    repo: str | None = None
    file: str | None = None


class ModelFile(Settings):
    """What `configs/models/NAME.yaml` may say; see `authbench.runtime.engine.ModelConfig`."""

    id: Name
    revision: str | None = None
    paper_name: str | None = None
    context_length: int | None = Field(default=None, ge=1)
    chat_template_kwargs: Mapping[str, Any] = Field(default_factory=dict)
    gguf: GgufFile | None = None
    path: str | None = None
    engine: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    parameters: int | None = Field(default=None, ge=1)
    kv_bytes_per_token: int | None = Field(default=None, ge=1)
    tiny: bool = False
    note: str | None = None
