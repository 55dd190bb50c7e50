"""Finding a test collection: a path of the user's own, the catalogue's files, or ir_datasets."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from authbench.data.catalog import catalog
from authbench.data.fetch import Places, fetch, local, own_file
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
    corpus, runs = (
        entry.select("corpus"),
        entry.select("run", **({"retriever": retriever} if retriever else {})),
    )
    # The catalogue's files will do if they can be had, and there is a corpus or the right ranking.
    if name in NAMES and not (local(corpus[0], places) or corpus[0].url if corpus else runs):
        return from_ir_datasets(name)
    if not (corpus or runs):
        known = ", ".join(str(spec.retriever) for spec in entry.select("run"))
        raise ConfigError(f"{name} has no ranking file of retriever '{retriever}'; it has: {known}")
    (topics, *_), (judgements, *_) = entry.select("topics"), entry.select("qrels")
    specs = (corpus[0], topics, judgements) if corpus else (runs[0], judgements)
    records = tuple(fetch(entry, spec, places) for spec in specs)
    files = [record.location for record in records]
    if not corpus:
        made = from_ranking_file(name, *files)
    else:
        made = from_cranfield(*files) if name == "cranfield" else from_files(name, *files)
    return replace(made, records=records)


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
