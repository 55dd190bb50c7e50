"""Settings of the task `lcr`: base rankings, confidences and Algorithm 1 (LCR, arXiv 2602.13571)."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ConfigDict, Field, ValidationInfo, field_validator

from authbench.reranking.registry import BaseRanking
from authbench.tasks.settings import ExperimentSettings, Settings, as_tuple, each_once

if TYPE_CHECKING:
    from authbench.lcr.search import Search

Word = Annotated[str, Field(min_length=1, pattern=r"^[^\s/]+$")]
Share = Annotated[float, Field(ge=0, le=1)]


class Bm25Options(Settings):
    """See `authbench.retrieval.bm25.Bm25Settings`."""

    k1: float = Field(default=0.9, ge=0)
    b: float = Field(default=0.4, ge=0, le=1)
    method: str = "lucene"
    stemmer: str | None = "english"
    stop_words: str | None = "english"


class DenseOptions(Settings):
    """See `authbench.retrieval.dense.DenseSettings`."""

    checkpoint: str = "facebook/contriever-msmarco"
    revision: str | None = None
    similarity: Literal["dot", "cosine"] = "dot"
    max_length: int = Field(default=512, ge=1)
    query_prefix: str = ""
    document_prefix: str = ""
    search: Literal["auto", "exact", "faiss"] = "auto"


class LcrDataset(Settings):
    """A test collection and its first stage.

    Attributes:
        name: collection of the catalogue, of `authbench.retrieval.irdatasets.NAMES`, an identifier of
            ir_datasets, or any name beside `path`.
        retriever: the first stage: `bm25`, `contriever` (dense), or that of a ranking file. Of a run file,
            what it is called.
        depth: how many documents the base rerankers and LCR reorder.
        retrieved: how many documents the first stage gives, for run files.
        path: a folder in BEIR's layout, a ranking file with texts, or a corpus file, of the user's own.
        queries: queries of such a corpus file.
        qrels: judgements of such a ranking file or corpus file.
        run: a TREC run file as the first stage.
        split: of a BEIR folder.
    """

    name: Annotated[str, Field(min_length=1)]
    retriever: Word = "bm25"
    depth: int = Field(default=10, ge=1)
    retrieved: int = Field(default=100, ge=1)
    path: str | None = None
    queries: str | None = None
    qrels: str | None = None
    run: str | None = None
    split: str = "test"
    bm25: Bm25Options = Bm25Options()
    dense: DenseOptions = DenseOptions()

    @field_validator("queries", "qrels")
    @classmethod
    def _belongs_to_a_path(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is not None and info.data.get("path") is None:
            raise ValueError("it belongs to a collection of one's own: name that with path")
        return value


class Confidence(Settings):
    """How confidences are measured; docs/lcr.md says what is the paper's and what is ours.

    Attributes:
        samples: K.
        temperature: of the samples.
        top_p: nucleus mass of the samples.
        max_tokens: most tokens of a sample.
        clustering: `greedy`, `pairwise` or `centroid`.
        embedding: checkpoint that embeds answers, for `centroid`.
        measures: `mscp` (the paper), and `entropy`, 1 - semantic entropy / ln K, its ablation.
        at: smaller K that are measured too, out of the same samples.
        adaptive: with `thresholds.fixed`, ask only what can change the reordering.
    """

    samples: int = Field(default=10, ge=1)
    temperature: float = Field(default=1.0, gt=0)
    top_p: float = Field(default=1.0, gt=0, le=1)
    max_tokens: int = Field(default=64, ge=1)
    clustering: Literal["greedy", "pairwise", "centroid"] = "greedy"
    embedding: str | None = Field(default=None, validate_default=True)
    measures: tuple[Literal["mscp", "entropy"], ...] = Field(default=("mscp",), min_length=1)
    at: tuple[Annotated[int, Field(ge=1)], ...] = ()
    adaptive: bool = False

    @field_validator("embedding")
    @classmethod
    def _embedding_where_needed(cls, value: str | None, info: ValidationInfo) -> str | None:
        if value is None and info.data.get("clustering") == "centroid":
            raise ValueError("centroid clustering needs the checkpoint of an embedding model")
        return value

    @field_validator("measures")
    @classmethod
    def _enough_for_entropy(cls, value: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        if "entropy" in value and info.data.get("samples", 2) < 2:
            raise ValueError("entropy needs at least two samples")
        return tuple(dict.fromkeys(value))

    @field_validator("at")
    @classmethod
    def _at_most_all(cls, value: tuple[int, ...], info: ValidationInfo) -> tuple[int, ...]:
        samples = info.data.get("samples")
        if samples is not None and any(k > samples for k in value):
            raise ValueError(f"only {samples} samples are drawn; raise confidence.samples")
        return tuple(dict.fromkeys(value))


class FixedThresholds(Settings):
    """Thresholds of Algorithm 1 that are given, not searched for. `query` above 1 reranks every query."""

    query: float = Field(ge=0)
    upper: Share
    lower: Share

    @field_validator("lower")
    @classmethod
    def _below_upper(cls, value: float, info: ValidationInfo) -> float:
        if value > info.data.get("upper", 1.0):
            raise ValueError("it must not be above upper")
        return value


class Thresholds(Settings):
    """How thresholds are searched for (`authbench tune`), or what they are.

    Attributes:
        step: of the grid from 0 to 1; the gate also has one step more.
        folds: of the cross-validation.
        seed: of folds, shuffles and resampling.
        shuffles: of the control.
        methods: `lcr`, pairs of thresholds, and `car`, CAR's margins; beyond the paper.
        fixed: thresholds that are used instead of the best of the grid.
    """

    step: float = Field(default=0.1, gt=0, le=1)
    folds: int = Field(default=5, ge=2)
    seed: int = 0
    shuffles: int = Field(default=20, ge=1)
    methods: tuple[Literal["lcr", "car"], ...] = Field(default=("lcr",), min_length=1)
    fixed: FixedThresholds | None = None

    @field_validator("step")
    @classmethod
    def _divides_one(cls, value: float) -> float:
        from fractions import Fraction

        if (1 / Fraction(str(value))).denominator != 1:
            raise ValueError("it must divide 1, such as 0.1, 0.05 or 0.25")
        return value


class YesNoOptions(Settings):
    """How YesNo scores. `auto`: log-probabilities where the engine gives them, else the share of yes among
    `samples`, else one answer; which it was stands in the results. `authbench score` needs a scoring that
    is named, unless it was `logprob`."""

    scoring: Literal["auto", "logprob", "sampled", "greedy"] = "auto"
    samples: int = Field(default=10, ge=1)


class RankGptOptions(Settings):
    """Windows of RankGPT, and by how many passages they move."""

    window: int = Field(default=20, ge=2)
    step: int = Field(default=10, ge=1)

    @field_validator("step")
    @classmethod
    def _within_window(cls, value: int, info: ValidationInfo) -> int:
        if value > info.data.get("window", value):
            raise ValueError("it must not be larger than the window, or passages would be skipped")
        return value


class Checkpoints(Settings):
    """Models of the base rerankers that have their own: hub id, folder or `package:NAME/FOLDER`.

    The paper names none; where one is left out, the reranker's own default is used (docs/lcr.md).
    """

    colbert: str | None = None
    cross_encoder: str | None = Field(default=None, alias="cross-encoder")
    rankt5: str | None = None

    model_config = ConfigDict(populate_by_name=True)  # beside what all parts are

    def of(self, base: str) -> str | None:
        """The checkpoint of a base reranker."""
        found: str | None = getattr(self, base.replace("-", "_"))
        return found


class LcrExperiment(ExperimentSettings):
    """Settings of the task `lcr`.

    Attributes:
        bases: base rankings; `qlm` needs an engine that scores given text.
        thresholds, confidence, yesno, rankgpt: see their classes.
        checkpoints: of the base rerankers with models of their own.
        missing: what happens where the library or the checkpoint of one of these is not there: `error`, or
            `leave_out`: the results lack that base ranking and say so; a later run of the same adds it.
        gain: of NDCG: `linear`, the grade, or `exponential`, 2^grade - 1. The paper does not say which.
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

    _one_or_many = field_validator("bases", mode="before")(as_tuple)
    _once = field_validator("bases")(each_once)

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

    @property
    def search(self) -> Search:
        """How its confidences are read and its thresholds searched for."""
        from authbench.lcr.search import Search

        return Search.of(self.model_dump(mode="json"))

    def check_dataset(self) -> None:
        """Nothing: collections need not be in the catalogue."""
