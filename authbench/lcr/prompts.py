"""LCR's three prompts: a brief answer without and with a document, and entailment between two answers."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from authbench.prompts.loading import bind, templates
from authbench.runtime.messages import Constraint, Request, Sampling, user

#: The three words an entailment answer may be (LCR, section 3.1).
ENTAILMENT_LABELS = ("entailment", "contradiction", "neutral")

#: Room for the longest of them at a character a token, and a little more.
_WORD_TOKENS = 16


@dataclass(frozen=True, slots=True)
class LcrPrompts:
    """Requests of LCR.

    Attributes:
        constrain: `none` (the paper's protocol), or `choice`: entailment is decoded as one of its words.
        text_budget: most characters of a document that are shown, or None for the whole.
    """

    constrain: str = "none"
    text_budget: int | None = None

    def answer(self, question: str, document: str | None, sampling: Sampling) -> Request:
        """Ask for a brief answer: from the model's memory, or with a document as context."""
        if document is None:
            return user(_form("answer.without") % {"question": question}, sampling)
        shown = document if self.text_budget is None else document[: self.text_budget]
        return user(_form("answer.with") % {"question": question, "document": shown}, sampling)

    def entailment(self, question: str, premise: str, hypothesis: str) -> Request:
        """Ask whether one answer entails another. The document plays no part: equal pairs are asked once."""
        words = {"question": question, "premise": premise, "hypothesis": hypothesis}
        limit = Constraint("choice", ENTAILMENT_LABELS) if self.constrain != "none" else None
        return user(_form("entailment") % words, Sampling(max_tokens=_WORD_TOKENS), constraint=limit)


@lru_cache(maxsize=8)
def _form(name: str) -> str:
    return bind(templates()[f"lcr/{name}"].text, {})
