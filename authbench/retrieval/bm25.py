"""BM25 through bm25s: Lucene's formula, k1 0.9 and b 0.4, Snowball's English stemmer, English stop words.

The index covers title and text and is kept on disk under a hash of the corpus and the settings: an index
of another corpus is never used, a damaged one is built again.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from authbench.errors import ConfigError, DataError, did_you_mean
from authbench.paths import cache_dir
from authbench.retrieval.corpora import Corpus
from authbench.retrieval.indexfolder import damage, keep, place_of
from authbench.retrieval.runfile import Hit, Run
from authbench.retrieval.topk import best_positions, hits_of

#: The variants of the formula that bm25s has (Kamphuis et al. 2020).
METHODS = ("lucene", "robertson", "atire", "bm25l", "bm25+")

_DOCUMENTS = "documents.json"


@dataclass(frozen=True, slots=True)
class Bm25Settings:
    """How documents and queries are analysed and scored.

    Attributes:
        k1: saturation of term frequency; 0.9, as Anserini's and BEIR's baselines have it.
        b: length normalisation, 0.4, likewise.
        method: the variant of the formula, one of `METHODS`.
        stemmer: a Snowball language, or None for no stemming.
        stop_words: a list of bm25s, `english` or `english_plus`, or None for none.
    """

    k1: float = 0.9
    b: float = 0.4
    method: str = "lucene"
    stemmer: str | None = "english"
    stop_words: str | None = "english"


class Bm25Index:
    """An index to be searched. `note` says what became of the one on disk, where that is worth saying."""

    def __init__(
        self, retriever: Any, documents: Sequence[str], settings: Bm25Settings, note: str | None
    ) -> None:
        self._retriever = retriever
        self._documents = documents
        self._settings = settings
        self.note = note

    def search(self, queries: Mapping[str, str], depth: int) -> Run:
        """The `depth` best documents of each query, only those that share a term with it.

        Equal scores keep the order of the corpus. A query that matches nothing has an empty ranking.
        """
        rankings: dict[str, tuple[Hit, ...]] = {}
        for query, tokens in zip(queries, _tokens(list(queries.values()), self._settings), strict=True):
            rankings[query] = ()
            if tokens:
                scores = self._retriever.get_scores(tokens)
                best = best_positions(scores, depth)
                best = best[scores[best] > 0]
                rankings[query] = hits_of(self._documents, scores[best], best)
        return Run(rankings)


def open_index(corpus: Corpus, settings: Bm25Settings | None = None, folder: Path | None = None) -> Bm25Index:
    """The index of a corpus: the one on disk if it is whole, else a new one, which is kept.

    Args:
        corpus: read through once if the index must be built.
        settings: default: see `Bm25Settings`.
        folder: where indexes are kept; default: the user's cache.

    Raises:
        ConfigError: bm25s or PyStemmer is not installed, or does not know a method or a language.
        DataError: the corpus has no words.
    """
    try:
        import bm25s
        import Stemmer
    except ImportError as error:
        raise ConfigError(
            f"BM25 needs {error.name}, which is not installed; pip install 'authbench[retrieval]'"
        ) from None
    settings = settings or Bm25Settings()
    _check(settings)
    versions = {"bm25s": bm25s.__version__, "PyStemmer": Stemmer.version()}
    facts = {"index": "bm25", "corpus": corpus.digest, **asdict(settings), **versions}
    place = place_of("bm25", facts, folder or cache_dir("indexes"))
    note = None
    if place.exists():
        fault = damage(place, facts)
        if fault is None:
            documents = json.loads((place / _DOCUMENTS).read_bytes())
            return Bm25Index(bm25s.BM25.load(place, show_progress=False), documents, settings, None)
        note = f"the BM25 index {place} was not used: {fault}; it has been built again"
    documents = list(corpus)
    tokens = _tokens([passage.full for _, passage in corpus.passages()], settings)
    if not any(tokens):
        raise DataError("no document of the corpus has a word to index")
    retriever = bm25s.BM25(k1=settings.k1, b=settings.b, method=settings.method, backend="numpy")
    retriever.index(tokens, show_progress=False)

    def fill(part: Path) -> None:
        retriever.save(part, show_progress=False)
        (part / _DOCUMENTS).write_text(json.dumps(documents), encoding="utf-8")

    fault = keep(place, facts, fill)
    if fault is not None:
        note = f"the BM25 index could not be kept in {place}: {fault}; the next run builds it again"
    return Bm25Index(retriever, documents, settings, note)


def _tokens(texts: list[str], settings: Bm25Settings) -> list[list[str]]:
    import bm25s
    import Stemmer

    tokens: list[list[str]] = bm25s.tokenize(
        texts,
        stopwords=settings.stop_words,
        stemmer=Stemmer.Stemmer(settings.stemmer) if settings.stemmer else None,
        return_ids=False,
        show_progress=False,
    )
    # bm25s marks a text without tokens by an empty one, which would match every other such text.
    return [[token for token in row if token] for row in tokens]


def _check(settings: Bm25Settings) -> None:
    import Stemmer

    if settings.stemmer is not None and settings.stemmer not in Stemmer.algorithms():
        known = ", ".join(Stemmer.algorithms())
        raise ConfigError(f"stemmer '{settings.stemmer}' is no Snowball language; known: {known}")
    if settings.method not in METHODS:
        hint = did_you_mean(settings.method, METHODS)
        raise ConfigError(f"BM25 method '{settings.method}' is not one of {', '.join(METHODS)}{hint}")
    try:
        _tokens(["a"], settings)
    except ValueError as error:
        raise ConfigError(f"stop words '{settings.stop_words}': {error}") from None
