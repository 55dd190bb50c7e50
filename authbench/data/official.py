"""The official list and pair files of AuthorityBench, whose column names are not published.

A list is read in any of these shapes: objects with a name and a level; bare names, their levels in a second
column or looked up in the corpus; a mapping of names to levels. A pair likewise, or as two columns. What
cannot be read is an error that lists the columns found and the way to name them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from authbench.data.columns import Columns, first_filled
from authbench.data.corpus import Number, label_level, to_number
from authbench.data.levels import Scale
from authbench.data.records import ListItem, PairItem, Source
from authbench.data.rows import read_rows
from authbench.errors import DataError


@dataclass(frozen=True, slots=True)
class Reader:
    """Turns what a file has for a source into a `Source`.

    Attributes:
        corpus: the sources by lower-cased name, for levels and texts that a file does not repeat.
        scale: the scale in use.
        number: what a label in the file is.
        need_text: whether each source must have text.
    """

    corpus: Mapping[str, Source]
    scale: Scale
    number: Number
    need_text: bool

    def source(self, item: Any, place: str, label: Any = None, text: Any = None) -> Source | None:
        """The source, or None where it is of level 10 or lacks the text it needs."""
        if isinstance(item, Mapping):
            name = str(first_filled(item, "name") or "").strip()
            label = first_filled(item, "level") if label is None else label
            text = first_filled(item, "text") if text is None else text
        else:
            name = str(item or "").strip()
        if not name:
            raise DataError(f"{place}: a source without a name")
        known = self.corpus.get(name.casefold())
        if label is not None:
            value = to_number(label, place)
            level = label_level(value, self.scale, self.number, place)
        elif known is not None:
            value, level = known.value, known.level
        else:
            raise DataError(f"{place}: '{name}' has no level here and is not in the corpus")
        words = str(text) if text else (known.text if known else None)
        if level is None or (self.need_text and not (words or "").strip()):
            return None
        return Source(name, level, value, words)


def read_lists(
    path: Path, fixed: Mapping[str, str], reader: Reader, domain: str
) -> tuple[tuple[ListItem, ...], int]:
    """The lists of a file, in its order, and how many were left out (level 10, or no text).

    Raises:
        DataError: columns that cannot be found, a source that cannot be read, a list of fewer than two.
    """
    lists: list[ListItem] = []
    dropped = 0
    for place, columns, record in _records(path, fixed):
        sources = [reader.source(*one) for one in _list_sources(place, columns, record)]
        kept = tuple(source for source in sources if source is not None)
        if len(kept) < len(sources):
            dropped += 1
        elif len(kept) < 2:
            raise DataError(f"{place}: a list of fewer than two sources")
        else:
            lists.append(ListItem(f"{domain}-{len(lists):04d}", len(lists), kept))
    return tuple(lists), dropped


def read_pairs(
    path: Path, fixed: Mapping[str, str], reader: Reader, domain: str, difficulty: Literal["easy", "hard"]
) -> tuple[tuple[PairItem, ...], int]:
    """The pairs of a file with their sides as they stand, and how many were left out (level 10, or no text).

    Raises:
        DataError: columns that cannot be found, a source that cannot be read.
    """
    pairs: list[PairItem] = []
    dropped = 0
    for place, columns, record in _records(path, fixed):
        first, second = (reader.source(*side) for side in _pair_sources(place, columns, record))
        if first is None or second is None:
            dropped += 1
        else:
            number = len(pairs)
            pairs.append(PairItem(f"{domain}-{difficulty}-{number:04d}", number, first, second, difficulty))
    return tuple(pairs), dropped


def _records(path: Path, fixed: Mapping[str, str]) -> Iterator[tuple[str, Columns, dict[str, Any]]]:
    columns: Columns | None = None
    for line, record in read_rows(path):
        columns = columns or Columns(str(path), list(record), fixed)
        yield f"{path}, line {line}", columns, record


#: What `Reader.source` takes: the item, where it stands, its label and its text if they are apart from it.
_Found = tuple[Any, str, Any, Any]


def _list_sources(place: str, columns: Columns, record: Mapping[str, Any]) -> Sequence[_Found]:
    column = columns.get("items") or columns.get("names")
    if column is None:
        raise columns.lacking("items", "names")
    items = record.get(column)
    if isinstance(items, Mapping):
        return [(name, place, label, None) for name, label in items.items()]
    if not isinstance(items, list):
        raise DataError(
            f"{place}: column '{column}' does not hold a list; columns found: {', '.join(columns.found)}\n"
            "Name the one that does: --set dataset.columns.items=COLUMN"
        )
    labels = _beside(place, columns, record, "levels", column, len(items))
    texts = _beside(place, columns, record, "texts", column, len(items))
    return [(item, place, label, text) for item, label, text in zip(items, labels, texts, strict=True)]


def _beside(
    place: str, columns: Columns, record: Mapping[str, Any], role: str, taken: str, length: int
) -> Sequence[Any]:
    """A column of lists parallel to the items, or as many times None."""
    column = columns.get(role, besides=(taken,))
    values = record.get(column) if column else None
    if not isinstance(values, list):
        return [None] * length
    if len(values) != length:
        raise DataError(f"{place}: {length} names, but {len(values)} in column '{column}'")
    return values


def _pair_sources(place: str, columns: Columns, record: Mapping[str, Any]) -> Sequence[_Found]:
    first, second = columns.get("first"), columns.get("second")
    if first and second:
        return [
            (
                record.get(first),
                place,
                _field(columns, record, "first_level"),
                _text(columns, record, "first"),
            ),
            (
                record.get(second),
                place,
                _field(columns, record, "second_level"),
                _text(columns, record, "second"),
            ),
        ]
    column = columns.get("pair")
    if column is None:
        raise columns.lacking("first", "second")
    sides = record.get(column)
    if not isinstance(sides, list) or len(sides) != 2:
        raise DataError(f"{place}: column '{column}' does not hold two sources")
    labels = _beside(place, columns, record, "levels", column, 2)
    return [(side, place, label, None) for side, label in zip(sides, labels, strict=True)]


def _field(columns: Columns, record: Mapping[str, Any], role: str) -> Any:
    column = columns.get(role)
    return record.get(column) if column else None


def _text(columns: Columns, record: Mapping[str, Any], side: str) -> Any:
    return _field(columns, record, f"{side}_text")
