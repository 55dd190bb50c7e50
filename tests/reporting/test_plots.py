"""Facts behind the plots by hand, drawings that are well-formed whatever they name, and plots as files."""

from __future__ import annotations

import importlib.util
import json
import xml.etree.ElementTree as ET
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from runfolders import cell, write_run
from typer.testing import CliRunner

from authbench.cli.app import app
from authbench.errors import ConfigError, DataError
from authbench.reporting.facts.collecting import collect_all
from authbench.reporting.facts.lcr import lcr_facts
from authbench.reporting.facts.lists import list_facts
from authbench.reporting.facts.pairs import pair_facts, sides_of
from authbench.reporting.facts.rag import rag_facts
from authbench.reporting.facts.records import GroupFacts
from authbench.reporting.itemdetails import item_detail
from authbench.reporting.itemfiles import Answer, Item
from authbench.reporting.plots.cost import Point, cost_points, front
from authbench.reporting.plots.files import draw, write_plot
from authbench.reporting.plots.forest import forest
from authbench.reporting.plots.kinds import KINDS
from authbench.reporting.plots.lcr import signed_points
from authbench.reporting.plots.marks import Style, lay_out
from authbench.reporting.plots.svg import Scale, Svg, clipped, nice_step, short_number, theme_css
from authbench.reporting.results import Run, find_runs, load_run

HOSTILE = '</svg><script>alert("x")</script></style>\x00\x1b & " \ud800'


def item(
    group: str, gold: dict[str, Any], values: dict[str, Any], statuses: tuple[str, ...] = ("ok",)
) -> Item:
    answers = [Answer("0" * 64, ("x",), status) for status in statuses]
    return Item(group, "i", 0, gold, values, answers, None)


# -- facts by hand ----------------------------------------------------------------------------------------


def test_positions_by_hand() -> None:
    group = "domains/without/list-score"
    # True order at the places: 2, 0, 1. First list right; in the second the places 1 and 3 are tied.
    items = [
        item(group, {"levels": [2, 0, 1]}, {"scores": [9, 1, 5]}),
        item(group, {"levels": [2, 0, 1]}, {"scores": [5, 1, 5]}),
        item(group, {"levels": [2, 0, 1]}, {"scores": [None, None, None]}, ("empty",)),
    ]
    facts = list_facts(group, items)
    positions = facts["positions"]
    assert positions.lists == 2 and positions.valid is None
    # Second list: place 1 has 1 of its 2 comparisons right and one tie, place 2 both, place 3 one and a tie.
    assert positions.right.tolist() == [(2 + 1.5) / 4, 4 / 4, (2 + 1.5) / 4]
    # The tie moves place 1 half a rank down and place 3 half a rank up; over two lists that is a quarter.
    assert positions.lift.tolist() == [-0.25, 0.0, 0.25]
    assert facts["scores"].tolist() == [0, 2, 4]  # Clipped to the levels 0 to 2: 9 and 5 are 2.
    assert facts["heat"].tolist() == [[0, 0, 0], [2, 0, 0], [0, 2, 2]]


def test_validity_by_place_of_point_and_pair_judges() -> None:
    point = item("d/without/point", {"levels": [1, 0]}, {"scores": [3, None]}, ("ok", "empty"))
    assert list_facts("d/without/point", [point, point])["positions"] is None
    other = item("d/without/point", {"levels": [1, 0]}, {"scores": [3, 1]}, ("ok", "repaired"))
    assert list_facts("d/without/point", [point, other])["positions"].valid.tolist() == [1.0, 0.5]
    pairs = {"pairs": [[0, 1, 1, 0], [2, 1, None, None], [0, 2, 0, 1]]}
    pair = item("d/without/pair-rank", {"levels": [2, 1, 0]}, pairs, ("ok", "refused", "ok"))
    facts = list_facts("d/without/pair-rank", [pair])
    assert facts["positions"].valid.tolist() == [1.0, 0.5, 0.5]
    # A against B: (2, 1) A preferred; (0, 1) invalid; (2, 0) B preferred, wrongly.
    sides = facts["sides"]
    assert (sides.asked, sides.invalid, sides.ties, sides.first, sides.decided) == (3, 1, 0, 1, 2)
    assert (sides.right_first, sides.right_second) == ((2, 1), (1, 0))
    assert "scores" not in facts and facts["ranked"]


