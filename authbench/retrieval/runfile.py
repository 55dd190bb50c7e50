"""TREC runs and relevance judgements (qrels): read by ir-measures and checked here; runs are written too.

Measures differ on tied scores: the same run has NDCG@5 1.00 in one library and 0.75 in another. So runs
are written with strictly decreasing scores, also in single precision, which is what trec_eval keeps.
"""

from __future__ import annotations

import gzip
import itertools
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from authbench.data.digests import write_atomically
from authbench.errors import ConfigError, DataError
from authbench.retrieval.textfiles import Lines, numbered_lines, refuse

#: Grades by document, by query. Grades of 0 and below mean "not relevant".
Qrels = Mapping[str, Mapping[str, int]]


@dataclass(frozen=True, slots=True)
class Hit:
    """A retrieved document and its score; only the order of scores means something across systems."""

    document: str
    score: float


@dataclass(frozen=True, slots=True)
class Run:
    """Rankings by query, best document first.

    Attributes:
        rankings: documents of a query are distinct, their scores do not increase.
        n_ties: neighbours with equal scores; they keep the order of the file.
        n_disordered: neighbours in the file of which the second has the higher score; scores decide, as in
            trec_eval.
    """

    rankings: Mapping[str, tuple[Hit, ...]]
    n_ties: int = 0
    n_disordered: int = 0

    def documents(self, query: str, depth: int | None = None) -> tuple[str, ...]:
        """Identifiers of the first `depth` documents; empty for a query without results."""
        return tuple(hit.document for hit in self.rankings.get(query, ())[:depth])

    def cut(self, depth: int) -> Run:
        """The same run with at most `depth` documents a query."""
        return Run({query: hits[:depth] for query, hits in self.rankings.items()})

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of the results should know about this file, a phrase each."""
        counts = {
            "equal scores (kept in the order of the file)": self.n_ties,
            "results out of the order of their scores (scores decide)": self.n_disordered,
        }
        return tuple(f"{count} {what}" for what, count in counts.items() if count)


def read_run(path: Path) -> Run:
    """Read a TREC run, `query Q0 document rank score tag` a line (`.gz` unpacked).

    Documents are ordered by score, equal scores as they stand in the file; ranks are not looked at. Raises
    `DataError` with file and line for a malformed line, a score that is no finite number, and a document
    that comes twice for a query.
    """
    rows: dict[str, dict[str, float]] = {}
    for number, found in _read(path, "read_trec_run", "a run line is `query Q0 document rank score tag`"):
        if not math.isfinite(found.score):
            refuse(path, number, f"score {found.score} is not a finite number")
        row = rows.setdefault(found.query_id, {})
        if found.doc_id in row:
            refuse(path, number, f"document {found.doc_id!r} comes twice for query {found.query_id!r}")
        row[found.doc_id] = found.score
    if not rows:
        raise DataError(f"{path}: no results in this run file")
    return ordered_run(rows)


def ordered_run(scores: Mapping[str, Mapping[str, float]]) -> Run:
    """A run from scores by document, by query, in the order of their file; see `Run`."""
    rankings: dict[str, tuple[Hit, ...]] = {}
    ties = disordered = 0
    for query, row in scores.items():
        disordered += sum(a < b for a, b in itertools.pairwise(row.values()))
        hits = [Hit(document, score) for document, score in row.items()]
        hits.sort(key=lambda hit: -hit.score)
        ties += sum(a.score == b.score for a, b in itertools.pairwise(hits))
        rankings[query] = tuple(hits)
    return Run(rankings, ties, disordered)


def write_run(path: Path, rankings: Mapping[str, Sequence[Hit]], tag: str) -> None:
    """Write a TREC run: ranks from 1, strictly decreasing scores, gzipped if the name ends in `.gz`.

    The order given is what counts: a score that is not below the one before it is lowered to the next
    smaller number in single precision. Raises `DataError` for identifiers with white space, which the
    format cannot hold, for duplicate documents, and for scores that are no finite number.
    """
    if not tag or re.search(r"\s", tag):
        raise DataError(f"run tag {tag!r}: a tag is one word")
    content = "".join(f"{line}\n" for line in _run_lines(rankings, tag)).encode()
    if path.suffix == ".gz":
        content = gzip.compress(content, mtime=0)  # no time in it: the same run gives the same bytes
    try:
        write_atomically(path, content)
    except OSError as error:
        raise DataError(f"{path}: cannot be written: {error.strerror or error}") from None


def _run_lines(rankings: Mapping[str, Sequence[Hit]], tag: str) -> Iterator[str]:
    for query, hits in rankings.items():
        names = [hit.document for hit in hits]
        for name in (query, *names):
            if not name or re.search(r"\s", name):
                raise DataError(f"identifier {name!r}: a TREC run cannot hold white space in identifiers")
        if len(set(names)) != len(names):
            raise DataError(f"query {query!r}: a document comes twice in the ranking to be written")
        scores = strictly_decreasing([hit.score for hit in hits])
        for rank, (name, score) in enumerate(zip(names, scores, strict=True), 1):
            yield f"{query} Q0 {name} {rank} {score:.9g} {tag}"


def strictly_decreasing(scores: Sequence[float]) -> list[float]:
    """The scores, each lowered as little as single precision allows to be below the one before it.

    Raises `DataError` for a score that is not finite in single precision.
    """
    lowered: list[float] = []
    previous = np.float32(np.inf)
    with np.errstate(over="ignore"):  # an overflow is refused below
        for score in scores:
            value = np.float32(score)
            if not np.isfinite(value):
                raise DataError(f"score {score} is not a finite single-precision number")
            if not value < previous:
                value = np.nextafter(previous, np.float32(-np.inf))
            lowered.append(float(value))
            previous = value
    return lowered


def read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements: TREC's `query iteration document grade`, or BEIR's three columns between tabs.

    Raises `DataError` with file and line for a malformed line, and for two different grades of one pair;
    the same grade given twice is harmless.
    """
    qrels: dict[str, dict[str, int]] = {}
    first = next(numbered_lines(path), (0, ""))[1]
    found: Iterable[tuple[int, tuple[str, str, int]]]
    if first.count("\t") == 2:
        found = _beir_qrels(path)
    else:
        rows = _read(path, "read_trec_qrels", "a qrels line is `query iteration document grade`")
        found = ((number, (row.query_id, row.doc_id, row.relevance)) for number, row in rows)
    for number, (query, document, grade) in found:
        if qrels.setdefault(query, {}).setdefault(document, grade) != grade:
            refuse(path, number, f"a second, different grade for query {query!r}, document {document!r}")
    if not qrels:
        raise DataError(f"{path}: no judgements in this file")
    return qrels


def _beir_qrels(path: Path) -> Iterator[tuple[int, tuple[str, str, int]]]:
    for number, line in numbered_lines(path):
        try:
            query, document, grade = line.split("\t")
            if number > 1 or grade.lower() != "score":  # else the header
                yield number, (query, document, int(grade))
        except ValueError as error:
            refuse(path, number, f"a line of BEIR's qrels is `query<TAB>document<TAB>grade` ({error})")


def _read(path: Path, reader: str, form: str) -> Iterator[tuple[int, Any]]:
    """The records that a reader of ir-measures finds in a file, with their line numbers."""
    try:
        import ir_measures
    except ImportError:
        raise ConfigError(
            f"{path} is read by ir-measures, which is not installed; pip install 'authbench[retrieval]'"
        ) from None
    lines = Lines(path)
    read: Callable[[Lines], Iterator[Any]] = getattr(ir_measures, reader)
    try:
        for record in read(lines):
            yield lines.number, record
    except ValueError as error:
        refuse(path, lines.number, f"{form} ({error})")
