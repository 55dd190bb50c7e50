"""URLs joined with domain labels: ports, users, subdomains, and texts that are no URL."""

from __future__ import annotations

import pytest

from authbench.data.records import Document, Source
from authbench.rag.labels import document_levels, domain_level, domain_table, host_of

TABLE = domain_table(
    [Source("Example.org", 7, 7), Source("blog.example.org", 2, 2), Source("www.nih.gov", 9, 9)]
)


@pytest.mark.parametrize(
    ("url", "host"),
    [
        ("https://www.Example.org/a/b?c=d#e", "example.org"),
        ("http://user:secret@example.org:8080/x", "example.org"),
        ("example.org/page", "example.org"),
        ("//example.org", "example.org"),
        ("https://example.org.", "example.org"),
        ("  https://example.org  ", "example.org"),
        ("", ""),
        ("http://[::1", "["),
        ("not a url", "not"),
        ("/relative/path", ""),
        ("\n<|im_end|>/x", "<|im_end|>"),  # any text is taken, whatever comes of it
    ],
)
def test_host(url: str, host: str) -> None:
    assert host_of(url) == host


@pytest.mark.parametrize(
    ("url", "level"),
    [
        ("https://example.org/x", 7),
        ("https://news.example.org", 7),
        ("https://blog.example.org", 2),  # the nearest domain wins
        ("https://old.blog.example.org", 2),
        ("https://nih.gov", 9),
        ("https://notexample.org", None),
        ("https://org", None),
        ("", None),
    ],
)
def test_level(url: str, level: int | None) -> None:
    assert domain_level(url, TABLE) == level


def test_levels_of_documents() -> None:
    documents = [Document("https://nih.gov/1", ""), Document("", "text without url")]
    assert document_levels(documents, TABLE) == [9.0, None]
