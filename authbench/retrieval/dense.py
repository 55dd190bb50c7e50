"""Dense retrieval through sentence-transformers: Contriever by default, mean pooling, exact search.

Embeddings are kept on disk under a hash of the corpus, the checkpoint's weights and the settings. They are
written in shards, so encoding that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from authbench.errors import ConfigError, DataError
from authbench.paths import cache_dir
from authbench.retrieval.checkpoints import fingerprint, load, locate, require
from authbench.retrieval.corpora import Corpus
from authbench.retrieval.indexfolder import damage, finish, place_of
from authbench.retrieval.runfile import Run
from authbench.retrieval.topk import best_positions, hits_of

#: Documents in one file of embeddings.
SHARD = 50_000

#: Queries that are scored against a shard at once.
_QUERIES = 256

_DOCUMENTS = "documents.json"

Floats = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class DenseSettings:
    """How texts are encoded and compared.

    Attributes:
        checkpoint: hub id, folder or `package:NAME/FOLDER`. LCR's numbers for Contriever fit
            `facebook/contriever-msmarco` (Izacard et al. 2022).
        revision: of a hub checkpoint.
        similarity: `dot` (Contriever), or `cosine`.
        max_length: most tokens of a text; the rest is cut off.
        query_prefix: put before every query, for checkpoints that were trained so.
        document_prefix: put before every document.
        batch_size: texts encoded at once; no part of the identity of embeddings.
        device: `cpu`, `cuda`, ...; None for the best there is.
        search: `exact` in NumPy, `faiss` (flat, exact as well), or `auto`: faiss if it is installed.
    """

    checkpoint: str = "facebook/contriever-msmarco"
    revision: str | None = None
    similarity: Literal["dot", "cosine"] = "dot"
    max_length: int = 512
    query_prefix: str = ""
    document_prefix: str = ""
    batch_size: int = 64
    device: str | None = None
    search: Literal["auto", "exact", "faiss"] = "auto"

    def identity(self) -> dict[str, Any]:
        """The settings on which an embedding of a document depends, and the weights' fingerprint."""
        return {
            "checkpoint": fingerprint(self.checkpoint, self.revision),
            "similarity": self.similarity,
            "max_length": self.max_length,
            "document_prefix": self.document_prefix,
            "pooling": "mean",
        }


class Encoder:
    """Texts to vectors: a transformer, mean pooling over its tokens, unit length for `cosine`.

    The weights are loaded at the first call of `encode`. Raises `ConfigError` where sentence-transformers
    is not installed, `EngineError` where the checkpoint cannot be loaded.
    """

    def __init__(self, settings: DenseSettings) -> None:
        self._settings = settings
        self._model: Any = None

    def encode(self, texts: Sequence[str]) -> Floats:
        """(len(texts), dimension) vectors in single precision."""
        if self._model is None:
            self._model = self._load()
        vectors = self._model.encode(
            list(texts),
            batch_size=self._settings.batch_size,
            convert_to_numpy=True,
            normalize_embeddings=self._settings.similarity == "cosine",
            show_progress_bar=False,
        )
        return np.asarray(vectors, dtype=np.float32)

    def _load(self) -> Any:
        library = require("sentence_transformers")
        modules = require("sentence_transformers.sentence_transformer.modules")
        settings = self._settings
        place = locate(settings.checkpoint)
        options: dict[str, Any] = {"revision": settings.revision} if settings.revision else {}
        transformer = load(
            settings.checkpoint,
            lambda: modules.Transformer(
                place,
                max_seq_length=settings.max_length,
                model_kwargs=dict(options),
                processor_kwargs=dict(options),
                config_kwargs=dict(options),
            ),
        )
        pooling = modules.Pooling(transformer.get_embedding_dimension(), "mean")
        return library.SentenceTransformer(modules=[transformer, pooling], device=settings.device)


