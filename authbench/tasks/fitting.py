"""Keeping prompts within a model's context: measured before the run, then cut or refused by policy."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from authbench.errors import ConfigError
from authbench.runtime.engine import Engine, RenderedPrompt
from authbench.runtime.messages import Request

#: Characters per text that are tried in turn under the policy `truncate`.
BUDGETS = (16000, 8000, 4000, 2000, 1000, 500, 250, 100, 50, 20)


@dataclass
class Fitter:
    """Decides how many characters of each text an item may show to one model.

    Attributes:
        engine: whose context length and tokenizer count.
        policy: `error` refuses an item that does not fit, `truncate` cuts its texts to the largest of
            `BUDGETS` that fits, `note` lets it pass and keeps its name (for a dry run).
        text_chars: the experiment's own limit, or None.
        truncated: items whose texts were cut, with the budget used.
        overflows: items that did not fit, with their tokens (policy `note`).
        met: those of `overflows` that were asked for since it was last emptied.
        recorded: budgets of an earlier run, used instead of deciding anew (`authbench score`).
    """

    engine: Engine
    policy: Literal["error", "truncate", "note"] = "error"
    text_chars: int | None = None
    truncated: dict[str, int] = field(default_factory=dict)
    overflows: dict[str, int] = field(default_factory=dict)
    met: set[str] = field(default_factory=set)
    recorded: Mapping[str, int] | None = None
    _known: dict[str, int | None] = field(default_factory=dict)
    _makers: dict[str, Callable[[int | None], Sequence[Request]]] = field(default_factory=dict)

    def budget(self, item: str, make: Callable[[int | None], Sequence[Request]]) -> int | None:
        """Characters per text for an item; None for whole texts.

        Args:
            item: the item's name, with its group: decided once, kept.
            make: the item's longest requests for a given budget.

        Raises:
            ConfigError: under the policy `error`, or where nothing fits.
        """
        if item not in self._known:
            self._known[item] = self._decide(item, make)
            if self.engine.context_length is not None:
                self._makers[item] = make
        if item in self.overflows:
            self.met.add(item)
        return self._known[item]

    def longest(self) -> int:
        """Tokens of the longest request, prompt and answer, of all items that were decided; 0 without any.

        Exact for the longest where the engine has a tokenizer, else the same estimate that decided.
        """
        bounds = {item: self._bound(*self._rendered(item)) for item in self._makers}
        longest = 0
        for item in sorted(bounds, key=lambda item: -bounds[item]):
            if bounds[item] <= longest:
                break
            longest = max(longest, self._counted(*self._rendered(item)))
        return longest

    def _decide(self, item: str, make: Callable[[int | None], Sequence[Request]]) -> int | None:
        if self.recorded is not None:
            return self.recorded.get(item, self.text_chars)
        limit = self.engine.context_length
        if limit is None:
            return self.text_chars
        tokens = self._longest(make(self.text_chars), limit)
        if tokens <= limit:
            return self.text_chars
        if self.policy == "note":
            self.overflows[item] = tokens
            return self.text_chars
        smaller = [budget for budget in BUDGETS if self.text_chars is None or budget < self.text_chars]
        if not smaller or self._longest(make(smaller[-1]), limit) > limit:
            raise ConfigError(
                f"{item}: a prompt of {tokens} tokens does not fit the context of {limit} tokens of "
                f"{self.engine.identity.model}, even if texts are cut\nuse a model with a longer context"
            )
        if self.policy == "error":
            raise ConfigError(
                f"{item}: a prompt of {tokens} tokens does not fit the context of {limit} of "
                f"{self.engine.identity.model}\n"
                "cut its texts with --set overflow=truncate or --set text_chars=N, or use another model"
            )
        budget = next(budget for budget in smaller if self._longest(make(budget), limit) <= limit)
        self.truncated[item] = budget
        return budget

    def _longest(self, requests: Sequence[Request], limit: int) -> int:
        """Tokens of the longest request with its answer; an upper bound where that is enough."""
        prompts, answers = self._render(requests)
        bound = self._bound(prompts, answers)
        return bound if bound <= limit else self._counted(prompts, answers)

    def _rendered(self, item: str) -> tuple[list[RenderedPrompt], list[int]]:
        return self._render(self._makers[item](self._known[item]))

    def _render(self, requests: Sequence[Request]) -> tuple[list[RenderedPrompt], list[int]]:
        """Prompts, and the most tokens of each one's answer."""
        prompts = [self.engine.render(request) for request in requests]
        return prompts, [_most_answered(request) for request in requests]

    @staticmethod
    def _bound(prompts: Sequence[RenderedPrompt], answers: Sequence[int]) -> int:
        """A token is at least one byte, so most prompts need no tokenizer."""
        return max(len(p.text.encode("utf-8", "replace")) + a for p, a in zip(prompts, answers, strict=True))

    def _counted(self, prompts: Sequence[RenderedPrompt], answers: Sequence[int]) -> int:
        counts = self.engine.count_tokens(prompts)
        if counts is None:
            counts = [len(prompt.text) // 4 for prompt in prompts]
        return max(count + answer for count, answer in zip(counts, answers, strict=True))


def _most_answered(request: Request) -> int:
    """Most tokens that follow the prompt: the answer, or the text whose probability is asked for."""
    target = request.score_target
    return request.sampling.max_tokens if target is None else len(target.encode("utf-8", "replace")) + 1