def test_sides_by_hand() -> None:
    nan = float("nan")
    sides = sides_of(
        np.array([7.0, 2.0, 5.0, nan, 1.0]),
        np.array([3.0, 4.0, 5.0, 1.0, 0.0]),
        np.array([9, 9, 1, 1, 4]),
        np.array([1, 1, 9, 9, 4]),
    )
    assert (sides.asked, sides.invalid, sides.ties, sides.first) == (5, 1, 1, 2)
    # A is better twice, right once; B is better twice, tied and invalid; equal labels count for neither.
    assert (sides.right_first, sides.right_second) == ((2, 1), (2, 0))


def test_pair_facts_have_no_scores_for_ranks() -> None:
    gold = {"levels": [6, 0]}
    ranks = pair_facts(
        "d/easy/without/pair-rank", [item("d/easy/without/pair-rank", gold, {"scores": [1, 0]})]
    )
    assert set(ranks) == {"sides"}
    scores = pair_facts(
        "d/easy/without/pair-score", [item("d/easy/without/pair-score", gold, {"scores": [8, 3]})]
    )
    assert scores["scores"].tolist() == [0, 0, 0, 1, 0, 0, 0, 0, 1, 0]
    assert scores["heat"][8, 6] == scores["heat"][3, 0] == 1


def test_kept_documents_by_hand() -> None:
    def question(kept: list[int] | None, answer: str | None, tie: bool = False) -> Item:
        cut = {"k": 2, "threshold": None, "kept": kept, "tie": tie, "answer": answer}
        gold = {"answer": "yes", "urls": ["a", "b", "c"], "levels": [9, 1, None], "labels": [None] * 3}
        return item(
            "q/authority", gold, {"scores": {"authority": [7, 7, 1] if kept else None}, "cuts": [cut]}
        )

    facts = rag_facts(
        "q/authority", [question([0, 1], "yes"), question([0, 2], "no", tie=True), question(None, None)]
    )
    (kept,) = facts["kept"]
    assert (kept.cut, kept.questions, kept.ties, kept.right) == ("k = 2", 2, 1, 1)
    assert kept.share.tolist() == [1.0, 0.5, 0.5]
    # Levels kept: 9, 1 and 9; left out: 1 (the third has none).
    assert kept.level == (pytest.approx(19 / 3), 1.0)
    assert kept.answers == {("yes", "yes"): 1, ("yes", "no"): 1, ("yes", "neither"): 1}


def test_the_front_is_what_nothing_as_cheap_beats() -> None:
    def point(name: str, cost: float, value: float) -> Point:
        return Point(name, "s", cost, value, Style(0))

    points = [
        point("a", 1, 50),
        point("b", 1, 60),
        point("c", 10, 55),
        point("d", 35, 70),
        point("e", 40, 70),
    ]
    assert [p.label for p in front(points)] == ["b", "d"]


def test_costs_are_per_item_and_seconds_come_from_run_json(tmp_path: Path) -> None:
    row = cell("spearman", 0.5, judge="list", output="score", domain="domains", context="without")
    folder = write_run(tmp_path, "fine", "m", [row], seconds_by_group={"domains/without/list-score": 250.0})
    run = load_run(folder)
    assert [p.cost for p in cost_points([run], "calls")] == [10.0]  # 5,000 calls, 500 items
    assert [p.cost for p in cost_points([run], "tokens")] == [2060.0]
    assert [p.cost for p in cost_points([run], "seconds")] == [0.5]


def lcr_item(name: str, own: int, documents: list[int], grades: list[int | None]) -> Item:
    """A query whose confidences are these counts out of 4."""

    def taken(largest: int) -> dict[str, Any]:
        return {"k": 4, "largest": largest, "labels": [0] * 4}

    names = [f"{name}{place}" for place in range(len(documents))]
    gold = {"documents": names, "grades": grades, "relevant": sorted([g for g in grades if g], reverse=True)}
    values = {"order": names, "query": taken(own), "documents": [taken(count) for count in documents]}
    return Item("c/first/retriever", name, 0, gold, values, [], None)


