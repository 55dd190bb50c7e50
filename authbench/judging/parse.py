"""Reading answers: the one place that turns a model's text into a value with a status.

No function here raises for any text, and none guesses: a value is given only where the answer can mean
nothing else. `ok` is the format that the prompt asks for, alone or in a code fence; `repaired` has the
same meaning with something to overlook. Thinking blocks are ignored. docs/parsing.md has the rules and
their reasons.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from authbench.judging.rankings import parse_ranking
from authbench.judging.scores import parse_list_scores, parse_pair_scores, parse_score, parse_utility
from authbench.judging.words import parse_preference, parse_yes_no
from authbench.runtime.messages import Parsed, Response

__all__ = ["parse_list_scores", "parse_pair_scores", "parse_preference", "parse_ranking", "parse_score"]
__all__ += ["parse_utility", "parse_yes_no", "read"]


def read(response: Response, parse: Callable[..., Parsed], *arguments: Any, **options: Any) -> Parsed:
    """Read the first sample of a response with one of the parsers.

    The arguments go between the text and `truncated`. What the engine itself calls refused is refused.
    """
    sample = response.samples[0]
    if sample.finish_reason == "refused":
        return Parsed("refused")
    return parse(sample.text, *arguments, truncated=sample.finish_reason == "length", **options)
