"""What the base rerankers share: candidates, the order that scores give, prompts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

from authbench.prompts.loading import Template, bind, templates


@dataclass(frozen=True, slots=True)
class Candidate:
    """A document to be reranked: its identifier, and the text that is shown or encoded."""

    id: str
    text: str

    def shown(self, budget: int | None) -> str:
        """The text, cut to `budget` characters."""
        return self.text if budget is None else self.text[:budget]


def order_by(candidates: Sequence[Candidate], scores: Sequence[float | None]) -> list[str]:
    """Identifiers by descending score; equal scores in the order given, those without a score last."""
    places = range(len(candidates))
    order = sorted(places, key=lambda place: _descending(scores[place]))
    return [candidates[place].id for place in order]


class PairScorer(Protocol):
    """A reranker with a model of its own: scores pairs of query and document in batches."""

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """One score a pair, higher for more relevant; comparable among documents of one query."""


@dataclass(frozen=True, slots=True)
class Reranked:
    """One query's candidates in their new order, and the scores parallel to the order given."""

    order: list[str]
    scores: list[float]


def rerank_all(
    scorer: PairScorer, queries: Mapping[str, str], candidates: Mapping[str, Sequence[Candidate]]
) -> dict[str, Reranked]:
    """Rerank the candidates of many queries, all pairs in one call, so that batches are full.

    Args:
        scorer: the model.
        queries: text by identifier; at least those of `candidates`.
        candidates: by query, in the order of the ranking to be reordered.
    """
    pairs = [(queries[query], c.text) for query, found in candidates.items() for c in found]
    scores = iter(scorer.score(pairs) if pairs else [])
    made: dict[str, Reranked] = {}
    for query, found in candidates.items():
        own = [next(scores) for _ in found]
        made[query] = Reranked(order_by(found, own), own)
    return made


def _descending(score: float | None) -> tuple[int, float]:
    return (1, 0.0) if score is None else (0, -score)


@lru_cache(maxsize=8)
def form(name: str) -> str:
    """A template of `prompts/templates/lcr` as a `%` format."""
    return bind(template(name).text, {})


def template(name: str) -> Template:
    """A template of `prompts/templates/lcr`."""
    return templates()[f"lcr/{name}"]
