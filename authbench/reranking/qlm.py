"""QLM: documents ordered by the likelihood of the query, given the passage (Sachan et al. 2022).

The score is the log-probability of the query as the model's answer to "which query does this passage
answer?". The query is the same for all its documents, so the sum over its tokens orders them as the mean
would. Needs an engine that scores given text (`Capabilities.prompt_logprobs`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from authbench.reranking.common import Candidate, form, order_by
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Sampling, user


def query_likelihood(
    query: str, candidates: Sequence[Candidate], *, text_budget: int | None = None
) -> Procedure[Outcome]:
    """Rerank one query's candidates, all asked in one round.

    The outcome's values: `order`, identifiers, best first; `scores`, log-probabilities in nats, parallel
    to the candidates, None where the engine gave no finite number (such documents come last).
    """
    responses = yield [_request(query, candidate, text_budget) for candidate in candidates]
    answers = [_read(response.samples[0].target_logprob) for response in responses]
    scores = [answer.value if answer.valid else None for answer in answers]
    return Outcome(tuple(answers), {"order": order_by(candidates, scores), "scores": scores})


def _request(query: str, candidate: Candidate, text_budget: int | None) -> Request:
    prompt = form("query-likelihood") % {"document": candidate.shown(text_budget)}
    return user(prompt, Sampling(max_tokens=0), score_target=query)


def _read(logprob: float | None) -> Parsed:
    if logprob is None or not math.isfinite(logprob):
        return Parsed("wrong_format")
    return Parsed("ok", logprob)