class DenseIndex:
    """Embeddings of a corpus, to be searched. `note` says what became of those on disk."""

    def __init__(
        self,
        encoder: Encoder,
        documents: Sequence[str],
        shards: Sequence[Floats],
        settings: DenseSettings,
        note: str | None,
    ) -> None:
        self._encoder = encoder
        self._documents = documents
        self._shards = shards
        self._settings = settings
        self.note = note

    def search(self, queries: Mapping[str, str], depth: int) -> Run:
        """The `depth` nearest documents of each query; equal scores keep the order of the corpus."""
        vectors = self._encoder.encode([self._settings.query_prefix + text for text in queries.values()])
        found = zip(queries, self._nearest(vectors, min(depth, len(self._documents))), strict=True)
        return Run({query: hits_of(self._documents, scores, near) for query, (near, scores) in found})

    def _nearest(self, vectors: Floats, count: int) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        faiss = _faiss(self._settings.search)
        if faiss is not None:
            index = faiss.IndexFlatIP(vectors.shape[1])
            for shard in self._shards:
                index.add(np.ascontiguousarray(shard))
            scores, positions = index.search(vectors, count)
            for row, places in zip(scores, positions, strict=True):
                order = np.lexsort((places, -row))
                yield places[order], row[order]
            return
        for start in range(0, len(vectors), _QUERIES):
            yield from self._exact(vectors[start : start + _QUERIES], count)

    def _exact(self, vectors: Floats, count: int) -> Iterator[tuple[npt.NDArray[Any], npt.NDArray[Any]]]:
        """Search shard by shard, keeping the best of those seen."""
        best = [(np.empty(0, np.int64), np.empty(0, np.float32)) for _ in vectors]
        first = 0
        for shard in self._shards:
            for row, scores in enumerate(vectors @ shard.T):
                near = best_positions(scores, count)
                positions = np.concatenate([best[row][0], near + first])
                values = np.concatenate([best[row][1], scores[near]])
                order = best_positions(values, count)
                best[row] = positions[order], values[order]
            first += len(shard)
        yield from best


def open_dense_index(
    corpus: Corpus, settings: DenseSettings | None = None, folder: Path | None = None
) -> DenseIndex:
    """The embeddings of a corpus: those on disk if they are whole, else they are made and kept.

    Args:
        corpus: read through if it must be encoded.
        settings: default: see `DenseSettings`.
        folder: where embeddings are kept; default: the user's cache.

    Raises:
        ConfigError: a library is not installed, or the checkpoint is not where it is said to be.
        EngineError: the checkpoint cannot be loaded.
        DataError: embeddings cannot be written.
    """
    settings = settings or DenseSettings()
    require("sentence_transformers")
    facts = {"index": "dense", "corpus": corpus.digest, **settings.identity()}
    place = place_of("dense", facts, folder or cache_dir("indexes"))
    encoder = Encoder(settings)
    note = None
    if place.exists():
        fault = damage(place, facts)
        if fault is None:
            return _open(place, encoder, settings, None)
        note = f"the embeddings {place} were not used: {fault}; they have been made again"
    part = place.with_name(place.name + ".part")
    try:
        _encode(corpus, encoder, settings, part)
        finish(part, place, facts)
    except OSError as error:
        raise DataError(f"embeddings cannot be written to {part}: {error.strerror or error}") from None
    return _open(place, encoder, settings, note)


def _encode(corpus: Corpus, encoder: Encoder, settings: DenseSettings, part: Path) -> None:
    part.mkdir(parents=True, exist_ok=True)
    names: list[str] = []
    passages = corpus.passages()
    number = 0
    while chunk := list(islice(passages, SHARD)):
        names.extend(document for document, _ in chunk)
        path = part / f"shard-{number:05}.npy"
        if not _holds(path, len(chunk)):
            vectors = encoder.encode([settings.document_prefix + passage.full for _, passage in chunk])
            unfinished = part / f".{path.name}"
            with unfinished.open("wb") as file:
                np.save(file, vectors)
            unfinished.replace(path)
        number += 1
    (part / _DOCUMENTS).write_text(json.dumps(names), encoding="utf-8")


def _holds(path: Path, rows: int) -> bool:
    """True if an earlier, interrupted encoding left this shard whole."""
    try:
        return len(np.load(path, mmap_mode="r")) == rows
    except (OSError, ValueError, EOFError):
        return False


def _open(place: Path, encoder: Encoder, settings: DenseSettings, note: str | None) -> DenseIndex:
    documents = json.loads((place / _DOCUMENTS).read_bytes())
    shards = [np.load(path, mmap_mode="r") for path in sorted(place.glob("shard-*.npy"))]
    return DenseIndex(encoder, documents, shards, settings, note)


def _faiss(search: str) -> Any:
    if search == "exact":
        return None
    try:
        import faiss
    except ImportError:
        if search == "faiss":
            raise ConfigError(
                "search: faiss needs faiss, which is not installed; pip install faiss-cpu"
            ) from None
        return None
    return faiss
