"""Labels as scores: stances in the words that data sets use, numbers, and what is refused."""

from __future__ import annotations

from typing import Literal

import pytest

from authbench.data.records import Document, Question
from authbench.errors import ConfigError, DataError
from authbench.rag.oracle import (
    authority_scores,
    check_oracle,
    label_kind,
    numeric_label,
    stance_scores,
    stance_strength,
)


def question(answer: Literal["yes", "no"], *labels: str | float | None) -> Question:
    documents = tuple(Document(f"https://d{k}.example", "text", label) for k, label in enumerate(labels))
    return Question("q1", 0, "Is it so?", answer, documents)


@pytest.mark.parametrize(
    ("label", "strength"),
    [
        ("completely-support", 1.0),  # the four stances of Factcheck-GPT
        ("partially-support", 0.5),
        ("refute", -1.0),
        ("irrelevant", 0.0),
        ("SUPPORTS", 1.0),  # FEVER
        ("REFUTES", -1.0),
        ("NOT ENOUGH INFO", 0.0),
        ("partially_refutes", -0.5),
        ("contradiction", -1.0),
        ("neutral", 0.0),
        ("yes", 1.0),
        ("no", -1.0),
        ("no evidence", 0.0),
        ("", 0.0),
    ],
)
def test_stances(label: str, strength: float) -> None:
    assert stance_strength(label) == strength


@pytest.mark.parametrize("label", ["blue", "does not support", 7.0, None])
def test_what_is_no_stance(label: str | float | None) -> None:
    with pytest.raises(ValueError, match="is not a stance"):
        stance_strength(label)


def test_scores_speak_for_the_right_answer() -> None:
    labels = ("completely-support", "partially-support", "irrelevant", "refute")
    assert stance_scores(question("yes", *labels)) == [9.0, 6.75, 4.5, 0.0]
    assert stance_scores(question("no", *labels)) == [0.0, 2.25, 4.5, 9.0]
    with pytest.raises(DataError, match="question q1: None is not a stance"):
        stance_scores(question("yes", "support", None))


def test_authority_labels() -> None:
    assert authority_scores([3, None, 0.0]) == [3.0, -1.0, 0.0]
    numbers = [numeric_label(d) for d in question("yes", 7.0, "8", "support", None, "nan").documents]
    assert numbers == [7.0, 8.0, None, None, None]


def test_kinds_of_labels() -> None:
    assert label_kind(question("yes", None, None).documents) is None
    assert label_kind(question("yes", 1.0, "3", None).documents) == "number"
    assert label_kind(question("yes", 1.0, "refute").documents) == "stance"


def test_an_oracle_without_labels_is_refused_before_the_run() -> None:
    check_oracle("oracle-stance", "stance", joined=False)
    check_oracle("oracle-authority", "number", joined=False)
    check_oracle("oracle-authority", None, joined=True)
    with pytest.raises(ConfigError, match="this data has no labels; leave it out"):
        check_oracle("oracle-stance", None, joined=True)
    with pytest.raises(ConfigError, match=r"this data has stances\n.*dataset\.labels="):
        check_oracle("oracle-authority", "stance", joined=False)
