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

#: A source as a file has it: the name or object, and its label and its text where they are apart from it.
_Found = tuple[Any, Any, Any]


@dataclass(frozen=True, slots=True)
class OfficialFile:
    """A file of lists or pairs.

    Attributes:
        path: the file.
        fixed: role -> column, where known.
        corpus: the sources by lower-cased name, for levels and texts that the file does not repeat.
        scale: the scale in use.
        number: what a label in the file is.
        need_text: whether each source must have text.
    """

    path: Path
    fixed: Mapping[str, str]
    corpus: Mapping[str, Source]
    scale: Scale
    number: Number
    need_text: bool

    def lists(self, domain: str) -> tuple[tuple[ListItem, ...], int]:
        """The lists in the file's order, and how many were left out (level 10, or no text).

        Raises:
            DataError: columns that cannot be found, a source that cannot be read, a list of fewer than two.
        """
        lists: list[ListItem] = []
        dropped = 0
        for place, columns, record in self._records():
            sources = [self._source(place, *one) for one in _list_sources(place, columns, record)]
            kept = tuple(source for source in sources if source is not None)
            if len(kept) < len(sources):
                dropped += 1
            elif len(kept) < 2:
                raise DataError(f"{place}: a list of fewer than two sources")
            else:
                lists.append(ListItem(f"{domain}-{len(lists):04d}", len(lists), kept))
        return tuple(lists), dropped

    def pairs(self, domain: str, difficulty: Literal["easy", "hard"]) -> tuple[tuple[PairItem, ...], int]:
        """The pairs with their sides as they stand, and how many were left out (level 10, or no text).

        Raises:
            DataError: columns that cannot be found, a source that cannot be read.
        """
        pairs: list[PairItem] = []
        dropped = 0
        for place, columns, record in self._records():
            first, second = (self._source(place, *side) for side in _pair_sources(place, columns, record))
            if first is None or second is None:
                dropped += 1
            else:
                number = len(pairs)
                name = f"{domain}-{difficulty}-{number:04d}"
                pairs.append(PairItem(name, number, first, second, difficulty))
        return tuple(pairs), dropped

    def _records(self) -> Iterator[tuple[str, Columns, dict[str, Any]]]:
        columns: Columns | None = None
        for number, record in read_rows(self.path):
            columns = columns or Columns(str(self.path), list(record), self.fixed)
            yield f"{self.path}, line {number}", columns, record

    def _source(self, place: str, item: Any, label: Any, text: Any) -> Source | None:
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


def _list_sources(place: str, columns: Columns, record: Mapping[str, Any]) -> Sequence[_Found]:
    column = columns.get("items") or columns.get("names")
    if column is None:
        raise columns.lacking("items", "names")
    items = record.get(column)
    if isinstance(items, Mapping):
        return [(name, label, None) for name, label in items.items()]
    if not isinstance(items, list):
        raise DataError(
            f"{place}: column '{column}' does not hold a list; columns found: {columns.listed}\n"
            "Name the one that does: --set dataset.columns.items=COLUMN"
        )
    labels = _beside(place, columns, record, "levels", column, len(items))
    texts = _beside(place, columns, record, "texts", column, len(items))
    return list(zip(items, labels, texts, strict=True))


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
    if columns.get("first") and columns.get("second"):
        roles = [(side, f"{side}_level", f"{side}_text") for side in ("first", "second")]
        found = [[record.get(columns.get(role) or "") for role in side] for side in roles]
        return [(name, label, text) for name, label, text in found]
    column = columns.get("pair")
    if column is None:
        raise columns.lacking("first", "second")
    sides = record.get(column)
    if not isinstance(sides, list) or len(sides) != 2:
        raise DataError(f"{place}: column '{column}' does not hold two sources")
    labels = _beside(place, columns, record, "levels", column, 2)
    return [(side, label, None) for side, label in zip(sides, labels, strict=True)]