def test_what_lcr_moves_by_hand(tmp_path: Path) -> None:
    fixed = {"query": 0.9, "upper": 0.75, "lower": 0.25}
    config = {
        "task": "lcr",
        "dataset": {"name": "c", "depth": 3},
        "models": ["m"],
        "confidence": {"samples": 4},
        "thresholds": {"fixed": fixed, "step": 0.25, "folds": 2},
    }
    run = Run(tmp_path, {"task": "lcr", "config": config}, [])
    items = [
        # Gate open: 2/4 is below 0.9. Bins -1, 0 and 1, so the ranking turns round.
        lcr_item("a", 2, [1, 2, 3], [0, None, 1]),
        # Gate closed: 4/4.
        lcr_item("b", 4, [1, 2, 3], [1, 0, 0]),
        # Gate open, all in the middle bin: nothing moves.
        lcr_item("c", 1, [2, 2, 2], [0, 1, 0]),
    ]
    facts = lcr_facts(run, "c/first/retriever", items)["extra"]["lcr"]
    assert str(facts.rule) == "T_query 0.9, T_upper 0.75, T_lower 0.25"
    moved = facts.moved
    assert (moved.better, moved.same, moved.worse, moved.opened) == (1, 2, 0, 2)
    # Grade 0: down 2 in a, still in b (twice) and c (twice); grade 1: up 2 in a, still in b and c.
    assert moved.lift == ((0, -2 / 5, 5), (1, 2 / 3, 3), (None, 0.0, 1))
    # Grade 0 has the counts 1, 2, 3, 2, 2; grade 1 has 3, 1, 2; nobody judged a document with 2.
    assert [(row.grade, row.n, row.confidence.value) for row in facts.grades] == [
        (0, 5, pytest.approx(10 / 20)),
        (1, 3, pytest.approx(6 / 12)),
        (None, 1, pytest.approx(0.5)),
    ]
    surface = facts.thresholds
    assert surface.values == (0.0, 0.25, 0.5, 0.75, 1.0) and surface.gates == (
        0.0,
        0.25,
        0.5,
        0.75,
        1.0,
        1.25,
    )
    # NDCG@5 of a relevant document at place 3 is 1/2, at place 1 it is 1, at place 2 1/log2(3).
    second = 1 / np.log2(3)
    assert surface.base == pytest.approx(100 * (0.5 + 1 + second) / 3)
    assert surface.best == pytest.approx(100 * (1 + 1 + second) / 3)
    # T_query 0 opens no gate: that is the base ranking.
    assert surface.by_gate[0] == pytest.approx(surface.base)
    assert np.isnan(surface.pairs[0, 4]) and not np.isnan(surface.pairs[4, 0])


def test_confidence_by_grade_says_its_correlations_and_what_nobody_judged(tmp_path: Path) -> None:
    config = {
        "task": "lcr",
        "dataset": {"name": "c", "depth": 3},
        "models": ["m"],
        "confidence": {"samples": 4},
        "thresholds": {"fixed": {"query": 0.9, "upper": 0.75, "lower": 0.25}, "folds": 2},
    }
    run = Run(tmp_path, {"task": "lcr", "config": config}, [])
    group = "c/first/retriever"
    dims = {"model": "m", "collection": "c", "retriever": "first", "base": "retriever"}

    def words(*items: Item) -> tuple[list[str], ET.Element]:
        facts = lcr_facts(run, group, items)
        svg = KINDS["confidence"].draw(
            [run], [GroupFacts(run, group, dims, len(items), 0, Counter(), **facts)]
        )
        assert svg is not None
        root = ET.fromstring(svg.render(theme_css()))
        return [e.text or "" for e in root.iter("{http://www.w3.org/2000/svg}text")], root

    # Grades 0, 1 and 0, 2 with counts 1, 2 and 1, 4: in the same order, over all and in each query.
    said, root = words(lcr_item("a", 1, [1, 2, 4], [0, 1, None]), lcr_item("b", 1, [1, 4, 2], [0, 2, None]))
    assert "Spearman +1.00, tau-b +1.00 over all judged" in said
    assert "tau-b within queries +1.00 [+1.00, +1.00]" in said and "mean confidence" in said
    marks = [(e.get("class"), e[0].text) for e in root.iter("{http://www.w3.org/2000/svg}circle")]
    assert marks == [
        ("f0", "grade 0: 0.250, 2 documents"),
        ("f0", "grade 1: 0.500, 1 documents"),
        ("f0", "grade 2: 1.000, 1 documents"),
        ("e", "not judged: 0.750, 2 documents"),
    ]
    said, _ = words(lcr_item("a", 1, [2, 2, 2], [0, 1, None]))
    assert "no correlation: all grades or all confidences are equal" in said


