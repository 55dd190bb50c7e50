"""The identity of a request: equal keys may share an answer, unequal ones never do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from authbench.runtime.engine import ModelIdentity, RenderedPrompt
from authbench.runtime.messages import Request


class KeyMaker:
    """Makes the store's keys for one model.

    A key is the SHA-256 over model id, revision, precision, engine family, rendered prompt, sampling
    parameters, constraint, wanted labels and target. The number of samples is left out: samples are kept
    one by one, so that ten samples are four more than six.
    """

    def __init__(self, identity: ModelIdentity) -> None:
        self._base = hashlib.sha256(_bytes(asdict(identity)))

    def __call__(self, request: Request, prompt: RenderedPrompt) -> bytes:
        """The key of a request, 32 bytes."""
        sampling = request.sampling
        constraint = request.constraint
        facts = (
            sampling.max_tokens,
            float(sampling.temperature),
            float(sampling.top_p),
            sampling.seed,
            sampling.stop,
            None if constraint is None else (constraint.kind, constraint.value),
            request.labels,
            request.score_target,
            prompt.cuts,
        )
        digest = self._base.copy()
        # repr of numbers, strings, None and tuples of them is stable and much faster than JSON.
        digest.update(repr(facts).encode("utf-8", "surrogatepass"))
        digest.update(b"\0")
        digest.update(prompt.text.encode("utf-8", "surrogatepass"))
        return digest.digest()


def request_key(identity: ModelIdentity, request: Request, prompt: RenderedPrompt) -> str:
    """The key of one request as 64 hexadecimal digits."""
    return KeyMaker(identity)(request, prompt).hex()


def rendering_digest(rendering: Mapping[str, Any]) -> str:
    """SHA-256 over how an engine renders prompts (`Engine.rendering`), in hexadecimal."""
    return hashlib.sha256(json.dumps(dict(rendering), sort_keys=True, default=str).encode()).hexdigest()


def _bytes(facts: object) -> bytes:
    return json.dumps(facts, sort_keys=True, ensure_ascii=False).encode()
