"""How the `fake` engine words its answers, good ones and each kind of bad ones."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from authbench.runtime.messages import FinishReason

# Short enough for the tightest `max_tokens`, that of the one-word answers.
_WRONG = "It depends on the point of view."
_REFUSAL = "I'm sorry, I can't help."


def scores_text(scores: Mapping[str, int]) -> str:
    """`{"0": 7, "1": 4}`."""
    return "{" + ", ".join([f'"{key}": {score}' for key, score in scores.items()]) + "}"


def utility_text(scores: Mapping[str, int]) -> str:
    """A pseudo-answer and a score for every document."""
    answers = dict.fromkeys(scores, "It depends.")
    return f'{{"answers": {json.dumps(answers)}, "scores": {scores_text(scores)}}}'


def ranking_text(ids: Sequence[int]) -> str:
    """`[4] > [0] > [1]`."""
    return " > ".join([f"[{number}]" for number in ids])


def spoil_any(text: str, kind: str) -> tuple[str, FinishReason]:
    """An answer made bad in a way that any format can be; the others are left as they are."""
    if kind == "truncated":
        return text[: len(text) // 2], "length"
    spoilt = {
        "wrong_format": _WRONG,
        "empty": "",
        "refused": _REFUSAL,
        "fenced": f"```\n{text}\n```",
        "prose": f"Here is my answer:\n{text}",
        "single_quotes": text.replace('"', "'"),
    }
    return spoilt.get(kind, text), "stop"


def spoil_scores(scores: Mapping[str, int], kind: str, high: int) -> str | None:
    """Scores with something wrong about ids or range; None if the format cannot be wrong in this way."""
    keys = list(scores)
    if kind == "missing_ids" and len(keys) > 1:
        return scores_text({key: scores[key] for key in keys[:-1]})
    if kind == "extra_ids" and len(keys) > 1:
        return scores_text({**scores, "C" if keys[0] == "A" else str(len(keys)): 0})
    if kind == "duplicate_ids":
        return scores_text(scores)[:-1] + f', "{keys[0]}": {scores[keys[0]]}}}'
    if kind == "out_of_range":
        return scores_text({**scores, keys[0]: high + 1})
    return None


def spoil_ranking(ids: Sequence[int], kind: str) -> str | None:
    """The same for a ranking."""
    if kind == "missing_ids" and len(ids) > 1:
        return ranking_text(ids[:-1])
    if kind == "extra_ids":
        return ranking_text([*ids, len(ids)])
    if kind == "duplicate_ids":
        return ranking_text([*ids, ids[0]])
    return None


#: Words that made-up brief answers consist of.
_WORDS = (
    "amber",
    "basil",
    "cedar",
    "delta",
    "ember",
    "fjord",
    "grove",
    "heron",
    "iris",
    "jade",
    "kelp",
    "lotus",
)


def brief_text(draw: Callable[[str], float], meaning: int, wording: int) -> str:
    """A brief answer: `meaning` counts from 0, equal meanings come in two wordings.

    `draw` gives a number in [0, 1) for a salt; it fixes the words of a question.
    """
    first = int(draw("brief") * len(_WORDS))
    word = _WORDS[(first + meaning) % len(_WORDS)]
    return f"{word.capitalize()}." if wording == 0 else f"The answer is {word}."


def story_text(draw: Callable[[str], float]) -> str:
    """A few sentences about nothing, for prompts that ask for something else."""
    chosen = [_WORDS[int(draw(f"story{k}") * len(_WORDS))] for k in range(6)]
    return "Once there was {} and {}. It went to {} by way of {}, and found {} there. So ends {}.".format(
        *chosen
    )


def same_meaning(first: str, second: str) -> bool:
    """Whether two brief answers mean the same: their last words are equal."""
    words = [re.findall(r"\w+", text.lower()) for text in (first, second)]
    return bool(words[0] and words[1]) and words[0][-1] == words[1][-1]


def schema_instance(schema: Mapping[str, Any], draw: Callable[[str], float], path: str = "") -> Any:
    """Some value that fits a JSON schema of the simple kind (no references, no combined types).

    Raises `ValueError` for a schema that is beyond it.
    """
    if "const" in schema:
        return schema["const"]
    if "enum" in schema:
        return schema["enum"][int(draw(path) * len(schema["enum"]))]
    kind = schema.get("type")
    if kind == "object":
        members = schema.get("properties", {})
        return {name: schema_instance(part, draw, f"{path}/{name}") for name, part in members.items()}
    if kind == "array":
        count = int(schema.get("minItems", 1))
        return [schema_instance(schema["items"], draw, f"{path}/{k}") for k in range(count)]
    return _plain_instance(schema, draw, path)


def _plain_instance(schema: Mapping[str, Any], draw: Callable[[str], float], path: str) -> Any:
    kind = schema.get("type")
    if kind in ("integer", "number"):
        low = math.ceil(schema.get("minimum", 0))
        return low + int(draw(path) * (math.floor(schema.get("maximum", low + 9)) - low + 1))
    if kind == "boolean":
        return draw(path) < 0.5
    if kind == "string" and re.search(schema.get("pattern", ""), "text") is not None:
        return "text"
    raise ValueError(f"the fake engine cannot make an answer for this JSON schema at {path or 'its top'}")
