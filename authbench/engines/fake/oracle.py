"""What the `fake` engine thinks: the hashes and truths that answers are made of."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from hashlib import blake2b
from typing import Any

from authbench.engines.fake import answers as words
from authbench.engines.fake.prompts import Asked
from authbench.engines.fake.settings import FakeSettings
from authbench.runtime.messages import FinishReason

#: Characters that count as one token.
TOKEN = 4

_MOST_NAMES = 1_000_000


class Oracle:
    """What the fake model thinks: a hash for everything, blended with the truth where it is known."""

    def __init__(self, model: str, settings: FakeSettings) -> None:
        self._settings = settings
        self._base = blake2b(f"{settings.seed}\0{model}\0".encode(), digest_size=8)
        self._units: dict[str, float] = {}
        truth = settings.truth
        self._truth: Callable[[str], Any] = truth if callable(truth) else truth.get
        numbers = [] if callable(truth) else [v for v in truth.values() if type(v) in (int, float)]
        self._top = max(numbers, default=0.0)

    def draw(self, salt: str, text: str) -> float:
        """A number in [0, 1) that depends on seed, model, salt and text."""
        digest = self._base.copy()
        digest.update(f"{salt}\0{text}".encode("utf-8", "surrogatepass"))
        return (int.from_bytes(digest.digest(), "big") >> 11) / (1 << 53)

    def level(self, name: str, high: int) -> float:
        """What it thinks of a source, from 0 to below `high + 1`."""
        unit = self._units.get(name)
        if unit is None:
            unit = self.draw("level", name)
            if len(self._units) < _MOST_NAMES:
                self._units[name] = unit
        known = self._known_level(name, high)
        value = unit * (high + 1)
        if known is None:
            return value
        skill = self._settings.skill
        return known + 0.5 if skill == 1 else skill * (known + 0.5) + (1 - skill) * value

    def _known_level(self, name: str, high: int) -> float | None:
        value = self._truth(name)
        if value is None and "/" in name:
            value = self._truth(name.rpartition("//")[2].partition("/")[0].removeprefix("www."))
        if isinstance(value, bool) or not isinstance(value, int | float):
            return None
        return value * (high + 1) // (self._top + 1) if self._top > high else min(value, high)

    def _score(self, name: str, high: int) -> int:
        constant = self._settings.constant
        return int(self.level(name, high)) if constant is None else min(int(constant), high)

    def answer(
        self, asked: Asked, bad: str | None = None, index: int | None = None
    ) -> tuple[str, FinishReason]:
        """The answer to a prompt: `index` of the sample, None for greedy decoding."""
        kind = asked.kind
        text: str | None = None
        if (scores := self._scores(asked)) is not None:
            text = words.spoil_scores(scores, bad, asked.high) if bad else None
            if text is None:
                text = words.utility_text(scores) if kind == "utility" else words.scores_text(scores)
            elif kind == "utility":
                text = f'{{"answers": {{}}, "scores": {text}}}'
        elif kind in ("list-rank", "passage-rank"):
            ids = self._ranking(asked)
            text = (words.spoil_ranking(ids, bad) if bad else None) or words.ranking_text(ids)
        else:
            text = self._word(asked, index)
        if not bad or (bad == "single_quotes" and scores is None):
            return text, "stop"
        return words.spoil_any(text, bad)

    def _scores(self, asked: Asked) -> dict[str, int] | None:
        kind, high = asked.kind, asked.high
        if kind == "point":
            return {"score": self._score(asked.things[0], high)}
        if kind == "pair-score":
            return dict(zip("AB", [self._score(name, high) for name in asked.things], strict=True))
        if kind in ("list-score", "authority"):
            return {str(k): self._score(name, high) for k, name in enumerate(asked.things)}
        if kind in ("relevance", "utility"):
            drawn = [self.draw(kind, f"{asked.question}\0{url}") for url in asked.things]
            constant = self._settings.constant
            return {
                str(k): int(unit * (high + 1)) if constant is None else min(int(constant), high)
                for k, unit in enumerate(drawn)
            }
        return None

    def _ranking(self, asked: Asked) -> list[int]:
        ids = list(range(len(asked.things)))
        if self._settings.constant is not None:
            return ids
        if asked.kind == "list-rank":
            values = [self.level(name, asked.high) for name in asked.things]
        else:
            values = [self._relevance(text, asked.question) for text in asked.things]
        return sorted(ids, key=lambda k: -values[k])

    def _relevance(self, passage: str, query: str) -> float:
        """From 0 to 1."""
        unit = self.draw("relevance", f"{query}\0{passage}")
        known = self._truth(passage)
        if isinstance(known, bool) or not isinstance(known, int | float):
            return unit
        skill = self._settings.skill
        return skill * min(known / max(self._top, 1), 1.0) + (1 - skill) * unit

    def _word(self, asked: Asked, index: int | None) -> str:
        """An answer of one word or a few."""
        kind, constant = asked.kind, self._settings.constant is not None
        if kind == "point-label":
            return str(self._score(asked.things[0], asked.high))
        if kind == "yes-no-answer":
            return "yes" if constant else self._yes_no(asked)
        if kind == "entailment" and not constant:
            return self._entailment(*asked.things)
        if kind == "pair-rank":
            return "A" if constant or self._prefers_first(asked) else "B"
        if kind == "yes-no-relevance":
            return "Yes" if constant or self._relevance(asked.things[0], asked.question) >= 0.5 else "No"
        return "entailment" if kind == "entailment" else self._prose(asked, 0 if constant else index)

    def _prose(self, asked: Asked, index: int | None) -> str:
        if asked.kind == "brief-answer":
            return self._brief(asked, index)
        source = f"{index}\0{asked.question}\0{asked.things}"
        return words.story_text(lambda salt: self.draw(salt, source))

    def _entailment(self, premise: str, hypothesis: str) -> str:
        if words.same_meaning(premise, hypothesis):
            return "entailment"
        return "contradiction" if self.draw("entailment", f"{premise}\0{hypothesis}") < 0.5 else "neutral"

    def _prefers_first(self, asked: Asked) -> bool:
        first, second = asked.things
        return self.level(first, asked.high) > self.level(second, asked.high)

    def _yes_no(self, asked: Asked) -> str:
        answer = self._truth(asked.question)
        answer = {True: "yes", False: "no"}.get(answer, answer) if isinstance(answer, bool) else answer
        if answer not in ("yes", "no"):
            return "yes" if self.draw("yes-no", f"{asked.question}\0{asked.things}") < 0.5 else "no"
        levels = [level for url in asked.things if (level := self._known_level(url, 9)) is not None]
        right = not levels or sum(levels) / len(levels) >= self._settings.threshold
        return answer if right else {"yes": "no", "no": "yes"}[answer]

    def _brief(self, asked: Asked, index: int | None) -> str:
        """A brief answer: sampled ones agree as often as the model is confident."""
        source = f"{asked.question}\0{asked.things}"
        meaning = wording = 0
        if index is not None:
            confidence = self._relevance(asked.things[0] if asked.things else asked.question, asked.question)
            drawn = self.draw(f"sample{index}", source)
            if drawn >= confidence:
                meaning = 1 + int(self.draw(f"meaning{index}", source) * 8)
            wording = int(self.draw(f"wording{index}", source) * 2)
        return words.brief_text(lambda salt: self.draw(salt, source), meaning, wording)

    def constrained(self, asked: Asked, kind: str, value: str | tuple[str, ...]) -> tuple[str, FinishReason]:
        """An answer within a constraint. Raises `ValueError` where it cannot make one."""
        text = self.answer(asked)[0]
        if kind == "choice":
            fits = [choice for choice in value if choice.lower() == text.lower()]
            return fits[0] if fits else value[int(self.draw("choice", str(asked)) * len(value))], "stop"
        limit = value if isinstance(value, str) else value[0]
        if kind == "regex":
            if re.fullmatch(limit, text) is None:
                raise ValueError("the fake engine cannot make an answer for this regular expression")
        elif self._scores(asked) is None:
            made = words.schema_instance(json.loads(limit), partial(self.draw, str(asked)))
            text = json.dumps(made)
        return text, "stop"

    def label_logprobs(self, asked: Asked, labels: Sequence[str]) -> tuple[float, ...]:
        """Natural logarithms; the labels together have 95 % of the probability."""
        weights = [math.exp(self._preference(asked, label.strip().lower())) for label in labels]
        total = sum(weights)
        return tuple(math.log(0.95 * weight / total) for weight in weights)

    def _preference(self, asked: Asked, label: str) -> float:
        if asked.kind in ("point", "point-label") and label.isdecimal():
            return -abs(int(label) + 0.5 - self.level(asked.things[0], asked.high))
        if asked.kind == "pair-rank" and label in ("a", "b"):
            first, second = (self.level(name, asked.high) for name in asked.things)
            return (first - second) / 2 if label == "a" else (second - first) / 2
        if asked.kind == "yes-no-relevance" and label in ("yes", "no"):
            relevance = min(max(self._relevance(asked.things[0], asked.question), 1e-6), 1 - 1e-6)
            return math.log(relevance if label == "yes" else 1 - relevance)
        if asked.kind in ("entailment", "yes-no-answer"):
            return 0.0 if label == self._word(asked, None) else -4.0
        return self.draw("label", f"{label}\0{asked}")

    def target_logprob(self, asked: Asked, target: str) -> float:
        """Of a text as the answer, in nats: the more relevant a passage, the likelier its query."""
        tokens = max(1, -(-len(target) // TOKEN))
        passage = asked.things[0] if asked.things else asked.question
        return -tokens * (2.5 - 2.0 * self._relevance(passage, target))
