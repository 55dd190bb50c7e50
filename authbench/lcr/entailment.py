"""Reading an entailment answer: one of three words."""

from __future__ import annotations

import re

from authbench.judging.cleaning import no_answer, plain, strip_fence, strip_thinking
from authbench.lcr.prompts import ENTAILMENT_LABELS
from authbench.runtime.messages import Parsed, Response

_WORD = re.compile("|".join(ENTAILMENT_LABELS), re.IGNORECASE)
_ALONE = re.compile(rf"[\"'`]?({_WORD.pattern})[\"'`]?\.?", re.IGNORECASE)
_NEGATED = re.compile(
    rf"\b(?:no|not|non|isn't|nor|without)[\s-]+(?:an? |the )?(?:{_WORD.pattern})", re.IGNORECASE
)


def parse_entailment(text: str, truncated: bool = False) -> Parsed:
    """Read `entailment`, `contradiction` or `neutral`; the value is that word in lower case.

    The word alone is `ok`. With other words around it is `repaired`, provided that it is the only one of
    the three in the text and no negation stands before it. Anything else has no value.
    """
    answer = strip_thinking(text)
    shown = plain(strip_fence(answer)).strip()
    alone = _ALONE.fullmatch(shown)
    if alone is not None:
        return Parsed("ok", alone[1].lower())
    said = {word.lower() for word in _WORD.findall(shown)}
    if len(said) == 1 and _NEGATED.search(shown) is None:
        return Parsed("repaired", said.pop())
    return no_answer(answer, truncated)


def read_entailment(response: Response) -> Parsed:
    """Read the first sample of a response."""
    sample = response.samples[0]
    if sample.finish_reason == "refused":
        return Parsed("refused")
    return parse_entailment(sample.text, sample.finish_reason == "length")


def entails(answer: Parsed) -> bool:
    """Whether the answer says entailment. One without a value counts as neutral."""
    return answer.valid and answer.value == "entailment"
