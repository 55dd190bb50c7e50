from __future__ import annotations

import math

import pytest
from driving import drive, prompt_of, says

from authbench.errors import ConfigError
from authbench.reranking.common import Candidate
from authbench.reranking.yesno import NO, YES, YesNoSettings, scoring_for, yes_no
from authbench.runtime.engine import Capabilities
from authbench.runtime.messages import Request, Response, Sample

FOUND = [Candidate("a", "about cats"), Candidate("b", "about fleas"), Candidate("c", "100% of {query}")]


def logprobs(*probabilities: float) -> Response:
    logs = tuple(math.log(p) if p else -math.inf for p in probabilities)
    return Response((Sample("Yes", "stop", label_logprobs=logs),))


def test_share_of_yes_over_its_spellings() -> None:
    assert (YES, NO) == (("Yes", "yes"), ("No", "no"))
    answers = {
        "cats": logprobs(0.1, 0.1, 0.5, 0.1),  # 0.2 / 0.8
        "fleas": logprobs(0.3, 0.0, 0.0, 0.1),  # 0.3 / 0.4
        "100%": logprobs(0.0, 0.0, 0.0, 0.0),  # the engine reported neither word
    }

    def respond(request: Request) -> Response:
        assert request.labels == (*YES, *NO) and request.sampling.max_tokens == 1
        return next(response for word, response in answers.items() if word in prompt_of(request))

    outcome, rounds = drive(yes_no("q", FOUND, YesNoSettings()), respond)
    assert outcome.values["scores"] == [pytest.approx(0.25), pytest.approx(0.75), None]
    assert outcome.values["order"] == ["b", "a", "c"]
    assert outcome.values["scoring"] == "logprob"
    assert [answer.status for answer in outcome.answers] == ["ok", "ok", "wrong_format"]
    assert len(rounds) == 1
    assert "100% of {query}" in prompt_of(rounds[0][2])


def test_sampled_substitute() -> None:
    def respond(request: Request) -> Response:
        assert request.sampling.n == 4 and request.sampling.temperature == 1.0 and not request.labels
        if "cats" in prompt_of(request):
            return says("No", "no.", "Yes", "perhaps")
        return says("Yes", "yes", "Yes.", "Yes") if "fleas" in prompt_of(request) else says(*"????")

    outcome, _ = drive(yes_no("q", FOUND, YesNoSettings("sampled", samples=4)), respond)
    assert outcome.values["scores"] == [pytest.approx(1 / 3), 1.0, None]
    assert outcome.values["order"] == ["b", "a", "c"]
    assert outcome.values["scoring"] == "sampled"
    assert [answer.status for answer in outcome.answers] == ["repaired", "ok", "wrong_format"]


def test_greedy_substitute_keeps_the_old_order_among_equals() -> None:
    def respond(request: Request) -> Response:
        assert request.sampling.temperature == 0.0
        return says("No" if "cats" in prompt_of(request) else "Yes")

    outcome, _ = drive(yes_no("q", FOUND, YesNoSettings("greedy")), respond)
    assert outcome.values["order"] == ["b", "c", "a"]
    assert outcome.values["scoring"] == "greedy"


def test_the_best_scoring_that_an_engine_allows() -> None:
    assert scoring_for(Capabilities(label_logprobs=True)) == "logprob"
    assert scoring_for(Capabilities()) == "sampled"
    assert scoring_for(Capabilities(samples=False)) == "greedy"


def test_budget_and_settings() -> None:
    _, rounds = drive(
        yes_no("q", [Candidate("a", "0123456789")], YesNoSettings("greedy", text_budget=4)),
        lambda _: says("Yes"),
    )
    assert "0123\n" in prompt_of(rounds[0][0]) and "01234" not in prompt_of(rounds[0][0])
    with pytest.raises(ConfigError):
        YesNoSettings(samples=0)


def test_no_candidates() -> None:
    outcome, _ = drive(yes_no("q", [], YesNoSettings()), lambda _: says("Yes"))
    assert outcome.values["order"] == []
