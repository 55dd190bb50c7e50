from __future__ import annotations

from driving import drive, prompt_of

from authbench.reranking.common import Candidate
from authbench.reranking.qlm import query_likelihood
from authbench.runtime.messages import Request, Response, Sample


def test_documents_are_ordered_by_the_likelihood_of_the_query() -> None:
    logs = {"cats": -12.0, "fleas": -3.5, "broken": None, "nan": float("nan")}

    def respond(request: Request) -> Response:
        assert request.score_target == "how long do fleas live" and request.sampling.max_tokens == 0
        word = next(word for word in logs if f"about {word}" in prompt_of(request))
        return Response((Sample("", "stop", target_logprob=logs[word]),))

    found = [Candidate(word, f"about {word}, {{query}} 5%") for word in ("nan", "cats", "broken", "fleas")]
    outcome, rounds = drive(query_likelihood("how long do fleas live", found), respond)
    assert outcome.values["order"] == ["fleas", "cats", "nan", "broken"]
    assert outcome.values["scores"] == [None, -12.0, None, -3.5]
    assert [answer.status for answer in outcome.answers] == ["wrong_format", "ok", "wrong_format", "ok"]
    assert len(rounds) == 1
    assert "how long" not in prompt_of(rounds[0][0])  # the query is scored, not shown


def test_a_text_budget() -> None:
    _, rounds = drive(
        query_likelihood("q", [Candidate("a", "0123456789")], text_budget=4),
        lambda _: Response((Sample("", "stop", target_logprob=-1.0),)),
    )
    assert prompt_of(rounds[0][0]).endswith("0123")
