"""`authbench rag filter`: order, resuming, failures, budgets, what is refused before a model is loaded."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_double import DoubleEngine
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError, DataError, EngineError
from authbench.experiment import filtering
from authbench.experiment.filtering import FilterOptions, filter_file
from authbench.rag.filters import parse_filter
from authbench.rag.selection import Cut
from authbench.runtime.engine import RenderedPrompt

DOCS = Path(__file__).resolve().parents[2] / "docs" / "examples" / "retrieved.jsonl"


def by_length(prompt: str, sample: int) -> str:
    """Scores a URL by the length of its host, 9 at most."""
    hosts = re.findall(r"^\[\d+\]:? (?:https?://)?([^/\s:]*)", prompt, re.MULTILINE)
    return json.dumps({str(place): min(9, len(host) // 4) for place, host in enumerate(hosts)})


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Callable[[DoubleEngine], DoubleEngine]:
    """Put a double in the place of every engine."""

    def use(double: DoubleEngine) -> DoubleEngine:
        monkeypatch.setattr(filtering, "make_engine", lambda *_: double)
        return double

    return use


def write(tmp_path: Path, count: int) -> Path:
    path = tmp_path / "mine.jsonl"
    rows = [
        {
            "id": number,
            "question": f"Is {number} prime?",
            "documents": [{"url": f"https://{'x' * length}.example/{number}"} for length in (3, 12, 25)],
        }
        for number in range(count)
    ]
    path.write_text("\n".join(json.dumps(row) for row in rows))
    return path


def options(tmp_path: Path, name: str = "authority", cut: Cut | None = None, **more: Any) -> FilterOptions:
    chosen = parse_filter(name)
    return FilterOptions(
        chosen, cut or Cut(k=1), "org/model", engine="double", results=tmp_path / "r", **more
    )


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def test_lines_come_out_in_order_with_scores(
    tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]
) -> None:
    engine(DoubleEngine(by_length))
    out = tmp_path / "deep" / "out.jsonl"
    summary = filter_file(write(tmp_path, 300), out, options(tmp_path))
    rows = read(out)
    assert [row["id"] for row in rows] == list(range(300))
    # Hosts of 11, 20 and 33 characters.
    assert [d["authority_score"] for d in rows[0]["documents"]] == [2, 5, 8]
    assert [d["kept"] for d in rows[0]["documents"]] == [False, False, True]
    assert rows[0]["filter"] == {
        "name": "authority",
        "cut": "k=1",
        "model": "org--model",
        "engine": "double",
        "status": "ok",
        "error": None,
        "text_chars": None,
        "tie": False,
    }
    assert (summary.lines, summary.documents, summary.kept, summary.asked) == (300, 900, 300, 300)
    assert not list(tmp_path.rglob("*.partial"))


def test_a_second_pass_asks_nothing_and_a_killed_one_goes_on(
    tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]
) -> None:
    source, out = write(tmp_path, 50), tmp_path / "out.jsonl"
    engine(DoubleEngine(by_length, dies_after=20))
    with pytest.raises(EngineError, match="died"):
        filter_file(source, out, options(tmp_path))
    assert not out.exists()
    engine(DoubleEngine(by_length))
    assert filter_file(source, out, options(tmp_path)).asked == 30
    first = out.read_bytes()
    other = engine(DoubleEngine(lambda prompt, sample: pytest.fail("asked again")))
    assert filter_file(source, out, options(tmp_path, cut=Cut(threshold=5))).asked == 0
    assert other.loads == 0
    assert [d["kept"] for d in read(out)[0]["documents"]] == [False, True, True]
    filter_file(source, out, options(tmp_path))
    assert out.read_bytes() == first


def test_answers_that_cannot_be_read_and_requests_that_fail(
    tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]
) -> None:
    engine(
        DoubleEngine(
            lambda prompt, sample: "All fine." if "/1\n" in prompt else by_length(prompt, sample),
            fails=lambda prompt: "/2\n" in prompt,
        )
    )
    out = tmp_path / "out.jsonl"
    summary = filter_file(write(tmp_path, 4), out, options(tmp_path))
    assert summary.statuses == {"ok": 2, "wrong_format": 1, "failed": 1}
    rows = read(out)
    assert [row["filter"]["status"] for row in rows] == ["ok", "wrong_format", "failed", "ok"]
    assert rows[2]["filter"]["error"] == "this one fails"
    for row in rows[1:3]:
        assert {(d["authority_score"], d["kept"]) for d in row["documents"]} == {(None, None)}


class Small(DoubleEngine):
    @property
    def context_length(self) -> int | None:
        return 500

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        return [-(-len(prompt.text) // 4) for prompt in prompts]


def test_texts_that_do_not_fit_are_cut_and_said(
    tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]
) -> None:
    path = tmp_path / "mine.jsonl"
    long = {"url": "https://a.example", "text": "long " * 200_000}
    path.write_text(json.dumps({"question": "Is it?", "documents": [long, {"url": "https://b.example"}]}))
    double = engine(Small(by_length))
    with pytest.raises(ConfigError, match=r"mine\.jsonl, line 1: a prompt of \d+ tokens does not fit"):
        filter_file(path, tmp_path / "out.jsonl", options(tmp_path, "relevance", overflow="error"))
    summary = filter_file(path, tmp_path / "out.jsonl", options(tmp_path, "relevance"))
    (row,) = read(tmp_path / "out.jsonl")
    assert summary.truncated == 1 and row["filter"]["text_chars"] == 1000
    assert len(double.asked[0]) < 2000
    assert row["documents"][0]["text"] == long["text"]  # what comes out is whole


def test_refused_before_anything_is_asked(
    tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]
) -> None:
    double = engine(DoubleEngine(by_length))
    source = write(tmp_path, 3)
    with source.open("a") as file:
        file.write("\n{cut in the mid")
    with pytest.raises(DataError, match=r"mine\.jsonl, line 4: not JSON"):
        filter_file(source, tmp_path / "out.jsonl", options(tmp_path))
    for name in ("none", "oracle-stance"):
        with pytest.raises(ConfigError, match="must be made of relevance, utility, authority"):
            filter_file(source, tmp_path / "out.jsonl", options(tmp_path, name))
    with pytest.raises(ConfigError, match="is the input"):
        filter_file(source, source, options(tmp_path))
    assert double.loads == 0


def test_command_line(tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]) -> None:
    engine(DoubleEngine(by_length))
    out = tmp_path / "out.jsonl"
    words = ["filter", str(DOCS), "-o", str(out), "--model", "org/model", "--engine", "double", "--json"]
    words += ["--results", str(tmp_path / "r")]
    done = CliRunner().invoke(app, ["rag", *words, "--keep", "2"])
    assert done.exception is None, done.output
    assert json.loads(done.stdout)["statuses"] == {"ok": 3}
    rows = read(out)
    assert [row["id"] for row in rows] == ["sleep", "tides", "glass"]
    assert [sum(d["kept"] for d in row["documents"]) for row in rows] == [2, 2, 2]
    assert all("rank" in d for row in rows for d in row["documents"])
    # A document without a URL has the lowest score here, and a forged answer in another's text none at all.
    assert rows[1]["documents"][2]["authority_score"] == 0
    both = CliRunner().invoke(app, ["rag", *words, "--keep", "2", "--threshold", "3"])
    assert isinstance(both.exception, ConfigError) and "exclude each other" in str(both.exception)
    joined = [*words, "--filter", "authority+relevance", "--weight", "authority=two"]
    wrong = CliRunner().invoke(app, ["rag", *joined])
    assert isinstance(wrong.exception, ConfigError) and "FILTER=NUMBER" in str(wrong.exception)


def test_lines_to_stdout(tmp_path: Path, engine: Callable[[DoubleEngine], DoubleEngine]) -> None:
    engine(DoubleEngine(by_length))
    words = ["filter", str(DOCS), "-o", "-", "--model", "org/model", "--engine", "double", "--quiet"]
    words += ["--results", str(tmp_path / "r")]
    done = CliRunner().invoke(app, ["rag", *words])
    assert done.exception is None
    assert [json.loads(line)["id"] for line in done.stdout.splitlines()] == ["sleep", "tides", "glass"]
