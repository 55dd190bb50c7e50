"""Tables in a terminal: fixed width, best bold and second best underlined.

A table that is too wide gets narrower by steps: intervals go below their numbers, long labels are broken, the
first label becomes a heading of its own, and at last the columns are shown in parts, with the width that
would hold them all. Where there is no bold (a file, a pipe), `*` and `_` in front of a number mark it; they
take the place of the blank between columns. A terminal that cannot print Greek gets ASCII.
"""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from authbench.reporting.formats import header_spans, legend
from authbench.reporting.grid import Column, Line, Table, printed_lines
from authbench.reporting.placing import Options

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

#: Labels are never broken into pieces shorter than this.
_LABEL = 12
_ASCII = str.maketrans({"ρ": "rho", "τ": "tau", "–": "-", "·": "-"})


@dataclass(frozen=True, slots=True)
class Block:
    """Columns of a table with the lines and the widths in which they are printed.

    `indices` are the places of the columns in the table; `sections` is True where the first label column is
    printed as headings between the rows; `gap` is the number of blanks before each column.
    """

    columns: tuple[Column, ...]
    indices: tuple[int, ...]
    lines: tuple[Line, ...]
    stub: tuple[str, ...]
    stub_widths: tuple[int, ...]
    widths: tuple[int, ...]
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
    blocks, needed = _fit(table, options, width)
    for block in blocks:
        yield from _header(block)
        yield Text(rule * min(width, block.width))
        for line in block.lines:
            yield from _line(block, line, styled)
    notes = [*(legend(table, "Bold", "underlined") if styled else legend(table, "*", "_")), *table.notes]
    if len(blocks) > 1:
        notes.insert(
            0,
            f"In {len(blocks)} parts; {needed} columns show it whole: a wider terminal, or COLUMNS={needed}.",
        )
    for note in notes:
        for wrapped in textwrap.wrap(note, width, subsequent_indent="  "):
            yield Text(wrapped, style="dim")


def _fit(table: Table, options: Options, width: int) -> tuple[list[Block], int]:
    """The blocks that fit into the width, in the best form that does, and the width of an undivided one."""
    block = _block(table, "below" if options.intervals else "none", options)
    forms = [block, _broken(block, 0, width)]
    if len(block.stub) > 1:
        sections = replace(block, sections=True)
        forms += [sections, _broken(sections, 1, width)]
    if options.intervals and not options.paper:
        beside = _block(table, "inline", options)
        forms = [beside, _broken(beside, len(beside.stub) - 1, width), *forms]
    for form in forms:
        if form.width <= width:
            return [_airy(form, width)], form.width
    parts = [_split(form, width) for form in forms]
    fewest = min(parts, key=lambda blocks: (any(block.width > width for block in blocks), len(blocks)))
    return fewest, min(form.width for form in forms)


def _airy(block: Block, width: int) -> Block:
    """The block with two blanks between columns, where there is room."""
    wider = replace(block, gap=2)
    return wider if wider.width <= width else block


def _block(table: Table, intervals: str, options: Options) -> Block:
    lines = tuple(printed_lines(table, intervals, options.paper))  # type: ignore[arg-type]
    stub_widths = tuple(
        max(len(heading), *(len(line.labels[i]) for line in lines)) if lines else len(heading)
        for i, heading in enumerate(table.stub)
    )
    indices = tuple(range(len(table.columns)))
    return _measured(Block(table.columns, indices, lines, table.stub, stub_widths, ()))


def _measured(block: Block) -> Block:
    """The block with the widths its columns need, headings and spanning rows included."""
    widths = [len(column.label) for column in block.columns]
    spanning = 0
    for line in block.lines:
        if line.span is not None:
            spanning = max(spanning, len(_spanned(line)))
            continue
        for i, index in enumerate(block.indices if line.entries else ()):
            widths[i] = max(widths[i], len(line.entries[index].text))
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


def _broken(block: Block, column: int, width: int) -> Block:
    """The block with labels of a stub column broken so that it fits, or as short as labels may get.

    The pieces continue in the lines below that have no label there, or in lines of their own.
    """
    limit = max(_LABEL, width - block.width + block.stub_widths[column])
    lines: list[Line] = []
    pieces: list[str] = []
    for line in block.lines:
        if line.labels[column]:
            lines += [_labelled(block, column, piece) for piece in pieces]
            pieces = textwrap.wrap(line.labels[column], limit, subsequent_indent=" ") or [""]
        labels = list(line.labels)
        labels[column] = pieces.pop(0) if pieces else ""
        lines.append(replace(line, labels=tuple(labels)))
    lines += [_labelled(block, column, piece) for piece in pieces]
    widths = list(block.stub_widths)
    widths[column] = max(len(text) for text in (block.stub[column], *(ln.labels[column] for ln in lines)))
    return replace(block, lines=tuple(lines), stub_widths=tuple(widths))


def _labelled(block: Block, column: int, label: str) -> Line:
    """A line with nothing but a label."""
    return Line(tuple(label if i == column else "" for i in range(len(block.stub))), ())


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


def _line(block: Block, line: Line, styled: bool) -> Iterator[Text]:
    from rich.text import Text

    labels = list(zip(line.labels, block.stub_widths, strict=True))
    if block.sections:
        if line.labels[0]:
            yield Text(line.labels[0], style="bold")
        labels = labels[1:]
        if not any(line.labels[1:]):
            return
    printed = Text(" ".join(f"{label:<{width}}" for label, width in labels))
    if line.span is not None:
        printed.append(" " * block.gap + f"{_spanned(line):^{block.span(0, len(block.widths))}}")
    elif line.entries:
        for index, width in zip(block.indices, block.widths, strict=True):
            _append(printed, line, index, width + block.gap, styled)
    yield printed


def _append(printed: Text, line: Line, index: int, width: int, styled: bool) -> None:
    entry = line.entries[index]
    if not styled:
        sign = {"best": "*", "second": "_", None: ""}[entry.mark]
        printed.append(f"{sign + entry.text:>{width}}")
        return
    printed.append(" " * (width - len(entry.text)))
    printed.append(entry.text, style={"best": "bold", "second": "underline", None: ""}[entry.mark])


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
