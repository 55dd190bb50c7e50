"""How counts are said, wherever a person reads them."""

from __future__ import annotations

_IRREGULAR = {
    "query": "queries",
    "reply": "replies",
    "is": "are",
    "was": "were",
    "has": "have",
    "its": "their",
}


def plural(count: int, noun: str) -> str:
    """The noun (or verb) as it stands behind a count: `item` for 1, `items` for any other."""
    if count == 1:
        return noun
    head, blank, last = noun.rpartition(" ")
    return head + blank + _IRREGULAR.get(last, f"{last}s")


def counted(count: int, noun: str) -> str:
    """A count with its noun: `1 item`, `2,000 items`, `0 queries`."""
    return f"{count:,} {plural(count, noun)}"
