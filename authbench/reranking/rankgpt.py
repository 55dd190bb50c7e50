"""RankGPT: the model orders a window of passages, and the window slides from the end to the front.

Permutation generation of Sun et al. (2023): windows of 20 that move by 10, so the best of the tail can
climb. Ten candidates are one window.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from authbench.errors import ConfigError
from authbench.judging.parse import parse_ranking, read
from authbench.prompts.formats import rank_example, rank_tokens
from authbench.prompts.loading import bind
from authbench.reranking.common import Candidate, template
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Sampling, user


@dataclass(frozen=True, slots=True)
class RankGptSettings:
    """How RankGPT goes through the candidates.

    Attributes:
        window: passages shown at once.
        step: by how many the window moves; at most `window`.
        text_budget: most characters of a passage that are shown, or None.
    """

    window: int = 20
    step: int = 10
    text_budget: int | None = None

    def __post_init__(self) -> None:
        if self.window < 2 or not 1 <= self.step <= self.window:
            raise ConfigError(
                f"rankgpt: window {self.window}, step {self.step}; the window is 2 or more, "
                "and the step is between 1 and the window"
            )


def rank_gpt(query: str, candidates: Sequence[Candidate], settings: RankGptSettings) -> Procedure[Outcome]:
    """Rerank one query's candidates: one call a window, each after the one before.

    An answer that is no permutation of the window is counted and leaves the window as it was: filling
    it up would pass the old order off as the model's.

    The outcome's values: `order`, identifiers, best first; `windows`, how many were asked; `kept`, how
    many of them were left as they were.
    """
    order = list(candidates)
    answers: list[Parsed] = []
    for start, end in windows(len(order), settings.window, settings.step):
        (response,) = yield [_request(query, order[start:end], settings.text_budget)]
        answer = read(response, parse_ranking, end - start)
        answers.append(answer)
        if answer.valid:
            order[start:end] = [order[start + place] for place in answer.value]
    kept = sum(not answer.valid for answer in answers)
    values = {"order": [c.id for c in order], "windows": len(answers), "kept": kept}
    return Outcome(tuple(answers), values)


def windows(count: int, window: int, step: int) -> list[tuple[int, int]]:
    """Windows `(start, end)` over `count` places, from the last to the first; none for fewer than two."""
    if count < 2:
        return []
    end = count
    found = [(max(0, end - window), end)]
    while found[-1][0] > 0:
        end -= step
        found.append((max(0, end - window), end))
    return found


def _request(query: str, shown: Sequence[Candidate], budget: int | None) -> Request:
    text, item = _form(len(shown))
    items = "\n".join([item % {"id": place, "text": c.shown(budget)} for place, c in enumerate(shown)])
    return user(text % {"query": query, "items": items}, Sampling(rank_tokens(len(shown))))


@lru_cache(maxsize=64)
def _form(count: int) -> tuple[str, str]:
    """The prompt for so many passages, and how one of them is shown."""
    source = template("rankgpt")
    slots = {"count": str(count), "example": rank_example(count)}
    return bind(source.text, slots), bind(source.item or "", slots)
