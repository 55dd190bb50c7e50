"""A user's own JSONL: what is read, what is refused with file and line, what is written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from authbench.errors import DataError
from authbench.rag.filters import parse_filter
from authbench.tasks.rag.userfile import filtered_row, read_lines


def write(tmp_path: Path, *rows: object) -> Path:
    path = tmp_path / "mine.jsonl"
    path.write_text("".join(row if isinstance(row, str) else json.dumps(row) + "\n" for row in rows))
    return path


def test_lines_are_read_with_what_they_lack(tmp_path: Path) -> None:
    path = write(
        tmp_path,
        {"question": "Is it?", "documents": [{"url": " https://a.example ", "text": "A"}, {"text": "B"}, {}]},
        "\n",
        {"query": "And this?", "contexts": [{"link": "https://b.example", "content": "C", "rank": 1}]},
    )
    first, second = read_lines(path, need_question=True)
    assert [(d.url, d.text) for d in first.question.documents] == [
        ("https://a.example", "A"),
        ("", "B"),
        ("", ""),
    ]
    assert (second.number, second.documents, second.question.question) == (1, "contexts", "And this?")
    assert second.question.documents[0].url == "https://b.example"
    assert second.question.id == "mine.jsonl, line 3"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("{broken\n", "line 1: not JSON"),
        ("7\n", "line 1: a JSON object is needed"),
        ({"question": "Is it?"}, "line 1: no list of documents; keys found: question"),
        ({"question": "Is it?", "documents": "none"}, "line 1: no list of documents"),
        ({"question": "Is it?", "documents": ["https://a.example"]}, "line 1: document 0 is no object"),
        ({"documents": []}, "line 1: no question, and this filter scores documents against one"),
        ({"question": 7, "documents": []}, "line 1: no question"),
    ],
)
def test_refused_with_file_and_line(tmp_path: Path, row: object, said: str) -> None:
    path = write(tmp_path, row)
    with pytest.raises(DataError, match=said) as error:
        list(read_lines(path, need_question=True))
    assert str(path) in str(error.value)


def test_authority_needs_no_question(tmp_path: Path) -> None:
    (line,) = read_lines(write(tmp_path, {"documents": [{"url": "https://a.example"}]}), need_question=False)
    assert line.question.question == ""


def test_what_is_written_keeps_everything_else(tmp_path: Path) -> None:
    row = {"id": 7, "docs": [{"url": "u", "text": "t", "score": 0.3}, {"url": "v"}], "note": {"deep": [1]}}
    (line,) = read_lines(write(tmp_path, row), need_question=False)
    values = {"scores": {"authority": [2, 8]}, "combined": [2, 8], "kept": (1,), "tie": False}
    assert filtered_row(line, parse_filter("authority"), values, {"status": "ok"}) == {
        "id": 7,
        "docs": [
            {"url": "u", "text": "t", "score": 0.3, "authority_score": 2, "kept": False},
            {"url": "v", "authority_score": 8, "kept": True},
        ],
        "note": {"deep": [1]},
        "filter": {"name": "authority", "status": "ok", "tie": False},
    }
    joined = parse_filter("authority+relevance")
    nothing = filtered_row(line, joined, {}, {"status": "failed"})
    assert nothing["docs"][0] == {
        "url": "u",
        "text": "t",
        "score": 0.3,
        "authority_score": None,
        "relevance_score": None,
        "filter_score": None,
        "kept": None,
    }
