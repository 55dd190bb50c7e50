"""The base rankings of LCR: procedures that ask the experiment's LLM, and rerankers with their own model.

The latter score whole batches outside the scheduler, before it starts; their scores are kept in the user's
cache by checkpoint, query and texts, so that a run that goes on, or is measured again, loads no model.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal

from authbench.data.digests import write_atomically
from authbench.engines.registry import engines_that_can
from authbench.errors import ConfigError, EngineError
from authbench.paths import cache_dir
from authbench.reranking.common import Candidate, Reranked, order_by, rerank_all
from authbench.reranking.qlm import query_likelihood
from authbench.reranking.rankgpt import RankGptSettings, rank_gpt
from authbench.reranking.registry import MODEL_BASES, default_checkpoint, make_scorer
from authbench.reranking.yesno import YesNoSettings, scoring_for, yes_no
from authbench.runtime.engine import Engine
from authbench.runtime.messages import Outcome, Procedure
from authbench.tasks.lcr.settings import LcrExperiment


def scoring_of(settings: LcrExperiment, engine: Engine) -> Literal["logprob", "sampled", "greedy"]:
    """How YesNo scores on this engine.

    Raises `ConfigError` if log-probabilities are asked for by name and the engine gives none.
    """
    wanted = settings.yesno.scoring
    able = engine.capabilities
    if wanted == "auto":
        return scoring_for(able)
    if wanted == "logprob" and not able.label_logprobs:
        raise ConfigError(
            f"yesno.scoring: the engine '{engine.identity.family}' gives no log-probabilities\n"
            "use --set yesno.scoring=sampled, or another engine"
        )
    return wanted


def check_engine(settings: LcrExperiment, engine: Engine) -> None:
    """Refuse what the engine cannot do, before anything is asked. Raises `ConfigError` with the way out."""
    able = engine.capabilities
    name = engine.identity.family
    if "qlm" in settings.bases and not able.prompt_logprobs:
        others = ", ".join(engines_that_can("prompt_logprobs", but=name))
        raise ConfigError(
            f"bases: qlm needs an engine that scores given text, which '{name}' does not\n"
            f"use one of {others}, or leave qlm out with --set 'bases=[...]'"
        )
    if settings.confidence.samples > 1 and not able.samples:
        raise ConfigError(f"confidence.samples: the engine '{name}' gives one answer to a request")
    if "yesno" in settings.bases:
        scoring_of(settings, engine)


def ask(
    base: str,
    query: str,
    candidates: Sequence[Candidate],
    settings: LcrExperiment,
    engine: Engine,
    text_budget: int | None,
) -> Procedure[Outcome]:
    """The procedure of a base ranking by the LLM; its values have `order`, and `scores` where it has any."""
    if base == "yesno":
        scoring = scoring_of(settings, engine)
        return yes_no(query, candidates, YesNoSettings(scoring, settings.yesno.samples, text_budget))
    if base == "qlm":
        return query_likelihood(query, candidates, text_budget=text_budget)
    windows = settings.rankgpt
    return rank_gpt(query, candidates, RankGptSettings(windows.window, windows.step, text_budget))


def scored_rankings(settings: LcrExperiment) -> dict[str, ScoredRanking]:
    """The base rankings of an experiment that have models of their own, by name."""
    own = [base for base in settings.bases if base in MODEL_BASES]
    return {base: ScoredRanking(base, settings.checkpoints.of(base)) for base in own}


def score_or_leave_out(
    ranking: ScoredRanking,
    queries: Mapping[str, str],
    candidates: Mapping[str, Sequence[Candidate]],
    missing: Literal["error", "leave_out"],
    left_out: dict[str, str],
) -> dict[str, Reranked]:
    """`ScoredRanking.rerank`, under the policy for a library or a checkpoint that is not there.

    Under `leave_out` the ranking is empty then, and `left_out` says why.
    """
    try:
        return ranking.rerank(queries, candidates)
    except (ConfigError, EngineError) as error:
        what, _, way_out = str(error).partition("\n")
        if missing == "leave_out":
            left_out[ranking.base] = what
            return {}
        way_out = way_out or "or leave it out: --set missing=leave_out"
        raise type(error)(f"bases: {ranking.base}: {what}\n{way_out}") from None


class ScoredRanking:
    """A base ranking by a model of its own.

    Args:
        base: `cross-encoder`, `colbert` or `rankt5`.
        checkpoint: None for the reranker's default.
        folder: where scores are kept; default: the user's cache.
    """

    def __init__(self, base: str, checkpoint: str | None, folder: Path | None = None) -> None:
        self.base = base
        self._checkpoint = checkpoint or default_checkpoint(base)
        self._folder = folder or cache_dir("rerankings")
        self._name: str | None = None

    def rerank(
        self, queries: Mapping[str, str], candidates: Mapping[str, Sequence[Candidate]]
    ) -> dict[str, Reranked]:
        """Rerank many queries; the model is loaded only if scores of some are not known.

        Raises `ConfigError` or `EngineError` for a library or a checkpoint that is not there.
        """
        scores = {query: self._known(queries[query], found) for query, found in candidates.items()}
        missing = {query: candidates[query] for query, known in scores.items() if known is None}
        if missing:
            made = rerank_all(make_scorer(self.base, self._checkpoint), queries, missing)
            for query, reranked in made.items():
                scores[query] = reranked.scores
                path = self._path(queries[query], candidates[query])
                write_atomically(path, json.dumps({"scores": reranked.scores}))
        return {
            query: Reranked(order_by(candidates[query], known), known)
            for query, known in scores.items()
            if known is not None
        }

    def lacking(
        self, queries: Mapping[str, str], candidates: Mapping[str, Sequence[Candidate]]
    ) -> str | None:
        """What `rerank` would need and is not there, without loading it or asking a hub; None: nothing."""
        from importlib.util import find_spec

        from authbench.retrieval.checkpoints import locate, not_installed

        try:
            local = Path(locate(self._checkpoint)).is_dir()
        except ConfigError as error:
            return str(error)
        if local and all(
            self._known(queries[query], found) is not None for query, found in candidates.items()
        ):
            return None
        wanted = "transformers" if self.base == "rankt5" else "sentence_transformers"
        return not_installed(wanted) if find_spec(wanted) is None else None

    def _known(self, query: str, candidates: Sequence[Candidate]) -> list[float] | None:
        if not candidates:
            return []
        try:
            kept = json.loads(self._path(query, candidates).read_bytes())
        except (OSError, ValueError):
            return None  # not there, or damaged: it is made again
        scores = kept.get("scores") if isinstance(kept, dict) else None
        return scores if isinstance(scores, list) and len(scores) == len(candidates) else None

    def _path(self, query: str, candidates: Sequence[Candidate]) -> Path:
        facts = [self.base, self._weights(), query, [candidate.text for candidate in candidates]]
        return self._folder / f"{hashlib.sha256(json.dumps(facts).encode()).hexdigest()}.json"

    def _weights(self) -> str:
        if self._name is None:
            from authbench.retrieval.checkpoints import fingerprint, locate, require

            if not Path(locate(self._checkpoint)).is_dir():
                require("transformers")  # which finds the hub's commit
            self._name = fingerprint(self._checkpoint)
        return self._name
