"""Items of a run for the terminal: worst first, prompt and answer side by side."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from authbench.errors import ConfigError, did_you_mean
from authbench.reporting.facts.collecting import ItemRow, collect
from authbench.reporting.itemdetails import AnswerDetail, ItemDetail, item_detail
from authbench.reporting.itemfiles import FAILED, read_items_at
from authbench.reporting.labels import metric_label, setting_label
from authbench.reporting.prompttexts import PromptTexts
from authbench.reporting.results import Run
from authbench.runtime.messages import STATUSES, VALID

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

#: Narrower terminals get prompt and answer one below the other.
_SIDE_BY_SIDE = 90
#: Signs kept of a prompt or an answer, unless all is asked for.
MOST_TEXT = 1500
_KNOWN = (*STATUSES, FAILED)


@dataclass(frozen=True, slots=True)
class Shown:
    """An item that is shown: where it stands, and itself in full."""

    row: ItemRow
    detail: ItemDetail


@dataclass(frozen=True, slots=True)
class Selection:
    """What was chosen of a run.

    Attributes:
        shown: the items in full, worst first.
        matching: how many items match.
        statuses: items of the run by status, all of them.
        problems: why prompts are missing, if they are.
    """

    shown: tuple[Shown, ...]
    matching: int
    statuses: Counter[str]
    problems: tuple[str, ...]


def select(
    run: Run,
    *,
    status: str | None = None,
    group: str | None = None,
    item: str | None = None,
    limit: int = 5,
    most: int = MOST_TEXT,
) -> Selection:
    """The worst items of a run that match, in full.

    Args:
        run: the run.
        status: only items described by it; `invalid` for all that are not usable.
        group: only groups whose id or name in words holds this text.
        item: only the item of this id.
        limit: how many to give.
        most: signs kept of a prompt or an answer; 0 for all.

    Raises:
        ConfigError: no such status, group or item.
        DataError: `items.jsonl` is missing or damaged.
    """
    if status is not None and status not in (*_KNOWN, "invalid"):
        raise ConfigError(
            f"no status is called '{status}'{did_you_mean(status, [*_KNOWN, 'invalid'])}\n"
            f"statuses are {', '.join(_KNOWN)}, and invalid for all that are not usable"
        )
    rows = [row for _, members in collect(run) for row in members]
    statuses = Counter(row.worst for row in rows)
    chosen = _matching(run, rows, status, group, item)
    chosen.sort(key=_badness)
    with PromptTexts() as prompts:
        shown = tuple(Shown(row, _in_full(run, row, prompts, most)) for row in chosen[:limit])
        problems = tuple(prompts.problems.values())
    return Selection(shown, len(chosen), statuses, problems)


def _matching(
    run: Run, rows: Sequence[ItemRow], status: str | None, group: str | None, item: str | None
) -> list[ItemRow]:
    groups = {row.facts.group: setting_label(row.facts.dims) for row in rows}
    if group is not None:
        wanted = {
            name
            for name, words in groups.items()
            if group.lower() in name.lower() or group.lower() in words.lower()
        }
        if not wanted:
            raise ConfigError(f"{run.path} has no group '{group}'; groups are {', '.join(groups)}")
        rows = [row for row in rows if row.facts.group in wanted]
    if item is not None:
        ids = list(dict.fromkeys(row.item for row in rows))
        if item not in ids:
            raise ConfigError(
                f"{run.path} has no item '{item}'{did_you_mean(item, ids)}; it has {len(ids):,}"
            )
        rows = [row for row in rows if row.item == item]
    if status is not None:
        rows = [r for r in rows if r.worst == status or (status == "invalid" and not r.valid)]
    return list(rows)


def _badness(row: ItemRow) -> tuple[bool, float, int]:
    return row.valid, -math.inf if math.isnan(row.value) else row.value, row.start


def _in_full(run: Run, row: ItemRow, prompts: PromptTexts, most: int) -> ItemDetail:
    item = next(read_items_at(run.path, [row.start]))
    found = prompts.find(run, [answer.key for answer in item.answers])
    rule = row.facts.extra["lcr"].rule if "lcr" in row.facts.extra else None
    return item_detail(str(run.run.get("task")), item, found, most, rule)


def as_dict(shown: Shown) -> dict[str, Any]:
    """For `--json`."""
    row, detail = shown.row, shown.detail
    return {
        "item": row.item,
        "group": row.facts.group,
        "status": row.worst,
        "metric": row.facts.values[0].key[-1] if row.facts.values else None,
        "value": None if math.isnan(row.value) else row.value,
        "facts": dict(detail.facts),
        "parts": [dict(zip(detail.head, cells, strict=True)) for cells in detail.rows],
        "answers": [
            {"status": a.status, "read": a.read or None, "prompt": a.prompt, "texts": list(a.texts)}
            for a in detail.answers
        ],
    }


def summary_line(selection: Selection) -> Text:
    """How many items have which status, the bad ones first."""
    from rich.text import Text

    line = Text("Items: ")
    order = sorted(selection.statuses, key=lambda s: (s in VALID, -selection.statuses[s]))
    for place, status in enumerate(order):
        line.append(", " if place else "")
        line.append(f"{selection.statuses[status]:,} {status}", style="green" if status in VALID else "red")
    return line


def renderables(selection: Selection, width: int, *, every_answer: bool = False) -> Iterator[RenderableType]:
    """The items one after the other; of each the first answer that is not usable, or the first, or all."""
    for shown in selection.shown:
        yield _head(shown)
        if shown.detail.facts:
            yield _facts(shown.detail)
        if shown.detail.rows:
            yield _parts(shown.detail, width)
        answers = list(enumerate(shown.detail.answers))
        if not every_answer:
            bad = [pair for pair in answers if pair[1].status not in VALID]
            answers = (bad or answers)[:1]
        for number, answer in answers:
            yield _answer(number, answer, len(shown.detail.answers), width)


def _head(shown: Shown) -> RenderableType:
    from rich.rule import Rule
    from rich.text import Text

    row = shown.row
    words = Text(printable(row.item), style="bold")
    words.append(f"  {printable(setting_label(row.facts.dims) or row.facts.group)}  ", style="")
    words.append(row.worst, style="green" if row.valid else "red")
    if row.facts.values and not math.isnan(row.value):
        metric = metric_label(str(row.facts.values[0].key[-1]))
        words.append(f"  {metric} {100 * row.value:.2f}", style="")
    return Rule(words, align="left", style="dim")


def _facts(detail: ItemDetail) -> RenderableType:
    from rich.text import Text

    lines = [f"{name}: {printable(words)}" for name, words in detail.facts]
    return Text("\n".join(lines))


def _parts(detail: ItemDetail, width: int) -> RenderableType:
    """The table of parts; lists of numbers lie on their side, so that they take few lines."""
    from rich.table import Table

    numbers = all(len(cell) <= 5 for cells in detail.rows for cell in cells)
    table = Table(box=None, padding=(0, 1), show_header=not numbers, header_style="dim")
    if numbers and 14 + 6 * len(detail.rows) <= width:
        for column, name in enumerate(detail.head):
            table.add_row(name, *(cells[column] for cells in detail.rows))
        return table
    table.show_header = True
    for name in detail.head:
        table.add_column(name, overflow="fold")
    for cells in detail.rows:
        table.add_row(*map(_plain, cells))
    return table


def _answer(number: int, answer: AnswerDetail, count: int, width: int) -> RenderableType:
    from rich import box
    from rich.table import Table
    from rich.text import Text

    title = Text(f"answer {number + 1} of {count}, ", style="dim")
    title.append(answer.status, style="green" if answer.status in VALID else "red")
    if answer.read and answer.status in VALID:
        title.append(f", read as {printable(answer.read)}", style="dim")
    prompt = Text("the prompt is not in the store", style="dim")
    if answer.prompt is not None:
        prompt = _plain(answer.prompt)
    texts = Text("\n---\n").join(
        [_plain(text) if text else Text("(empty)", style="dim") for text in answer.texts]
    )
    table = Table(title=title, title_justify="left", box=box.SIMPLE_HEAD, expand=True, show_header=True)
    if width >= _SIDE_BY_SIDE:
        table.add_column("prompt", ratio=3, overflow="fold")
        table.add_column("answer", ratio=2, overflow="fold")
        table.add_row(prompt, texts)
    else:
        table.add_column("prompt", overflow="fold")
        table.add_row(prompt)
        table.add_section()
        table.add_row(Text("answer", style="bold"))
        table.add_row(texts)
    return table


def _plain(text: str) -> Text:
    from rich.text import Text

    return Text(printable(text))


def printable(text: str) -> str:
    """The text with control characters made visible: an answer must not be able to steer the terminal."""
    return "".join(_visible(sign) for sign in text)


def _visible(sign: str) -> str:
    code = ord(sign)
    if sign in "\n\t" or (code >= 32 and not 0x7F <= code <= 0x9F and not 0xD800 <= code <= 0xDFFF):
        # Marks that turn the direction of writing could disguise what is printed.
        return f"<U+{code:04X}>" if 0x202A <= code <= 0x202E or 0x2066 <= code <= 0x2069 else sign
    return chr(0x2400 + code) if code < 32 else f"<U+{code:04X}>"
