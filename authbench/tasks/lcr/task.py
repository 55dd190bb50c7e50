"""LCR: base rankings, the model's confidence with each document, and Algorithm 1 (arXiv 2602.13571)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any

import numpy as np

from authbench.errors import ConfigError
from authbench.lcr.assess import assess, cost_of
from authbench.lcr.clustering import Embed
from authbench.lcr.confidence import ConfidenceSettings
from authbench.lcr.items import to_query
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.surface import Floats
from authbench.lcr.together import together
from authbench.measures.ndcg import gains_of
from authbench.measures.resampling import measure_row
from authbench.reranking.common import Candidate, Reranked
from authbench.reranking.registry import LLM_BASES
from authbench.runtime.messages import Outcome, Procedure, Request
from authbench.tasks.base import DataUse, Group, Record, Task, Unit, first_round
from authbench.tasks.fitting import Fitter
from authbench.tasks.lcr.bases import (
    ask,
    check_engine,
    score_or_leave_out,
    scored_rankings,
    scoring_of,
)
from authbench.tasks.lcr.first_stage import first_stage
from authbench.tasks.lcr.settings import LcrExperiment


class LcrTask(Task):
    """Groups are base rankings; items are judged queries, each with its base ranking and all its confidences.

    The confidences of a query do not depend on the base ranking, so base rankings share one set of requests.
    """

    def __init__(self, settings: LcrExperiment, fitter: Fitter) -> None:
        super().__init__(settings, fitter)
        check_engine(settings, fitter.engine)
        self.settings = settings
        self._stage = first_stage(settings.dataset)
        self._queries = self._stage.queries
        self._scored = scored_rankings(settings)
        self._rankings: dict[str, dict[str, Reranked]] = {base: {} for base in self._scored}
        taken = settings.confidence
        self._confidence = ConfidenceSettings(
            taken.samples, taken.temperature, taken.top_p, taken.max_tokens, taken.clustering
        )
        self._search = settings.search
        self._embed = _embedder(taken.embedding) if taken.clustering == "centroid" else None

    def check_fit(self, limit: int | None) -> None:
        """Looks at every query's prompts, and lets rerankers with models of their own score all documents."""
        chosen = list(self._queries)[:limit]
        for query in chosen:
            gains_of(self._stage.gold(query, 0)["relevant"], self.settings.gain)  # refuses what has no gain
            self._budget(query)
            if "rankgpt" in self.settings.bases:
                self._budget(query, "rankgpt")
        for base in self._scored:
            self._score_all(base, chosen)
        if self._embed is not None:
            self._embed(["a text"])  # a library or checkpoint that is not there shows before the LLM is asked
        if not self.groups():
            raise ConfigError(f"bases: none can be had here: {'; '.join(self.left_out.values())}")

    def lacking(self, group: Group, limit: int | None) -> str | None:
        """See `Task.lacking`: the library or the checkpoint of a reranker with a model of its own."""
        ranking = self._scored.get(group.dims["base"])
        if ranking is None:
            return None
        chosen = list(self._queries)[:limit]
        return ranking.lacking(self._queries, {query: self.candidates(query) for query in chosen})

    def groups(self) -> Sequence[Group]:
        """A group a base ranking, in the order of the configuration."""
        dataset = self.settings.dataset
        return [
            Group(
                f"{dataset.name}/{dataset.retriever}/{base}",
                {"collection": dataset.name, "retriever": dataset.retriever, "base": base},
            )
            for base in self.settings.bases
            if base not in self.left_out
        ]

    def size(self, group: Group) -> int:
        """All judged queries."""
        return len(self._queries)

    def units(self, group: Group) -> Iterator[Unit]:
        """A unit a query; `gold`: see `FirstStage.gold`.

        The values of a record: `order`, identifiers of the base ranking's first documents; `scores`,
        parallel to the documents of the first stage, where the base ranking has scores; `scoring` of YesNo;
        `query` and `documents`, the confidences (values of `authbench.lcr.confidence.mscp`), the latter
        parallel to the documents of the first stage, None for those that were not asked.
        """
        depth = max(self.settings.dataset.depth, self.settings.cutoff)
        for number, query in enumerate(self._queries):
            gold = self._stage.gold(query, depth)
            yield Unit(group, query, number, gold, partial(self._procedure, query, group.dims["base"]))

    def _procedure(self, query: str, base: str) -> Procedure[Outcome]:
        """Base ranking and confidences side by side."""
        candidates = self.candidates(query)
        text = self._queries[query]
        rule = self._search.fixed if self._search.adaptive else None
        parts = [
            assess(
                text,
                [candidate.text for candidate in candidates],
                self._confidence,
                self._prompts(self._budget(query)),
                rule=rule,
                embed=self._embed,
            )
        ]
        if base in LLM_BASES and candidates:
            parts.append(self.base_procedure(query, base))
        outcomes, answers = yield from together(parts)
        values = {**self._base_values(query, base, candidates, outcomes[1:]), **outcomes[0].values}
        return Outcome(tuple(answers), values)

    def _base_values(
        self, query: str, base: str, candidates: Sequence[Candidate], asked: Sequence[Outcome]
    ) -> dict[str, Any]:
        if asked:
            return dict(asked[0].values)
        if base in self._scored and candidates:
            if query not in self._rankings[base]:
                self._score_all(base, [query])
            if base in self.left_out:  # when a run is scored again, and its cache is gone
                raise ConfigError(f"bases: {base}: {self.left_out[base]}")
            reranked = self._rankings[base][query]
            return {"order": reranked.order, "scores": reranked.scores}
        return {"order": [candidate.id for candidate in candidates]}

    def base_procedure(self, query: str, base: str) -> Procedure[Outcome]:
        """The procedure of a base ranking that asks the LLM, by itself."""
        budget = self._budget(query, "rankgpt" if base == "rankgpt" else None)
        engine = self.fitter.engine
        return ask(base, self._queries[query], self.candidates(query), self.settings, engine, budget)

    def candidates(self, query: str) -> list[Candidate]:
        """The documents that are reranked, in the order of the first stage."""
        return self._stage.candidates(query, self.settings.dataset.depth)

    def _score_all(self, base: str, queries: Sequence[str]) -> None:
        candidates = {query: self.candidates(query) for query in queries}
        policy = self.settings.missing
        self._rankings[base] |= score_or_leave_out(
            self._scored[base], self._queries, candidates, policy, self.left_out
        )

    def _budget(self, query: str, base: str | None = None) -> int | None:
        """Characters of each text in prompts of one document, or in RankGPT's windows."""
        name = f"lcr/{query}" if base is None else f"lcr/{query}/{base}"
        return self.fitter.budget(name, lambda budget: self._longest(query, base, budget))

    def _longest(self, query: str, base: str | None, budget: int | None) -> list[Request]:
        text, candidates, settings = self._queries[query], self.candidates(query), self.settings
        if base is not None:
            longest = sorted(candidates, key=lambda candidate: -len(candidate.text))
            window = longest[: settings.rankgpt.window]
            return list(first_round(ask(base, text, window, settings, self.fitter.engine, budget)))
        texts = [candidate.text for candidate in candidates]
        requests = list(first_round(assess(text, texts, self._confidence, self._prompts(budget))))
        sampled = "word " * settings.confidence.max_tokens
        requests.append(self._prompts(budget).entailment(text, sampled, sampled))
        for asked in (name for name in settings.bases if name in ("yesno", "qlm")):
            requests += first_round(ask(asked, text, candidates, settings, self.fitter.engine, budget))
        return requests

    def _prompts(self, budget: int | None) -> LcrPrompts:
        constrain = "none" if self.settings.constrain == "none" else "choice"
        return LcrPrompts(constrain, budget)

    def score(self, group: Group, records: Sequence[Record]) -> list[dict[str, Any]]:
        """NDCG of the base ranking (`method: base`), and reranked.

        Thresholds are the fixed ones, or the best of the grid on these very queries, as the paper appears to
        choose them.

        `lcr` is Algorithm 1, `car` CAR's rule, `lcr-entropy` LCR on semantic entropy, `k` a smaller number of
        samples. A query whose requests failed counts 0 under `strict` and is left out under `valid`;
        thresholds are searched for over the others in either case. `n_ties` counts queries with equal scores
        in the base ranking.
        """
        answered = [record for record in records if record.error is None]
        failed = len(records) - len(answered)
        ties = sum(_tied(record.values) for record in answered)
        rows: list[dict[str, Any]] = []
        for reading in self._search.readings:
            base = values = np.zeros(0)
            if answered:
                queries = [to_query(r.item, r.gold, r.values, reading.measure, reading.k) for r in answered]
                found = self._search.find(queries, reading.method)
                base, values = found.surface.base, found.values
            if not rows:
                rows += self._rows({"method": "base", "k": None}, base, failed, ties)
            rows += self._rows({"method": reading.name, "k": reading.k}, values, failed, ties)
        return rows

    def _rows(self, dims: Mapping[str, Any], values: Floats, failed: int, ties: int) -> list[dict[str, Any]]:
        every = np.concatenate([values, np.zeros(failed)])
        counts = {"n_invalid": failed, "n_ties": ties}
        return [
            {**dims, **asdict(measure_row(self._search.metric, "strict", every, 0, **counts))},
            {**dims, **asdict(measure_row(self._search.metric, "valid", values, 0, **counts))},
        ]

    def remarks(self, records: Iterable[Record]) -> Sequence[str]:
        """What adaptive confidences saved; those of a query count once, whatever its base rankings."""
        if not self._search.adaptive:
            return ()
        taken = {record.item: record.values for record in records if record.error is None}
        cost = cost_of(taken.values())
        inputs = cost.confidences + cost.skipped
        return (
            f"Adaptive: {cost.samples:,} of {self._confidence.samples * inputs:,} samples were drawn, and "
            f"{cost.skipped:,} of {inputs - len(taken):,} documents were not asked; the rankings are those "
            "of all samples",
        )

    def data(self) -> DataUse:
        """Files of the collection, what does not fit together, and how the numbers are to be read."""
        settings = self.settings
        use = self._stage.use()
        notes = [*use.notes, f"NDCG@{settings.cutoff} with {settings.gain} gain"]
        if self._search.fixed is None:
            notes.append(
                "thresholds of +LCR are the best of a grid on these very queries, an upper bound; "
                "`authbench tune` sets held-out thresholds and a shuffled control beside it"
            )
        if "yesno" in settings.bases:
            notes.append(f"yesno scored by: {scoring_of(settings, self.fitter.engine)}")
        return replace(use, seeds={"thresholds": settings.thresholds.seed}, notes=notes)


def _tied(values: Mapping[str, Any]) -> bool:
    scores = [score for score in values.get("scores") or () if score is not None]
    return len(set(scores)) < len(scores)


def _embedder(checkpoint: str | None) -> Embed:
    from authbench.retrieval.dense import DenseSettings, Encoder

    encoder = Encoder(DenseSettings(checkpoint=checkpoint or "", similarity="cosine"))
    return lambda texts: encoder.encode(texts).astype(np.float64)
