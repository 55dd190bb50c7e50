"""Queries of a test collection, from the forms in which they are published."""

from __future__ import annotations

import json
from pathlib import Path

from authbench.errors import DataError
from authbench.retrieval.textfiles import numbered_lines, refuse


def read_queries(path: Path) -> dict[str, str]:
    """Queries by identifier, in file order: `.jsonl` with `_id` and `text` (BEIR), else `id<TAB>text`.

    Either may be gzipped. Raises `DataError` with file and line for a malformed line, an empty query, and
    an identifier that comes twice.
    """
    as_json = path.name.removesuffix(".gz").endswith(".jsonl")
    queries: dict[str, str] = {}
    for number, line in numbered_lines(path):
        query, text = _json_query(path, number, line) if as_json else _tab_query(path, number, line)
        if not text.strip():
            refuse(path, number, f"query {query!r} is empty")
        if query in queries:
            refuse(path, number, f"query {query!r} comes twice")
        queries[query] = text
    if not queries:
        raise DataError(f"{path}: no queries in this file")
    return queries


def _json_query(path: Path, number: int, line: str) -> tuple[str, str]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict) or not isinstance(row.get("text"), str) or "_id" not in row:
        refuse(path, number, 'a query is {"_id": text, "text": text}; the file may have been cut here')
    return str(row["_id"]), row["text"]


def _tab_query(path: Path, number: int, line: str) -> tuple[str, str]:
    query, tab, text = line.partition("\t")
    if not tab or not query:
        refuse(path, number, "a query line is `identifier<TAB>text`")
    return query, text
