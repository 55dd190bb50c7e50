"""Documents of a retrieval collection: in memory, or read from a JSONL file one by one as they are needed."""

from __future__ import annotations

import hashlib
import json
from abc import abstractmethod
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
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


class Corpus(Mapping[str, Passage]):
    """Passages by identifier, in a fixed order. `digest` names the content: indexes are kept under it."""

    @property
    @abstractmethod
    def digest(self) -> str:
        """Hash of every identifier, title and text, in order (hexadecimal)."""

    @property
    @abstractmethod
    def n_empty(self) -> int:
        """Documents with neither text nor title. They are kept: BM25 never finds them."""

    def passages(self) -> Iterator[tuple[str, Passage]]:
        """Identifiers and passages in order; the way to read all of a large corpus."""
        return iter(self.items())


class MemoryCorpus(Corpus):
    """A corpus that is small enough to be held whole."""

    def __init__(self, passages: Mapping[str, Passage]) -> None:
        self._passages = dict(passages)

    def __getitem__(self, document: str) -> Passage:
        return self._passages[document]

    def __iter__(self) -> Iterator[str]:
        return iter(self._passages)

    def __len__(self) -> int:
        return len(self._passages)

    @cached_property
    def digest(self) -> str:
        """See `Corpus.digest`."""
        return digest_of(self._passages.items())

    @cached_property
    def n_empty(self) -> int:
        """See `Corpus.n_empty`."""
        return sum(not passage.full for passage in self._passages.values())


class JsonlCorpus(Corpus):
    """BEIR's `corpus.jsonl`: `{"_id", "title"?, "text"}` a line, read from the disk when asked for.

    Identifiers and offsets are held in memory, texts are not. The file is read through once, at the first
    use. Raises `DataError` with file and line for a line that is no such object (a file that was cut in
    the middle ends in one) and for an identifier that comes twice.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_file():
            raise DataError(f"{path}: no such file")
        self.path = path

    def __getitem__(self, document: str) -> Passage:
        offset = self._scan.offsets[document]
        with self.path.open("rb") as file:
            file.seek(offset)
            return _passage(self.path, 0, file.readline().decode("utf-8-sig"))[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._scan.offsets)

    def __contains__(self, document: object) -> bool:
        return document in self._scan.offsets

    def __len__(self) -> int:
        return len(self._scan.offsets)

    def passages(self) -> Iterator[tuple[str, Passage]]:
        """See `Corpus.passages`; one pass over the file."""
        assert self._scan.offsets  # every line is checked before the first one is given
        for number, line in numbered_lines(self.path):
            yield _passage(self.path, number, line)

    @cached_property
    def _scan(self) -> _Scan:
        offsets: dict[str, int] = {}
        digest = hashlib.sha256()
        offset = empty = 0
        with self.path.open("rb") as file:
            for number, raw in enumerate(file, 1):
                digest.update(raw)
                if raw.strip():
                    document, passage = _passage(self.path, number, _decoded(self.path, number, raw))
                    if document in offsets:
                        refuse(self.path, number, f"document {document!r} comes twice")
                    offsets[document] = offset
                    empty += not passage.full
                offset += len(raw)
        if not offsets:
            raise DataError(f"{self.path}: no documents in this corpus file")
        return _Scan(offsets, digest.hexdigest(), empty)

    @property
    def digest(self) -> str:
        """SHA-256 of the file."""
        return self._scan.digest

    @property
    def n_empty(self) -> int:
        """See `Corpus.n_empty`."""
        return self._scan.n_empty


@dataclass(frozen=True, slots=True)
class _Scan:
    """What one pass over a corpus file finds out: where each document's line starts, and the hash."""

    offsets: dict[str, int]
    digest: str
    n_empty: int


def is_corpus_file(path: Path) -> bool:
    """Whether `read_corpus` reads files of this name."""
    return _kind(path) in {".jsonl", ".tsv"}


def _kind(path: Path) -> str:
    return Path(path.name.removesuffix(".gz")).suffix


def read_corpus(path: Path) -> Corpus:
    """A corpus file: `.jsonl` (BEIR), or `.tsv` with `identifier<TAB>text`; either may be gzipped."""
    kind = _kind(path)
    if kind == ".jsonl" and path.suffix != ".gz":
        return JsonlCorpus(path)
    if not is_corpus_file(path):
        raise DataError(f"{path}: a corpus is a .jsonl or .tsv file (or .gz of one)")
    passages: dict[str, Passage] = {}
    for number, line in numbered_lines(path):
        if kind == ".jsonl":
            document, passage = _passage(path, number, line)
        else:
            document, tab, text = line.partition("\t")
            if not tab or not document:
                refuse(path, number, "a corpus line is `identifier<TAB>text`")
            passage = Passage(text)
        if document in passages:
            refuse(path, number, f"document {document!r} comes twice")
        passages[document] = passage
    if not passages:
        raise DataError(f"{path}: no documents in this corpus file")
    return MemoryCorpus(passages)


def digest_of(items: Iterable[tuple[str, Passage]]) -> str:
    """Hash of `(identifier, Passage)` pairs, in order."""
    digest = hashlib.sha256()
    for document, passage in items:
        digest.update(json.dumps([document, passage.title, passage.text]).encode())
    return digest.hexdigest()


def _decoded(path: Path, number: int, raw: bytes) -> str:
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        refuse(path, number, f"not UTF-8 text ({error.reason})")


def _passage(path: Path, number: int, line: str) -> tuple[str, Passage]:
    try:
        row = json.loads(line)
    except ValueError:
        row = None
    if not isinstance(row, dict):
        refuse(path, number, "not a JSON object, the file may have been cut here", "fetch it again")
    document, title, text = row.get("_id"), row.get("title") or "", row.get("text")
    if not isinstance(document, str) or not isinstance(title, str) or not isinstance(text, str):
        refuse(path, number, 'a document is {"_id": text, "title": text (optional), "text": text}')
    return document, Passage(text, title)
