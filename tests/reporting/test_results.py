"""Finding and reading result folders, whole and damaged."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from runfolders import cell, write_run

from authbench.errors import DataError
from authbench.reporting.results import find_runs, load_run


def test_a_run(tmp_path: Path) -> None:
    model = {"name": "qwen3-8b", "paper_name": "Qwen3-8B", "tiny": False}
    folder = write_run(
        tmp_path,
        "fine",
        "qwen3-8b",
        [cell("spearman", 0.5)],
        table="authoritybench/1",
        model=model,
        engine={"name": "vllm", "settings": {}},
        limit=3,
        partial=True,
    )
    run = load_run(folder)
    assert (run.experiment, run.table, run.model, run.paper_name) == (
        "fine",
        "authoritybench/1",
        "qwen3-8b",
        "Qwen3-8B",
    )
    assert (run.engine, run.partial, run.limit, run.tiny) == ("vllm", True, 3, False)
    assert run.cells[0]["value"] == 0.5


def test_a_model_an_experiment_and_a_results_folder(tmp_path: Path) -> None:
    first = write_run(tmp_path, "a", "m1", [])
    write_run(tmp_path, "a", "m2", [])
    write_run(tmp_path, "b", "m1", [])
    results = first.parent.parent
    assert [run.path.name for run in find_runs([first])] == ["m1"]
    assert [run.model for run in find_runs([first.parent])] == ["m1", "m2"]
    assert [(run.experiment, run.model) for run in find_runs([results])] == [
        ("a", "m1"),
        ("a", "m2"),
        ("b", "m1"),
    ]
    assert len(find_runs([results, first, first.parent])) == 3, "no run twice"


def test_folders_that_are_not_there_or_empty(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="nowhere: no such folder"):
        find_runs([tmp_path / "nowhere"])
    with pytest.raises(DataError, match="no results in it"):
        find_runs([tmp_path])
    with pytest.raises(DataError, match=r"no run\.json"):
        load_run(tmp_path)


def test_an_unfinished_run_is_reported_or_refused(tmp_path: Path) -> None:
    write_run(tmp_path, "a", "done", [])
    unfinished = write_run(tmp_path, "a", "unfinished", [])
    (unfinished / "cells.json").unlink()
    told: list[str] = []
    assert [run.model for run in find_runs([unfinished.parent], told.append)] == ["done"]
    assert len(told) == 1
    assert f"`authbench score {unfinished}`" in told[0]
    with pytest.raises(DataError, match="unfinished"):
        find_runs([unfinished.parent])
    with pytest.raises(DataError, match="unfinished"):
        find_runs([unfinished], told.append)


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("run.json", b'{"experiment": ', "damaged"),
        ("run.json", b"[]", "an object is needed"),
        ("cells.json", b"\xff\xfe", "damaged"),
        ("cells.json", b"{}", "a list of cells is needed"),
        ("cells.json", b"[3]", "cell 0: an object is needed"),
        ("cells.json", b'[{"metric": "spearman"}]', "cell 0: policy, value missing"),
        (
            "cells.json",
            json.dumps([{"metric": "spearman", "policy": "strict", "value": "0.4"}]).encode(),
            "value is '0.4', not a number",
        ),
    ],
)
def test_damaged_files(tmp_path: Path, name: str, content: bytes, said: str) -> None:
    folder = write_run(tmp_path, "a", "m", [])
    (folder / name).write_bytes(content)
    with pytest.raises(DataError) as error:
        load_run(folder)
    text = str(error.value)
    assert said in text
    assert str(folder / name) in text
    assert len(text.splitlines()) <= 2
