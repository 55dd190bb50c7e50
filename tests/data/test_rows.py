"""Reading records, with file and line in every error."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import datasets
import pytest

from authbench.data.rows import read_rows
from authbench.errors import DataError


def write(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def test_jsonl(tmp_path: Path) -> None:
    path = write(tmp_path, "f.jsonl", '\ufeff{"a": 1}\n\n  \n{"a": "\u00e9"}\n["x", "y"]')
    assert list(read_rows(path)) == [(1, {"a": 1}), (4, {"a": "\u00e9"}), (5, {"items": ["x", "y"]})]


def test_json_array(tmp_path: Path) -> None:
    assert list(read_rows(write(tmp_path, "f.json", '[{"a": 1}, {"a": 2}]'))) == [
        (1, {"a": 1}),
        (2, {"a": 2}),
    ]


def test_tables(tmp_path: Path) -> None:
    path = write(tmp_path, "f.csv", 'name,text\r\na,"two\r\nlines, one field"\r\nb,\r\n')
    assert list(read_rows(path)) == [
        (3, {"name": "a", "text": "two\r\nlines, one field"}),
        (4, {"name": "b", "text": ""}),
    ]
    path = write(tmp_path, "f.TSV", "name\tlevel\na\t3\n")
    assert list(read_rows(path)) == [(2, {"name": "a", "level": "3"})]
    long = "x" * 300_000  # beyond the csv module's default limit of a field
    assert next(read_rows(write(tmp_path, "l.csv", f"name,text\na,{long}\n")))[1]["text"] == long


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("f.jsonl", '{"a": 1}\n{"a": \n', r"f.jsonl, line 2: not JSON"),
        ("f.jsonl", '{"a": 1}\n17\n', r"f.jsonl, line 2: a JSON object is needed, not int"),
        ("f.jsonl", b'{"a": "\xff"}\n', r"f.jsonl: not UTF-8 text .* at byte 7"),
        ("f.json", '{"a": 1}\n{"a": 2}\n', r"f.json: not JSON .*one object a line is read from .jsonl"),
        ("f.json", '{"a": 1}', r"f.json: a JSON file must hold an array"),
        ("f.json", '[{"a": 1}, 2]', r"f.json, record 2: a JSON object is needed"),
        ("f.csv", "", r"f.csv: empty; a header line"),
        ("f.csv", "a,b\n1,2\n1,2,3\n", r"f.csv, line 3: more fields than the header has"),
    ],
)
def test_errors(tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
    with pytest.raises(DataError, match=message):
        list(read_rows(write(tmp_path, name, content)))


def test_parquet(tmp_path: Path) -> None:
    path = tmp_path / "f.parquet"
    records: list[dict[str, Any]] = [
        {"name": "2001-01-01", "level": 3, "documents": [{"url": "u"}]},
        {"name": "b", "level": None},
    ]
    datasets.Dataset.from_list(records).to_parquet(path)
    assert list(read_rows(path)) == [(1, records[0]), (2, {**records[1], "documents": None})]
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(DataError, match=r"f.parquet: datasets cannot read it \("):
        list(read_rows(path))


def test_no_file(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"g.jsonl: cannot be read \(No such file"):
        list(read_rows(tmp_path / "g.jsonl"))