def test_without_documents_or_full_confidences_there_is_no_confidence_by_grade(tmp_path: Path) -> None:
    def drawn(adaptive: bool, *items: Item) -> tuple[Any, Svg | None]:
        fixed = {"query": 0.9, "upper": 0.75, "lower": 0.25}
        config = {
            "task": "lcr",
            "dataset": {"name": "c", "depth": 3},
            "models": ["m"],
            "confidence": {"samples": 4, "adaptive": adaptive},
            "thresholds": {"fixed": fixed, "folds": 2},
        }
        run = Run(tmp_path, {"task": "lcr", "config": config}, [])
        group = "c/first/retriever"
        dims = {"model": "m", "collection": "c", "retriever": "first", "base": "retriever"}
        facts = lcr_facts(run, group, items)
        row = GroupFacts(run, group, dims, len(items), 0, Counter(), **facts)
        return facts["extra"]["lcr"], KINDS["confidence"].draw([run], [row])

    facts, svg = drawn(False, lcr_item("a", 1, [], []), lcr_item("b", 1, [], []))
    assert not facts.grades and svg is None
    # Half-taken confidences are the least that they can be: their means say nothing.
    items = [lcr_item("a", 1, [1, 2, 4], [0, 1, None]), lcr_item("b", 1, [1, 4, 2], [0, 2, None])]
    facts, svg = drawn(True, *items)
    assert not facts.grades and svg is None
    facts, svg = drawn(False, *items)
    assert facts.grades and svg is not None


def test_an_early_end_of_sampling_is_said_with_the_confidence() -> None:
    item = lcr_item("a", 4, [3], [1])
    item.values["query"]["labels"] = [0, 0, None]
    item.values["query"]["largest"] = 2
    said = item_detail("lcr", item)
    assert ("confidence of the query", "≥ 0.50 (2/4)") in said.facts
    assert said.rows[0][3] == "0.75 (3/4)"


def test_a_difference_that_rounds_to_nothing_is_not_negative() -> None:
    assert signed_points(-0.0001) == "+0.00" and signed_points(-0.006) == "-0.01"


# -- drawing ----------------------------------------------------------------------------------------------


def test_scales_and_ticks() -> None:
    assert Scale(0, 10, 100, 200)(2.5) == 125
    assert Scale(0, 10, 100, 200)(99) == 200  # What lies outside stands at the edge.
    assert Scale(1, 100, 0, 200, log=True)(10) == 100
    assert Scale(3, 98, 0, 1).ticks(5) == [25, 50, 75]
    assert Scale(2, 600, 0, 1, log=True).ticks() == [3, 10, 30, 100, 300]
    assert [nice_step(x) for x in (0.3, 1.0, 1.4, 2.3, 4.0, 60)] == [0.5, 1, 2, 2.5, 5, 100]
    assert [short_number(x) for x in (0.35, 12, 35_000, 1_250_000)] == ["0.35", "12", "35k", "1.25M"]
    assert clipped("a" * 30, 10) == "aaaaaa…aaa"


def test_sections_are_laid_out_below_one_another() -> None:
    panels = lay_out([("first", 5), ("", 1)], 100, width=600, least=150, left=30, above=20, below=30)
    assert [len(places) for places in panels.places] == [5, 1]
    assert len({y for _, y in panels.places[0]}) == 2  # Three in a row, two below.
    assert panels.places[1][0][1] > max(y for _, y in panels.places[0])
    assert panels.bottom == 24 + 3 * 150 and [head[0] for head in panels.heads] == ["first"]


def test_every_kind_is_drawn_from_real_runs_as_well_formed_xml(fake_results: Path) -> None:
    drawn = set()
    for experiment in ("domainauth_fine", "domainauth_pairs", "ragauth", "entityauth_coarse", "lcr_bm25"):
        runs = find_runs([fake_results / experiment])
        groups, _ = collect_all(runs)
        for kind, spec in KINDS.items():
            svg = spec.draw(runs, groups)
            if svg is None:
                continue
            drawn.add(kind)
            root = ET.fromstring(svg.render(theme_css()))
            assert root.tag.endswith("svg") and svg.desc
            classes = {c for e in root.iter() for c in (e.get("class") or "").split()}
            styled = {name for name in classes if f".{name}{{" in theme_css()}
            assert classes == styled, kind
    assert drawn == set(KINDS)


