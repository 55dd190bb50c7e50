"""Recorded answers as an engine: exported from a store that the `fake` engine filled."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from engine_contract import ask, finish, jobs_for

from authbench.data.records import Source
from authbench.engines.fake import FakeEngine
from authbench.engines.replay import ReplayEngine
from authbench.errors import ConfigError, DataError
from authbench.prompts.render import prompt_set
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.export import read_export, write_export
from authbench.runtime.keys import KeyMaker
from authbench.runtime.messages import Request, Sampling, user
from authbench.runtime.store import Store

PROMPTS = prompt_set("domain", context="without", scale_levels=10)
REQUESTS = [PROMPTS.point(Source(f"site{k}.org", 0, 0.0)) for k in range(5)]
SAMPLED = user("Answer the question briefly, so: what?", Sampling(16, temperature=1.0, n=3))

Record = Callable[..., Path]


@pytest.fixture
def record(tmp_path: Path) -> Record:
    """Ask an engine and export what it said."""

    def recorded(*engines: Engine, name: str = "answers.jsonl.gz") -> Path:
        with Store(tmp_path / "responses.sqlite") as store:
            for engine in engines:
                model = store.register(engine.identity, engine.rendering)
                make_key = KeyMaker(engine.identity)
                for request in (*REQUESTS, SAMPLED):
                    prompt = engine.render(request)
                    store.put(make_key(request, prompt), model, prompt.text, ask(engine, request)[0])
            store.flush()
            write_export(store, tmp_path / name)
        return tmp_path / name

    return recorded


def fake(id: str = "org/model", **settings: object) -> FakeEngine:
    return FakeEngine(ModelConfig("m", id), settings)


@pytest.mark.parametrize("name", ["answers.jsonl.gz", "answers.jsonl"])
def test_recorded_answers_come_back(record: Record, name: str) -> None:
    path = record(fake(), name=name)
    replayed = ReplayEngine(ModelConfig("m", "org/model"), {"path": str(path)})
    assert [r.text for r in ask(replayed, *REQUESTS)] == [r.text for r in ask(fake(), *REQUESTS)]
    samples = ask(replayed, SAMPLED)[0].samples
    assert samples == ask(fake(), SAMPLED)[0].samples
    fewer = replace(SAMPLED, sampling=replace(SAMPLED.sampling, n=2))
    assert ask(replayed, fewer)[0].samples == samples[:2]
    assert replayed.identity == fake().identity


def test_further_samples_are_the_next_ones_of_the_recording(record: Record) -> None:
    replayed = ReplayEngine(ModelConfig("m", "org/model"), {"path": str(record(fake()))})
    samples = ask(replayed, SAMPLED)[0].samples
    (job,) = jobs_for(replayed, [replace(SAMPLED, sampling=replace(SAMPLED.sampling, n=2))])
    response = finish(replayed, [replace(job, first=1)])[job.number].response
    assert response is not None and response.samples == samples[1:]
    error = finish(replayed, [replace(job, number=job.number + 10**6, first=2)])[job.number + 10**6].error
    assert error is not None and error.startswith("no recorded answer")


def test_what_was_not_recorded_is_named(record: Record) -> None:
    replayed = ReplayEngine(ModelConfig("m", "org/model"), {"path": str(record(fake()))})
    changed = user(REQUESTS[0].messages[0].content + " ", REQUESTS[0].sampling)
    longer = replace(REQUESTS[0], sampling=replace(REQUESTS[0].sampling, max_tokens=999))
    more = replace(SAMPLED, sampling=replace(SAMPLED.sampling, n=4))
    jobs = jobs_for(replayed, [REQUESTS[1], changed, longer, more])
    done = finish(replayed, jobs)
    assert done[jobs[0].number].response is not None
    for job in jobs[1:]:
        error = done[job.number].error
        assert error is not None and error.startswith("no recorded answer to a prompt that begins '")
    assert "You are a web analysis expert" in (done[jobs[1].number].error or "")


def test_work_may_be_added_and_dropped(record: Record) -> None:
    replayed = ReplayEngine(ModelConfig("m", "org/model"), {"path": str(record(fake()))})
    jobs = jobs_for(replayed, REQUESTS)
    replayed.submit(jobs[:3])
    replayed.cancel([jobs[1].number])
    done = []
    for completion in replayed.completions():
        done.append(completion.number)
        if len(done) == 1:
            replayed.submit(jobs[3:])
    assert sorted(done) == [jobs[k].number for k in (0, 2, 3, 4)]
    assert list(replayed.completions()) == []


def test_prompts_are_rendered_as_they_were(tmp_path: Path) -> None:
    """The template lies in the header: neither tokenizer nor model file is needed."""
    template = "{{ '<s>' + messages[0].content + '</s>' }}"
    identity = {"model": "org/chat", "revision": "1", "precision": "bf16", "family": "vllm"}
    rendering = {"template": template, "kwargs": {}, "control_tokens": ["<s>", "</s>"]}
    header = {"kind": "authbench-answers", "version": 1}
    header["models"] = [{"identity": identity, "rendering": rendering}]
    path = tmp_path / "r.jsonl"
    path.write_text(json.dumps(header) + "\n")
    replayed = ReplayEngine(ModelConfig("chat", "org/chat"), {"path": str(path)})
    prompt = replayed.render(user("a</s>", Sampling(1)))
    assert prompt.text == "<s>a</s></s>"
    assert prompt.pieces() == ["<s>a<", "/s></s>"]
    assert replayed.rendering == rendering
    assert replayed.identity.family == "vllm"


def test_of_several_models_the_one_asked_for_answers(record: Record) -> None:
    path = record(fake("org/a"), fake("org/b"))
    assert len(read_export(path).models) == 2
    texts = {}
    for name in ("org/a", "org/b"):
        replayed = ReplayEngine(ModelConfig("m", name), {"path": str(path)})
        assert replayed.identity.model == name
        texts[name] = [r.text for r in ask(replayed, *REQUESTS)]
        assert texts[name] == [r.text for r in ask(fake(name), *REQUESTS)]
    assert texts["org/a"] != texts["org/b"]
    with pytest.raises(DataError, match="has no answers of org/c; it has those of: org/a, org/b"):
        ReplayEngine(ModelConfig("m", "org/c"), {"path": str(path)})


def test_wrong_settings_are_named(tmp_path: Path) -> None:
    model = ModelConfig("m", "m")
    with pytest.raises(ConfigError, match=r"unknown setting 'pathh' \(did you mean 'path'\?\)"):
        ReplayEngine(model, {"pathh": "x"})
    with pytest.raises(ConfigError, match=r"--set engine\.path=FILE"):
        ReplayEngine(model, {})
    with pytest.raises(DataError, match="no recorded answers at"):
        ReplayEngine(model, {"path": str(tmp_path / "none.jsonl.gz")})
    cut = tmp_path / "cut.jsonl"
    cut.write_text('{"kind": "authbench-answers", "version": 1, "models": [')
    with pytest.raises(DataError, match="not a JSON object"):
        ReplayEngine(model, {"path": str(cut)})


def test_requests_that_need_what_was_recorded_elsewhere_are_allowed(record: Record) -> None:
    """Everything can be looked up, so capabilities hinder nothing."""
    replayed = ReplayEngine(ModelConfig("m", "org/model"), {"path": str(record(fake()))})
    wanted: list[Request] = [replace(SAMPLED, labels=("a",)), replace(SAMPLED, score_target="x")]
    assert [replayed.capabilities.lacking(request) for request in wanted] == [None, None]
