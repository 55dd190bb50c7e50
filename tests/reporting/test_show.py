"""Items in the terminal: worst first, prompt beside answer, and nothing that could steer the terminal."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError
from authbench.reporting.results import load_run
from authbench.reporting.show import printable, select


@pytest.fixture
def fine(fake_results: Path) -> Path:
    return fake_results / "domainauth_fine" / "qwen3-8b"


def cli(*words: object, width: int = 120) -> Any:
    runner = CliRunner(env={"COLUMNS": str(width)})
    return runner.invoke(app, ["show", *map(str, words)], catch_exceptions=False)


def test_invalid_items_come_first_then_the_lowest_values(fine: Path) -> None:
    chosen = select(load_run(fine), limit=10_000)
    order = [(shown.row.valid, shown.row.value) for shown in chosen.shown]
    assert order == sorted(order) and order[0][0] is False and order[-1][0] is True
    assert chosen.matching == sum(chosen.statuses.values()) == 5 * 2 * 12


def test_status_group_and_item_choose(fine: Path) -> None:
    run = load_run(fine)
    empty = select(run, status="empty", limit=10_000)
    assert empty.matching == empty.statuses["empty"] > 0
    assert {shown.row.worst for shown in empty.shown} == {"empty"}
    bad = select(run, status="invalid", limit=0)
    assert bad.matching == sum(n for status, n in bad.statuses.items() if status not in ("ok", "repaired"))
    one = select(run, group="list-rank", item="domains-0003")
    assert {(s.row.facts.group, s.row.item) for s in one.shown} == {
        ("domains/without/list-rank", "domains-0003"),
        ("domains/with/list-rank", "domains-0003"),
    }
    # A group can be named by its words as well.
    assert select(run, group="with text, PointJudge", limit=0).matching == 12


def test_prompt_and_answer_stand_side_by_side(fine: Path) -> None:
    chosen = select(load_run(fine), status="wrong_format", group="without/list-score", limit=1)
    answer = chosen.shown[0].detail.answers[0].texts[0].split()[0]
    lines = cli(
        fine, "--status", "wrong_format", "--group", "without/list-score", "--limit", "1"
    ).output.splitlines()
    head = next(line for line in lines if line.split() == ["prompt", "answer"])
    first = next(line for line in lines if "You are a web analysis expert" in line)
    assert first[head.index("answer") :].strip().startswith(answer)
    assert lines[0].startswith("Items: ")
    narrow = cli(fine, "--limit", "1", width=70).output.splitlines()
    assert narrow[-1] == "119 more match; --limit shows more of them"
    assert all(len(line) <= 70 for line in narrow)
    assert not any(line.split() == ["prompt", "answer"] for line in narrow)


def test_json_has_everything_uncut(fine: Path) -> None:
    done = json.loads(cli(fine, "--json", "--limit", "2", "--group", "with/pair-rank").output)
    assert len(done["items"]) == 2 and done["matching"] == 12
    item = done["items"][0]
    assert len(item["answers"]) == 35 and len(item["parts"]) == 10
    assert item["metric"] == "spearman"
    assert all("characters left out" not in (answer["prompt"] or "") for answer in item["answers"])
    assert {part["place shown"] for part in item["parts"]} == {str(place) for place in range(1, 11)}


def test_rag_shows_documents_and_what_was_kept(fake_results: Path) -> None:
    text = cli(fake_results / "ragauth" / "qwen3-14b", "--group", "authority", "--limit", "1").output
    assert "right answer:" in text and "kept at k = 1" in text and "https://l9.example/" in text


def test_without_a_store_prompts_are_said_to_be_missing(fine: Path, tmp_path: Path) -> None:
    alone = tmp_path / "results" / "domainauth_fine" / "qwen3-8b"
    shutil.copytree(fine, alone)
    text = cli(alone, "--limit", "1").output
    assert "no store there, so prompts cannot be shown" in text
    assert "the prompt is not in the store" in text
    assert not (tmp_path / "results" / "responses.sqlite").exists()


def test_wrong_names_are_refused_with_a_hint(fine: Path) -> None:
    for words, message in (
        (("--status", "wrong_fromat"), "did you mean 'wrong_format'"),
        (("--group", "nothing"), "groups are domains/without/point, "),
        (("--item", "domains-9999"), "has no item 'domains-9999'"),
    ):
        with pytest.raises(ConfigError, match=message):
            cli(fine, *words)


def test_control_characters_are_made_visible() -> None:
    assert printable("a\x1b[31mred\x07\n\tb") == "a␛[31mred␇\n\tb"
    assert printable("\x9b31m \u202egnp.exe \ud800") == "<U+009B>31m <U+202E>gnp.exe <U+D800>"
    assert printable("naïve 中文 😀") == "naïve 中文 😀"


def test_markup_of_rich_in_an_answer_is_text(fine: Path, tmp_path: Path) -> None:
    hostile = tmp_path / "results" / "e" / "m"
    shutil.copytree(fine, hostile)
    lines = (hostile / "items.jsonl").read_text().splitlines()
    row = json.loads(lines[0])
    row["answers"][0] |= {"texts": ["[bold red]x[/] [/nothing] \x1b[2J"], "status": "wrong_format"}
    (hostile / "items.jsonl").write_text(json.dumps(row) + "\n")
    text = cli(hostile, "--limit", "1").output
    assert "[bold red]x[/] [/nothing] ␛[2J" in text and "\x1b" not in text
