"""Texts with identifiers, as documents and queries are published: JSONL (BEIR), or `identifier<TAB>text`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from authbench.errors import DataError
from authbench.retrieval.textfiles import numbered_lines, refuse


@dataclass(frozen=True, slots=True)
class Passage:
    """A document: its text, and a title where the collection has one."""

    text: str
    title: str = ""

    @property
    def full(self) -> str:
        """Title and text joined by a space: what is indexed, encoded and shown to a reranker."""
        return f"{self.title} {self.text}".strip()


def form_of(path: Path) -> str:
    """The suffix that says how a file is read: `.jsonl` or another, `.gz` left aside."""
    return Path(path.name.removesuffix(".gz")).suffix


def read_texts(path: Path) -> Iterator[tuple[int, str, Passage]]:
    """Yield `(line, identifier, passage)`, distinct identifiers in file order; `.gz` is unpacked.

    A `.jsonl` file has `{"_id", "title", "text"}` a line (the identifier a text or a whole number, the title
    may be null or left out), any other `identifier<TAB>text`. Raises `DataError` with file and line for a
    line that is none, as the last one of a file that was cut, and for an identifier that comes twice.
    """
    parse = parse_json if form_of(path) == ".jsonl" else _parse_tabs
    seen: set[str] = set()
    for number, line in numbered_lines(path):
        name, passage = parse(path, number, line)
        if name in seen:
            refuse(path, number, f"{name!r} comes twice")
        seen.add(name)
        yield number, name, passage


def parse_json(path: Path, number: int, line: str) -> tuple[str, Passage]:
    """Identifier and passage of a line of JSONL; file and line number are for the error."""
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        refuse(path, number, "not a JSON object, the file may have been cut here", "fetch it again")
    name, title, text = row.get("_id"), row.get("title") or "", row.get("text")
    if not isinstance(name, str | int) or isinstance(name, bool) or name == "":
        refuse(path, number, '"_id" must be a text or a whole number')
    if not isinstance(title, str) or not isinstance(text, str):
        refuse(path, number, 'a line is {"_id": text, "title": text (optional), "text": text}')
    return str(name), Passage(text, title)


def _parse_tabs(path: Path, number: int, line: str) -> tuple[str, Passage]:
    name, tab, text = line.partition("\t")
    if not tab or not name:
        refuse(path, number, "a line is `identifier<TAB>text`")
    return name, Passage(text)


def read_queries(path: Path) -> dict[str, str]:
    """Queries by identifier, in file order. `DataError` as `read_texts`, and for an empty query."""
    queries: dict[str, str] = {}
    for number, query, passage in read_texts(path):
        if not passage.text.strip():
            refuse(path, number, f"query {query!r} is empty")
        queries[query] = passage.text
    if not queries:
        raise DataError(f"{path}: no queries in this file")
    return queries
