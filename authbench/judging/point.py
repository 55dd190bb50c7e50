"""PointJudge: an absolute score for each source on its own (AuthorityBench, section 4.1)."""

from __future__ import annotations

from collections.abc import Sequence

from authbench.data.records import Source
from authbench.judging.parse import parse_score, read
from authbench.prompts.render import PromptSet
from authbench.runtime.messages import Outcome, Procedure


def point_judge(sources: Sequence[Source], prompts: PromptSet, low: int, high: int) -> Procedure[Outcome]:
    """Ask for each source's score, all at once.

    `values`: `{"scores": [...]}` in the order shown, integers from `low` to `high`, None where the
    answer is not valid.
    """
    responses = yield [prompts.point(source) for source in sources]
    answers = tuple(read(response, parse_score, low, high) for response in responses)
    return Outcome(answers, {"scores": [answer.value for answer in answers]})
