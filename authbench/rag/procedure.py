"""A question with one filter as a procedure: score the documents, then answer from those kept.

Round one asks every scoring prompt that the filter is made of, round two the question once for each cut, all
at once. Cuts that keep the same documents ask the same thing, and the scheduler asks it once.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from authbench.data.records import Question
from authbench.judging.parse import parse_list_scores, parse_utility, parse_yes_no, read
from authbench.prompts.render import RagPrompts
from authbench.rag.filters import Filter
from authbench.rag.selection import Cut, Selection
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Response

Shown = Literal["original", "score"]


@dataclass(frozen=True, slots=True)
class Plan:
    """What is done with each question of a group.

    Attributes:
        filter: how documents are scored.
        cuts: where the ranking is cut; the question is answered once for each.
        shown: the order in which the generator sees what was kept: of retrieval, or of the scores.
        minimum: fewest documents that a threshold keeps.
    """

    filter: Filter
    cuts: tuple[Cut, ...]
    shown: Shown = "original"
    minimum: int = 1


@dataclass(slots=True)
class Scoring:
    """The scores of a question's documents.

    Attributes:
        parts: scores by part of the filter, in retrieval order; None where the answer was invalid.
        answers: how the model's answers were read.
    """

    parts: dict[str, list[float] | None] = field(default_factory=dict)
    answers: list[Parsed] = field(default_factory=list)

    @property
    def usable(self) -> dict[str, list[float]] | None:
        """The scores by part, or None if any part has none: such a question is not filtered at all."""
        known = {part: scores for part, scores in self.parts.items() if scores is not None}
        return known if len(known) == len(self.parts) else None


def score_documents(
    question: Question, prompts: RagPrompts, chosen: Filter, given: Mapping[str, list[float]]
) -> Generator[Sequence[Request], Sequence[Response], Scoring]:
    """Ask for the scores that a filter needs, in one round; no round where it asks for nothing.

    Args:
        question: with its documents as the model is to see them.
        given: scores of the parts that are not asked for (the oracles).
    """
    count = len(question.documents)
    scoring = Scoring({part: given[part] for part in chosen.parts if part in given})
    if not count:
        scoring.parts = {part: [] for part in chosen.parts}
        return scoring
    if not chosen.asked:
        return scoring
    responses = yield [scoring_request(part, question, prompts) for part in chosen.asked]
    for part, response in zip(chosen.asked, responses, strict=True):
        parse = parse_utility if part == "utility" else parse_list_scores
        parsed = read(response, parse, count, prompts.low, prompts.high)
        scoring.answers.append(parsed)
        scoring.parts[part] = _values(part, parsed)
    return scoring


def scoring_request(part: str, question: Question, prompts: RagPrompts) -> Request:
    """The prompt that scores a question's documents: strategies b, c and d of appendix A."""
    if part == "authority":
        return prompts.authority(question.documents)
    ask = prompts.utility if part == "utility" else prompts.relevance
    return ask(question.question, question.documents)


def rag_procedure(
    question: Question, prompts: RagPrompts, plan: Plan, given: Mapping[str, list[float]] | None = None
) -> Procedure[Outcome]:
    """Filter a question's documents and answer it at every cut (AuthorityBench, section 4.4).

    Where a scoring answer is invalid nothing is kept and nothing is asked: the first documents are not
    silently put in its place, so the question counts as invalid at every cut.

    The outcome's values: `scores`, by part of the filter, None where invalid; `cuts`, one mapping for each
    with `k` and `threshold` (both None for no filter), `kept` (places of the documents in retrieval order,
    as shown; None where invalid), `tie` (decided by the rule for ties alone) and `answer` (`yes`, `no` or
    None).
    """
    scoring = yield from score_documents(question, prompts, plan.filter, given or {})
    parts = scoring.usable
    if parts is None:
        cuts = [_cut_values(cut, None, None) for cut in plan.cuts]
        return Outcome(tuple(scoring.answers), {"scores": scoring.parts, "cuts": cuts})
    selections = [select(plan, question, parts, cut) for cut in plan.cuts]
    kept = [_order(selection, plan.shown) for selection in selections]
    responses = yield [
        prompts.answer(question.question, [question.documents[place] for place in places]) for places in kept
    ]
    answers = [read(response, parse_yes_no) for response in responses]
    cuts = [
        _cut_values(cut, (places, selection.tie), answer.value if answer.valid else None)
        for cut, places, selection, answer in zip(plan.cuts, kept, selections, answers, strict=True)
    ]
    return Outcome((*scoring.answers, *answers), {"scores": scoring.parts, "cuts": cuts})


def select(plan: Plan, question: Question, parts: Mapping[str, list[float]], cut: Cut) -> Selection:
    """The documents kept at a cut; all of them without a filter."""
    if not plan.filter.parts:
        return Selection(tuple(range(len(question.documents))))
    return plan.filter.select(parts, cut, plan.minimum)


def _order(selection: Selection, shown: Shown) -> tuple[int, ...]:
    return selection.in_order if shown == "original" else selection.kept


def _values(part: str, parsed: Parsed) -> list[float] | None:
    if not parsed.valid:
        return None
    scores: list[float] = parsed.value["scores"] if part == "utility" else parsed.value
    return scores


def _cut_values(cut: Cut, kept: tuple[Sequence[int], bool] | None, answer: str | None) -> dict[str, Any]:
    return {
        "k": cut.k,
        "threshold": cut.threshold,
        "kept": None if kept is None else list(kept[0]),
        "tie": kept is not None and kept[1],
        "answer": answer,
    }


def filter_procedure(
    question: Question, prompts: RagPrompts, chosen: Filter, cut: Cut, minimum: int = 0
) -> Procedure[Outcome]:
    """Score a question's documents and say which are kept, without answering it.

    The outcome's values: `scores`, by part of the filter, `combined`, the scores that are compared last,
    `kept`, places in retrieval order (these two None where an answer was invalid), and `tie`.
    """
    scoring = yield from score_documents(question, prompts, chosen, {})
    parts = scoring.usable
    values: dict[str, Any] = {"scores": scoring.parts, "combined": None, "kept": None, "tie": False}
    if parts is not None:
        selection = chosen.select(parts, cut, minimum)
        values |= {"combined": chosen.scores(parts), "kept": selection.in_order, "tie": selection.tie}
    return Outcome(tuple(scoring.answers), values)
