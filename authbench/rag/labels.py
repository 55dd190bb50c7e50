"""Authority labels for documents from the labels of their domains: the join of a URL with DomainAuth."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from authbench.data.records import Document, Source

_HOST = re.compile(r"\s*(?:[A-Za-z][A-Za-z0-9+.-]*:)?(?://)?(?:[^/?#\s@]*@)?([^/?#:\s]*)")


def host_of(url: str) -> str:
    """The host of a URL in lower case, without `www.` and port; empty where there is none.

    Any text is taken: a URL of a data set may be broken. Nothing is looked up.
    """
    found = _HOST.match(url)
    host = found[1].lower().strip(".") if found else ""
    return host.removeprefix("www.")


def domain_table(sources: Iterable[Source]) -> dict[str, int]:
    """Level by domain, in lower case and without `www.`."""
    return {source.name.lower().removeprefix("www."): source.level for source in sources}


def domain_level(url: str, table: Mapping[str, int]) -> int | None:
    """The level of the URL's host, else of the nearest domain above it that the table has, else None.

    `news.example.org` takes the level of `example.org`. A top-level domain alone is never looked up.
    """
    labels = host_of(url).split(".")
    for start in range(len(labels) - 1):
        level = table.get(".".join(labels[start:]))
        if level is not None:
            return level
    return None


def document_levels(documents: Sequence[Document], table: Mapping[str, int]) -> list[float | None]:
    """The level of each document's domain."""
    levels = (domain_level(document.url, table) for document in documents)
    return [None if level is None else float(level) for level in levels]
