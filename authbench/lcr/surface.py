"""NDCG of a collection under every rule of a grid, from stored confidences.

Confidences are compared as integers, and everything is done on whole arrays: a few vector operations over
the documents with a gain for each pair of bin thresholds, and one matrix product for all gates.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from math import lcm

import numpy as np
import numpy.typing as npt

from authbench.errors import DataError
from authbench.lcr.grid import Grid
from authbench.measures.ndcg import Gain, discounts, gains_of, ideal_dcg

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Counts = npt.NDArray[np.int32]
Bools = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Query:
    """One judged query with a base ranking and its confidences.

    Attributes:
        id: its identifier.
        grades: of the ranked documents, in the order of the base ranking; 0 for unjudged ones.
        judged: grades of all judged documents, for the ideal ranking.
        own: confidence of the query.
        documents: confidences of the first documents of the ranking, as many as are reranked.
    """

    id: str
    grades: Sequence[int]
    judged: Sequence[int]
    own: Fraction
    documents: Sequence[Fraction]


@dataclass(frozen=True)
class Problem:
    """A collection and a base ranking as arrays, ready for the search. Made by `problem`.

    Attributes:
        ids: (Q,) query identifiers.
        gains: (Q, depth) gain of the document at each place of the base ranking.
        tail: (Q,) DCG of the places below the reranked depth, within the cutoff.
        ideal: (Q,) DCG of the ideal ranking.
        own: (Q,) confidences of the queries, in units of 1 / `unit`.
        documents: (Q, depth) confidences of the documents in the same units; -1 where a ranking ends.
        cutoff: of NDCG.
    """

    ids: tuple[str, ...]
    gains: Floats
    tail: Floats
    ideal: Floats
    own: Ints
    documents: Ints
    unit: int
    cutoff: int

    @cached_property
    def base(self) -> Floats:
        """(Q,) NDCG of the base ranking."""
        return self.ndcg((self.gains * _weights(self)[1:]).sum(axis=1))

    def ndcg(self, dcg: Floats) -> Floats:
        """(..., Q) NDCG from the DCG of the reranked places."""
        total = dcg + self.tail
        values: Floats = np.divide(total, self.ideal, out=np.zeros_like(total), where=self.ideal > 0)
        return values

    def shuffled(self, rng: np.random.Generator) -> Problem:
        """The control: confidences moved among the documents of a query, and among queries for the gate.

        Every query keeps its own set of document confidences, so bins are as large as before.
        """
        keys = rng.random(self.documents.shape)
        keys[self.documents < 0] = 2.0  # the end of a ranking stays where it is
        documents = np.take_along_axis(self.documents, np.argsort(keys, axis=1), axis=1)
        own = rng.permutation(self.own)
        made = Problem(self.ids, self.gains, self.tail, self.ideal, own, documents, self.unit, self.cutoff)
        made.__dict__["base"] = self.base  # the base ranking is not touched
        return made


def problem(queries: Sequence[Query], *, depth: int = 10, cutoff: int = 5, gain: Gain = "linear") -> Problem:
    """Arrays of a collection and base ranking.

    A query without results, or with fewer than `depth`, is fine. Raises `DataError` if there are no
    queries, `ValueError` if a query has another number of confidences than documents to rerank.
    """
    if not queries:
        raise DataError("no judged query has confidences: there is nothing to tune")
    unit = lcm(*{value.denominator for query in queries for value in (query.own, *query.documents)})
    gains = np.zeros((len(queries), depth))
    documents = np.full((len(queries), depth), -1, dtype=np.int64)
    tail = np.zeros(len(queries))
    discount = discounts(max(depth, cutoff))
    for row, query in enumerate(queries):
        head = min(depth, len(query.grades))
        if len(query.documents) != head:
            raise ValueError(
                f"query {query.id}: {head} documents are reranked, {len(query.documents)} have a confidence"
            )
        gains[row, :head] = gains_of(list(query.grades[:head]), gain)
        documents[row, :head] = [_units(value, unit) for value in query.documents]
        rest = gains_of(list(query.grades[depth:cutoff]), gain)
        tail[row] = rest @ discount[depth : depth + len(rest)]
    ideal = np.array([ideal_dcg(query.judged, cutoff, gain) for query in queries])
    own = np.array([_units(query.own, unit) for query in queries], dtype=np.int64)
    ids = tuple(query.id for query in queries)
    return Problem(ids, gains, tail, ideal, own, documents, unit, cutoff)


@dataclass(frozen=True)
class Surface:
    """What every rule of a grid gives on a problem.

    Attributes:
        base: (Q,) NDCG of the base ranking.
        opened: (P, Q) NDCG with each pair of bin thresholds, the gate open for all.
        gates: (T, Q) whether each gate threshold opens each query.
    """

    grid: Grid
    base: Floats
    opened: Floats
    gates: Bools

    def sums(self, queries: Bools | None = None) -> Floats:
        """(T, P) sum of NDCG over the queries (all, or a mask) for every rule."""
        chosen = slice(None) if queries is None else queries
        gain = (self.opened[:, chosen] - self.base[chosen]).T
        sums: Floats = self.gates[:, chosen].astype(np.float64) @ gain + self.base[chosen].sum()
        return sums

    def values(self, gate: int, pair: int) -> Floats:
        """(Q,) NDCG under one rule."""
        return np.where(self.gates[gate], self.opened[pair], self.base)


def surface(given: Problem, searched: Grid) -> Surface:
    """Evaluate every rule of the grid."""
    opened = given.ndcg(_Evaluator(given).dcg(searched.bins))
    gates = np.array([_below(given.own, gate, given.unit) for gate in searched.gates])
    return Surface(searched, given.base, opened, gates)


class _Evaluator:
    """DCG of the reranked places for many pairs of bin thresholds.

    Only documents with a gain matter: for each of them, how many high and low documents of its query
    stand before it. Those counts depend on one threshold each, so a pair costs a few vector operations.
    """

    def __init__(self, given: Problem) -> None:
        self._given = given
        self._weights = _weights(given)
        # One row a place: counting along a ranking is then adding up whole rows.
        self._confidences = np.ascontiguousarray(given.documents.T)
        self._places, self._queries = np.nonzero(given.gains.T)
        self._after = (self._places + 1).astype(np.int32)
        self._gains = given.gains[self._queries, self._places]
        self._sides: dict[tuple[str, Fraction], tuple[Bools, Counts, Floats]] = {}

    def dcg(self, pairs: Sequence[tuple[Fraction, Fraction]] | Sequence[Fraction]) -> Floats:
        """(P, Q) values."""
        return np.array([self._pair(pair) for pair in pairs])

    def _pair(self, pair: tuple[Fraction, Fraction] | Fraction) -> Floats:
        upper, lower = pair if isinstance(pair, tuple) else (pair, -pair)
        relative = not isinstance(pair, tuple)
        is_high, after_high, dcg_high = self._high(upper, relative)
        # High is tested first: a document at both thresholds is high.
        kind = "at-most" if lower < upper else "below"
        is_low, before_low, dcg_low = self._low(lower, relative, kind)
        middle = ~(is_high | is_low)
        gained = self._gains * self._weights[after_high - before_low] * middle
        return dcg_high + dcg_low + self._by_query(gained)

    def _high(self, upper: Fraction, relative: bool) -> tuple[Bools, Counts, Floats]:
        """Which documents are high; place of each if it were in the middle with no low one before; DCG."""
        if ("high", upper) not in self._sides:
            mask = ~_below(self._measured(relative), upper, self._given.unit) & (self._confidences >= 0)
            chosen, before, total = self._counts(mask)
            dcg = self._by_query(self._gains * self._weights[before] * chosen)
            self._sides["high", upper] = chosen, total - before + self._after, dcg
        return self._sides["high", upper]

    def _low(self, lower: Fraction, relative: bool, kind: str) -> tuple[Bools, Counts, Floats]:
        """Which documents are low; how many low ones stand before each, itself included; DCG."""
        if (kind, lower) not in self._sides:
            test = _at_most if kind == "at-most" else _below
            mask = test(self._measured(relative), lower, self._given.unit)
            mask |= self._confidences < 0  # what follows a ranking's end stays at the end
            chosen, before, total = self._counts(mask)
            depth = len(mask)
            dcg = self._by_query(self._gains * self._weights[depth - total + before] * chosen)
            self._sides[kind, lower] = chosen, before, dcg
        return self._sides[kind, lower]

    def _measured(self, relative: bool) -> Ints:
        """Confidences, or how far they lie above their query's."""
        return self._confidences - self._given.own if relative else self._confidences

    def _counts(self, mask: Bools) -> tuple[Bools, Counts, Counts]:
        """At the documents with a gain: in the mask; how many of it up to here; how many in all."""
        running = mask.astype(np.int32)
        for place in range(1, len(running)):
            running[place] += running[place - 1]
        at = (self._places, self._queries)
        return mask[at], running[at], running[-1][self._queries]

    def _by_query(self, gained: Floats) -> Floats:
        # bincount gives integers where there is nothing to count.
        return np.asarray(np.bincount(self._queries, gained, len(self._given.ids)), dtype=np.float64)


def _weights(given: Problem) -> Floats:
    """Discount of each place from 1 to the depth, 0 beyond the cutoff and at place 0."""
    depth = given.documents.shape[1]
    seen = min(depth, given.cutoff)
    weights = np.zeros(depth + 1)
    weights[1 : seen + 1] = discounts(seen)
    return weights


def _units(value: Fraction, unit: int) -> int:
    return value.numerator * (unit // value.denominator)


def _below(counts: Ints, threshold: Fraction, unit: int) -> Bools:
    """counts / unit < threshold, without floats."""
    return np.asarray(counts * threshold.denominator < threshold.numerator * unit, dtype=np.bool_)


def _at_most(counts: Ints, threshold: Fraction, unit: int) -> Bools:
    return np.asarray(counts * threshold.denominator <= threshold.numerator * unit, dtype=np.bool_)
