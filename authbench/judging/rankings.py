"""Reading a ranking, `[4] > [0] > [1]`: see `authbench.judging.parse` for what all parsers promise."""

from __future__ import annotations

import re
from collections.abc import Sequence

from authbench.judging.cleaning import no_answer, plain, strip_fence, strip_thinking
from authbench.runtime.messages import Parsed

_ID = r"\[\s{0,4}([0-9]{1,9})\s{0,4}\]"
_CLEAN = re.compile(r"\s*+\[[0-9]{1,9}\](?:\s*+>\s*+\[[0-9]{1,9}\])*+\.?\s*+")
_NUMBER = re.compile(r"[0-9]{1,9}")

# A piece between two signs `>`: how it can begin, and how it can end. A bare number is followed by the
# end of its line or of the sentence, else it may be a number in prose ("> 100 links").
_HEAD = re.compile(
    rf"[\s*]{{0,9}}(?:{_ID}|([0-9]{{1,9}})(?=[ \t*]{{0,9}}(?:[.;!)](?![0-9])|\n|\Z)))([^\[\]\n]*+)([\[\]\n]?)"
)
_TAIL_NAMED = re.compile(rf"{_ID}[^\[\]\n]*+\Z")
_TAIL_BARE = re.compile(r"(?<![0-9A-Za-z.,\]-])([0-9]{1,9})[\s*]{0,9}\Z")
# `1. [3]` or `- [3]` on a line of its own, or `[3]` between commas.
_LISTED = re.compile(rf"\s*+(?:[0-9]{{1,3}}[.)]\s{{1,4}}|[-*]\s{{1,4}})?\**+{_ID}\**+\.?\s*+")
_ARROWS = re.compile(r"&gt;|[-=]{1,2}>|→|⇒|>{2,3}")


def parse_ranking(text: str, count: int, truncated: bool = False) -> Parsed:
    """Read a ranking of the identifiers 0 to `count - 1`; the value is a list of them, best first.

    A number counts as an identifier in brackets or as a link of a chain `3 > 1 > 2`; numbers in prose do
    not. Of several chains the last complete one counts.
    """
    if _CLEAN.fullmatch(text) is not None:
        return _judge([int(number) for number in _NUMBER.findall(text)], count, "ok", truncated)
    answer = strip_thinking(text)
    shown = strip_fence(answer)
    if _CLEAN.fullmatch(shown) is not None:
        return _judge([int(number) for number in _NUMBER.findall(shown)], count, "ok", truncated)
    shown = _ARROWS.sub(">", plain(shown))
    chains = [chain for chain in _chains(shown) if len(chain) > 1] if ">" in shown else []
    if not chains:
        listed = _listing(shown)
        chains = [listed] if listed else []
    if not chains:
        return no_answer(answer, truncated)
    every = list(range(count))
    complete = [chain for chain in chains if len(chain) == count and sorted(chain) == every]
    return _judge((complete or chains)[-1], count, "repaired", truncated)


def _judge(ids: Sequence[int], count: int, status: str, truncated: bool) -> Parsed:
    if len(set(ids)) < len(ids):
        return Parsed("duplicate_ids")
    if ids and max(ids) >= count:
        return Parsed("extra_ids")
    if len(ids) < count:
        return Parsed("truncated" if truncated else "missing_ids")
    return Parsed("ok" if status == "ok" else "repaired", list(ids))


def _chains(text: str) -> list[list[int]]:
    """Every chain of identifiers joined by `>`; what follows an identifier in brackets may be its name."""
    chains: list[list[int]] = []
    chain: list[int] = []
    pieces = text.split(">")
    for piece in pieces:
        head = _HEAD.match(piece.rstrip()) if chain else None
        if head is not None:
            chain.append(int(head[1] or head[2]))
            # Inside a chain a piece is one identifier, with or without a name; a bare number has none.
            if not head[4] and (head[1] or not head[3].strip(" *\t")):
                continue
        if chain:
            chains.append(chain)
        last = _last_id(piece)
        chain = [last] if last is not None else []
    if chain:
        chains.append(chain)
    return chains


def _last_id(piece: str) -> int | None:
    """The identifier with which a piece ends: `..., so [3] example.org ` or `ranking: 3 `."""
    line = piece.rstrip()
    line = line[line.rfind("\n") + 1 :]
    bracket = line.rfind("[")
    found = _TAIL_NAMED.match(line, bracket) if bracket >= 0 else None
    if found is None:
        found = _TAIL_BARE.search(line, max(0, len(line) - 20))
    return int(found[1]) if found is not None else None


def _listing(text: str) -> list[int]:
    """Identifiers in brackets, separated by commas or lines and by nothing else; empty if it is not so."""
    ids: list[int] = []
    for part in re.split(r"[\n,;]", text):
        if not part.strip():
            continue
        found = _LISTED.fullmatch(part)
        if found is None:
            return []
        ids.append(int(found[1]))
    return ids
