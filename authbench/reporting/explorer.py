"""The report's list of items: an index of all of them, and as many in full as there is room for.

What goes into the page is JSON, compressed and in base64, so that no text of an item can be mistaken for
markup. Items in full are packed in small chunks that the page unpacks one at a time.
"""

from __future__ import annotations

import base64
import json
import math
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from authbench.reporting.facts.collecting import ItemRow
from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.itemdetails import ItemDetail, item_detail
from authbench.reporting.itemfiles import FAILED, Item, read_items_at
from authbench.reporting.labels import metric_label, setting_label
from authbench.reporting.prompttexts import PromptTexts
from authbench.reporting.results import Run
from authbench.runtime.messages import STATUSES

#: Most items listed; beyond it the best ones are left out, never an invalid one before a valid one.
MOST_ROWS = 150_000
#: Base64 characters for items in full.
DETAIL_BUDGET = 2_400_000
#: Signs kept of a prompt or an answer.
MOST_TEXT = 6_000
#: Answers kept of an item in full; PairJudge has 35 for a fine list, a confidence may have thousands.
MOST_ANSWERS = 60
#: Items packed together, all of one group.
_CHUNK = 6
_STATUSES = (*STATUSES, FAILED)


@dataclass(frozen=True, slots=True)
class Packed:
    """The items as the page takes them.

    Attributes:
        index: compressed index, base64.
        chunks: compressed items in full, base64.
        listed: items in the index.
        full: of these, in full.
        left_out: items that are not even listed.
        problems: why prompts are missing, if they are.
    """

    index: str
    chunks: tuple[str, ...]
    listed: int
    full: int
    left_out: int
    problems: tuple[str, ...]


def pack_items(rows: Sequence[ItemRow], budget: int = DETAIL_BUDGET, most_rows: int = MOST_ROWS) -> Packed:
    """Pack items; where there is no room for all, the invalid and the worst of each group come first."""
    groups: dict[int, list[ItemRow]] = {}
    for row in rows:
        groups.setdefault(id(row.facts), []).append(row)
    ordered = _limited([sorted(members, key=_badness) for members in groups.values()], most_rows)
    places: dict[int, tuple[int, int]] = {}
    chunks: list[str] = []
    with PromptTexts() as prompts:
        for members in _chunks(ordered):
            text = pack(_in_full(members, prompts))
            budget -= len(text)
            if budget < 0:
                break
            places.update({id(row): (len(chunks), position) for position, row in enumerate(members)})
            chunks.append(text)
        problems = tuple(prompts.problems.values())
    listed = [row for members in ordered for row in members]
    return Packed(
        index=pack(_index(listed, places)),
        chunks=tuple(chunks),
        listed=len(listed),
        full=len(places),
        left_out=len(rows) - len(listed),
        problems=problems,
    )


def pack(value: object) -> str:
    """JSON, compressed, in base64."""
    text = json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return base64.b64encode(zlib.compress(text.encode("utf-8", "replace"), 9)).decode("ascii")


def _badness(row: ItemRow) -> tuple[bool, float, int]:
    return row.valid, -math.inf if math.isnan(row.value) else row.value, row.start


def _limited(groups: Sequence[Sequence[ItemRow]], most: int) -> list[Sequence[ItemRow]]:
    """Every group's worst, equally many of each as far as they go; invalid items before valid ones."""
    total = sum(len(members) for members in groups)
    if total <= most:
        return list(groups)
    invalid = [sum(not row.valid for row in members) for members in groups]
    if sum(invalid) >= most:
        return [members[:share] for members, share in zip(groups, _shares(invalid, most), strict=True)]
    rest = [len(members) - bad for members, bad in zip(groups, invalid, strict=True)]
    shares = _shares(rest, most - sum(invalid))
    return [m[: bad + share] for m, bad, share in zip(groups, invalid, shares, strict=True)]


