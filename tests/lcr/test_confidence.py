from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from itertools import cycle
from typing import Any

import numpy as np
import pytest
from driving import SimulatedModel, drive, pair_of, prompt_of, says
from hypothesis import given
from hypothesis import strategies as st

from authbench.errors import ConfigError, DataError
from authbench.lcr.confidence import ConfidenceSettings, confidence_of, mscp
from authbench.lcr.prompts import LcrPrompts
from authbench.runtime.messages import Request, Response, Sample

PROMPTS = LcrPrompts()


def model_saying(*texts: str) -> SimulatedModel:
    """A model that says these texts in turn, whatever it is asked."""
    turn = cycle(texts)
    return SimulatedModel(lambda prompt, rng: next(turn))


def test_the_papers_figure_2() -> None:
    # K = 5, the largest cluster "Trump" has three of five: MSCP = 3/5.
    model = SimulatedModel(lambda prompt, rng: "", lambda a, b: a[:5] == b[:5])
    texts = ["Trump", "Biden", "Trump.", "Harris", "Trump"]

    def respond(request: Request) -> Response:
        return model(request) if pair_of(prompt_of(request)) else says(*texts)

    settings = ConfidenceSettings(samples=5)
    outcome, rounds = drive(mscp("Who is the President of the U.S.?", None, settings, PROMPTS), respond)
    values = outcome.values
    assert confidence_of(values) == Fraction(3, 5)
    assert values["labels"] == [0, 1, 0, 2, 0]
    assert outcome.answers[0].value == texts
    entropy = -(0.6 * math.log(0.6) + 2 * 0.2 * math.log(0.2))
    assert float(confidence_of(values, "entropy")) == pytest.approx(1 - entropy / math.log(5))
    assert len(rounds[0]) == 1
    assert rounds[0][0].sampling.n == 5 and rounds[0][0].sampling.temperature == 1.0
    assert len(outcome.answers) == 1 + values["entailment_calls"] == sum(map(len, rounds))
    assert outcome.valid


def test_a_document_is_in_the_sampling_prompt_and_not_in_the_entailment_prompt() -> None:
    _, rounds = drive(
        mscp("Q?", "Some 100% {document}", ConfidenceSettings(samples=3), PROMPTS), model_saying("m1", "m2")
    )
    assert "Some 100% {document}" in prompt_of(rounds[0][0])
    assert all("document" not in prompt_of(request) for asked in rounds[1:] for request in asked)
    assert "Q?" in prompt_of(rounds[1][0])


def test_a_text_budget_cuts_the_document() -> None:
    request = LcrPrompts(text_budget=4).answer("q", "abcdefgh", ConfidenceSettings().sampling(2))
    assert "abcd\n" in prompt_of(request) and "abcde" not in prompt_of(request)


def test_entailment_can_be_constrained_as_an_option() -> None:
    assert PROMPTS.entailment("q", "a", "b").constraint is None
    limited = LcrPrompts(constrain="choice").entailment("q", "a", "b").constraint
    assert limited is not None and limited.value == ("entailment", "contradiction", "neutral")


def test_all_samples_empty() -> None:
    outcome, rounds = drive(mscp("q", None, ConfidenceSettings(samples=4), PROMPTS), model_saying("", " "))
    assert [answer.status for answer in outcome.answers] == ["empty"]
    assert confidence_of(outcome.values) == Fraction(1, 4)
    assert outcome.values["n_empty"] == 4
    assert len(rounds) == 1  # nothing to compare


def test_answers_that_are_no_label_count_as_neutral() -> None:
    def respond(request: Request) -> Response:
        return says("Indeed!") if pair_of(prompt_of(request)) else says("a", "b", "a")

    outcome, _ = drive(mscp("q", None, ConfidenceSettings(samples=3), PROMPTS), respond)
    assert outcome.values["n_unclear"] == 1
    assert [answer.status for answer in outcome.answers] == ["ok", "wrong_format"]
    assert confidence_of(outcome.values) == Fraction(2, 3)


def test_cut_and_refused_samples_are_counted() -> None:
    def respond(request: Request) -> Response:
        return Response((Sample("a", "length"), Sample("a", "stop")))

    outcome, _ = drive(mscp("q", None, ConfidenceSettings(samples=2), PROMPTS), respond)
    assert outcome.values["n_truncated"] == 1
    refused = Response((Sample("", "refused"),) * 2)
    outcome, _ = drive(mscp("q", None, ConfidenceSettings(samples=2), PROMPTS), lambda request: refused)
    assert [answer.status for answer in outcome.answers] == ["refused"]


def test_one_sample() -> None:
    outcome, _ = drive(mscp("q", None, ConfidenceSettings(samples=1), PROMPTS), model_saying("m1"))
    assert confidence_of(outcome.values) == 1


