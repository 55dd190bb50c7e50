"""The `openai` engine: keys and settings, and what is read out of a server's answer."""

from __future__ import annotations

import json
from typing import Any

import pytest
from engine_contract import ask, finish, free, jobs_for
from fault_server import FaultServer
from openai_support import Make, OnServer, engine_for

from authbench.engines.openai import OpenAIEngine
from authbench.engines.openai.protocol import Passing, read_response
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import ModelConfig
from authbench.runtime.messages import Sampling, user


class TestKey(OnServer):
    def test_the_key_comes_from_the_environment_and_shows_nowhere(
        self, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.key = "sk-secret-17"
        monkeypatch.setenv("MY_KEY", "sk-secret-17\n")
        engine = engine_for(server, api_key_env="MY_KEY")
        engine.load()
        ask(engine, free("a dog"))
        shown = json.dumps([dict(engine.info()), dict(engine.rendering), repr(engine.identity), repr(engine)])
        engine.close()
        assert "sk-secret-17" not in shown

    def test_only_the_key_that_is_named_is_sent(
        self, make: Make, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-for-another-server")
        ask(make(api_key_env="MY_KEY"), free("a dog"))
        assert server.authorizations == {None}

    def test_a_wrong_key_is_an_error_without_the_key(
        self, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.key = "right"
        monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-99")
        with pytest.raises(EngineError) as caught:
            engine_for(server).load()
        assert "a wrong key in the environment variable OPENAI_API_KEY" in str(caught.value)
        assert "sk-wrong-99" not in str(caught.value)

    def test_a_key_that_is_an_everyday_word_is_masked_as_a_word_and_disturbs_nothing(
        self, make: Make, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        server.key = "max"
        monkeypatch.setenv("OPENAI_API_KEY", "max")
        server.refuses = {"max_tokens"}
        engine = make()
        (job,) = jobs_for(engine, [user("FAULT:key", Sampling(5))])
        assert str(finish(engine, [job])[job.number].error).endswith("Bearer *** wants fewer max_tokens")

    def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(
        self, server: FaultServer, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("OPENAI_API_KEY", "sk-\u201cquoted\u201d")
        with pytest.raises(EngineError, match="OPENAI_API_KEY holds no key") as caught:
            engine_for(server).load()
        assert "quoted" not in str(caught.value)

    def test_a_key_that_expires_stops_the_run(self, make: Make, server: FaultServer) -> None:
        engine = make()
        server.key = "new"
        engine.submit(jobs_for(engine, [free("a dog")]))
        with pytest.raises(EngineError, match="refuses access"):
            list(engine.completions())


class TestSettings:
    @pytest.mark.parametrize(
        ("settings", "message"),
        [
            ({"api_key": "sk-1"}, "keys are not kept in configurations"),
            ({"base_url": "http://me:secret@127.0.0.1/v1"}, "no user name or password"),
            ({"base_url": "http://127.0.0.1/v1?key=secret"}, "no query"),
            ({"base_url": {"http://me:secret@h": 1}}, r"engine\.base_url: "),
            ({"base_url": "127.0.0.1:8000"}, "must begin with http"),
            ({"base_url": "http://[::1/v1"}, "must begin with http"),
            ({"base_url": "http://host:99999/v1"}, "must begin with http"),
            ({"concurency": 3}, "did you mean 'concurrency'"),
            ({"concurrency": 0}, r"engine\.concurrency: .* 1, not 0"),
            ({"timeout": "soon"}, r"engine\.timeout: .* number, .*not 'soon'"),
            ({"max_wait": float("nan")}, r"engine\.max_wait: .* 0"),
            ({"context_length": "8k"}, r"engine\.context_length: "),
            ({"extra_body": {"temperature": 1}}, "the experiment decides this field"),
            ({"omit": "temprature"}, r"engine\.omit\.0: .*'temperature'.*, not 'temprature'"),
        ],
    )
    def test_settings_that_cannot_be(self, settings: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message) as caught:
            OpenAIEngine(ModelConfig("m", "m"), {"base_url": "http://127.0.0.1:1/v1", **settings})
        assert "secret" not in str(caught.value) and "sk-1" not in str(caught.value)

    def test_without_an_address_the_way_out_is_named(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
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

    @pytest.mark.parametrize(
        "body",
        [
            [],
            {},
            {"choices": "no"},
            {"choices": [{}]},
            {"choices": [3]},
            {"choices": [{"message": {"content": 3}, "finish_reason": "stop"}]},
            {"choices": [{"message": {"content": [3]}, "finish_reason": "stop"}]},
            {"choices": [{"message": {"content": "hi"}, "finish_reason": ["stop"]}]},
            {"choices": [{"message": {"content": "hi"}, "finish_reason": "eos"}]},
        ],
    )
    def test_anything_else_is_broken(self, body: Any) -> None:
        with pytest.raises(Passing):
            read_response(self.REQUEST, body, 1)

    def test_tokens_of_several_samples_are_shared(self) -> None:
        body = {"choices": [self.choice()] * 3, "usage": {"completion_tokens": 8, "prompt_tokens": 4}}
        response = read_response(self.REQUEST, body, 3)
        assert [sample.output_tokens for sample in response.samples] == [3, 3, 2]
