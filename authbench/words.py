"""How counts, and what was left out, are said wherever a person reads them."""

from __future__ import annotations

from collections.abc import Mapping

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


def left_out_sentences(left_out: Mapping[str, str]) -> list[str]:
    """What this machine could not do of an experiment: one sentence a reason, with its names.

    Args:
        left_out: reasons by name, see `authbench.tasks.base.Task`.
    """
    names: dict[str, list[str]] = {}
    for name, why in left_out.items():
        names.setdefault(why, []).append(name)
    return [f"{', '.join(of)} {plural(len(of), 'is')} left out: {why}" for why, of in names.items()]
