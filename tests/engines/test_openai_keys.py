"""The `openai` engine: keys and settings, and what is read out of a server's answer."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest
from engine_contract import ask, free, jobs_for
from fault_server import FaultServer
from openai_support import Make, engine_for, loading, running, without_key

from authbench.engines.openai import OpenAIEngine
from authbench.engines.openai.protocol import BrokenAnswer, read_response
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import ModelConfig
from authbench.runtime.messages import Sampling, user


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    without_key(monkeypatch)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with running(monkeypatch) as made:
        yield made


@pytest.fixture
def make(server: FaultServer) -> Iterator[Make]:
    with loading(server) as made:
        yield made


class TestKey:
    def test_the_key_comes_from_the_environment_and_shows_nowhere(
        self, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.key = "sk-secret-17"
        monkeypatch.setenv("MY_KEY", "sk-secret-17")
        engine = engine_for(server, api_key_env="MY_KEY")
        engine.load()
        ask(engine, free("a dog"))
        shown = json.dumps([dict(engine.info()), dict(engine.rendering), repr(engine.identity), repr(engine)])
        engine.close()
        assert "sk-secret-17" not in shown

    def test_a_wrong_key_is_an_error_without_the_key(
        self, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.key = "right"
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-99")
        with pytest.raises(EngineError) as caught:
            engine_for(server).load()
        assert "a wrong key in the environment variable OPENAI_API_KEY" in str(caught.value)
        assert "sk-wrong-99" not in str(caught.value)

    def test_a_key_that_expires_stops_the_run(self, make: Make, server: FaultServer) -> None:
        engine = make()
        server.key = "new"
        engine.submit(jobs_for(engine, [free("a dog")]))
        with pytest.raises(EngineError, match="refuses access"):
            list(engine.completions())

    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"api_key": "sk-1"}, "keys are not kept in configurations"),
            ({"base_url": "http://me:secret@127.0.0.1/v1"}, "no user name or password"),
            ({"base_url": "127.0.0.1:8000"}, "must begin with http"),
            ({"concurency": 3}, "did you mean 'concurrency'"),
            ({"concurrency": 0}, "at least 1"),
            ({"timeout": "soon"}, "number of seconds"),
            ({"extra_body": {"temperature": 1}}, "the experiment decides this field"),
        ],
    )
    def test_settings_that_cannot_be(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            OpenAIEngine(ModelConfig("m", "m"), {"base_url": "http://127.0.0.1:1/v1", **settings})
        assert "secret" not in str(caught.value) and "sk-1" not in str(caught.value)

    def test_without_an_address_the_way_out_is_named(self) -> None:
        with pytest.raises(EngineError, match=r"engine\.base_url"):
            OpenAIEngine(ModelConfig("m", "m"), {})


class TestReading:
    REQUEST = user("x", Sampling(5))

    def choice(self, **fields: Any) -> dict[str, Any]:
        return {"message": {"role": "assistant", "content": "hi"}, "finish_reason": "stop", **fields}

    def test_a_filtered_answer_is_refused(self) -> None:
        body = {"choices": [self.choice(finish_reason="content_filter")]}
        assert read_response(self.REQUEST, body, 1).samples[0].finish_reason == "refused"

    def test_a_refusal_is_refused_with_its_text(self) -> None:
        body = {"choices": [self.choice(message={"content": None, "refusal": "I cannot."})]}
        sample = read_response(self.REQUEST, body, 1).samples[0]
        assert (sample.text, sample.finish_reason) == ("I cannot.", "refused")

    def test_no_content_is_an_empty_answer(self) -> None:
        body = {"choices": [self.choice(message={"content": None})]}
        assert read_response(self.REQUEST, body, 1).text == ""

    @pytest.mark.parametrize(
        "body", [[], {}, {"choices": "no"}, {"choices": [{}]}, {"choices": [{"message": {"content": 3}}]}]
    )
    def test_anything_else_is_broken(self, body: Any) -> None:
        with pytest.raises(BrokenAnswer):
            read_response(self.REQUEST, body, 1)

    def test_tokens_of_several_samples_are_shared(self) -> None:
        body = {"choices": [self.choice()] * 3, "usage": {"completion_tokens": 8, "prompt_tokens": 4}}
        response = read_response(self.REQUEST, body, 3)
        assert [sample.output_tokens for sample in response.samples] == [3, 3, 2]
