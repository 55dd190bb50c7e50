"""How what a machine could not do of an experiment is said: before a run, below its table, by `rerank`."""

from __future__ import annotations

from collections.abc import Mapping


def sentences(left_out: Mapping[str, str]) -> list[str]:
    """One sentence for each reason, with the names of all that it holds for."""
    names: dict[str, list[str]] = {}
    for name, why in left_out.items():
        names.setdefault(why, []).append(name)
    return [f"{', '.join(of)} {'is' if len(of) == 1 else 'are'} left out: {why}" for why, of in names.items()]
