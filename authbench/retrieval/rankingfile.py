"""Ranking files that carry their texts: a first stage and its documents in one JSON file.

`[{"query": text, "hits": [{"content", "qid", "docid", "rank", "score"}, ...]}, ...]`, the form in which
RankGPT and rank_llm publish retrieval results.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from pydantic import BaseModel, FiniteFloat, TypeAdapter, ValidationError

from authbench.errors import DataError
from authbench.retrieval.runfile import Run, ordered_run
from authbench.retrieval.texts import Passage


class _Hit(BaseModel):
    qid: str | int
    docid: str | int
    score: FiniteFloat
    content: str


class _Entry(BaseModel):
    query: str
    hits: list[_Hit]


@dataclass(frozen=True, slots=True)
class RankingFile:
    """A first stage with texts.

    Attributes:
        run: see `Run`.
        queries: query text by identifier. A query without hits has no identifier, and so is not here.
        passages: the texts by document identifier.
        n_unnamed: queries without hits, which the form cannot name.
    """

    run: Run
    queries: Mapping[str, str]
    passages: Mapping[str, Passage]
    n_unnamed: int = 0


def read_ranking_file(path: Path) -> RankingFile:
    """Read a ranking file with texts.

    Raises `DataError` that names the file, the query and the hit (both counted from 1) for a file that was
    cut, a hit without its fields, two texts of one document, or a query or document that comes twice.
    """
    scores: dict[str, dict[str, float]] = {}
    queries: dict[str, str] = {}
    passages: dict[str, Passage] = {}
    entries = _entries(path)
    for place, entry in enumerate(entries, 1):
        if not entry.hits:
            continue
        query = str(entry.hits[0].qid)
        if query in scores:
            _refuse(path, f"query {place}", f"query {query!r} comes twice")
        scores[query], queries[query] = {}, entry.query
        for number, hit in enumerate(entry.hits, 1):
            document, where = str(hit.docid), f"query {place}, hit {number}"
            if str(hit.qid) != query:
                _refuse(path, where, f"'qid' is {str(hit.qid)!r}, that of the first hit {query!r}")
            if document in scores[query]:
                _refuse(path, where, f"document {document!r} comes twice for query {query!r}")
            if passages.setdefault(document, Passage(hit.content)).text != hit.content:
                _refuse(path, where, f"document {document!r} has two different texts")
            scores[query][document] = hit.score
    if not scores:
        raise DataError(f"{path}: no results in this ranking file")
    return RankingFile(ordered_run(scores), queries, passages, sum(not entry.hits for entry in entries))


def _entries(path: Path) -> list[_Entry]:
    try:
        return TypeAdapter(list[_Entry]).validate_json(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if first["type"] == "json_invalid":
            _refuse(path, first["msg"], "the file may have been cut here; fetch it again")
        if len(first["loc"]) < 2:
            _refuse(path, first["msg"], "a ranking file is a list of queries with hits")
        names = ("query", "hit")
        parts = [int(part) + 1 for part in first["loc"] if isinstance(part, int)]
        where = ", ".join(f"{name} {part}" for name, part in zip(names, parts, strict=False))
        field = next(
            part for part in reversed(first["loc"]) if part in (*_Hit.model_fields, *_Entry.model_fields)
        )
        _refuse(path, where, f"{field!r}: {first['msg']}")


def _refuse(path: Path, where: str, what: str) -> NoReturn:
    raise DataError(f"{path}: {where}: {what}")
