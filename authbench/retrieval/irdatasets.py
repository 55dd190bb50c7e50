"""Collections by name through ir_datasets: all of BEIR, the TREC Deep Learning tracks, and more."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import cached_property
from typing import Any

from authbench.errors import ConfigError, DataError, did_you_mean
from authbench.retrieval.collections import Collection
from authbench.retrieval.corpora import Corpus
from authbench.retrieval.texts import Passage

#: Short names, and the identifiers that ir_datasets has for the test queries.
NAMES: Mapping[str, str] = {
    "arguana": "beir/arguana",
    "climate-fever": "beir/climate-fever",
    "dbpedia-entity": "beir/dbpedia-entity/test",
    "fever": "beir/fever/test",
    "fiqa": "beir/fiqa/test",
    "hotpotqa": "beir/hotpotqa/test",
    "nfcorpus": "beir/nfcorpus/test",
    "nq": "beir/nq",
    "quora": "beir/quora/test",
    "scidocs": "beir/scidocs",
    "scifact": "beir/scifact/test",
    "trec-covid": "beir/trec-covid",
    "trec-dl-2019": "msmarco-passage/trec-dl-2019/judged",
    "trec-dl-2020": "msmarco-passage/trec-dl-2020/judged",
    "webis-touche2020": "beir/webis-touche2020/v2",
}


class IrDatasetsCorpus(Corpus):
    """The documents of an ir_datasets collection, looked up one by one in its store."""

    def __init__(self, source: Any) -> None:
        self._source = source

    def __getitem__(self, document: str) -> Passage:
        return _passage(self._store.get(document))  # raises KeyError for an unknown identifier

    def __contains__(self, document: object) -> bool:
        try:
            self._store.get(document)
        except KeyError:
            return False
        return True

    def __iter__(self) -> Iterator[str]:
        return (document for document, _ in self.passages())

    def __len__(self) -> int:
        return int(self._source.docs_count())

    def passages(self) -> Iterator[tuple[str, Passage]]:
        """See `Corpus.passages`."""
        return ((str(row.doc_id), _passage(row)) for row in self._source.docs_iter())

    @cached_property
    def _store(self) -> Any:
        return self._source.docs_store()


def from_ir_datasets(name: str) -> Collection:
    """A collection that ir_datasets knows, by a short name of `NAMES` or its own identifier.

    ir_datasets fetches what it needs into its own folder when it is read. Raises `ConfigError` if it is
    not installed or does not know the name, `DataError` if its files cannot be had.
    """
    try:
        import ir_datasets
    except ImportError:
        raise ConfigError(
            f"the collection '{name}' comes through ir_datasets, which is not installed; "
            "pip install 'authbench[collections]'"
        ) from None
    identifier = NAMES.get(name, name)
    try:
        source = ir_datasets.load(identifier)
    except KeyError:
        known = [*NAMES, *ir_datasets.registry]
        raise ConfigError(f"no collection is called '{name}'{did_you_mean(name, known)}") from None
    lacking = [part for part in ("docs", "queries", "qrels") if not getattr(source, f"has_{part}")()]
    if lacking:
        raise ConfigError(f"the collection '{name}' ({identifier}) has no {' and no '.join(lacking)}")
    try:
        queries = {str(row.query_id): _text(row) for row in source.queries_iter()}
        qrels: dict[str, dict[str, int]] = {}
        for row in source.qrels_iter():
            qrels.setdefault(str(row.query_id), {})[str(row.doc_id)] = int(row.relevance)
    except (OSError, RuntimeError) as error:
        raise DataError(
            f"the collection '{name}' ({identifier}) could not be fetched: {error}\n"
            "give its folder with dataset.path, or put it into a mirror"
        ) from None
    return Collection(name, IrDatasetsCorpus(source), queries, qrels)


def _passage(row: Any) -> Passage:
    return Passage(_text(row), str(getattr(row, "title", "") or ""))


def _text(row: Any) -> str:
    return str(row.text) if hasattr(row, "text") else str(row.default_text())
