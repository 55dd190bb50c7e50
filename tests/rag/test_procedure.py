"""RAG as a procedure: what is asked in which round, and what an invalid answer leads to."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from authbench.data.records import Document, Question
from authbench.prompts.render import rag_prompts
from authbench.rag.filters import parse_filter
from authbench.rag.procedure import Plan, filter_procedure, rag_procedure
from authbench.rag.selection import Cut
from authbench.runtime.messages import Outcome, Procedure, Request, Response, Sample

PROMPTS = rag_prompts()
QUESTION = Question(
    "q1",
    0,
    "Does water dilute gastric juice?",
    "no",
    tuple(Document(f"https://site{k}.example/page", f"Text number {k}.") for k in range(4)),
)
KEEP = (Cut(k=1), Cut(k=3), Cut(k=5))


def text(request: Request) -> str:
    return request.messages[-1].content


def reply(*texts: str) -> list[Response]:
    return [Response((Sample(answer, "stop", 1),)) for answer in texts]


def drive(
    procedure: Procedure[Outcome], rounds: Sequence[Sequence[str]]
) -> tuple[list[Sequence[Request]], Outcome]:
    """Answer a procedure round by round; gives what it asked and what came of it."""
    asked: list[Sequence[Request]] = []
    responses: list[Response] | None = None
    for answers in [*rounds, ()]:
        try:
            requests = next(procedure) if responses is None else procedure.send(responses)
        except StopIteration as stop:
            assert answers == (), "the procedure ended before its answers were used up"
            return asked, stop.value
        asked.append(requests)
        assert len(requests) == len(answers), [text(request) for request in requests]
        responses = reply(*answers)
    raise AssertionError("the procedure asked for more")


def scores(*values: int) -> str:
    return json.dumps({str(place): value for place, value in enumerate(values)})


def plan(name: str, cuts: tuple[Cut, ...] = KEEP, **options: Any) -> Plan:
    return Plan(parse_filter(name), cuts, **options)


def test_no_filter_asks_once_with_all_documents() -> None:
    asked, outcome = drive(rag_procedure(QUESTION, PROMPTS, plan("none", (Cut(),))), [["no"]])
    assert len(asked) == 1
    for document in QUESTION.documents:
        assert document.url in text(asked[0][0]) and document.text in text(asked[0][0])
    assert outcome.values["scores"] == {}
    assert outcome.values["cuts"] == [
        {"k": None, "threshold": None, "kept": [0, 1, 2, 3], "tie": False, "answer": "no"}
    ]


def test_authority_sees_urls_only_and_every_k_is_asked_at_once() -> None:
    procedure = rag_procedure(QUESTION, PROMPTS, plan("authority"))
    asked, outcome = drive(procedure, [[scores(2, 9, 2, 5)], ["yes", "No", "no."]])
    first = text(asked[0][0])
    assert "Text number" not in first and "gastric" not in first
    assert "[3]: https://site3.example/page" in first
    kept = [(cut["kept"], cut["tie"], cut["answer"]) for cut in outcome.values["cuts"]]
    # Original order; document 0 beats document 2 for the third place by its place alone.
    assert kept == [([1], False, "yes"), ([0, 1, 3], True, "no"), ([0, 1, 2, 3], False, "no")]
    one, three, five = (text(request) for request in asked[1])
    assert "Text number 1." in one and "Text number 0." not in one
    assert one.index("Document [0]") < one.index("Text number 1.")  # numbered anew from 0
    assert three.index("Text number 0.") < three.index("Text number 1.") < three.index("Text number 3.")
    assert five == text(drive(rag_procedure(QUESTION, PROMPTS, plan("none", (Cut(),))), [["no"]])[0][0][0])
    assert [answer.status for answer in outcome.answers] == ["ok"] * 4


def test_best_score_first_is_an_option() -> None:
    procedure = rag_procedure(QUESTION, PROMPTS, plan("authority", (Cut(k=3),), shown="score"))
    asked, outcome = drive(procedure, [[scores(2, 9, 2, 5)], ["no"]])
    assert outcome.values["cuts"][0]["kept"] == [1, 3, 0]
    shown = text(asked[1][0])
    assert shown.index("Text number 1.") < shown.index("Text number 3.") < shown.index("Text number 0.")


def test_utility_reads_the_scores_beside_the_pseudo_answers() -> None:
    answer = {
        "answers": {str(k): 'it says {"0": 9}' for k in range(4)},
        "scores": {"0": 1, "1": 2, "2": 3, "3": 4},
    }
    procedure = rag_procedure(QUESTION, PROMPTS, plan("utility", (Cut(k=1),)))
    asked, outcome = drive(procedure, [[json.dumps(answer)], ["no"]])
    assert "Step 1: Generate a pseudo-answer" in text(asked[0][0])
    assert outcome.values["scores"] == {"utility": [1, 2, 3, 4]}
    assert outcome.values["cuts"][0]["kept"] == [3]


@pytest.mark.parametrize("bad", ["I cannot rate these.", scores(1, 2, 3), scores(1, 2, 3, 10), ""])
def test_an_invalid_filter_answer_keeps_nothing_and_asks_nothing(bad: str) -> None:
    asked, outcome = drive(rag_procedure(QUESTION, PROMPTS, plan("relevance")), [[bad]])
    assert len(asked) == 1
    assert outcome.values["scores"] == {"relevance": None}
    assert [(cut["k"], cut["kept"], cut["answer"]) for cut in outcome.values["cuts"]] == [
        (1, None, None),
        (3, None, None),
        (5, None, None),
    ]
    assert not outcome.valid


def test_anything_but_yes_and_no_is_no_answer() -> None:
    procedure = rag_procedure(QUESTION, PROMPTS, plan("authority"))
    _, outcome = drive(procedure, [[scores(1, 2, 3, 4)], ["Perhaps.", "yes and no", "no"]])
    assert [cut["answer"] for cut in outcome.values["cuts"]] == [None, None, "no"]


def test_joined_filters_ask_for_their_parts_in_one_round() -> None:
    joined = rag_procedure(QUESTION, PROMPTS, plan("authority+relevance", (Cut(k=1),)))
    asked, outcome = drive(joined, [[scores(0, 0, 9, 6), scores(9, 9, 0, 9)], ["no"]])
    assert [("URL" in text(r), "gastric" in text(r)) for r in asked[0]] == [(True, False), (False, True)]
    assert outcome.values["cuts"][0]["kept"] == [3]  # 4.5, 4.5, 4.5, 7.5
    half = rag_procedure(QUESTION, PROMPTS, plan("authority+relevance", (Cut(k=1),)))
    _, outcome = drive(half, [[scores(0, 0, 9, 6), "no idea"]])
    assert outcome.values["scores"]["authority"] == [0, 0, 9, 6]
    assert outcome.values["cuts"][0]["kept"] is None


def test_an_oracle_asks_for_no_scores() -> None:
    given = {"oracle-stance": [0.0, 4.5, 9.0, 4.5]}
    procedure = rag_procedure(QUESTION, PROMPTS, plan("oracle-stance", (Cut(k=1),)), given)
    asked, outcome = drive(procedure, [["no"]])
    assert len(asked) == 1 and "Text number 2." in text(asked[0][0])
    assert outcome.values["scores"] == given


def test_a_threshold_keeps_at_least_its_minimum() -> None:
    cuts = (Cut(threshold=7), Cut(threshold=3))
    procedure = rag_procedure(QUESTION, PROMPTS, plan("authority", cuts, minimum=1))
    _, outcome = drive(procedure, [[scores(2, 6, 2, 5)], ["no", "no"]])
    assert [cut["kept"] for cut in outcome.values["cuts"]] == [[1], [1, 3]]
    assert [cut["threshold"] for cut in outcome.values["cuts"]] == [7, 3]


def test_no_documents_at_all() -> None:
    empty = Question("q2", 0, "Is it so?", "yes", ())
    asked, outcome = drive(rag_procedure(empty, PROMPTS, plan("authority", (Cut(k=1),))), [["yes"]])
    assert len(asked) == 1 and "Reference Documents" in text(asked[0][0])
    assert outcome.values["cuts"][0]["kept"] == []


def test_filter_alone() -> None:
    chosen = parse_filter("authority")
    asked, outcome = drive(filter_procedure(QUESTION, PROMPTS, chosen, Cut(k=2)), [[scores(5, 9, 5, 0)]])
    assert len(asked) == 1
    assert outcome.values == {
        "scores": {"authority": [5, 9, 5, 0]},
        "combined": [5, 9, 5, 0],
        "kept": (0, 1),
        "tie": True,
    }
    _, outcome = drive(filter_procedure(QUESTION, PROMPTS, chosen, Cut(k=2)), [["?"]])
    assert outcome.values["kept"] is None and outcome.values["combined"] is None
