"""What LCR reranks: a test collection and the ranking of its first stage."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from authbench.data.digests import digest
from authbench.errors import ConfigError, DataError
from authbench.reranking.common import Candidate
from authbench.retrieval.collections import Collection, drop_own_documents, fit_run
from authbench.retrieval.named import load_collection
from authbench.retrieval.runfile import Run, read_run
from authbench.tasks.base import DataUse
from authbench.tasks.lcr.settings import Bm25Options, DenseOptions, LcrDataset

#: First stages that are made here; others come from a ranking file or a run file.
DENSE = ("contriever", "dense")

#: Relevant grades of a query that are kept for the ideal ranking: more than any cutoff in use.
_IDEAL = 100


@dataclass(frozen=True)
class FirstStage:
    """A collection and a ranking of it.

    Attributes:
        run: at most `LcrDataset.retrieved` documents a query.
        notes: what does not fit together, a phrase each.
        run_file: a TREC run that was named, or None.
    """

    collection: Collection
    run: Run
    notes: tuple[str, ...]
    run_file: Path | None = None

    @property
    def queries(self) -> dict[str, str]:
        """Text of each judged query; measures are taken over these, so only they are asked."""
        return {query: self.collection.queries[query] for query in self.collection.judged}

    def candidates(self, query: str, depth: int) -> list[Candidate]:
        """The first documents of a query, with their titles and texts; fewer where there are fewer."""
        documents = self.collection.documents
        return [Candidate(name, documents[name].full) for name in self.run.documents(query, depth)]

    def gold(self, query: str, depth: int) -> dict[str, Any]:
        """What measures need of a query.

        `documents`: the first of the ranking; `grades`: theirs, None where nobody judged them; `relevant`:
        grades above 0 of all judged documents, the highest first (at most 100).
        """
        judged = self.collection.judged[query]
        documents = list(self.run.documents(query, depth))
        relevant = sorted((grade for grade in judged.values() if grade > 0), reverse=True)
        return {
            "documents": documents,
            "grades": [judged.get(name) for name in documents],
            "relevant": relevant[:_IDEAL],
        }

    def use(self) -> DataUse:
        """The files with hashes, and the notes."""
        files: list[Mapping[str, Any]] = [record.to_dict() for record in self.collection.records]
        if self.run_file is not None:
            sha256, size = digest(self.run_file)
            files.append({"path": self.run_file.name, "sha256": sha256, "size": size, "where": "own"})
        return DataUse(files=files, notes=self.notes)


def first_stage(dataset: LcrDataset) -> FirstStage:
    """Load a collection and rank it.

    The ranking is, in this order: the run file that is named; the one that comes with the collection; our
    own BM25 or dense index of the corpus, from the user's cache or made now.

    Raises:
        ConfigError: an unknown collection or retriever, or a library that is not installed.
        DataError: files that are missing, damaged or do not belong together.
    """
    path = Path(dataset.path) if dataset.path is not None else None
    qrels = Path(dataset.qrels) if dataset.qrels is not None else None
    queries = Path(dataset.queries) if dataset.queries is not None else None
    collection = load_collection(
        dataset.name,
        retriever=dataset.retriever,
        path=path,
        queries=queries,
        qrels=qrels,
        split=dataset.split,
    )
    if not collection.judged:
        raise DataError(
            f"{dataset.name}: none of its {len(collection.queries)} queries is judged; "
            "do the judgements belong to another collection?"
        )
    run_file = Path(dataset.run) if dataset.run is not None else None
    run, notes = _rank(dataset, collection, run_file)
    depth = max(dataset.retrieved, dataset.depth)
    return FirstStage(collection, run.cut(depth), (*collection.notes, *notes), run_file)


def _rank(dataset: LcrDataset, collection: Collection, run_file: Path | None) -> tuple[Run, tuple[str, ...]]:
    """The ranking, and what is to be said of it."""
    if run_file is not None:
        run, notes = fit_run(read_run(run_file), collection, run_file)
        return run, (*notes, *_unused(dataset, f"the run {run_file.name}"))
    if collection.run is not None:
        run, dropped = drop_own_documents(collection.run, collection)
        notes = (f"{dropped} results that are the query itself (dropped)",) if dropped else ()
        return run, (*notes, *_unused(dataset, "the ranking that comes with the collection"))
    queries = {query: collection.queries[query] for query in collection.judged}
    found, note = _search(dataset, collection, queries)
    run, dropped = drop_own_documents(found, collection)
    counts = {
        "judged queries without results (they count 0)": sum(
            not run.rankings.get(query) for query in queries
        ),
        "results that are the query itself (dropped)": dropped,
    }
    counted = tuple(f"{count} {what}" for what, count in counts.items() if count)
    return run, (*((note,) if note else ()), *counted)


def _misnamed(dataset: LcrDataset) -> str | None:
    """A note where tables would call another encoder by the name of the paper's."""
    checkpoint = dataset.dense.checkpoint
    if dataset.retriever != "contriever" or "contriever" in checkpoint.lower():
        return None
    return (
        f"the first stage is called contriever and is {checkpoint}; dataset.retriever=dense names it better"
    )


def _unused(dataset: LcrDataset, source: str) -> tuple[str, ...]:
    """A note where settings of an index were given, and the ranking is not made by one."""
    changed = {
        "bm25": dataset.retriever == "bm25" and dataset.bm25 != Bm25Options(),
        "dense": dataset.retriever in DENSE and dataset.dense != DenseOptions(),
    }
    return tuple(
        f"dataset.{name} changes nothing: the first stage is {source}"
        for name, is_so in changed.items()
        if is_so
    )


def _search(
    dataset: LcrDataset, collection: Collection, queries: Mapping[str, str]
) -> tuple[Run, str | None]:
    depth = max(dataset.retrieved, dataset.depth) + 1  # one result more, for it may be the query itself
    if dataset.retriever == "bm25":
        from authbench.retrieval.bm25 import Bm25Settings, open_index

        index = open_index(collection.documents, Bm25Settings(**dataset.bm25.model_dump()))
        return index.search(queries, depth), index.note
    if dataset.retriever in DENSE:
        from authbench.retrieval.dense import DenseSettings, open_dense_index

        dense = open_dense_index(collection.documents, DenseSettings(**dataset.dense.model_dump()))
        notes = [note for note in (dense.note, _misnamed(dataset)) if note is not None]
        return dense.search(queries, depth), "; ".join(notes) or None
    raise ConfigError(
        f"dataset.retriever '{dataset.retriever}': {collection.name} has no ranking file of it; "
        "use bm25 or contriever, or name a TREC run with dataset.run"
    )
