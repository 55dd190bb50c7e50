"""Texts that are lacking, and texts too long for a model's context: found before a run, cut, and recorded."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from command_line import OWN, Run, lists_file, prepared, refused, runner

from authbench.engines.fake import FakeEngine


@pytest.fixture
def at(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    return prepared(tmp_path, monkeypatch)


@pytest.fixture
def run(at: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    return runner(capsys)


def test_sources_without_text_are_left_out_counted_and_said(at: Path, run: Run) -> None:
    (at / "f.csv").write_text(lists_file(range(10)) + lists_file(range(10), lacking=3)[18:].replace("d", "e"))
    words = (OWN + "--set context=[with,without] --set dataset.lists=2").split()
    status, _, said = run("run", "x.yaml", *words)
    assert status == 0
    assert "note: 1 sources without text are left out of every context." in said
    data = json.loads((at / "results/x/fake/run.json").read_text())["data"]
    assert data["dropped"] == {"no text": 1}
    assert data["notes"] == ["1 sources without text are left out of every context."]


@pytest.fixture
def small(at: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """Words for lists with long texts, and a model with a context of a thousand tokens."""
    monkeypatch.setattr(FakeEngine, "context_length", property(lambda engine: engine._model.context_length))
    (at / "models").mkdir()
    (at / "models" / "small.yaml").write_text("id: small\ncontext_length: 1000\n")
    (at / "models" / "tiny.yaml").write_text("id: tiny\ncontext_length: 100\n")
    (at / "f.csv").write_text(lists_file(range(10), text="word " * 400))
    return (*OWN.split(), "--set", "context=[with]", "--set", "dataset.lists=1", "--models", "small")


def test_a_prompt_longer_than_the_context_is_found_before_anything_is_asked(
    at: Path, run: Run, small: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(FakeEngine, "load", lambda self: pytest.fail("the model was loaded"))
    refused(
        run("run", "x.yaml", *small),
        2,
        "domains/with/domains-0000: a prompt of",
        "does not fit the context of 1000 of small",
        "--set overflow=truncate",
    )
    assert not (at / "results").exists()
    status, out, _ = run("run", "x.yaml", *small, "--dry-run", "--json")
    assert status == 0 and [row["overflows"] for row in json.loads(out)] == [1, 1]
    _, out, _ = run("run", "x.yaml", *small, "--dry-run")
    assert "2 items do not fit the model's context (column over): a run refuses them; cut their texts" in out
    refused(run("run", "x.yaml", *small, "--models", "tiny"), 2, "even if texts are cut", "longer context")
    refused(run("run", "x.yaml", "--models", "tiny"), 2, "domains/without/", "even if texts are cut")


def test_only_prompts_that_are_asked_have_to_fit(run: Run, small: tuple[str, ...]) -> None:
    """The list of ten texts does not fit, a pair of them neither, one does."""
    words = ("run", "x.yaml", *small)
    refused(run(*words, "--set", "judges=[pair-rank]"), 2, "does not fit the context of 1000")
    status, out, _ = run(*words, "--set", "judges=[point]", "--dry-run", "--json")
    assert status == 0 and [row["overflows"] for row in json.loads(out)] == [0]
    assert run(*words, "--set", "judges=[point]")[0] == 0
    assert run(*words, "--set", "judges=[pair-rank]", "--set", "text_chars=1500", "--results", "r")[0] == 0


def test_texts_that_are_cut_are_recorded(at: Path, run: Run, small: tuple[str, ...]) -> None:
    longest = 0
    submit = FakeEngine.submit

    def measured(engine: FakeEngine, jobs: list[object]) -> None:
        nonlocal longest
        longest = max(longest, *(len(job.prompt.text) for job in jobs))  # type: ignore[attr-defined]
        submit(engine, jobs)  # type: ignore[arg-type]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(FakeEngine, "submit", measured)
        status, _, said = run("run", "x.yaml", *small, "--set", "overflow=truncate")
    assert status == 0, said
    facts = json.loads((at / "results/x/small/run.json").read_text())
    [(item, budget)] = facts["truncated"].items()
    assert item == "domains/with/domains-0000" and budget in (100, 250)
    assert facts["config"]["overflow"] == "truncate" and longest <= 4 * 1000
    before = (at / "results/x/small/cells.json").read_bytes()
    (at / "results/x/small/cells.json").unlink()
    assert run("score", "results")[0] == 0
    assert (at / "results/x/small/cells.json").read_bytes() == before
