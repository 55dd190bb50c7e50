"""PairJudge: two sources in one prompt, by rank or by score (AuthorityBench, section 4.1).

For lists, the pairs of a `comparison_plan` are asked at once and aggregated afterwards
(`authbench.judging.aggregate`); for the pairwise setting of Table 3 an item is one pair.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal

from authbench.data.records import PairItem, Source
from authbench.errors import ConfigError
from authbench.judging.parse import parse_pair_scores, parse_preference, parse_score, read
from authbench.judging.plan import comparison_plan
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Response

__all__ = [
    "comparison_plan",
    "pair_rank_judge",
    "pair_score_judge",
    "pairwise_judge",
    "pairwise_point_judge",
]

Output = Literal["rank", "score"]
#: What both sources of a comparison get: scores, or 1 and 0 for the preferred one and the other.
Scores = tuple[int, int] | tuple[None, None]


def pair_rank_judge(
    sources: Sequence[Source], prompts: PromptSet, pairs: Sequence[tuple[int, int]]
) -> Procedure[Outcome]:
    """Ask which of the two is more authoritative, for every pair (places in the list; A first).

    `values`: `{"pairs": [[i, j, a, b], ...]}` in the order of `pairs`: a is 1 and b 0 if i, shown as A,
    is preferred, 0 and 1 if j is, None and None where the answer is not valid.
    """
    responses = yield [prompts.pair_rank(sources[i], sources[j]) for i, j in pairs]
    return _compared(pairs, [read_preference(response, prompts) for response in responses], _won)


def pair_score_judge(
    sources: Sequence[Source], prompts: PromptSet, pairs: Sequence[tuple[int, int]], low: int, high: int
) -> Procedure[Outcome]:
    """Ask for the scores of both, for every pair (places in the list; A first).

    `values`: `{"pairs": [[i, j, a, b], ...]}` in the order of `pairs`: a is the score of i, shown as A,
    b that of j, integers from `low` to `high`; None and None where the answer is not valid.
    """
    responses = yield [prompts.pair_score(sources[i], sources[j]) for i, j in pairs]
    return _compared(
        pairs, [read_pair_scores(response, prompts, low, high) for response in responses], _scored
    )


def pairwise_judge(
    pair: PairItem,
    prompts: PromptSet,
    output: Output,
    low: int,
    high: int,
    order: Literal["drawn", "both"] = "drawn",
) -> Procedure[Outcome]:
    """Compare the two sources of a pair (Table 3).

    `values`: `{"scores": [first, second]}`: scores, or for `output="rank"` 1 for the preferred source
    and 0 for the other; `[None, None]` if the answer is not valid.

    `order="both"` asks the pair in both orders (an option beyond the paper, against position bias).
    `scores` are then the means over the two orders, so a preference that flips is the tie 0.5 to 0.5;
    `by_order` holds the scores `[first, second]` of each order, and `flipped` says whether the order
    of the two changed with the side (False where both are equal), None if an answer is not valid.
    """
    ask, won, parse = _output(prompts, output, low, high)
    requests = [ask(pair.first, pair.second)]
    if order == "both":
        requests.append(ask(pair.second, pair.first))
    responses = yield requests
    answers = tuple(parse(response) for response in responses)
    first, *other = [won(answer) for answer in answers]
    if not other:
        return Outcome(answers, {"scores": list(first)})
    return Outcome(answers, both_orders(first, (other[0][1], other[0][0])))


def pairwise_point_judge(pair: PairItem, prompts: PromptSet, low: int, high: int) -> Procedure[Outcome]:
    """Score the two sources of a pair one by one (PointJudge in Table 3).

    `values`: `{"scores": [first, second]}`, None where an answer is not valid.
    """
    responses = yield [prompts.point(pair.first), prompts.point(pair.second)]
    answers = tuple(read(response, parse_score, low, high) for response in responses)
    return Outcome(answers, {"scores": [answer.value for answer in answers]})


def read_preference(response: Response, prompts: PromptSet) -> Parsed:
    """A or B, read with the noun of these prompts."""
    return read(response, parse_preference, noun=prompts.noun)


def read_pair_scores(response: Response, prompts: PromptSet, low: int, high: int) -> Parsed:
    """The scores of A and B, read with the noun of these prompts."""
    return read(response, parse_pair_scores, low, high, noun=prompts.noun)


def both_orders(drawn: Sequence[float | None], swapped: Sequence[float | None]) -> dict[str, Any]:
    """What two orders of one pair say together: see `pairwise_judge`. Both are [first, second]."""
    by_order = [list(drawn), list(swapped)]
    a, b = drawn
    c, d = swapped
    if a is None or b is None or c is None or d is None:
        return {"scores": [None, None], "by_order": by_order, "flipped": None}
    return {"scores": [(a + c) / 2, (b + d) / 2], "by_order": by_order, "flipped": (a - b) * (c - d) < 0}


def _output(
    prompts: PromptSet, output: Output, low: int, high: int
) -> tuple[Callable[[Source, Source], Request], Callable[[Parsed], Scores], Callable[[Response], Parsed]]:
    if output == "rank":
        return prompts.pair_rank, _won, lambda response: read_preference(response, prompts)
    if output == "score":
        return prompts.pair_score, _scored, lambda response: read_pair_scores(response, prompts, low, high)
    raise ConfigError(f"output '{output}' is not one of rank, score")


def _compared(
    pairs: Sequence[tuple[int, int]], answers: Sequence[Parsed], won: Callable[[Parsed], Scores]
) -> Outcome:
    rows = [[i, j, *won(answer)] for (i, j), answer in zip(pairs, answers, strict=True)]
    return Outcome(tuple(answers), {"pairs": rows})


def _won(answer: Parsed) -> Scores:
    if not answer.valid:
        return (None, None)
    return (1, 0) if answer.value == "A" else (0, 1)


def _scored(answer: Parsed) -> Scores:
    if not answer.valid:
        return (None, None)
    a, b = answer.value
    return (a, b)
