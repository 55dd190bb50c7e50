"""Settings of the engine `fake`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from hashlib import blake2b
from typing import Annotated, Any, ClassVar, Literal, get_args

from pydantic import Field, model_validator

from authbench.engines.settings import EngineSettings

#: Kinds of bad answers whose rate can be set. The last three still hold the right answer.
BadKind = Literal[
    "missing_ids",
    "extra_ids",
    "duplicate_ids",
    "out_of_range",
    "wrong_format",
    "truncated",
    "empty",
    "refused",
    "fenced",
    "prose",
    "single_quotes",
]
BAD_KINDS: tuple[BadKind, ...] = get_args(BadKind)

#: A whole number stays one: the revision is a hash over the settings as they are given.
_Number = float | int
_Rate = Annotated[_Number, Field(ge=0, le=1)]


class FakeSettings(EngineSettings):
    """Settings of the engine `fake`.

    Attributes:
        seed: of all hashes.
        truth: level by name or URL (or its host) for scores and ranks; `yes` or `no` by question; a
            relevance (its largest is the most relevant) by passage. A mapping, or a function that gives
            None for what it does not know. Levels finer than the scale asked for are merged.
        skill: 0 to 1, how far the truth counts where it is known; 0 gives hashes alone.
        threshold: mean true level of the documents shown from which on a yes/no question is answered
            rightly; below it, wrongly.
        constant: if not None, every score is this number, and every choice the first one.
        bad: rate of each kind of bad answer (`BAD_KINDS`), together at most 1. Kinds that a format cannot
            have leave the answer as it is, and so does constrained decoding.
        errors: rate of requests that fail.
        latency: seconds that each request takes, one after the other.
    """

    engine: ClassVar[str] = "fake"

    seed: int = 0
    truth: Mapping[Any, Any] | Callable[[str], Any] = Field(default_factory=dict)
    skill: _Rate = 1.0
    threshold: _Number = 4.5
    constant: int | None = None
    bad: Mapping[BadKind, _Rate] = Field(default_factory=dict)
    errors: _Rate = 0.0
    latency: Annotated[_Number, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _bad_rates_are_shares(self) -> FakeSettings:
        total = sum(self.bad.values())
        if total > 1:
            raise ValueError(f"bad is {total} in all, and must be 1 or less")
        return self

    def digest(self) -> str:
        """A hash over what decides answers, for the revision; a function counts by its name."""
        truth = self.truth
        shown = truth.__qualname__ if callable(truth) else {str(k): str(v) for k, v in truth.items()}
        facts = (self.seed, shown, self.skill, self.threshold, self.constant, dict(self.bad))
        plain = json.dumps(facts, sort_keys=True)
        return blake2b(plain.encode(), digest_size=6).hexdigest()
