"""The answer formats: the example shown, the most tokens an answer may take, the option to constrain it.

`max_tokens` is the number of *characters* of the longest well-formed answer, written as the prompt's
example is written, plus `FENCE` for a Markdown code fence around it. A token has at least one character
of such an answer, so no tokenizer cuts a well-formed one, and a constrained answer always ends.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from authbench.runtime.messages import Constraint, Sampling

#: Characters of a code fence with its language, before and after the answer.
FENCE = len("```json\n" + "\n```")

#: Room for the one-word answers (A, B, yes, no) with what may stand before them, such as `Answer: `.
WORD_TOKENS = 8

#: Tokens of one pseudo-answer of the utility prompt: a sentence or two. Also its most characters
#: where the answer is constrained, to printable ASCII, so that a character is at most one token.
PSEUDO_ANSWER = 96


def score_example(count: int, high: int) -> str:
    """The prompts' example of scores by identifier, `{"0": 7, "1": 4, …, "9": 8}` for ten on 0 to 9.

    The last identifier follows `count`, the scores follow the scale (7 of 9 is 3 of 4).
    """
    shown = [f'"{k}": {example_score(score, high)}' for k, score in enumerate((7, 4)) if k < count]
    if count > 3:
        shown.append("…")
    if count > 2:
        shown.append(f'"{count - 1}": {example_score(8, high)}')
    return "{" + ", ".join(shown) + "}"


def utility_example(count: int) -> str:
    """The utility prompt's example, shortened where there are one or two documents."""
    more = ["…"] if count > 2 else []
    answers = ", ".join([f'"{k}": "…"' for k in range(min(count, 2))] + more)
    scores = ", ".join([f'"{k}": {score}' for k, score in enumerate((7, 4)) if k < count] + more)
    return f'{{"answers": {{{answers}}}, "scores": {{{scores}}}}}'


def rank_example(count: int) -> str:
    """`[4] > [0]`, or the nearest that a list of fewer than five has."""
    return f"[{min(4, count - 1)}] > [0]" if count > 1 else "[0]"


def allowed_scores(high: int) -> str:
    """`0, 1, 2, 3, or 4`: the list of scores that prompts A and B name."""
    names = [str(score) for score in range(high + 1)]
    return ", ".join([*names[:-1], f"or {names[-1]}"]) if high > 1 else " or ".join(names)


def example_score(score: int, high: int) -> int:
    """An example score of the paper's 0 to 9 on the scale 0 to `high`, rounded."""
    return round(score * high / 9)


def point_tokens(high: int) -> int:
    """Most tokens of `{"score": 9}`."""
    return len(json.dumps({"score": high})) + FENCE


def pair_tokens(high: int) -> int:
    """Most tokens of `{"A": 9, "B": 9}`."""
    return len(json.dumps({"A": high, "B": high})) + FENCE


def list_tokens(count: int, high: int) -> int:
    """Most tokens of a JSON object of `count` scores by identifier."""
    return len(json.dumps(dict.fromkeys(_ids(count), high))) + FENCE


def rank_tokens(count: int) -> int:
    """Most tokens of `[4] > [0] > ...` with every identifier once."""
    return len(" > ".join(f"[{k}]" for k in range(count))) + FENCE


def utility_tokens(count: int) -> int:
    """Most tokens of the utility prompt's answer, with `PSEUDO_ANSWER` for each pseudo-answer."""
    frame = {"answers": dict.fromkeys(_ids(count), ""), "scores": dict.fromkeys(_ids(count), 9)}
    return len(json.dumps(frame)) + FENCE + PSEUDO_ANSWER * count


def greedy(max_tokens: int) -> Sampling:
    """Temperature 0, as the paper's section 4.1 has it."""
    return Sampling(max_tokens=max_tokens, temperature=0.0)


def scores_schema(keys: Sequence[str], high: int) -> Constraint:
    """An object that has exactly these keys, each an integer from 0 to `high`."""
    return _json(_object({key: _score(high) for key in keys}))


def list_schema(count: int, high: int) -> Constraint:
    """The same with the identifiers of a list as keys."""
    return scores_schema(_ids(count), high)


def utility_schema(count: int) -> Constraint:
    """Pseudo-answers of limited length and scores from 0 to 9, both for every identifier."""
    # Printable ASCII without the quote and the backslash: a character is at most one token, and the
    # answer ends within `utility_tokens`.
    answer = {"type": "string", "pattern": f"^[ !#-\\[\\]-~]{{1,{PSEUDO_ANSWER}}}$"}
    answers = _object(dict.fromkeys(_ids(count), answer))
    return _json(_object({"answers": answers, "scores": _object(dict.fromkeys(_ids(count), _score(9)))}))


def rank_regex(count: int) -> Constraint:
    """A chain of `count` identifiers. That each stands there once is beyond a regular expression."""
    one = rf"\[({'|'.join(_ids(count))})\]"
    return Constraint("regex", one + (f"( > {one}){{{count - 1}}}" if count > 1 else ""))


def choice(*words: str) -> Constraint:
    """One of these words."""
    return Constraint("choice", words)


def _ids(count: int) -> list[str]:
    return [str(k) for k in range(count)]


def _score(high: int) -> dict[str, Any]:
    return {"type": "integer", "minimum": 0, "maximum": high}


def _object(properties: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": dict(properties),
        "required": list(properties),
        "additionalProperties": False,
    }


def _json(schema: Mapping[str, Any]) -> Constraint:
    return Constraint("json", json.dumps(schema, separators=(",", ":")))
