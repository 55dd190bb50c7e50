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
from authbench.errors import ConfigError, DataError, EngineError
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
    with pytest.raises(DataError, match="holds no run"):
        rescore(tmp_path)


def test_scoring_a_run_whose_configuration_cannot_be_says_what_is_wrong(tmp_path: Path) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    folder = tmp_path / "r" / "trial" / "fake"
    facts = json.loads((folder / "run.json").read_text())
    facts["config"]["context"] *= 2
    (folder / "run.json").write_text(json.dumps(facts))
    wanted = r"run\.json: config\.context is not understood: the same value stands there twice: 'without'$"
    with pytest.raises(ConfigError, match=wanted):
        rescore(folder)


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


def run_facts(results: Path, name: str = "trial", model: str = "fake") -> dict[str, Any]:
    facts: dict[str, Any] = json.loads((results / name / model / "run.json").read_text())
    return facts


def test_who_asked_stays_on_record_when_a_run_is_only_printed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from authbench.experiment import provenance

    monkeypatch.setattr(provenance, "machine", lambda: {"processor": "the big one"})
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    before = (tmp_path / "r" / "trial" / "fake" / "run.json").read_bytes()
    monkeypatch.setattr(provenance, "machine", lambda: {"processor": "a laptop"})
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    assert (tmp_path / "r" / "trial" / "fake" / "run.json").read_bytes() == before
    # Another experiment that finds everything known says what machine it was put together on.
    run([experiment(tmp_path, "judges=[point]", name="other")], Options(tmp_path / "r"))
    facts = run_facts(tmp_path / "r", "other")
    assert (facts["session"]["submitted"], facts["machine"]) == (0, {"processor": "a laptop"})


def test_a_run_that_is_stopped_while_it_is_only_printed_stays_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    before = (tmp_path / "r" / "trial" / "fake" / "run.json").read_bytes()

    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("authbench.experiment.running.judge", stopped)
    with pytest.raises(KeyboardInterrupt):
        run([experiment(tmp_path)], Options(tmp_path / "r"))
    assert (tmp_path / "r" / "trial" / "fake" / "run.json").read_bytes() == before


def test_everything_is_checked_before_the_first_model_is_asked(tmp_path: Path) -> None:
    good = experiment(tmp_path, name="good")
    bad = experiment(tmp_path, "dataset.lists=9999999999", "engine.seed=3", name="bad")
    with pytest.raises(DataError, match="lists wanted"):
        run([good, bad], Options(tmp_path / "r"))
    assert not (tmp_path / "r").exists()


def test_what_is_there_is_replaced_only_if_there_is_a_model_to_ask(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    before = {path: path.read_bytes() for path in (tmp_path / "r" / "trial" / "fake").iterdir()}

    def broken(self: object) -> None:
        raise EngineError("the weights are gone")

    with monkeypatch.context() as patch:
        patch.setattr("authbench.engines.fake.FakeEngine.load", broken)
        with pytest.raises(EngineError, match="the weights are gone"):
            run([experiment(tmp_path)], Options(tmp_path / "r", fresh=True))
    assert {path: path.read_bytes() for path in (tmp_path / "r" / "trial" / "fake").iterdir()} == before
    done = run([experiment(tmp_path)], Options(tmp_path / "r", fresh=True))
    session = run_facts(tmp_path / "r")["session"]
    assert done[0].failed == 0 and session["from_store"] + session["merged"] < session["calls"] / 2


def test_one_model_with_two_chat_templates_in_one_store(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As with thinking on and off: both runs can be measured again, and both can be replayed."""
    from authbench.engines.chat import ChatTemplate
    from authbench.engines.fake import FakeEngine
    from authbench.runtime.export import write_export
    from authbench.runtime.store import Store

    template = "{{ messages[0]['content'] }}{% if thinking %} /think{% endif %}"
    made = FakeEngine.__init__

    def with_template(engine: FakeEngine, model: Any, settings: Any) -> None:
        made(engine, model, settings)
        engine._template = ChatTemplate(template, model.chat_template_kwargs)

    monkeypatch.setattr(FakeEngine, "__init__", with_template)
    (tmp_path / "models").mkdir()
    for name, switch in (("thinks", "true"), ("plain", "false")):
        (tmp_path / "models" / f"{name}.yaml").write_text(
            f"id: same\nchat_template_kwargs: {{thinking: {switch}}}\n"
        )
    run([experiment(tmp_path, "models=[thinks, plain]")], Options(tmp_path / "r"))
    assert run_facts(tmp_path / "r", model="plain")["session"]["submitted"] > 0
    with Store(tmp_path / "r" / "responses.sqlite", read_only=True) as store:
        assert [record.rendering["kwargs"] for _, record in store.models()] == [
            {"thinking": True},
            {"thinking": False},
        ]
        write_export(store, tmp_path / "both.jsonl")
    replay = [f"engine={{name: replay, path: {tmp_path / 'both.jsonl'}}}", "models=[thinks, plain]"]
    run([experiment(tmp_path, *replay)], Options(tmp_path / "replayed"))
    for model in ("thinks", "plain"):
        folder = tmp_path / "r" / "trial" / model
        before = (folder / "items.jsonl").read_bytes()
        (folder / "items.jsonl").unlink()
        rescore(folder)
        assert (folder / "items.jsonl").read_bytes() == before
        assert (tmp_path / "replayed" / "trial" / model / "items.jsonl").read_bytes() == before


def test_scoring_again_counts_statuses_again_and_ends_what_was_cut_off(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run([experiment(tmp_path)], Options(tmp_path / "r"))
    file = tmp_path / "r" / "trial" / "fake" / "run.json"
    facts = json.loads(file.read_text())
    # As after kill -9 between the last answer and the end.
    file.write_text(json.dumps({**facts, "status": "running", "partial": True, "statuses": {}}))
    rescore(file.parent)
    again = json.loads(file.read_text())
    assert again == facts and again["status"] == "complete" and again["statuses"]["ok"] > 0


def test_models_are_told_apart_by_what_their_files_say(tmp_path: Path) -> None:
    for folder, identity in (("one", "org/one"), ("two", "org/two")):
        (tmp_path / folder / "models").mkdir(parents=True)
        (tmp_path / folder / "models" / "mine.yaml").write_text(f"id: {identity}\n")
    both = [experiment(tmp_path / name, "models=[mine]", name=name) for name in ("one", "two")]
    run(both, Options(tmp_path / "r"))
    ids = [run_facts(tmp_path / "r", name, "mine")["identity"]["model"] for name in ("one", "two")]
    assert ids == ["org/one", "org/two"]


def test_a_plan_is_made_without_an_engine_that_is_not_here(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(registry, "installed", lambda name: name == "fake")
    run([experiment(tmp_path, "models=[qwen3-8b]")], Options(tmp_path / "r"))
    asked = experiment(tmp_path, "engine=vllm", "models=[qwen3-8b]")
    rows = plan([asked], tmp_path / "r")
    assert all(row.new_calls > 0 for row in rows), "made-up answers of the same model are none of vLLM's"
    assert [row.calls for row in rows] == [40, 4, 4, 140, 140]
    assert {row.without for row in rows} == {
        "the engine 'vllm' is not installed: pip install 'authbench[vllm]'"
    }
    assert not any(row.tokens.exact for row in rows)
    with pytest.raises(EngineError, match="'vllm' is not installed"):
        run([asked], Options(tmp_path / "other"))
    assert {row.without for row in plan([experiment(tmp_path)], tmp_path / "r")} == {None}
