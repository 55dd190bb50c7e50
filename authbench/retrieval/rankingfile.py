"""Ranking files that carry their texts: a first stage and its documents in one JSON file.

`[{"query": text, "hits": [{"content", "qid", "docid", "rank", "score"}, ...]}, ...]`, the form in which
RankGPT and rank_llm publish retrieval results.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from authbench.errors import DataError
from authbench.retrieval.passages import Passage
from authbench.retrieval.runfile import Duplicates, Run, order_rows


@dataclass(frozen=True, slots=True)
class RankingFile:
    """A first stage with texts.

    Attributes:
        run: see `Run`; ties are kept in the order of their ranks.
        queries: query text by identifier. A query without hits has no identifier, and so is not here.
        passages: the texts by document identifier.
        n_unnamed: queries without hits, which the form cannot name.
    """

    run: Run
    queries: Mapping[str, str]
    passages: Mapping[str, Passage]
    n_unnamed: int = 0


def read_ranking_file(path: Path, duplicates: Duplicates = "refuse") -> RankingFile:
    """Read a ranking file with texts.

    Raises `DataError` that names the file, the query and the hit (both counted from 1) for a file that
    was cut, a hit without the five fields, two texts of one document, or a query that comes twice.
    """
    rows: dict[str, list[tuple[float, int, int, str]]] = {}
    queries: dict[str, str] = {}
    passages: dict[str, Passage] = {}
    entries = _entries(path)
    unnamed = 0
    for place, entry in enumerate(entries, 1):
        hits = entry.get("hits") if isinstance(entry, dict) else None
        if not isinstance(hits, list) or not isinstance(entry.get("query"), str):
            _refuse(path, place, 0, 'an entry is {"query": text, "hits": list}')
        if not hits:
            unnamed += 1
            continue
        name = None
        for number, hit in enumerate(hits, 1):
            query, document, score, rank, text = _hit(path, place, number, hit)
            if name is None:
                name = query
                if name in rows:
                    _refuse(path, place, number, f"query {name!r} comes twice")
                rows[name], queries[name] = [], entry["query"]
            elif query != name:
                _refuse(path, place, number, f"'qid' is {query!r}, that of the first hit {name!r}")
            if passages.setdefault(document, Passage(text)).text != text:
                _refuse(path, place, number, f"document {document!r} has two different texts")
            rows[name].append((score, rank, 0, document))
    if not rows:
        raise DataError(f"{path}: no results in this ranking file")
    return RankingFile(order_rows(path, rows, duplicates), queries, passages, unnamed)


def _entries(path: Path) -> list[Any]:
    try:
        entries = json.loads(path.read_bytes())
    except FileNotFoundError:
        raise DataError(f"{path}: no such file") from None
    except json.JSONDecodeError as error:
        raise DataError(
            f"{path}:{error.lineno}: not JSON ({error.msg}), the file may have been cut here; fetch it again"
        ) from None
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 text ({error.reason})") from None
    if not isinstance(entries, list):
        raise DataError(f"{path}: a ranking file is a list of queries with hits")
    return entries


def _hit(path: Path, place: int, number: int, hit: Any) -> tuple[str, str, float, int, str]:
    fields = ("qid", "docid", "score", "rank", "content")
    lacking = [name for name in fields if not isinstance(hit, dict) or name not in hit]
    if lacking:
        _refuse(path, place, number, f"no field {lacking[0]!r}")
    query, document, score, rank, text = (hit[name] for name in fields)
    if not isinstance(text, str):
        _refuse(path, place, number, "'content' is not a text")
    if isinstance(score, bool) or not isinstance(score, int | float) or not math.isfinite(score):
        _refuse(path, place, number, f"score {score!r} is not a finite number")
    if isinstance(rank, bool) or not isinstance(rank, int):
        _refuse(path, place, number, f"rank {rank!r} is not a whole number")
    return str(query), str(document), float(score), rank, text


def _refuse(path: Path, place: int, number: int, what: str) -> NoReturn:
    where = f"query {place}" + (f", hit {number}" if number else "")
    raise DataError(f"{path}: {where}: {what}")
