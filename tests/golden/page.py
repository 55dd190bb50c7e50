"""The visible text of a page, as lines: a line for each block, ` | ` between the cells of a table's row."""

from __future__ import annotations

import re
from html.parser import HTMLParser

_HIDDEN = frozenset({"script", "style", "svg", "template", "head"})
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "code", "em", "i", "kbd", "mark", "small", "span", "strong", "sub", "sup", "u"}
)
_CELLS = frozenset({"td", "th"})
_HEADINGS = {f"h{depth}": "#" * depth + " " for depth in range(1, 7)}


def visible_text(html: str) -> str:
    """Lines of the page's text in its order; drawings, scripts and styles are left out."""
    reader = _Reader()
    reader.feed(html)
    reader.close()
    lines = [re.sub(r"\s+", " ", line).strip(" |") for line in "".join(reader.parts).split("\0")]
    return "\n".join(line for line in lines if line) + "\n"


class _Reader(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.parts: list[str] = []
        self._hidden: list[str] = []
        self._in_row = 0

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in _HIDDEN:
            self._hidden.append(tag)
        if tag == "tr":
            self._in_row += 1
        self._break(tag, opens=True)
        self.parts.append("" if self._hidden else _HEADINGS.get(tag, ""))

    def handle_endtag(self, tag: str) -> None:
        self._break(tag)
        if tag == "tr":
            self._in_row -= 1
            self._break(tag)
        if self._hidden and self._hidden[-1] == tag:
            self._hidden.pop()

    def handle_data(self, data: str) -> None:
        if not self._hidden:
            self.parts.append(data)

    def _break(self, tag: str, *, opens: bool = False) -> None:
        if self._hidden or (tag in _INLINE and not (self._in_row and tag in ("small", "span"))):
            return
        if self._in_row and tag != "tr":
            self.parts.append(" | " if tag in _CELLS and opens else " ")
        else:
            self.parts.append("\0")
