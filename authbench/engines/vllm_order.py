"""The order of what waits for vLLM: measured to be faster than that of arrival."""

from __future__ import annotations

from typing import Any

from authbench.engines.vllm_options import Order

#: Prompts whose lengths lie within this factor count as equally long, so that shared prefixes come together.
_LENGTH_STEP = 1.25


def waiting_place(order: Order, tokens: list[int], arrival: int) -> Any:
    """What orders the waiting jobs: smaller is sooner.

    Longest first, since a long prompt at the end would run alone; prompts of about the same length in the
    order of their tokens, so that those with a common prefix follow one another and find it in the cache.
    """
    if order == "arrival":
        return arrival
    step = 0
    length = float(max(len(tokens), 1))
    while length > 1:
        length /= _LENGTH_STEP
        step += 1
    return (-step, tokens)
