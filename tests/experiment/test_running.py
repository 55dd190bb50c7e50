"""Whole runs with the `fake` engine: what is written, continued, refused, rescored and replayed."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from authbench.engines import registry
from authbench.errors import ConfigError, DataError
from authbench.experiment.loading import Experiment, load_experiment
from authbench.experiment.planning import plan, rendered_prompts
from authbench.experiment.rescoring import rescore
from authbench.experiment.running import Options, run

CONFIG = """\
title: a test
table: authoritybench/1
task: listwise
dataset: {name: sample-domains, scale: fine, lists: 4, seed: 3}
context: [without]
models: [fake]
engine: fake
"""


def experiment(tmp_path: Path, *sets: str, name: str = "trial", text: str = CONFIG) -> Experiment:
    path = tmp_path / f"{name}.yaml"
    path.write_text(text)
    return load_experiment(str(path), sets=sets)


def cells(results: Path, name: str = "trial", model: str = "fake") -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = json.loads((results / name / model / "cells.json").read_text())
    return rows


def test_a_run_writes_its_three_files(tmp_path: Path) -> None:
    done = run([experiment(tmp_path)], Options(tmp_path / "r"))
    assert [(entry.failed, entry.folder.path) for entry in done] == [(0, tmp_path / "r" / "trial" / "fake")]
    facts = json.loads(done[0].folder.run.read_text())
    assert facts["status"] == "complete" and facts["partial"] is False
    assert facts["config"]["dataset"]["seed"] == 3
    assert facts["data"]["seeds"] == {"dataset.seed": 3} and facts["data"]["files"][0]["sha256"]
    assert len(facts["prompts"]) == 64 and facts["versions"]["authbench"]
    items = [json.loads(line) for line in done[0].folder.items.read_text().splitlines()]
    assert len(items) == 5 * 4
    # Section 4.1 on a fine list: 10 point calls, 1 a list judge, 35 a pair judge.
    assert [len(items[4 * judge]["answers"]) for judge in range(5)] == [10, 1, 1, 35, 35]
    rows = cells(tmp_path / "r")
    assert {row["n"] for row in rows} == {4}
    point = next(row for row in rows if row["judge"] == "point")
    assert point["calls"] == 40 and point["unique_calls"] <= 40 and point["table"] == "authoritybench/1"
    pairs = {row["aggregation"] for row in rows if row["judge"] == "pair" and row["output"] == "score"}
    assert pairs == {"average", "bubble"}
    assert {(row["metric"], row["policy"]) for row in rows} == {
        (metric, policy) for metric in ("spearman", "kendall") for policy in ("strict", "valid")
    }


def test_coarse_lists_have_five_and_compare_all_pairs(tmp_path: Path) -> None:
    run([experiment(tmp_path, "dataset.scale=coarse")], Options(tmp_path / "r"))
    items = (tmp_path / "r" / "trial" / "fake" / "items.jsonl").read_text().splitlines()
    counts = {json.loads(line)["group"].split("/")[-1]: len(json.loads(line)["answers"]) for line in items}
    assert counts == {"point": 5, "list-rank": 1, "list-score": 1, "pair-rank": 10, "pair-score": 10}


def test_a_skilled_fake_ranks_perfectly_and_an_unskilled_one_does_not(tmp_path: Path) -> None:
    from authbench.data.authority import load_authority

    truth = {s.name: s.level for s in load_authority("sample-domains", "fine").domains["domains"]}
    for skill in (1.0, 0.0):
        sets = [f"engine.skill={skill}", f"engine.truth={json.dumps(truth)}"]
        run([experiment(tmp_path, *sets, name=f"skill{int(skill)}")], Options(tmp_path / "r"))
    best = [row for row in cells(tmp_path / "r", "skill1") if row["policy"] == "strict"]
    assert {row["value"] for row in best if row["aggregation"] != "bubble"} == {1.0}
    # Two items that are no anchors and have no anchor between them are never told apart by preferences.
    assert {row["value"] >= 0.9 for row in best if row["aggregation"] == "bubble"} == {True}
    worst = [row["value"] for row in cells(tmp_path / "r", "skill0") if row["policy"] == "strict"]
    assert max(worst) < 0.9


def test_bad_answers_are_counted_and_score_zero_in_strict(tmp_path: Path) -> None:
    run([experiment(tmp_path, "engine.bad={wrong_format: 1.0}")], Options(tmp_path / "r"))
    for row in cells(tmp_path / "r"):
        if row["policy"] == "strict":
            assert (row["value"], row["n"], row["n_invalid"]) == (0.0, 4, 4)
        else:
            assert (row["value"], row["n"]) == (None, 0)
    facts = json.loads((tmp_path / "r" / "trial" / "fake" / "run.json").read_text())
    # Where prose does not fit the tight max_tokens it is cut, and said to be.
    assert "wrong_format" in facts["statuses"] and set(facts["statuses"]) <= {"wrong_format", "truncated"}


def test_failed_requests_are_reported_and_asked_again(tmp_path: Path) -> None:
    trial = experiment(tmp_path, "engine.errors=0.05", "judges=[point]")
    first = run([trial], Options(tmp_path / "r"))
    assert first[0].failed > 0
    facts = json.loads(first[0].folder.run.read_text())
    assert facts["status"] == "failed" and facts["partial"] and facts["errors"]
    assert all(row["partial"] for row in cells(tmp_path / "r"))
    second = run([experiment(tmp_path, "judges=[point]")], Options(tmp_path / "r"))
    assert second[0].failed == 0
    assert json.loads(second[0].folder.run.read_text())["status"] == "complete"


def test_a_second_run_loads_no_model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    before = (tmp_path / "r" / "trial" / "fake" / "cells.json").read_bytes()
    from authbench.engines.fake import FakeEngine

    monkeypatch.setattr(FakeEngine, "load", lambda self: pytest.fail("the model was loaded"))
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    assert (tmp_path / "r" / "trial" / "fake" / "cells.json").read_bytes() == before


def test_two_experiments_share_answers_and_one_load(tmp_path: Path) -> None:
    both = [experiment(tmp_path, "judges=[point]", name="a"), experiment(tmp_path, name="b")]
    rows = plan(both, tmp_path / "r")
    by_group = {(row.experiment, row.group): row for row in rows}
    assert (
        by_group["a", "domains/without/point"].new_calls
        == by_group["a", "domains/without/point"].unique_calls
    )
    assert by_group["b", "domains/without/point"].new_calls == 0
    assert by_group["b", "domains/without/pair-rank"].calls == 4 * 35
    run(both, Options(tmp_path / "r"))
    session = json.loads((tmp_path / "r" / "b" / "fake" / "run.json").read_text())["session"]
    assert session["submitted"] == sum(row.new_calls for row in rows)


def test_limit_is_stamped_and_widened(tmp_path: Path) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r", limit=2))
    assert {(row["n"], row["partial"]) for row in cells(tmp_path / "r")} == {(2, True)}
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    assert {(row["n"], row["partial"]) for row in cells(tmp_path / "r")} == {(4, False)}
    with pytest.raises(ConfigError, match="holds a whole run, and --limit 2 would replace it"):
        run([experiment(tmp_path)], Options(tmp_path / "r", limit=2))


def test_a_folder_of_another_configuration_is_refused_with_the_difference(tmp_path: Path) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    other = experiment(tmp_path, "dataset.lists=5", "dataset.seed=9")
    with pytest.raises(ConfigError, match=r"dataset\.lists: 4 there, 5 here; dataset\.seed: 3 there, 9 here"):
        run([other], Options(tmp_path / "r"))
    run([other], Options(tmp_path / "r", fresh=True))
    assert {row["n"] for row in cells(tmp_path / "r")} == {5}
    file = tmp_path / "r" / "trial" / "fake" / "run.json"
    file.write_text(file.read_text().replace('"format": 1', '"format": 0'))
    with pytest.raises(ConfigError, match=r"was written by authbench .* \(format 0\), this is"):
        run([other], Options(tmp_path / "r"))
    file.write_text("{")
    with pytest.raises(DataError, match="is damaged"):
        run([other], Options(tmp_path / "r"))


def test_scoring_again_gives_the_same_bytes_with_no_engine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    folder = tmp_path / "r" / "trial" / "fake"
    before = (folder / "cells.json").read_bytes(), (folder / "items.jsonl").read_bytes()
    (folder / "cells.json").unlink()
    (folder / "items.jsonl").unlink()
    monkeypatch.setattr(registry, "make_engine", lambda *_: pytest.fail("an engine was made"))
    rescore(folder)
    assert ((folder / "cells.json").read_bytes(), (folder / "items.jsonl").read_bytes()) == before


def test_scoring_without_the_answers_is_refused(tmp_path: Path) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    from authbench.runtime.store import Store

    with Store(tmp_path / "r" / "responses.sqlite") as store:
        store.prune(before=time.time() + 10)
        store.register(json_identity(tmp_path), {})
    with pytest.raises(DataError, match="the store lacks answers for 20 of 20 items"):
        rescore(tmp_path / "r" / "trial" / "fake")
    with pytest.raises(ConfigError, match="holds no run"):
        rescore(tmp_path)


def json_identity(tmp_path: Path) -> Any:
    from authbench.runtime.engine import ModelIdentity

    facts = json.loads((tmp_path / "r" / "trial" / "fake" / "run.json").read_text())
    return ModelIdentity(**facts["identity"])


def test_text_is_refused_where_there_is_none(tmp_path: Path) -> None:
    trial = experiment(tmp_path, "dataset.name=sample-entities", "context=[with]")
    with pytest.raises(ConfigError, match=r"context"):
        run([trial], Options(tmp_path / "r"))


def test_prompts_are_shown_as_the_model_sees_them(tmp_path: Path) -> None:
    shown = rendered_prompts([experiment(tmp_path)], item=1, group="list-score")
    assert len(shown) == 1 and "Your output MUST be a single, valid JSON object" in shown[0]["prompt"]
    with pytest.raises(ConfigError, match="no item 99"):
        rendered_prompts([experiment(tmp_path)], item=99)


def test_killed_ten_times_and_still_the_same(tmp_path: Path) -> None:
    """kill -9 at a random moment, ten times in a row: the same command finishes with the same cells."""
    sets = ["dataset.lists=60", "engine.latency=0.002", "judges=[point, list-score, pair-score]"]
    whole = tmp_path / "whole"
    run([experiment(tmp_path, "dataset.lists=60", sets[2])], Options(whole))
    command = [sys.executable, "-m", "authbench.cli.main", "run", str(tmp_path / "trial.yaml"), "--quiet"]
    command += [word for text in sets for word in ("--set", text)]
    command += ["--results", str(tmp_path / "r")]
    draw = random.Random(7)
    kills = 0
    for _ in range(10):
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        try:
            process.wait(timeout=draw.uniform(0.4, 1.6))
        except subprocess.TimeoutExpired:
            os.kill(process.pid, signal.SIGKILL)
            kills += 1
        process.communicate()
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    assert finished.returncode == 0, finished.stderr
    assert kills >= 3, "the run was too short to be killed"
    for name in ("cells.json", "items.jsonl"):
        one = (tmp_path / "r" / "trial" / "fake" / name).read_bytes()
        assert one == (whole / "trial" / "fake" / name).read_bytes()