def _shares(sizes: Sequence[int], total: int) -> list[int]:
    """Divide `total` equally, no one getting more than its size."""
    shares = [0] * len(sizes)
    open_to = [i for i, size in enumerate(sizes) if size]
    while total > 0 and open_to:
        each = max(1, total // len(open_to))
        for i in list(open_to):
            given = min(each, sizes[i] - shares[i], total)
            shares[i] += given
            total -= given
            if shares[i] == sizes[i]:
                open_to.remove(i)
    return shares


def _chunks(groups: Sequence[Sequence[ItemRow]]) -> Iterator[list[ItemRow]]:
    """Chunks in the order in which they are packed: by turns from every group."""
    streams = [_stream(members) for members in groups]
    while streams:
        for stream in list(streams):
            members = next(stream, None)
            if members is None:
                streams.remove(stream)
            else:
                yield sorted(members, key=lambda row: row.start)


def _stream(members: Sequence[ItemRow]) -> Iterator[list[ItemRow]]:
    """A group's chunks: two of its worst, then one spread over all of it, and so on."""
    taken: set[int] = set()
    worst = 0
    turn = 0
    while len(taken) < len(members):
        turn += 1
        places: list[int] = []
        if turn % 3 == 0:
            # Multiples of the golden ratio are spread evenly however many of them there are.
            starts = (((turn * _CHUNK + i) * 0.6180339887498949) % 1.0 for i in range(_CHUNK))
            places = [place for place in {int(s * len(members)) for s in starts} if place not in taken]
        while len(places) < _CHUNK and worst < len(members):
            if worst not in taken and worst not in places:
                places.append(worst)
            worst += 1
        taken.update(places)
        if places:
            yield [members[place] for place in places]


def _in_full(members: Sequence[ItemRow], prompts: PromptTexts) -> list[dict[str, Any]]:
    """The items of a chunk, in the order of their lines."""
    facts = members[0].facts
    items = list(read_items_at(facts.run.path, [row.start for row in members]))
    keys = [answer.key for item in items for answer in item.answers[:MOST_ANSWERS]]
    found = prompts.find(facts.run, keys)
    return [_detail(facts, item, found) for item in items]


def _detail(facts: GroupFacts, item: Item, prompts: Mapping[str, str]) -> dict[str, Any]:
    rule = facts.extra["lcr"].rule if "lcr" in facts.extra else None
    detail: ItemDetail = item_detail(str(facts.run.run.get("task")), item, prompts, MOST_TEXT, rule)
    answers = detail.answers[:MOST_ANSWERS]
    full: dict[str, Any] = {
        "a": [{"s": a.status, "r": a.read, "p": a.prompt, "t": a.texts} for a in answers],
        "m": len(detail.answers) - len(answers),
    }
    if detail.facts:
        full["f"] = detail.facts
    if detail.rows:
        full |= {"h": detail.head, "w": detail.rows}
    return full


def _index(rows: Sequence[ItemRow], places: Mapping[int, tuple[int, int]]) -> dict[str, Any]:
    """Columns of the list; values are in ten-thousandths, null where there is none."""
    groups = list({id(row.facts): row.facts for row in rows}.values())
    numbers = {id(facts): number for number, facts in enumerate(groups)}
    found = [places.get(id(row), (-1, 0)) for row in rows]
    return {
        "groups": [_group(facts) for facts in groups],
        "statuses": list(_STATUSES),
        "g": [numbers[id(row.facts)] for row in rows],
        "id": [row.item for row in rows],
        "v": [None if math.isnan(row.value) else round(row.value * 10_000) for row in rows],
        "s": [_STATUSES.index(row.worst) if row.worst in _STATUSES else len(_STATUSES) - 1 for row in rows],
        "n": [row.answers for row in rows],
        "c": [chunk for chunk, _ in found],
        "p": [position for _, position in found],
    }


def _group(facts: GroupFacts) -> dict[str, str]:
    metric = metric_label(str(facts.values[0].key[-1])) if facts.values else ""
    return {
        "label": setting_label(facts.dims) or facts.group,
        "run": run_label(facts.run),
        "model": facts.run.model,
        "metric": metric,
    }


def run_label(run: Run) -> str:
    """`experiment/model`, as the folder is called."""
    return f"{run.experiment}/{run.model}"
