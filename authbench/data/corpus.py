"""Reading a corpus file: names with a label or a raw value, and perhaps text, by domain."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, Literal

from authbench.data.catalog import Family, LevelRule
from authbench.data.columns import Columns
from authbench.data.levels import COARSE, Scale, log_space_levels, pagerank_level
from authbench.data.records import Source
from authbench.data.rows import read_rows
from authbench.errors import ConfigError, DataError

#: What the number of a record is: a fine label 0 to 10, a coarse one 0 to 4, or a value to be levelled.
Number = Literal["level", "coarse_level", "value"]

#: The one domain of web data.
WEB = "domains"

#: Columns that name an entity rather than a web domain.
ENTITY_COLUMNS = ("entity", "entity_name", "question_entity", "name")

_NUMBERS: Mapping[LevelRule | None, tuple[Number, ...]] = {
    "label": ("level",),
    "log-space": ("value",),
    None: ("level", "coarse_level", "value"),
}


@dataclass(frozen=True, slots=True)
class Entry:
    """One record of a corpus before it has a level; `line` is for messages."""

    name: str
    number: float
    text: str | None
    line: int


@dataclass(slots=True)
class Corpus:
    """What was read from one file: entries by domain, and why records were left out."""

    path: Path
    number: Number
    family: Family
    entries: dict[str, list[Entry]] = field(default_factory=dict)
    dropped: Counter[str] = field(default_factory=Counter)


@dataclass(frozen=True, slots=True)
class _Layout:
    """Which column of a file holds what."""

    name: str
    group: str | None
    number: Number
    number_column: str
    text: str | None


def read_corpus(
    path: Path,
    fixed: Mapping[str, str],
    *,
    family: Family | None,
    rule: LevelRule | None,
    group: str | None = None,
    coarse: bool = False,
    need_text: bool = False,
) -> Corpus:
    """Read a corpus file.

    Args:
        fixed: role -> column, where known.
        family: what the names are; None: entities if the file has a domain column beside their names.
        rule: how levels come about; None: from a label column if there is one, else from a value.
        group: the domain of all entries, if the file has no column for it.
        coarse: the labels are on the coarse scale.
        need_text: leave out (and count) entries without text.

    Names are stripped of surrounding blanks. Of several records of one name in a domain the first is kept and
    the others are counted (web domains: whatever their case). Records without a name or a number are counted.

    Raises:
        DataError: no records, columns that cannot be found, a label or value that is no number.
    """
    rows = read_rows(path)
    first = next(rows, None)
    if first is None:
        raise DataError(f"{path}: no records")
    columns = Columns(str(path), list(first[1]), fixed)
    layout = _layout(columns, family, rule, group, coarse)
    if need_text and layout.text is None:
        raise DataError(f"{columns.lacking('text')}, or set context: [without]")
    corpus = Corpus(path, layout.number, family or ("entity" if layout.group else "domain"))
    seen: set[tuple[str, str]] = set()
    for line, record in chain([first], rows):
        name, value = _stripped(record.get(layout.name)), record.get(layout.number_column)
        text = record.get(layout.text) if layout.text else None
        domain = group or (_stripped(record.get(layout.group)) if layout.group else WEB)
        key = (domain, name.casefold() if corpus.family == "domain" else name)
        if not name or not domain:
            corpus.dropped["no name"] += 1
        elif value is None or not str(value).strip():
            corpus.dropped["no label"] += 1
        elif need_text and not _stripped(text):
            corpus.dropped["no text"] += 1
        elif key in seen:
            corpus.dropped["duplicate name"] += 1
        else:
            seen.add(key)
            number = to_number(value, f"{path}, line {line}, column '{layout.number_column}'")
            entry = Entry(name, number, str(text) if text else None, line)
            corpus.entries.setdefault(domain, []).append(entry)
    return corpus


def level_entries(corpus: Corpus, entries: Sequence[Entry], scale: Scale) -> tuple[Source, ...]:
    """Sources with their levels; entries of PageRank 10, and values the log-space rule has no level for
    (not positive), are left out and counted in `corpus.dropped`.

    Raises:
        DataError: a label that is none, naming file and line.
        ConfigError: the labels are coarse, and the scale is fine.
    """
    levels: Sequence[int | None]
    if corpus.number == "value":
        usable = [entry for entry in entries if math.isfinite(entry.number) and entry.number > 0]
        corpus.dropped["no positive value"] += len(entries) - len(usable)
        entries = usable
        try:
            levels = log_space_levels([entry.number for entry in entries], scale)
        except DataError as error:
            raise DataError(f"{corpus.path}: {error}") from error
    elif corpus.number == "coarse_level" and scale is not COARSE:
        raise ConfigError(f"{corpus.path}: has labels of five levels only; set dataset.scale=coarse")
    else:
        levels = [
            label_level(entry.number, scale, corpus.number, f"{corpus.path}, line {entry.line}")
            for entry in entries
        ]
        corpus.dropped["level 10"] += levels.count(None)
    return tuple(
        Source(entry.name, level, entry.number, entry.text)
        for entry, level in zip(entries, levels, strict=True)
        if level is not None
    )


def label_level(label: float, scale: Scale, number: Number, place: str) -> int | None:
    """The level of a file's label, None for PageRank 10; `DataError` with the place if it is no label."""
    if number == "coarse_level":
        if not label.is_integer() or not 0 <= label < COARSE.levels:
            raise DataError(
                f"{place}: {label:g} is no coarse label (an integer from 0 to {COARSE.levels - 1})"
            )
        return int(label)
    try:
        return pagerank_level(label, scale)
    except DataError as error:
        raise DataError(
            f"{place}: {error}\nIf it is a raw value, say so: --set dataset.columns.value=COLUMN"
        ) from error


def to_number(value: Any, place: str) -> float:
    """A number out of a JSON or CSV field; `DataError` naming the place for anything else, booleans too."""
    try:
        if isinstance(value, bool):
            raise ValueError
        return float(value)
    except (TypeError, ValueError) as error:
        raise DataError(f"{place}: {value!r} is not a number") from error


def _layout(
    columns: Columns, family: Family | None, rule: LevelRule | None, group: str | None, coarse: bool
) -> _Layout:
    entity = next((column for column in ENTITY_COLUMNS if column in columns.found), None)
    by_role = family == "domain" or "name" in columns.fixed or entity is None
    name = columns.need("name") if by_role else entity
    assert name is not None  # else `need` has raised
    named_entities = family != "domain" and ("name" in columns.fixed or entity is not None)
    group_column = columns.get("group", besides=(name,)) if named_entities and group is None else None
    taken = (name, group_column)
    wanted: Sequence[Number] = ("coarse_level", "level") if coarse else _NUMBERS[rule]
    # What is set goes before what is found.
    order = sorted(wanted, key=lambda role: role not in columns.fixed)
    found = ((role, columns.get(role, besides=taken)) for role in order)
    number, column = next(((role, column) for role, column in found if column), (None, None))
    if number is None or column is None:
        raise columns.lacking(*(("level",) if coarse else wanted if rule else ("level", "value")))
    text = columns.get("text", besides=(*taken, column))
    return _Layout(name, group_column, "coarse_level" if coarse else number, column, text)


def _stripped(value: Any) -> str:
    return str(value or "").strip()
