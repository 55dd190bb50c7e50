"""Scores that come from the data's labels instead of a model: what a perfect filter would do.

A stance ("completely-support", "refute", "irrelevant") is turned into how far the document speaks for the
right answer; a number (PageRank, a level) is taken as authority. On the scale 0 to 9 of the other filters.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import Literal

from authbench.data.records import Document, Question
from authbench.errors import ConfigError, DataError

#: Half of the scale 0 to 9: a document that speaks for neither answer.
NEUTRAL = 4.5

_FOR = re.compile(r"\b(?:support\w*|agree\w*|entail\w*|for|pro|yes|true)\b")
_AGAINST = re.compile(r"\b(?:refut\w*|contradict\w*|oppos\w*|disagree\w*|against|con|no|false)\b")
_NEITHER = re.compile(
    r"\b(?:irrelevant|neutral|unrelated|unclear|mixed|none|unknown|no evidence|not enough info\w*|nei)\b|^$"
)
_PARTLY = re.compile(r"\b(?:partial\w*|partly|somewhat|weak\w*)\b")


def stance_strength(label: str | float | None) -> float:
    """How far a document speaks for `yes`, from -1 (against) to 1 (for); half of it for a partial stance.

    Raises `ValueError` for a label that is not a stance.
    """
    if not isinstance(label, str):
        raise ValueError(f"{label!r} is not a stance")
    words = re.sub(r"[-_\s]+", " ", label.strip().lower())
    if _NEITHER.search(words):
        return 0.0
    if re.search(r"\bnot\b", words):
        raise ValueError(f"{label!r} is not a stance")
    strength = 0.5 if _PARTLY.search(words) else 1.0
    if _FOR.search(words):
        return strength
    if _AGAINST.search(words):
        return -strength
    raise ValueError(f"{label!r} is not a stance")


def stance_scores(question: Question) -> list[float]:
    """How far each document speaks for the right answer: 9 wholly, 4.5 not at all, 0 against.

    Raises `DataError` naming the question for a label that is not a stance.
    """
    sign = 1.0 if question.answer == "yes" else -1.0
    try:
        return [NEUTRAL + NEUTRAL * sign * stance_strength(d.label) for d in question.documents]
    except ValueError as error:
        raise DataError(
            f"question {question.id}: {error}, and the filter oracle-stance needs one for each document\n"
            "use support, partially-support, irrelevant, partially-refute or refute"
        ) from None


def authority_scores(levels: Sequence[float | None]) -> list[float]:
    """A document's authority label as its score; -1, below every label, where there is none."""
    return [-1.0 if level is None else float(level) for level in levels]


def label_kind(documents: Sequence[Document]) -> Literal["stance", "number"] | None:
    """What the labels of these documents are; None where no document has one."""
    kinds = {_kind(document.label) for document in documents if document.label is not None}
    if not kinds:
        return None
    return "number" if kinds == {"number"} else "stance"


def numeric_label(document: Document) -> float | None:
    """The document's label where it is a number, also one written as text."""
    if document.label is None or _kind(document.label) != "number":
        return None
    number = float(document.label)
    return number if math.isfinite(number) else None


def check_oracle(name: str, kind: str | None, *, joined: bool) -> None:
    """Refuse, before the run, an oracle whose labels the data does not have.

    Args:
        name: of the oracle filter.
        kind: of the documents' own labels.
        joined: whether authority labels come from another data set.
    """
    if name == "oracle-stance" and kind != "stance":
        raise ConfigError(
            "the filter oracle-stance needs documents with a stance as label, and this data has "
            f"{'numbers' if kind else 'no labels'}; leave it out of filters"
        )
    if name == "oracle-authority" and kind != "number" and not joined:
        raise ConfigError(
            "the filter oracle-authority needs documents with a number as label, and this data has "
            f"{'stances' if kind else 'no labels'}\n"
            "take the labels of their domains with --set dataset.labels=domainauth-openpagerank"
        )


def _kind(label: str | float) -> Literal["stance", "number"]:
    try:
        float(label)
    except ValueError:
        return "stance"
    return "number"
