"""YesNo: does the passage answer the query? Documents are ordered by the model's weight on Yes.

The score is P(yes) / (P(yes) + P(no)) over the first token of the answer, each summed over its spellings
(the pointwise relevance prompt of Liang et al. 2022). An engine that gives no log-probabilities cannot
give it; two substitutes can be asked for, and are named in the result.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from authbench.errors import ConfigError
from authbench.judging.parse import parse_yes_no
from authbench.reranking.common import Candidate, form, order_by
from authbench.runtime.engine import Capabilities
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Response, Sample, Sampling, user

Scoring = Literal["logprob", "sampled", "greedy"]

#: Spellings of the two answers. Each is one token of the usual tokenizers, which engines require of labels.
YES = ("Yes", "yes")
NO = ("No", "no")

#: Room for the answer and what may stand before it, where it is read as text.
_WORD_TOKENS = 8


@dataclass(frozen=True, slots=True)
class YesNoSettings:
    """How YesNo scores.

    Attributes:
        scoring: `logprob`; or a substitute: `sampled`, the share of yes among samples at temperature 1,
            or `greedy`, yes before no and ties in the old order.
        samples: how many, for `sampled`.
        text_budget: most characters of a passage that are shown, or None.
    """

    scoring: Scoring = "logprob"
    samples: int = 10
    text_budget: int | None = None

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ConfigError(f"yesno samples {self.samples}: at least one is needed")


def scoring_for(capabilities: Capabilities) -> Scoring:
    """The best way to score that an engine allows: log-probabilities, else samples, else one answer."""
    if capabilities.label_logprobs:
        return "logprob"
    return "sampled" if capabilities.samples else "greedy"


def yes_no(query: str, candidates: Sequence[Candidate], settings: YesNoSettings) -> Procedure[Outcome]:
    """Rerank one query's candidates, all asked in one round.

    The outcome's values: `order`, identifiers, best first; `scores`, in [0, 1], parallel to the
    candidates, None for an answer that cannot be read (such documents come last); `scoring`.
    """
    responses = yield [_request(query, candidate, settings) for candidate in candidates]
    answers: list[Parsed] = []
    scores: list[float | None] = []
    for response in responses:
        answer = _from_labels(response.samples[0]) if settings.scoring == "logprob" else _from_text(response)
        answers.append(answer)
        scores.append(answer.value if answer.valid else None)
    values = {"order": order_by(candidates, scores), "scores": scores, "scoring": settings.scoring}
    return Outcome(tuple(answers), values)


def _request(query: str, candidate: Candidate, settings: YesNoSettings) -> Request:
    prompt = form("yes-no") % {"query": query, "document": candidate.shown(settings.text_budget)}
    if settings.scoring == "logprob":
        return user(prompt, Sampling(max_tokens=1), labels=(*YES, *NO))
    if settings.scoring == "sampled":
        return user(prompt, Sampling(_WORD_TOKENS, temperature=1.0, n=settings.samples))
    return user(prompt, Sampling(_WORD_TOKENS))


def _from_labels(sample: Sample) -> Parsed:
    """The share of Yes in the probability of Yes and No together."""
    logs = sample.label_logprobs
    if logs is None or not any(math.isfinite(value) for value in logs):
        return Parsed("wrong_format")  # neither word is among the tokens that the engine reports
    yes, no = (sum(math.exp(value) for value in part) for part in (logs[: len(YES)], logs[len(YES) :]))
    return Parsed("ok", yes / (yes + no)) if yes + no > 0 else Parsed("wrong_format")


def _from_text(response: Response) -> Parsed:
    """The share of Yes among the samples that can be read; without any, the first one's status."""
    read = [parse_yes_no(sample.text, sample.finish_reason == "length") for sample in response.samples]
    said = [answer.value == "yes" for answer in read if answer.valid]
    if not said:
        return read[0]
    return Parsed("ok" if len(said) == len(read) else "repaired", sum(said) / len(said))
