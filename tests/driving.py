"""Runs procedures in tests: without a scheduler, against an answering function or a simulated model."""

from __future__ import annotations

import hashlib
import random
import re
from collections.abc import Callable
from typing import TypeVar

from authbench.runtime.messages import Procedure, Request, Response, Sample

T = TypeVar("T")

_PAIR = re.compile(r"\nAnswer 1: (.*)\nAnswer 2: (.*)\nYour answer:", re.DOTALL)


def prompt_of(request: Request) -> str:
    return request.messages[-1].content


def says(*texts: str) -> Response:
    return Response(tuple(Sample(text, "stop") for text in texts))


def drive(procedure: Procedure[T], respond: Callable[[Request], Response]) -> tuple[T, list[list[Request]]]:
    """The procedure's result, and what it asked, round by round."""
    rounds: list[list[Request]] = []
    try:
        asked = next(procedure)
        while True:
            rounds.append(list(asked))
            asked = procedure.send([respond(request) for request in asked])
    except StopIteration as stop:
        result: T = stop.value
        return result, rounds


def pair_of(prompt: str) -> tuple[str, str] | None:
    """Premise and hypothesis of an entailment prompt; None for any other prompt."""
    found = _PAIR.search(prompt)
    return None if found is None else (found[1], found[2])


class SimulatedModel:
    """Draws answers `m1w0` (meaning 1, wording 0) by prompt, and finds equal meanings to entail each other.

    The draws of a prompt are one fixed stream, of which `n` samples are the first, as in the store.
    """

    def __init__(
        self,
        draw: Callable[[str, random.Random], str],
        entails: Callable[[str, str], bool] = lambda a, b: a.partition("w")[0] == b.partition("w")[0],
    ) -> None:
        self.draw = draw
        self.entails = entails
        self.pairs: list[tuple[str, str]] = []
        self.drawn: dict[str, int] = {}

    def __call__(self, request: Request) -> Response:
        prompt = prompt_of(request)
        pair = pair_of(prompt)
        if pair is not None:
            self.pairs.append(pair)
            return says("entailment" if self.entails(*pair) else "neutral")
        n = request.sampling.n
        self.drawn[prompt] = max(n, self.drawn.get(prompt, 0))
        stream = random.Random(hashlib.sha256(prompt.encode()).digest())
        return says(*(self.draw(prompt, stream) for _ in range(n)))