def draws(meanings: int) -> SimulatedModel:
    return SimulatedModel(lambda prompt, rng: f"m{rng.randrange(meanings)}w{rng.randrange(3)}")


@given(st.integers(1, 6), st.integers(0, 1000), st.sampled_from(["greedy", "pairwise"]))
def test_c_at_a_smaller_k_is_what_a_smaller_k_gives(meanings: int, number: int, clustering: str) -> None:
    def take(k: int) -> Fraction:
        settings = ConfidenceSettings(samples=k, clustering=clustering)  # type: ignore[arg-type]
        # A relation without transitivity: components of fewer samples are not a part of those of all.
        model = SimulatedModel(
            lambda prompt, rng: f"m{rng.randrange(meanings)}w{rng.randrange(9)}",
            lambda a, b: abs(int(a[-1]) - int(b[-1])) <= 1,
        )
        outcome, _ = drive(mscp(f"q{number}", None, settings, PROMPTS), model)
        values.append(outcome.values)
        return confidence_of(outcome.values)

    values: list[Mapping[str, Any]] = []
    take(12)
    stored = values[0]
    for k in (1, 2, 5, 12):
        assert confidence_of(stored, k=k) == take(k)


def test_c_at_k_refuses_what_is_not_there() -> None:
    outcome, _ = drive(mscp("q", None, ConfidenceSettings(samples=3), PROMPTS), draws(2))
    with pytest.raises(DataError, match="4 clustered samples"):
        confidence_of(outcome.values, k=4)
    with pytest.raises(DataError):
        confidence_of({"labels": [0, None], "k": 2}, k=2)


def test_entropy_confidence_is_exact_at_both_ends() -> None:
    def values(*labels: int | None) -> dict[str, object]:
        return {"k": len(labels), "labels": list(labels)}

    assert confidence_of(values(*[0] * 10), "entropy") == 1
    assert confidence_of(values(*range(10)), "entropy") == 0
    # Two halves of ten: 1 - ln 2 / ln 10 = 0.698970004 (log10 of 5).
    assert confidence_of(values(*[0, 1] * 5), "entropy") == Fraction("0.698970004")
    # The first three of them, and of connected components, which the fourth sample joins.
    assert (
        confidence_of(values(0, 1, 2, 0), "entropy", 3) == 0
        and confidence_of(values(0, 0, 1), "entropy", 2) == 1
    )
    joined = {**values(0, 0, 0, 0), "links": [(0, 1), (1, 3), (2, 3)]}
    third = 1 - (2 * math.log(1.5) + math.log(3)) / 3 / math.log(3)
    assert (
        float(confidence_of(joined, "entropy", 3)) == pytest.approx(third)
        and confidence_of(joined, "entropy") == 1
    )
    with pytest.raises(DataError):
        confidence_of(values(0, 1, 1), "entropy", 1)
    with pytest.raises(DataError):
        confidence_of(values(0, 1, 1), "entropy", 4)
    with pytest.raises(DataError):
        confidence_of(values(0, None), "entropy")
    with pytest.raises(DataError):
        confidence_of(values(0), "entropy")


def test_settings_that_cannot_be() -> None:
    with pytest.raises(ConfigError, match="at least one sample"):
        ConfidenceSettings(samples=0)
    with pytest.raises(ConfigError, match="temperature"):
        ConfidenceSettings(temperature=0.0)
    with pytest.raises(ConfigError, match="embedding"):
        drive(mscp("q", None, ConfidenceSettings(clustering="centroid"), PROMPTS), draws(2))
    with pytest.raises(ConfigError, match="needs greedy"):
        settings = ConfidenceSettings(clustering="pairwise")
        drive(mscp("q", None, settings, PROMPTS, decided=lambda low, high: low == high), draws(2))


def test_centroid_with_an_embedding() -> None:
    settings = ConfidenceSettings(samples=6, clustering="centroid")
    outcome, _ = drive(
        mscp("q", None, settings, PROMPTS, embed=lambda texts: np.array([[1.0, len(t)] for t in texts])),
        draws(2),
    )
    greedy, _ = drive(mscp("q", None, ConfidenceSettings(samples=6), PROMPTS), draws(2))
    assert outcome.values["labels"] == greedy.values["labels"]


def test_the_simulated_stream_is_one_for_all_n() -> None:
    # What the other tests rest on, and what the store guarantees: n samples are the first n of one stream.
    model = draws(5)
    few = model(PROMPTS.answer("q", None, ConfidenceSettings().sampling(3)))
    many = model(PROMPTS.answer("q", None, ConfidenceSettings().sampling(8)))
    assert many.samples[:3] == few.samples
