"""The five judges as procedures (AuthorityBench, section 4.1).

PointJudge scores each source on its own; ListJudge takes all sources of a list in one prompt and PairJudge
two sources in one, each by rank or by score. For lists, the comparisons of a `comparison_plan` are asked at
once and aggregated afterwards (`authbench.judging.aggregate`); in Table 3 an item is one pair.

Scores are integers from `low` to `high`. Where an answer is not valid, its scores are None.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from functools import lru_cache, partial
from itertools import combinations
from typing import Any, Literal

from authbench.data.records import PairItem, Source
from authbench.errors import ConfigError, did_you_mean
from authbench.judging.parse import (
    parse_list_scores,
    parse_pair_scores,
    parse_preference,
    parse_ranking,
    parse_score,
    read,
)
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Parsed, Procedure, Response

Order = Literal["drawn", "both"]
SCHEMES = ("anchors", "all")

#: What the two sources of a comparison get: scores, or 1 for the preferred one and 0 for the other.
Scores = tuple[int, int] | tuple[None, None]


def point_judge(sources: Sequence[Source], prompts: PromptSet, low: int, high: int) -> Procedure[Outcome]:
    """PointJudge: a score for each source, all asked at once. `values`: `scores`, in the order shown."""
    responses = yield [prompts.point(source) for source in sources]
    answers = tuple(read(response, parse_score, low, high) for response in responses)
    return Outcome(answers, {"scores": [answer.value for answer in answers]})


def list_rank_judge(sources: Sequence[Source], prompts: PromptSet) -> Procedure[Outcome]:
    """ListJudge by rank: the order of the list, best first.

    `values`: `scores`, in the order shown: the list's length minus the place in the ranking, counted from 0,
    so the best of ten has 10 and the last 1.
    """
    count = len(sources)
    responses = yield [prompts.list_rank(sources)]
    answer = read(responses[0], parse_ranking, count)
    scores: list[int | None] = [None] * count
    if answer.valid:
        for place, source in enumerate(answer.value):
            scores[source] = count - place
    return Outcome((answer,), {"scores": scores})


def list_score_judge(
    sources: Sequence[Source], prompts: PromptSet, low: int, high: int
) -> Procedure[Outcome]:
    """ListJudge by score: a score for every source of the list. `values`: `scores`, in the order shown."""
    responses = yield [prompts.list_score(sources)]
    answer = read(responses[0], parse_list_scores, len(sources), low, high)
    return Outcome((answer,), {"scores": answer.value if answer.valid else [None] * len(sources)})


def pair_rank_judge(
    sources: Sequence[Source], prompts: PromptSet, pairs: Sequence[tuple[int, int]]
) -> Procedure[Outcome]:
    """PairJudge by rank, for every pair of places in the list (A first).

    `values`: `pairs`, rows `[i, j, a, b]` in the order of `pairs`: a is 1 and b 0 if source i, shown as A, is
    preferred, 0 and 1 if source j is.
    """
    responses = yield [prompts.pair_rank(sources[i], sources[j]) for i, j in pairs]
    return _compared(pairs, [_preference(response, prompts) for response in responses], _won)


def pair_score_judge(
    sources: Sequence[Source], prompts: PromptSet, pairs: Sequence[tuple[int, int]], low: int, high: int
) -> Procedure[Outcome]:
    """PairJudge by score, for every pair of places in the list (A first).

    `values`: `pairs`, rows `[i, j, a, b]` in the order of `pairs`: a is the score of source i, shown as A,
    and b that of source j.
    """
    responses = yield [prompts.pair_score(sources[i], sources[j]) for i, j in pairs]
    return _compared(pairs, [_pair_scores(response, prompts, low, high) for response in responses], _scored)


def pairwise_judge(
    pair: PairItem,
    prompts: PromptSet,
    output: Literal["rank", "score"],
    low: int,
    high: int,
    order: Order = "drawn",
) -> Procedure[Outcome]:
    """PairJudge on the pair of Table 3.

    `values`: `scores`, `[first, second]`: scores, or by rank 1 for the preferred source and 0 for the other.

    `order="both"` asks for the pair in both orders (beyond the paper, against position bias): see
    `both_orders`.
    """
    if output == "rank":
        ask, won, parse = prompts.pair_rank, _won, partial(_preference, prompts=prompts)
    elif output == "score":
        ask, won = prompts.pair_score, _scored
        parse = partial(_pair_scores, prompts=prompts, low=low, high=high)
    else:
        raise ConfigError(f"output '{output}' is not one of rank, score")
    requests = [ask(pair.first, pair.second)]
    if order == "both":
        requests.append(ask(pair.second, pair.first))
    responses = yield requests
    answers = tuple(parse(response) for response in responses)
    first, *other = [won(answer) for answer in answers]
    if not other:
        return Outcome(answers, {"scores": list(first)})
    return Outcome(answers, both_orders(first, (other[0][1], other[0][0])))


def both_orders(drawn: Sequence[float | None], swapped: Sequence[float | None]) -> dict[str, Any]:
    """What the two orders of one pair say together; both are given as scores `[first, second]`.

    `scores` are the means over the two orders, so a preference that changes with the side is a tie;
    `by_order` holds the scores of each order; `flipped` says whether the preference changed with the side
    (False where either order has equal scores), None if an answer is not valid.
    """
    by_order = [list(drawn), list(swapped)]
    a, b = drawn
    c, d = swapped
    if a is None or b is None or c is None or d is None:
        return {"scores": [None, None], "by_order": by_order, "flipped": None}
    return {"scores": [(a + c) / 2, (b + d) / 2], "by_order": by_order, "flipped": (a - b) * (c - d) < 0}


@lru_cache(maxsize=1024)
def comparison_plan(
    count: int, scheme: Literal["anchors", "all"], seed_text: str, anchors: int = 5
) -> tuple[tuple[int, int], ...]:
    """Which sources of a list PairJudge compares, as (shown as A, shown as B), places from 0.

    `all`: every pair once (coarse scale: 5 sources, 10 pairs). `anchors` (fine scale): `anchors` sources are
    drawn; each other source is compared with every anchor, and the anchors with each other, each pair once:
    25 + 10 = 35 for 10 sources and 5 anchors (AuthorityBench, section 4.1).

    The draw and the sides depend on `seed_text` alone, through SHA-256, so they are the same with every
    Python. The side of a pair does not depend on the scheme. Raises `ConfigError` for an unknown scheme or
    no anchors.
    """
    if scheme not in SCHEMES:
        raise ConfigError(
            f"comparison scheme '{scheme}' is not one of {', '.join(SCHEMES)}{did_you_mean(scheme, SCHEMES)}"
        )
    if anchors < 1:
        raise ConfigError(f"anchors: {anchors} are too few, a list needs 1 or more")
    chosen = set(range(count))
    if scheme == "anchors":
        chosen = set(sorted(chosen, key=lambda place: _draw(seed_text, "anchor", place))[:anchors])
    pairs = (pair for pair in combinations(range(count), 2) if not chosen.isdisjoint(pair))
    return tuple(sorted((j, i) if _draw(seed_text, "side", i, j)[0] & 1 else (i, j) for i, j in pairs))


def _draw(seed_text: str, what: str, *places: int) -> bytes:
    return hashlib.sha256("\0".join([seed_text, what, *map(str, places)]).encode()).digest()


def _preference(response: Response, prompts: PromptSet) -> Parsed:
    return read(response, parse_preference, noun=prompts.noun)


def _pair_scores(response: Response, prompts: PromptSet, low: int, high: int) -> Parsed:
    return read(response, parse_pair_scores, low, high, noun=prompts.noun)


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
