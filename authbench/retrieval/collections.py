"""Test collections: documents, queries and judgements, whatever form they come in.

Forms: a folder in BEIR's layout, single files of the user's own, and a ranking file that carries its
texts. `authbench.retrieval.named` finds collections by name.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from authbench.data.fetch import FileRecord
from authbench.errors import DataError
from authbench.retrieval.corpora import Corpus, MemoryCorpus, read_corpus
from authbench.retrieval.rankingfile import read_ranking_file
from authbench.retrieval.runfile import Qrels, Run, read_qrels
from authbench.retrieval.texts import read_queries

#: Collections whose queries are documents of the corpus, so that each would find itself first (see BEIR).
QUERIES_ARE_DOCUMENTS = frozenset({"arguana", "quora"})


@dataclass(frozen=True)
class Collection:
    """A test collection.

    Attributes:
        name: as it was asked for.
        documents: passages by identifier; texts may be read lazily.
        queries: text by identifier. Only these are run.
        qrels: grades by document by query, as the file has them.
        files: the files it was read from; empty for `ir_datasets`.
        run: the first stage that came with the texts, or None.
        n_unnamed: queries of a ranking file that have no hits, and so no identifier.
        records: the files with their hashes, for provenance; filled in by `load_collection`.
    """

    name: str
    documents: Corpus
    queries: Mapping[str, str]
    qrels: Qrels
    files: tuple[Path, ...] = ()
    run: Run | None = None
    n_unnamed: int = 0
    records: tuple[FileRecord, ...] = ()

    @cached_property
    def judged(self) -> dict[str, dict[str, int]]:
        """The judgements of the queries that exist: what measures are taken over.

        Documents that the corpus lacks stay in: they count in the ideal ranking, as in trec_eval.
        """
        return {query: dict(self.qrels[query]) for query in self.queries if self.qrels.get(query)}

    def is_own(self, query: str, document: str) -> bool:
        """Whether a document is the query itself, and so is left out of its results.

        It has the query's identifier, and either the collection is one of `QUERIES_ARE_DOCUMENTS` or the two
        texts are the same. Identifiers alone say nothing: many collections number both from 1.
        """
        if document != query or document not in self.documents:
            return False
        if not QUERIES_ARE_DOCUMENTS.isdisjoint(self.name.lower().split("/")):
            return True
        passage = self.documents[document]
        return " ".join(self.queries[query].split()) in (
            " ".join(text.split()) for text in (passage.text, passage.full)
        )

    @cached_property
    def notes(self) -> tuple[str, ...]:
        """What does not fit together, a phrase each; nothing where all is well.

        Reads through a corpus that is read lazily.
        """
        relevant = {doc for row in self.judged.values() for doc, grade in row.items() if grade > 0}
        counts = {
            "judged queries that have no text (left out)": sum(q not in self.queries for q in self.qrels),
            "queries without judgements (left out of measures)": len(self.queries) - len(self.judged),
            "relevant documents that the corpus lacks (they count in the ideal ranking)": (
                # A ranking file holds what was retrieved, not a corpus: there it says nothing.
                0 if self.run else sum(document not in self.documents for document in relevant)
            ),
            "documents without any text": self.documents.n_empty,
            "queries without results that the ranking file cannot name": self.n_unnamed,
        }
        own = tuple(f"{count} {what}" for what, count in counts.items() if count)
        return own + (self.run.notes if self.run else ())


def beir_folder(folder: Path, split: str = "test", name: str | None = None) -> Collection:
    """A folder in BEIR's layout.

    `corpus.jsonl[.gz]`; queries as `queries.SPLIT.tsv` or `queries.jsonl`; judgements as
    `qrels.SPLIT.trec` or `qrels/SPLIT.tsv`. Where the queries of all splits lie in one file, those that
    the split judges are taken. Raises `DataError` that names what is missing or damaged.
    """
    corpus = _first(folder, "corpus.jsonl", "corpus.jsonl.gz", "corpus.tsv")
    queries = _first(folder, f"queries.{split}.tsv", "queries.jsonl", "queries.jsonl.gz", "queries.tsv")
    qrels = _first(folder, f"qrels.{split}.trec", f"qrels/{split}.tsv", f"qrels/{split}.trec", "qrels.txt")
    collection = from_files(name or folder.name, corpus, queries, qrels)
    if queries.name == f"queries.{split}.tsv":
        return collection
    judged = {query: text for query, text in collection.queries.items() if query in collection.qrels}
    if not judged:
        raise DataError(f"{qrels}: judges none of the queries of {queries}; another split or collection?")
    return replace(collection, queries=judged)


def from_files(name: str, corpus: Path, queries: Path, qrels: Path) -> Collection:
    """A collection from single files: see `read_corpus`, `read_queries` and `read_qrels`."""
    files = (corpus, queries, qrels)
    return Collection(name, read_corpus(corpus), read_queries(queries), read_qrels(qrels), files)


def from_ranking_file(name: str, ranking: Path, qrels: Path) -> Collection:
    """A collection whose documents are those that a first stage retrieved; `run` is that stage."""
    found = read_ranking_file(ranking)
    documents = MemoryCorpus(found.passages)
    files = (ranking, qrels)
    return Collection(name, documents, found.queries, read_qrels(qrels), files, found.run, found.n_unnamed)


def drop_own_documents(run: Run, collection: Collection) -> tuple[Run, int]:
    """The run without results that are the query itself (`Collection.is_own`), and how many there were."""
    rankings = {
        query: tuple(hit for hit in hits if not collection.is_own(query, hit.document))
        for query, hits in run.rankings.items()
    }
    dropped = sum(map(len, run.rankings.values())) - sum(map(len, rankings.values()))
    return (replace(run, rankings=rankings) if dropped else run), dropped


def fit_run(run: Run, collection: Collection, path: Path) -> tuple[Run, tuple[str, ...]]:
    """A run file made fit for a collection, and notes on what was left out.

    Queries that the collection lacks are dropped and counted, and so are results that are the query itself.
    Raises `DataError` if no query is left, or if the corpus lacks a document of the run, since its text is
    needed.
    """
    kept = {query: hits for query, hits in run.rankings.items() if query in collection.queries}
    if not kept:
        raise DataError(
            f"{path}: none of its {len(run.rankings)} queries is in {collection.name}; another run file?"
        )
    for query, hits in kept.items():
        for hit in hits:
            if hit.document not in collection.documents:
                raise DataError(
                    f"{path}: document {hit.document!r} of query {query!r} is not in the corpus of "
                    f"{collection.name}; was the run made from another corpus?"
                )
    fitted, own = drop_own_documents(replace(run, rankings=kept), collection)
    counts = {
        f"queries of the run that {collection.name} lacks (dropped)": len(run.rankings) - len(kept),
        "judged queries without results (they count 0)": sum(not kept.get(q) for q in collection.judged),
        "results that are the query itself (dropped)": own,
    }
    return fitted, run.notes + tuple(f"{count} {what}" for what, count in counts.items() if count)


def _first(folder: Path, *names: str) -> Path:
    if not folder.is_dir():
        raise DataError(f"{folder}: no such folder")
    for name in names:
        if (folder / name).is_file():
            return folder / name
    raise DataError(f"{folder}: none of {', '.join(names)} is there; BEIR's layout is needed")
