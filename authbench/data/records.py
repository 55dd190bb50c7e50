"""The things that are judged: sources, lists and pairs of them, questions with documents."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True, slots=True)
class Source:
    """A web domain or an entity with its authority label.

    Attributes:
        name: what the model is shown: `example.org`, or `Jiang Xingquan`.
        level: authority level on the scale in use, 0 the lowest (0..9 fine, 0..4 coarse).
        value: the raw label the level was made from: PageRank, or the number of sitelinks.
        text: a snippet of the web page, or None where the data has none.
    """

    name: str
    level: int
    value: float
    text: str | None = None


@dataclass(frozen=True, slots=True)
class ListItem:
    """Sources to be ranked together: one of each level, in the order in which they are shown.

    `number` counts from 0 within its domain and decides the item's place in result files.
    """

    id: str
    number: int
    sources: tuple[Source, ...]


@dataclass(frozen=True, slots=True)
class PairItem:
    """Two sources; `first` is shown as A, `second` as B. The side was drawn by a recorded coin."""

    id: str
    number: int
    first: Source
    second: Source
    difficulty: Literal["easy", "hard"]

    @property
    def gap(self) -> int:
        """Absolute difference of the two levels."""
        return abs(self.first.level - self.second.level)


@dataclass(frozen=True, slots=True)
class Document:
    """A retrieved web document; `label` is its domain's authority, a human stance, or None."""

    url: str
    text: str
    label: str | float | None = None


@dataclass(frozen=True, slots=True)
class Question:
    """A yes/no question with its documents in retrieval order."""

    id: str
    number: int
    question: str
    answer: Literal["yes", "no"]
    documents: tuple[Document, ...]
    topic: str | None = None
