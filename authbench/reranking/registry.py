"""The base rankings of LCR's tables by name."""

from __future__ import annotations

from typing import Any, Literal

from authbench.errors import ConfigError, did_you_mean
from authbench.reranking.common import PairScorer

#: All, in the order of the paper's tables; `retriever` is the first stage as it is.
BaseRanking = Literal["retriever", "yesno", "qlm", "rankgpt", "colbert", "cross-encoder", "rankt5"]

#: Asked of the experiment's own LLM, as procedures.
LLM_BASES = ("yesno", "qlm", "rankgpt")

#: With a model of their own, scored in batches.
MODEL_BASES = ("cross-encoder", "colbert", "rankt5")


def default_checkpoint(name: str) -> str:
    """The checkpoint of a reranker with a model of its own, where none is named."""
    from authbench.reranking import colbert, crossencoder, rankt5

    return {
        "cross-encoder": crossencoder.CHECKPOINT,
        "colbert": colbert.CHECKPOINT,
        "rankt5": rankt5.CHECKPOINT,
    }[name]


def make_scorer(name: str, checkpoint: str | None = None, **options: Any) -> PairScorer:
    """A reranker with a model of its own; no weights are loaded yet.

    Args:
        name: one of `MODEL_BASES`.
        checkpoint: None for its default.
        options: of its class: `revision`, `batch_size`, `device`, and more.

    Raises `ConfigError` for any other name.
    """
    from authbench.reranking.colbert import ColbertScorer
    from authbench.reranking.crossencoder import CrossEncoderScorer
    from authbench.reranking.rankt5 import RankT5Scorer

    if name not in MODEL_BASES:
        hint = did_you_mean(name, MODEL_BASES)
        raise ConfigError(f"reranker '{name}' is not one of {', '.join(MODEL_BASES)}{hint}")
    classes: dict[str, type[CrossEncoderScorer | ColbertScorer | RankT5Scorer]] = {
        "cross-encoder": CrossEncoderScorer,
        "colbert": ColbertScorer,
        "rankt5": RankT5Scorer,
    }
    return classes[name](checkpoint or default_checkpoint(name), **options)
