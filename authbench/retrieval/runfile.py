"""TREC runs and relevance judgements (qrels), read and written.

A run line is `query Q0 document rank score tag`, a qrels line `query iteration document grade`; the
BEIR form of qrels (`query-id`, `corpus-id`, `score`, with a header) is read too.

Measures differ on tied scores: the same run has NDCG@5 1.00 in one library and 0.75 in another. So runs
are written with strictly decreasing scores, also in single precision, which is what trec_eval keeps.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from authbench.errors import DataError
from authbench.retrieval.textfiles import numbered_lines, refuse, write_lines

#: Grades by document, by query. Grades of 0 and below mean "not relevant".
Qrels = Mapping[str, Mapping[str, int]]

#: What to do with a document that a ranking holds twice.
Duplicates = Literal["refuse", "first"]

_RUN_COLUMNS = 6


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
        n_ties: neighbours with equal scores; they keep the order of their ranks.
        n_disordered: lines whose rank contradicts their score; the score decides, as in trec_eval.
        n_duplicates: lines dropped because the query had the document already.
    """

    rankings: Mapping[str, tuple[Hit, ...]]
    n_ties: int = 0
    n_disordered: int = 0
    n_duplicates: int = 0

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
            "equal scores (kept in the order of their ranks)": self.n_ties,
            "ranks that contradict scores (scores decide)": self.n_disordered,
            "duplicate documents dropped": self.n_duplicates,
        }
        return tuple(f"{count} {what}" for what, count in counts.items() if count)


def read_run(path: Path, duplicates: Duplicates = "refuse") -> Run:
    """Read a TREC run (`.gz` unpacked).

    Documents are ordered by score, ties by rank, then by line. Negative scores are fine. Raises
    `DataError` with file and line for a malformed line, a score that is no finite number, and, unless
    `duplicates` is "first", a document that comes twice for a query.
    """
    rows: dict[str, list[tuple[float, int, int, str]]] = {}
    for number, line in numbered_lines(path):
        columns = line.split()
        if len(columns) != _RUN_COLUMNS:
            refuse(
                path,
                number,
                f"a run line has 6 columns (query Q0 document rank score tag), this one {len(columns)}",
            )
        query, _, document, rank, score, _ = columns
        rows.setdefault(query, []).append(
            (_finite(path, number, score), _whole(path, number, rank, "rank"), number, document)
        )
    if not rows:
        raise DataError(f"{path}: no results in this run file")
    return order_rows(path, rows, duplicates)


def order_rows(
    path: Path, rows: Mapping[str, list[tuple[float, int, int, str]]], duplicates: Duplicates
) -> Run:
    """A `Run` from rows `(score, rank, line, document)` by query; see `read_run`. Line 0: not known."""
    rankings: dict[str, tuple[Hit, ...]] = {}
    ties = disordered = dropped = 0
    for query, found in rows.items():
        by_rank = sorted(found, key=lambda row: (row[1], row[2]))
        disordered += sum(a[0] < b[0] for a, b in itertools.pairwise(by_rank))
        seen: dict[str, Hit] = {}
        for score, _, number, document in sorted(by_rank, key=lambda row: -row[0]):
            if document not in seen:
                seen[document] = Hit(document, score)
            elif duplicates == "refuse":
                where = f"{path}:{number}" if number else str(path)
                raise DataError(f"{where}: document {document!r} comes twice for query {query!r}")
            else:
                dropped += 1
        hits = tuple(seen.values())
        ties += sum(a.score == b.score for a, b in itertools.pairwise(hits))
        rankings[query] = hits
    return Run(rankings, ties, disordered, dropped)


def write_run(path: Path, rankings: Mapping[str, Sequence[Hit]], tag: str) -> None:
    """Write a TREC run: ranks from 1, strictly decreasing scores, gzipped if the name ends in `.gz`.

    The order given is what counts: a score that is not below the one before it is lowered to the next
    smaller number in single precision. Raises `DataError` for identifiers with white space, which the
    format cannot hold, for duplicate documents, and for scores that are no finite number.
    """
    if not tag or re.search(r"\s", tag):
        raise DataError(f"run tag {tag!r}: a tag is one word")
    write_lines(path, _run_lines(rankings, tag))


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
    """Read judgements: TREC's four columns, or BEIR's three with a header line.

    Raises `DataError` with file and line for a malformed line, and for two different grades of one pair;
    the same grade given twice is harmless.
    """
    qrels: dict[str, dict[str, int]] = {}
    for number, line in numbered_lines(path):
        columns = line.split("\t") if "\t" in line else line.split()
        columns = [column.strip() for column in columns]
        if number == 1 and columns[-1].lower() == "score":
            continue
        if len(columns) == 4:
            query, _, document, grade = columns
        elif len(columns) == 3:
            query, document, grade = columns
        else:
            refuse(path, number, f"a qrels line has 4 columns (or BEIR's 3), this one {len(columns)}")
        value = _whole(path, number, grade, "grade")
        if qrels.setdefault(query, {}).setdefault(document, value) != value:
            refuse(path, number, f"a second, different grade for query {query!r}, document {document!r}")
    if not qrels:
        raise DataError(f"{path}: no judgements in this file")
    return qrels


def write_qrels(path: Path, qrels: Qrels) -> None:
    """Write judgements in TREC's four columns, gzipped if the name ends in `.gz`."""
    write_lines(
        path,
        (f"{query} 0 {document} {grade}" for query, row in qrels.items() for document, grade in row.items()),
    )


def _finite(path: Path, line: int, text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        refuse(path, line, f"score {text!r} is not a finite number")
    return value


def _whole(path: Path, line: int, text: str, what: str) -> int:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value) or value != int(value):
        refuse(path, line, f"{what} {text!r} is not a whole number")
    return int(value)
