"""Cross-encoder: query and document read together by a fine-tuned encoder, through sentence-transformers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from authbench.errors import EngineError
from authbench.retrieval.checkpoints import load, locate, require

#: LCR names no checkpoint; this is the usual one for passages (MS MARCO, six layers).
CHECKPOINT = "cross-encoder/ms-marco-MiniLM-L6-v2"


class CrossEncoderScorer:
    """A `PairScorer`. The weights are loaded at the first call of `score`.

    Args:
        checkpoint: hub id, folder or `package:NAME/FOLDER`; a model with one output.
        revision: of a hub checkpoint.
        max_length: most tokens of a pair; the document is cut.
        batch_size: pairs read at once.
        device: `cpu`, `cuda`, ...; None for the best there is.
    """

    def __init__(
        self,
        checkpoint: str = CHECKPOINT,
        *,
        revision: str | None = None,
        max_length: int = 512,
        batch_size: int = 64,
        device: str | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self._revision = revision
        self._max_length = max_length
        self._batch_size = batch_size
        self._device = device
        self._model: Any = None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The model's output for each pair, before any sigmoid, which would make large values equal.

        Raises `ConfigError` where sentence-transformers is missing, `EngineError` where the checkpoint
        cannot be loaded or has not exactly one output.
        """
        if self._model is None:
            self._model = self._load()
        values = self._model.predict(
            list(pairs),
            batch_size=self._batch_size,
            activation_fn=require("torch").nn.Identity(),
            show_progress_bar=False,
        )
        return [float(value) for value in values]

    def _load(self) -> Any:
        library = require("sentence_transformers")
        model = load(
            self.checkpoint,
            lambda: library.CrossEncoder(
                locate(self.checkpoint),
                revision=self._revision,
                max_length=self._max_length,
                device=self._device,
            ),
        )
        if model.num_labels != 1:
            raise EngineError(
                f"checkpoint '{self.checkpoint}' has {model.num_labels} outputs; a reranker has one"
            )
        return model
