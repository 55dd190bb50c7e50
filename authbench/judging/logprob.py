"""One-token scoring, an option beyond the papers: the label that is most likely as the next token.

For the formats whose answer is one token: a score of one digit (PointJudge), and A or B (PairJudge by rank).
It needs an engine with `Capabilities.label_logprobs`. Each procedure has the `values` of its counterpart in
`authbench.judging.judges`, and `expected` beside them, which breaks ties of the scores (`tie_broken`).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from authbench.data.records import PairItem, Source
from authbench.errors import ConfigError
from authbench.judging.judges import Order, both_orders
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Response, Sampling

_ONE_TOKEN = Sampling(max_tokens=1)
_LETTERS = ("A", "B")


def point_logprob_judge(
    sources: Sequence[Source], prompts: PromptSet, low: int, high: int
) -> Procedure[Outcome]:
    """PointJudge in one step per source.

    `values`, in the order shown: `scores`, the most likely score from `low` to `high`, and `expected`, the
    mean score under the distribution over the labels; None where the engine gave no log-probability.

    Raises `ConfigError` if a score has more than one digit.
    """
    if low < 0 or high > 9:
        raise ConfigError(
            f"scoring: logprob needs scores of one digit, not {low} to {high}; use scoring: text"
        )
    labels = tuple(str(score) for score in range(low, high + 1))
    responses = yield [_labelled(prompts.point_label(source), labels) for source in sources]
    answers = tuple(_likeliest(response, low) for response in responses)
    pairs = [answer.value if answer.valid else (None, None) for answer in answers]
    return Outcome(answers, {"scores": [pair[0] for pair in pairs], "expected": [pair[1] for pair in pairs]})


def pair_rank_logprob_judge(
    sources: Sequence[Source], prompts: PromptSet, pairs: Sequence[tuple[int, int]]
) -> Procedure[Outcome]:
    """PairJudge by rank in one step per pair of places in the list.

    `values`: `pairs`, as of `pair_rank_judge`, and `expected`, the probability of A against B for each pair.
    A and B equally likely: 0.5 and 0.5.
    """
    responses = yield [_labelled(prompts.pair_rank(sources[i], sources[j]), _LETTERS) for i, j in pairs]
    answers = tuple(_preferred(response) for response in responses)
    rows = [[i, j, *_wins(answer)] for (i, j), answer in zip(pairs, answers, strict=True)]
    return Outcome(answers, {"pairs": rows, "expected": [answer.value for answer in answers]})


def pairwise_rank_logprob_judge(
    pair: PairItem, prompts: PromptSet, order: Order = "drawn"
) -> Procedure[Outcome]:
    """PairJudge by rank on the pair of Table 3, in one step for each order that is asked.

    `values`, in the drawn order: `scores`, `[first, second]`, 1 for the preferred source and 0 for the
    other, and `expected`, the probabilities of A and B. With `order="both"` those of `both_orders`.
    """
    places = ((0, 1), (1, 0)) if order == "both" else ((0, 1),)
    asked = yield from pair_rank_logprob_judge((pair.first, pair.second), prompts, places)
    drawn, *swapped = asked.values["pairs"]
    if swapped:
        return Outcome(asked.answers, both_orders(drawn[2:], (swapped[0][3], swapped[0][2])))
    likely = asked.values["expected"][0]
    expected = [None, None] if likely is None else [likely, 1 - likely]
    return Outcome(asked.answers, {"scores": drawn[2:], "expected": expected})


def tie_broken(scores: Sequence[float | None], expected: Sequence[float | None]) -> list[float | None]:
    """Numbers that rank by score first, then by expected score: what the measures take.

    Each is the number of distinct (score, expected) below it, so equal ones stay tied; None stays None.
    """
    keys = [None if s is None or e is None else (s, e) for s, e in zip(scores, expected, strict=True)]
    order = {key: float(place) for place, key in enumerate(sorted({key for key in keys if key is not None}))}
    return [None if key is None else order[key] for key in keys]


def label_distribution(logprobs: Sequence[float] | None) -> list[float] | None:
    """Probabilities of the labels among themselves; None if the engine gave none of them."""
    if logprobs is None or any(math.isnan(value) for value in logprobs):
        return None
    most = max(logprobs, default=-math.inf)
    if not math.isfinite(most):
        return None
    weights = [math.exp(value - most) for value in logprobs]
    return [weight / sum(weights) for weight in weights]


def _labelled(request: Request, labels: tuple[str, ...]) -> Request:
    return replace(request, labels=labels, sampling=_ONE_TOKEN, constraint=None)


def _likeliest(response: Response, low: int) -> Parsed:
    """The value is (most likely score, expected score)."""
    weights = label_distribution(response.samples[0].label_logprobs)
    if weights is None:
        return Parsed("empty")
    expected = sum((low + k) * weight for k, weight in enumerate(weights))
    # Of labels that are equally likely the one nearest to the expected score, then the lower.
    best = min(range(len(weights)), key=lambda k: (-weights[k], abs(low + k - expected), k))
    return Parsed("ok", (low + best, expected))


def _preferred(response: Response) -> Parsed:
    """The value is the probability of A against B."""
    weights = label_distribution(response.samples[0].label_logprobs)
    return Parsed("empty") if weights is None else Parsed("ok", weights[0])


def _wins(answer: Parsed) -> tuple[float | None, float | None]:
    if not answer.valid:
        return (None, None)
    if answer.value == 0.5:
        return (0.5, 0.5)
    return (1, 0) if answer.value > 0.5 else (0, 1)
