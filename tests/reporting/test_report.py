"""The report as text: what is in it, what cannot get into it, and how large and slow it may become."""

from __future__ import annotations

import base64
import json
import re
import shutil
import zlib
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from hostile import ATTACK, MILLION, hostile_run
from runfolders import cell, write_run
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.reporting.coverage import coverage
from authbench.reporting.explorer import pack_items
from authbench.reporting.facts.collecting import collect_all
from authbench.reporting.html import Report, render_report
from authbench.reporting.plots.kinds import KINDS
from authbench.reporting.results import find_runs, load_run


class Page(HTMLParser):
    """Elements of a page, the text of each element with an id, and everything that could ask a host."""

    VOID = frozenset({"meta", "link", "input", "img", "br", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.ids: list[str] = []
        self.addresses: list[str] = []
        self.open: list[str] = []
        self.scripts: list[dict[str, str | None]] = []
        self.handlers: list[str] = []
        self.text: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        facts = dict(attrs)
        self.tags.append(tag)
        self.ids += [facts["id"] or ""] if "id" in facts else []
        self.addresses += [facts[name] or "" for name in ("src", "href", "action", "data") if name in facts]
        self.handlers += [name for name in facts if name.startswith("on")]
        self.scripts += [facts] if tag == "script" else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag, f"</{tag}> closes nothing"

    def handle_data(self, data: str) -> None:
        if self.open and self.open[-1] not in ("script", "style"):
            self.text.append(data)


def unpacked(text: str) -> Any:
    return json.loads(zlib.decompress(base64.b64decode(text)))


def parts(page: str) -> tuple[dict[str, Any], list[list[dict[str, Any]]]]:
    """The index and the items in full."""
    index = re.search(r'id="index">\{"z":"([^"]*)"\}<', page)
    chunks = re.search(r'id="chunks">(\[[^\]]*\])<', page)
    assert index and chunks
    return unpacked(index[1]), [unpacked(chunk) for chunk in json.loads(chunks[1])]


@pytest.fixture(scope="module")
def report(fake_results: Path) -> str:
    return render_report(find_runs([fake_results])).html


def test_it_has_every_section_with_headings_and_landmarks(report: str) -> None:
    page = Page(report)
    assert page.open == []
    for name in ("overview", "tables", "claims", "items", "provenance", "plots-0", "plots-3"):
        assert name in page.ids
    assert len(page.ids) == len(set(page.ids))
    for tag in ("header", "nav", "main", "footer", "h1"):
        assert page.tags.count(tag) == 1
    assert {f'data-kind="{kind}"' for kind in KINDS} <= set(re.findall(r'data-kind="\w+"', report))
    text = " ".join(page.text)
    for words in ("AuthorityBench Table 1.", "PARTIAL", "Engine fake", "paper", "SHA-256", "dataset.seed: 0"):
        assert words in text


def test_it_asks_no_host_for_anything(report: str) -> None:
    page = Page(report)
    assert all(address.startswith(("#", "data:")) for address in page.addresses)
    outside = re.findall(r"https?://[^\s\"'<)]+", re.sub(r'"z":"[^"]*"', "", report))
    assert set(outside) == {"http://www.w3.org/2000/svg"}  # The name of SVG, which nobody visits.
    assert "url(" not in report and "@import" not in report and "default-src 'none'" in report


def test_items_are_there_with_prompt_answer_gold_and_status(report: str, fake_results: Path) -> None:
    index, chunks = parts(report)
    lines = [
        json.loads(line)
        for run in find_runs([fake_results])
        for line in (run.path / "items.jsonl").read_text().splitlines()
    ]
    assert len(index["id"]) == len(lines) == sum(len(chunk) for chunk in chunks)
    # One item, looked up as the page does it.
    row = next(
        r
        for r, item in enumerate(index["id"])
        if item == "domains-0002"
        and index["groups"][index["g"][r]] == {
            "label": "with text, ListJudge PointScore",
            "run": "domainauth_fine/qwen3-8b",
            "model": "qwen3-8b",
            "metric": "Spearman's rho",
        }
    )  # fmt: skip
    found = chunks[index["c"][row]][index["p"][row]]
    folder = fake_results / "domainauth_fine" / "qwen3-8b"
    wanted = next(
        json.loads(line)
        for line in (folder / "items.jsonl").read_text().splitlines()
        if '"domains/with/list-score","item":"domains-0002"' in line
    )
    (answer,) = found["a"]
    assert answer["t"] == wanted["answers"][0]["texts"] and answer["s"] == wanted["answers"][0]["status"]
    assert answer["p"].startswith("You are a web analysis expert")
    assert [cells[1] for cells in found["w"]] == [str(level) for level in wanted["gold"]["levels"]]
    assert index["statuses"][index["s"][row]] in ("ok", answer["s"])


def test_hostile_texts_stay_texts(tmp_path: Path) -> None:
    report = render_report([load_run(hostile_run(tmp_path))])
    page = Page(report.html)
    # The page's own scripts: two of data and one of code; no image, and every element closed.
    assert [s.get("type") for s in page.scripts] == ["application/json", "application/json", None]
    assert "img" not in page.tags and page.open == []
    assert page.handlers == [] and "<script>window.broken" not in report.html
    # The engine of the template did not run what a name brought with it.
    assert "{{ 7*7 }}" in " ".join(page.text)
    index, chunks = parts(report.html)
    assert [item[0] for item in index["id"]] == ["0", "1", "2"]
    texts = {
        index["id"][row][0]: chunks[index["c"][row]][index["p"][row]]["a"][0]["t"][0] for row in range(3)
    }
    assert texts["0"].startswith("</script><script>window.broken=1")
    assert texts["1"] == f"{MILLION[:4000]}\n[... 994,000 characters left out ...]\n{MILLION[:2000]}"
    assert len(report.html) < 400_000 and len(ATTACK) > 100
    assert "/home/somebody" not in report.html
    report.html.encode("utf-8", "strict")


def test_where_there_is_no_room_the_invalid_and_worst_are_kept(fake_results: Path) -> None:
    _, rows = collect_all(find_runs([fake_results / "domainauth_fine"]))
    packed = pack_items(rows, budget=90_000)
    assert packed.listed == len(rows) and 0 < packed.full < len(rows) and packed.left_out == 0
    assert sum(len(chunk) for chunk in packed.chunks) <= 90_000
    index = unpacked(packed.index)
    for group in range(len(index["groups"])):
        own = [row for row in range(len(index["g"])) if index["g"][row] == group]
        # Worst first within each group, and the very worst is there in full.
        assert own[0] == min(own) and index["c"][own[0]] >= 0
    short = pack_items(rows, most_rows=40)
    assert (short.listed, short.left_out) == (40, len(rows) - 40)
    invalid = sum(not row.valid for row in rows)
    assert invalid > 40
    listed = unpacked(short.index)
    usable = {listed["statuses"].index("ok"), listed["statuses"].index("repaired")}
    assert not usable & set(listed["s"])
    most = unpacked(pack_items(rows, most_rows=invalid + 24).index)
    assert sum(s not in usable for s in most["s"]) == invalid


def test_what_is_cut_is_said(fake_results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from authbench.reporting import html

    monkeypatch.setattr(html, "pack_items", lambda rows: pack_items(rows, 40_000, 100))
    text = render_report(find_runs([fake_results / "domainauth_fine"])).html
    assert re.search(r"100 items are listed\. 140 more are left out", text)
    assert re.search(r"\d+ of them are here with prompts and answers", text)


def test_coverage_says_what_is_missing(fake_results: Path) -> None:
    found = coverage(find_runs([fake_results]))
    rows = dict(found.rows)
    by_model = dict(zip(found.models, rows["Table 1"], strict=True))
    assert by_model["Qwen3-8B"] == ("done", "n = 12") and by_model["Qwen3-32B"] == ("missing", "not run")
    assert by_model["Qwen2.5-7B-Instruct"] == ("none", "")
    assert dict(zip(found.models, rows["Table 6"], strict=True))["Qwen3-8B"] == ("partial", "first 4 items")
    # 6 tables by 5 models and LCR's two by one, of which 2 + 2 + 2 + 1 and 1 are here.
    assert found.missing == 6 * 5 + 2 - 8


def test_runs_without_items_or_store_still_give_a_page(fake_results: Path, tmp_path: Path) -> None:
    alone = tmp_path / "results" / "ragauth" / "qwen3-8b"
    shutil.copytree(fake_results / "ragauth" / "qwen3-8b", alone)
    report = render_report([load_run(alone)])
    assert report.items == 64 and any("prompts cannot be shown" in problem for problem in report.problems)
    (alone / "items.jsonl").unlink()
    report = render_report([load_run(alone)])
    assert report.items == 0 and any("no items.jsonl" in problem for problem in report.problems)
    assert "AuthorityBench Table 5" in report.html


def test_experiments_of_ones_own_need_no_table(tmp_path: Path) -> None:
    rows = [cell("f1", 0.25, judge="mine", output="score", domain="d", n=10)]
    page = render_report([load_run(write_run(tmp_path, "own", "m", rows, task="mine"))]).html
    assert "25.00" in page and Page(page).open == []


def test_the_command_writes_the_page(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "report.html"
    done = CliRunner().invoke(
        app,
        ["report", str(fake_results), "-o", str(out), "--title", "A <b>title</b>"],
        catch_exceptions=False,
    )
    assert done.exit_code == 0 and "MB" in done.output
    text = out.read_text(encoding="utf-8")
    assert "<h1>A &lt;b&gt;title&lt;/b&gt;</h1>" in text
    facts = json.loads(
        CliRunner().invoke(app, ["report", str(fake_results / "ragauth"), "-o", str(out), "--json"]).output
    )
    assert facts["items"] == 128 and facts["bytes"] == out.stat().st_size
    assert not out.with_name("report.html.partial").exists()


def test_a_hundred_thousand_items_fit(big_report: tuple[Path, Report]) -> None:
    """How long they take stands in docs/report.md; machines that run tests are shared, so none is timed."""
    out, report = big_report
    assert out.stat().st_size < 5_000_000
    assert report.items == 100_000 and report.full > 1000 and not report.problems
    index, _ = parts(report.html)
    invalid = [row for row, status in enumerate(index["s"]) if index["statuses"][status] == "refused"]
    assert len(invalid) == -(-100_000 // 11)
    assert all(index["c"][row] >= 0 for row in invalid)
