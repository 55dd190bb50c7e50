"""Documents of a retrieval collection: in memory, or read from a JSONL file one by one as they are needed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from functools import cached_property
from pathlib import Path

from authbench.data.digests import digest
from authbench.errors import DataError
from authbench.retrieval.textfiles import refuse
from authbench.retrieval.texts import Passage, form_of, parse_json, read_texts


class Corpus(Mapping[str, Passage]):
    """Passages by identifier, in a fixed order."""

    def passages(self) -> Iterator[tuple[str, Passage]]:
        """Identifiers and passages in order; the way to read all of a large corpus."""
        return iter(self.items())

    @cached_property
    def digest(self) -> str:
        """Hash of the content and its order (hexadecimal), under which indexes are kept."""
        found = hashlib.sha256()
        for document, passage in self.passages():
            found.update(json.dumps([document, passage.title, passage.text]).encode())
        return found.hexdigest()

    @cached_property
    def n_empty(self) -> int:
        """Documents with neither text nor title. They are kept: BM25 never finds them."""
        return sum(not passage.full for _, passage in self.passages())


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


class JsonlCorpus(Corpus):
    """BEIR's `corpus.jsonl`, a line read from the disk when it is asked for.

    Identifiers and offsets are held in memory, texts are not. The file is read through, and so checked, when
    the corpus is made. Raises `DataError` as `read_texts`.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offsets: dict[str, int] = {}
        offset = 0
        try:
            with path.open("rb") as file:
                for number, raw in enumerate(file, 1):
                    if raw.strip():
                        document, _ = self._parse(number, raw)
                        if document in self._offsets:
                            refuse(path, number, f"{document!r} comes twice")
                        self._offsets[document] = offset
                    offset += len(raw)
        except FileNotFoundError:
            raise DataError(f"{path}: no such file") from None

    def __getitem__(self, document: str) -> Passage:
        with self.path.open("rb") as file:
            file.seek(self._offsets[document])
            return self._parse(0, file.readline())[1]

    def __iter__(self) -> Iterator[str]:
        return iter(self._offsets)

    def __contains__(self, document: object) -> bool:
        return document in self._offsets

    def __len__(self) -> int:
        return len(self._offsets)

    def passages(self) -> Iterator[tuple[str, Passage]]:
        """See `Corpus.passages`; one pass over the file."""
        return ((document, passage) for _, document, passage in read_texts(self.path))

    @cached_property
    def digest(self) -> str:
        """SHA-256 of the file, remembered from run to run."""
        return digest(self.path)[0]

    def _parse(self, number: int, raw: bytes) -> tuple[str, Passage]:
        try:
            line = raw.decode("utf-8-sig")
        except UnicodeDecodeError as error:
            refuse(self.path, number, f"not UTF-8 text ({error.reason})")
        return parse_json(self.path, number, line)


def is_corpus_file(path: Path) -> bool:
    """Whether `read_corpus` reads files of this name."""
    return form_of(path) in {".jsonl", ".tsv"}


def read_corpus(path: Path) -> Corpus:
    """A corpus file, `.jsonl` or `.tsv`, either may be gzipped; see `read_texts`."""
    if not is_corpus_file(path):
        raise DataError(f"{path}: a corpus is a .jsonl or .tsv file (or .gz of one)")
    corpus: Corpus
    if path.suffix == ".jsonl":
        corpus = JsonlCorpus(path)
    else:
        corpus = MemoryCorpus({document: passage for _, document, passage in read_texts(path)})
    if not corpus:
        raise DataError(f"{path}: no documents in this corpus file")
    return corpus