def test_hostile_names_are_text(tmp_path: Path) -> None:
    row = cell("spearman", 0.5, judge="list", output="score", domain=HOSTILE, context="without")
    svg = forest([load_run(write_run(tmp_path, "fine", "m", [row], model={"name": HOSTILE}))])
    assert svg is not None
    text = svg.render(theme_css())
    root = ET.fromstring(text)
    assert not list(root.iter("{http://www.w3.org/2000/svg}script")) and "<script" not in text
    assert "\x00" not in text and "\x1b" not in text
    text.encode("utf-8")
    drawing = Svg(10, 10, HOSTILE, HOSTILE)
    drawing.text(0, 0, HOSTILE, id=HOSTILE)
    ET.fromstring(drawing.render())


def test_marks_say_their_numbers_and_the_papers(tmp_path: Path) -> None:
    row = cell(
        "spearman", 0.7, judge="list", output="score", context="without", dataset="domainauth", scale="fine"
    )
    model = {"name": "qwen3-8b", "paper_name": "Qwen3-8B"}
    run = load_run(write_run(tmp_path, "fine", "m", [row], table="authoritybench/1", model=model))
    svg = forest([run])
    assert svg is not None
    tips = [e.text for e in ET.fromstring(svg.render()).iter("{http://www.w3.org/2000/svg}title")]
    assert "ListJudge PointScore: 70.00 [68.00, 72.00]" in tips
    assert "the paper: 67.11" in tips  # Table 1.
    assert svg.desc == "1 cells; the paper's number lies in the interval of 0 of 1."


# -- files ------------------------------------------------------------------------------------------------


def cli(*words: object) -> Any:
    return CliRunner().invoke(app, ["plot", *map(str, words)], catch_exceptions=False)


def test_a_plot_as_svg(fake_results: Path, tmp_path: Path) -> None:
    out = tmp_path / "deep" / "plot.svg"
    done = cli(fake_results / "domainauth_fine", "--kind", "heatmap", "-o", out)
    assert done.exit_code == 0 and done.output.startswith(f"{out}: Predicted against true level.")
    assert ET.parse(out).getroot().tag.endswith("svg")
    facts = json.loads(cli(fake_results / "domainauth_fine", "--kind", "forest", "-o", out, "--json").output)
    assert facts["kind"] == "forest" and facts["path"] == str(out)


@pytest.mark.skipif(importlib.util.find_spec("vl_convert") is None, reason="vl-convert is not installed")
@pytest.mark.parametrize(("ending", "magic"), [("png", b"\x89PNG"), ("pdf", b"%PDF")])
def test_a_plot_as_png_and_pdf(fake_results: Path, tmp_path: Path, ending: str, magic: bytes) -> None:
    out = tmp_path / f"plot.{ending}"
    cli(fake_results / "domainauth_fine", "--kind", "position", "-o", out, "--dark")
    assert out.read_bytes().startswith(magic) and out.stat().st_size > 5000


def test_without_the_extra_it_is_named(
    fake_results: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "vl_convert", None)
    with pytest.raises(ConfigError, match=r"PNG needs vl-convert: pip install 'authbench\[plots\]'"):
        cli(fake_results / "domainauth_fine", "--kind", "forest", "-o", tmp_path / "x.png")


def test_what_cannot_be_drawn_is_said(fake_results: Path, tmp_path: Path) -> None:
    for words, message in (
        ((fake_results, "--kind", "forest"), "a plot is of one experiment, and these are"),
        ((fake_results / "ragauth", "--kind", "heatmap"), "ragauth has nothing to draw as 'heatmap'"),
        ((fake_results / "ragauth", "--kind", "heatmp"), r"(?s)did you mean 'heatmap'\?.*forest"),
        ((fake_results / "ragauth",), "plot needs --kind; kinds are"),
        ((fake_results / "ragauth", "--kind", "kept", "-o", "x.gif"), "are written as .svg, .png, .pdf"),
    ):
        with pytest.raises(ConfigError, match=message):
            cli(*words)
    assert "heatmap" in cli(fake_results, "--kind", "list").output
    bare = write_run(tmp_path, "fine", "m", [cell("spearman", 0.5, judge="list", output="score")])
    with pytest.raises(DataError, match=r"no items\.jsonl, and the plot 'answers' is about items"):
        draw([load_run(bare)], "answers")
    with pytest.raises(ConfigError, match="cannot be written"):
        svg = draw([load_run(bare)], "forest")
        write_plot(svg, tmp_path / "fine" / "m" / "run.json" / "x.svg")
