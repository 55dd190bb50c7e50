"""ColBERT: late interaction over token embeddings, through sentence-transformers' `MultiVectorEncoder`.

The score is MaxSim: for each token of the query the best similarity to a token of the document, summed.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from authbench.errors import ConfigError, EngineError
from authbench.retrieval.checkpoints import load, locate, require

#: LCR names no checkpoint; this is the one of the ColBERTv2 paper (Santhanam et al. 2022).
CHECKPOINT = "colbert-ir/colbertv2.0"

#: Pairs whose token embeddings are held in memory at once.
_BLOCK = 2048


class ColbertScorer:
    """A `PairScorer`. The weights are loaded at the first call of `score`.

    Args:
        checkpoint: hub id, folder or `package:NAME/FOLDER`, in the form of sentence-transformers, PyLate
            or Stanford's ColBERT.
        revision: of a hub checkpoint.
        batch_size: texts encoded at once.
        device: `cpu`, `cuda`, ...; None for the best there is.
    """

    def __init__(
        self,
        checkpoint: str = CHECKPOINT,
        *,
        revision: str | None = None,
        batch_size: int = 64,
        device: str | None = None,
    ) -> None:
        self.checkpoint = checkpoint
        self._revision = revision
        self._batch_size = batch_size
        self._device = device
        self._model: Any = None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """MaxSim of each pair; a query or document that occurs in several pairs is encoded once a block.

        Raises `ConfigError` where sentence-transformers is missing or too old, `EngineError` where the
        checkpoint cannot be loaded or is no ColBERT.
        """
        if self._model is None:
            self._model = self._load()
        scores: list[float] = []
        for start in range(0, len(pairs), _BLOCK):
            scores += self._score_block(pairs[start : start + _BLOCK])
        return scores

    def _score_block(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        options = {"batch_size": self._batch_size, "show_progress_bar": False}
        queries = list(dict.fromkeys(query for query, _ in pairs))
        documents = list(dict.fromkeys(document for _, document in pairs))
        by_query = dict(zip(queries, self._model.encode_query(queries, **options), strict=True))
        by_document = dict(zip(documents, self._model.encode_document(documents, **options), strict=True))
        values = self._model.similarity_pairwise(
            [by_query[query] for query, _ in pairs], [by_document[document] for _, document in pairs]
        )
        return [float(value) for value in values]

    def _load(self) -> Any:
        library = require("sentence_transformers")
        if not hasattr(library, "MultiVectorEncoder"):
            raise ConfigError(
                f"ColBERT needs sentence-transformers 6, {library.__version__} is installed; "
                "pip install -U 'authbench[rerankers]'"
            )
        place = locate(self.checkpoint)
        model = load(
            self.checkpoint,
            lambda: library.MultiVectorEncoder(place, revision=self._revision, device=self._device),
        )
        if not self._is_colbert(place):
            raise EngineError(
                f"checkpoint '{self.checkpoint}' is no ColBERT: its token projection would be random"
            )
        return model

    def _is_colbert(self, place: str) -> bool:
        """Whether the checkpoint brings its own projection; the library makes up a random one if not."""
        from sentence_transformers.util import load_file_path

        if load_file_path(place, "modules.json", revision=self._revision) is not None:
            return True
        config = load_file_path(place, "config.json", revision=self._revision)
        facts = json.loads(Path(config).read_bytes()) if config is not None else {}
        return any(
            name == "HF_ColBERT" or name.endswith("ForRetrieval") for name in facts.get("architectures") or []
        )
