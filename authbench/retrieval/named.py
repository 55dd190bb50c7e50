"""Finding a test collection: a path of the user's own, the catalogue's files, or ir_datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from authbench.data.catalog import Dataset, catalog
from authbench.data.fetch import FileRecord, Places, fetch, local, own_file
from authbench.errors import ConfigError, DataError, did_you_mean
from authbench.retrieval.collections import Collection, beir_folder, from_files, from_ranking_file
from authbench.retrieval.corpora import is_corpus_file
from authbench.retrieval.cranfield import from_cranfield
from authbench.retrieval.irdatasets import NAMES, from_ir_datasets


def load_collection(
    name: str,
    *,
    retriever: str | None = None,
    path: Path | None = None,
    queries: Path | None = None,
    qrels: Path | None = None,
    split: str = "test",
    places: Places | None = None,
) -> Collection:
    """A collection by name or path.

    Args:
        name: of the catalogue, of `irdatasets.NAMES`, or any identifier of ir_datasets. With `path` it is
            only what the collection is called.
        retriever: which ranking file to take where the catalogue has several of a collection that comes
            without its corpus; None takes the first. A retriever without one gets the whole corpus,
            through ir_datasets.
        path: a folder in BEIR's layout, a ranking file with texts (`.json`, which needs `qrels`), or a
            corpus file (which needs `queries` and `qrels`).
        queries: the queries for a corpus file.
        qrels: the judgements for a ranking file or a corpus file.
        split: of a BEIR folder.
        places: where files of the catalogue are looked for; default: as the environment says.

    Raises:
        ConfigError: an unknown name; a file that `path` needs is not named, or one that it has no use for is.
        DataError: files that are missing, damaged or not to be had.
    """
    if path is not None:
        made = _own(name, path, queries, qrels, split)
        return replace(made, records=tuple(own_file(file) for file in made.files))
    entry = catalog().get(name)
    if entry is None:
        if name not in NAMES and find_spec("ir_datasets") is None:
            names = [*NAMES, *(each.name for each in catalog().values() if each.kind == "retrieval")]
            raise ConfigError(
                f"no collection is called '{name}'{did_you_mean(name, names)}\n"
                "ir_datasets, which is not installed, may know it; or give its folder with dataset.path"
            )
        return from_ir_datasets(name)
    if entry.kind != "retrieval":
        raise ConfigError(f"'{name}' is no retrieval collection; `authbench list datasets` shows the kinds")
    places = places or Places.from_environment()
    if name in NAMES and not _within_reach(entry, retriever, places):
        return from_ir_datasets(name)
    if entry.select("corpus"):
        records = [_one(entry, role, places) for role in ("corpus", "topics", "qrels")]
        made = _from_three(name, *(record.location for record in records))
    else:
        runs = entry.select("run") if retriever is None else entry.select("run", retriever=retriever)
        if not runs:
            known = ", ".join(str(spec.retriever) for spec in entry.select("run"))
            raise ConfigError(f"{name} has no ranking file of retriever '{retriever}'; it has: {known}")
        records = [fetch(entry, runs[0], places), _one(entry, "qrels", places)]
        made = from_ranking_file(name, *(record.location for record in records))
    return replace(made, records=tuple(records))


def _from_three(name: str, corpus: Path, topics: Path, qrels: Path) -> Collection:
    if name == "cranfield":
        return from_cranfield(corpus, topics, qrels)
    return from_files(name, corpus, topics, qrels)


def _within_reach(entry: Dataset, retriever: str | None, places: Places) -> bool:
    """Whether the catalogue's files will do: they can be had, and there is a corpus or the right ranking."""
    corpus = entry.select("corpus")
    if corpus:
        return local(corpus[0], places) is not None or corpus[0].url is not None
    return bool(entry.select("run") if retriever is None else entry.select("run", retriever=retriever))


def _own(name: str, path: Path, queries: Path | None, qrels: Path | None, split: str) -> Collection:
    if not path.exists():
        raise DataError(f"{path}: no such file or folder")
    given = {"queries": queries, "qrels": qrels}
    if path.is_dir():
        _only(path, "a folder in BEIR's layout has its own", given, ())
        return beir_folder(path, split, name)
    if path.suffix == ".json":
        _only(path, "a ranking file has its own", given, ("qrels",))
        if qrels is None:
            raise ConfigError(f"{path}: a ranking file needs judgements; name them with dataset.qrels")
        return from_ranking_file(name, path, qrels)
    if not is_corpus_file(path):
        raise DataError(
            f"{path}: a collection is a folder in BEIR's layout, a ranking file (.json) or "
            "a corpus file (.jsonl or .tsv, or .gz of one)"
        )
    if queries is None or qrels is None:
        lacking = " and ".join(f"dataset.{key}" for key, value in given.items() if value is None)
        raise ConfigError(f"{path}: a corpus file needs queries and judgements; name {lacking}")
    return from_files(name, path, queries, qrels)


def _only(path: Path, why: str, given: Mapping[str, Path | None], used: Sequence[str]) -> None:
    """Refuse a file that was named and would not be read."""
    for key, value in given.items():
        if value is not None and key not in used:
            raise ConfigError(f"dataset.{key} {value}: {why} ({path}); leave it out")


def _one(entry: Dataset, role: str, places: Places) -> FileRecord:
    specs = entry.select(role)
    if not specs:
        raise DataError(f"the catalogue has no {role} file of {entry.name}")
    return fetch(entry, specs[0], places)
