from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.lcr.entailment import entails, parse_entailment, read_entailment
from authbench.runtime.messages import STATUSES, Parsed, Response, Sample

CASES = [
    ("entailment", "ok", "entailment"),
    (" Entailment.\n", "ok", "entailment"),
    ("`neutral`", "ok", "neutral"),
    ('"CONTRADICTION"', "ok", "contradiction"),
    ("**contradiction**", "repaired", "contradiction"),
    ("The answer is: neutral, I think.", "repaired", "neutral"),
    ("答案：entailment。", "repaired", "entailment"),
    ("<think>entailment or neutral?</think>neutral", "ok", "neutral"),
    ("<think>entailment", "empty", None),
    ("entailment or contradiction", "wrong_format", None),
    ("not entailment", "wrong_format", None),
    ("There is no entailment here", "wrong_format", None),
    ("This isn't a contradiction", "wrong_format", None),
    ("yes", "wrong_format", None),
    ("", "empty", None),
    ("I'm sorry, I cannot help with that.", "refused", None),
]


@pytest.mark.parametrize(("text", "status", "value"), CASES)
def test_cases(text: str, status: str, value: str | None) -> None:
    parsed = parse_entailment(text)
    assert (parsed.status, parsed.value) == (status, value)


def test_a_cut_answer_says_so() -> None:
    assert parse_entailment("Answer 1 says that", truncated=True).status == "truncated"
    assert read_entailment(Response((Sample("", "refused"),))).status == "refused"


def test_only_entailment_entails() -> None:
    assert entails(Parsed("ok", "entailment"))
    assert not entails(Parsed("ok", "neutral"))
    assert not entails(Parsed("wrong_format"))  # counts as neutral


@given(st.text())
def test_nothing_raises(text: str) -> None:
    parsed = parse_entailment(text)
    assert parsed.status in STATUSES
    assert (parsed.value is not None) == parsed.valid
