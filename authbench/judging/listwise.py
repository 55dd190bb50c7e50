"""ListJudge: all sources of a list in one prompt, by rank or by score (AuthorityBench, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from authbench.data.records import Source
from authbench.judging.parse import parse_list_scores, parse_ranking, read
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Procedure


def list_rank_judge(sources: Sequence[Source], prompts: PromptSet) -> Procedure[Outcome]:
    """Ask for the order of the list, best first.

    `values`: `{"scores": [...]}` in the order shown: the list's length minus the place in the ranking,
    counted from 0, so the best of ten has 10 and the last 1. None for all if the answer is not valid.
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
    """Ask for a score of every source of the list.

    `values`: `{"scores": [...]}` in the order shown, integers from `low` to `high`; None for all if the
    answer is not valid.
    """
    responses = yield [prompts.list_score(sources)]
    answer = read(responses[0], parse_list_scores, len(sources), low, high)
    return Outcome((answer,), {"scores": answer.value if answer.valid else [None] * len(sources)})
