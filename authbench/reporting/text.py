"""Tables in a terminal: fixed width, best bold and second best underlined.

A table that is too wide gets narrower by steps: intervals go below their numbers, the first label becomes a
heading of its own, long labels get lines of their own, and at last the columns are shown in parts, with the
width that would hold them all. Where there is no bold (a file, a pipe), `*` and `_` in front of a number mark
it; they belong to the number, and a blank stands before them. A terminal that cannot print Greek gets ASCII.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from authbench.reporting.formats import header_spans, legend
from authbench.reporting.grid import Column, Entry, Line, Mark, Table, printed_lines
from authbench.reporting.placing import Options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Labels no longer than this never get a line of their own: to save a table from being divided, and else.
_SHORT, _LABEL = 7, 12
_SIGNS: dict[Mark | None, str] = {"best": "*", "second": "_", None: ""}
_STYLES: dict[Mark | None, str] = {"best": "bold", "second": "underline", None: ""}
_ASCII = str.maketrans({"ρ": "rho", "τ": "tau", "–": "-", "·": "-"})


@dataclass(frozen=True, slots=True)
class Block:
    """Columns of a table with the lines and the widths in which they are printed.

    `indices` are the places of the columns in the table; `styled` is True where marks are bold and underline,
    else they are signs; `sections` is True where the first label column is printed as headings between the
    rows; `gap` is the number of blanks before each column.
    """

    columns: tuple[Column, ...]
    indices: tuple[int, ...]
    lines: tuple[Line, ...]
    stub: tuple[str, ...]
    stub_widths: tuple[int, ...]
    widths: tuple[int, ...]
    styled: bool
    sections: bool = False
    gap: int = 1

    @property
    def width(self) -> int:
        """Characters of a printed line."""
        shown = self.stub_widths[1:] if self.sections else self.stub_widths
        return sum(shown) + len(shown) - 1 + sum(width + self.gap for width in self.widths)

    def span(self, start: int, count: int) -> int:
        """Characters of `count` columns from the one at `start` on, the blanks before the first left out."""
        return sum(self.widths[start : start + count]) + (count - 1) * self.gap


def text(tables: Sequence[Table], options: Options, console: Console) -> str:
    """The tables for this console, one below the other."""
    styled = console.is_terminal and console.color_system is not None
    with console.capture() as capture:
        for number, table in enumerate(tables):
            if number:
                console.print()
            printable = _encodable(table, console.encoding)
            rule = "─" if console.encoding.startswith("utf") else "-"
            for line in _table(printable, options, console.width, styled, rule):
                line.rstrip()
                console.print(line, soft_wrap=True, highlight=False)
    return capture.get()


def _table(table: Table, options: Options, width: int, styled: bool, rule: str) -> Iterator[Text]:
    from rich.text import Text

    for title in textwrap.wrap(table.title, width):
        yield Text(title, style="bold")
    blocks, needed = _fit(table, options, width, styled)
    for block in blocks:
        yield from _header(block)
        yield Text(rule * min(width, block.width))
        for line in block.lines:
            yield from _line(block, line, width)
    notes = [*(legend(table, "Bold", "underlined") if styled else legend(table, "*", "_")), *table.notes]
    if len(blocks) > 1:
        notes.insert(
            0,
            f"In {len(blocks)} parts; {needed} columns show it whole: a wider terminal, or COLUMNS={needed}.",
        )
    for note in notes:
        for wrapped in textwrap.wrap(note, width, subsequent_indent="  "):
            yield Text(wrapped, style="dim")


def _fit(table: Table, options: Options, width: int, styled: bool) -> tuple[list[Block], int]:
    """The blocks that fit into the width, in the best form that does, and the width of an undivided one."""
    block = _block(table, "below" if options.intervals else "none", options, styled)
    forms = [block]
    if options.intervals and not options.paper:
        beside = _block(table, "inline", options, styled)
        forms = [beside, _hung(beside, _widest(beside), width), block]
    if len(block.stub) > 1:
        block = replace(block, sections=True)
        forms.append(block)
    forms.append(_hung(block, _widest(block), width, _SHORT))
    for form in forms:
        if form.width <= width:
            return [_airy(form, width)], form.width
    forms.append(_hung(block, _widest(block), width))
    parts = [_split(form, width) for form in forms]
    fewest = min(parts, key=lambda blocks: (any(block.width > width for block in blocks), len(blocks)))
    return fewest, min(form.width for form in forms)


def _widest(block: Block) -> int:
    """The stub column with the longest labels, of those that stand beside the numbers."""
    first = 1 if block.sections else 0
    return max(range(first, len(block.stub)), key=lambda i: block.stub_widths[i])


def _airy(block: Block, width: int) -> Block:
    """The block with two blanks between columns, where there is room."""
    wider = replace(block, gap=2)
    return wider if wider.width <= width else block


def _block(table: Table, intervals: str, options: Options, styled: bool) -> Block:
    lines = tuple(printed_lines(table, intervals, options.paper))  # type: ignore[arg-type]
    stub_widths = tuple(
        max(len(heading), *(len(line.labels[i]) for line in lines)) if lines else len(heading)
        for i, heading in enumerate(table.stub)
    )
    indices = tuple(range(len(table.columns)))
    return _measured(Block(table.columns, indices, lines, table.stub, stub_widths, (), styled))


def _measured(block: Block) -> Block:
    """The block with the widths its columns need, headings and spanning rows included."""
    widths = [len(column.label) for column in block.columns]
    spanning = 0
    for line in block.lines:
        if line.span is not None:
            spanning = max(spanning, len(_spanned(line)))
            continue
        for i, index in enumerate(block.indices if line.entries else ()):
            widths[i] = max(widths[i], len(_shown(line.entries[index], block.styled)))
    for level in range(len(block.columns[0].groups)):
        start = 0
        for heading, count in header_spans(block.columns, level):
            lacking = len(heading) - (sum(widths[start : start + count]) + count - 1)
            _widen(widths, start, count, lacking)
            start += count
    _widen(widths, 0, len(widths), spanning - sum(widths) - len(widths) + 1)
    return replace(block, widths=tuple(widths))


def _widen(widths: list[int], start: int, count: int, lacking: int) -> None:
    """Add what a heading lacks to the columns below it, in equal parts."""
    for extra in range(max(0, lacking)):
        widths[start + count - 1 - extra % count] += 1


def _hung(block: Block, column: int, width: int, short: int = _LABEL) -> Block:
    """The block with long labels of a stub column on lines of their own, so that the numbers fit below them.

    Labels of up to `short` characters stay where they are.
    """
    limit = max(short, width - block.width + block.stub_widths[column])
    before = block.stub_widths[1 if block.sections else 0 : column]
    room = max(_LABEL, width - sum(before) - len(before))
    lines: list[Line] = []
    for line in block.lines:
        if len(line.labels[column]) <= limit:
            lines.append(line)
            continue
        pieces = textwrap.wrap(line.labels[column], room, subsequent_indent=" ")
        lines += [_labelled(line, column, piece, first=not i) for i, piece in enumerate(pieces)]
        blank = ("",) * (column + 1)
        lines.append(replace(line, labels=(*blank, *line.labels[column + 1 :])))
    kept = (line.labels[column] for line in lines if line.entries)
    widths = list(block.stub_widths)
    widths[column] = max(len(text) for text in (block.stub[column], *kept))
    return replace(block, lines=tuple(lines), stub_widths=tuple(widths))


def _labelled(line: Line, column: int, label: str, first: bool) -> Line:
    """A line with a label and nothing behind it; the labels before it stand in the first such line."""
    before = line.labels[:column] if first else ("",) * column
    return Line((*before, label, *("" for _ in line.labels[column + 1 :])), ())


def _split(block: Block, width: int) -> list[Block]:
    """The columns in parts that fit, cut between outermost groups if possible."""
    parts: list[list[int]] = []
    for group in _groups(block.columns):
        joined = [*parts[-1], *group] if parts else group
        if parts and _of(block, joined).width <= width:
            parts[-1] = joined
        else:
            parts.append(group)
    return [_of(block, part) for part in parts]


def _groups(columns: Sequence[Column]) -> list[list[int]]:
    if not columns[0].groups:
        return [[i] for i in range(len(columns))]
    groups, start = [], 0
    for _, count in header_spans(columns, 0):
        groups.append(list(range(start, start + count)))
        start += count
    return groups


def _of(block: Block, indices: Sequence[int]) -> Block:
    columns = tuple(block.columns[i] for i in indices)
    return _measured(replace(block, columns=columns, indices=tuple(indices)))


def _header(block: Block) -> Iterator[Text]:
    from rich.text import Text

    shown = slice(1, None) if block.sections else slice(None)
    stub_width = sum(block.stub_widths[shown]) + len(block.stub_widths[shown]) - 1
    for level in range(len(block.columns[0].groups)):
        spans = header_spans(block.columns, level)
        if any(heading for heading, _ in spans):
            parts, start = [" " * stub_width], 0
            for heading, count in spans:
                parts.append(" " * block.gap + f"{heading:^{block.span(start, count)}}")
                start += count
            yield Text("".join(parts))
    stub = " ".join(f"{h:<{w}}" for h, w in zip(block.stub[shown], block.stub_widths[shown], strict=True))
    labels = "".join(
        f"{column.label:>{width + block.gap}}"
        for column, width in zip(block.columns, block.widths, strict=True)
    )
    yield Text(stub + labels)


def _line(block: Block, line: Line, width: int) -> Iterator[Text]:
    from rich.text import Text

    labels = list(zip(line.labels, block.stub_widths, strict=True))
    if block.sections:
        for heading in textwrap.wrap(line.labels[0], width, subsequent_indent=" "):
            yield Text(heading, style="bold")
        labels = labels[1:]
    printed = Text(" ".join(f"{label:<{wide}}" for label, wide in labels))
    if line.span is not None:
        printed.append(" " * block.gap + f"{_spanned(line):^{block.span(0, len(block.widths))}}")
    elif line.entries:
        for index, wide in zip(block.indices, block.widths, strict=True):
            entry = line.entries[index]
            text = _shown(entry, block.styled)
            printed.append(" " * (block.gap + wide - len(text)))
            printed.append(text, style=_STYLES[entry.mark] if block.styled else "")
    yield printed


def _shown(entry: Entry, styled: bool) -> str:
    """The signs of a cell: its number, behind a sign for its mark where that is no style."""
    return entry.text if styled else _SIGNS[entry.mark] + entry.text


def _spanned(line: Line) -> str:
    return f"{line.span}: {line.entries[0].text}" if line.span else line.entries[0].text


def _encodable(table: Table, encoding: str) -> Table:
    """The table in signs that the encoding has."""
    if encoding.startswith("utf"):
        return table

    def plain(text: str) -> str:
        return text.translate(_ASCII).encode(encoding, "replace").decode(encoding)

    return replace(
        table,
        title=plain(table.title),
        stub=tuple(plain(heading) for heading in table.stub),
        columns=tuple(
            replace(column, groups=tuple(map(plain, column.groups)), label=plain(column.label))
            for column in table.columns
        ),
        rows=tuple(replace(row, labels=tuple(map(plain, row.labels))) for row in table.rows),
        among=None if table.among is None else plain(table.among),
        notes=tuple(plain(note) for note in table.notes),
    )
