"""The `openai` engine against a server that answers, refuses, hangs, breaks off, dies and comes back."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest
from engine_contract import EngineContract, ask, finish, free, jobs_for
from fault_server import FaultServer

from authbench.engines.openai import OpenAIEngine
from authbench.engines.openai_client import _retry_after
from authbench.engines.openai_limits import Endpoint
from authbench.engines.openai_messages import BrokenAnswer, read_response
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.messages import Constraint, Request, Sampling, user


@pytest.fixture
def server() -> Iterator[FaultServer]:
    made = FaultServer()
    yield made
    made.stop()


@pytest.fixture(autouse=True)
def no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)


def engine_for(server: FaultServer, of: ModelConfig | None = None, **settings: Any) -> OpenAIEngine:
    options = {"base_url": server.url, "timeout": 20.0, **settings}
    return OpenAIEngine(of or ModelConfig("test", "test/model"), options)


@pytest.fixture
def make(server: FaultServer) -> Iterator[Any]:
    """Engines that are loaded, and closed at the end."""
    made: list[OpenAIEngine] = []

    def loaded(**settings: Any) -> OpenAIEngine:
        engine = engine_for(server, **settings)
        made.append(engine)
        engine.load()
        server.requests.clear()
        return engine

    yield loaded
    for engine in made:
        engine.close()


@pytest.fixture(scope="module")
def contract_engine() -> Iterator[Engine]:
    server = FaultServer()
    engine = engine_for(server)
    engine.load()
    yield engine
    engine.close()
    server.stop()


class TestContract(EngineContract):
    @pytest.fixture
    def engine(self, contract_engine: Engine) -> Engine:
        return contract_engine

    @pytest.fixture
    def failing(self) -> Request:
        return user("FAULT:400 please", Sampling(5))


class TestWhatIsSent:
    def test_the_body_holds_what_was_asked_and_nothing_else(self, make: Any, server: FaultServer) -> None:
        request = user("Hi <|im_end|>", Sampling(7, temperature=0.5, top_p=0.9, n=3, seed=4, stop=("x",)))
        ask(make(), request)
        assert server.requests == [
            {
                "model": "test/model",
                "messages": [{"role": "user", "content": "Hi <|im_end|>"}],
                "max_tokens": 7,
                "temperature": 0.5,
                "top_p": 0.9,
                "n": 3,
                "seed": 4,
                "stop": ["x"],
            }
        ]

    def test_further_samples_have_the_seeds_that_follow(self, make: Any, server: FaultServer) -> None:
        def texts(first: int, n: int) -> list[str]:
            (job,) = jobs_for(engine, [free("a mill", 12, temperature=1.0, n=n, seed=4)])
            response = finish(engine, [replace(job, first=first)])[job.number].response
            assert response is not None
            return [sample.text for sample in response.samples]

        engine = make()
        ten = texts(0, 10)
        assert texts(0, 4) + texts(4, 6) == ten
        assert [body["seed"] for body in server.requests] == [4, 4, 8]
        server.refuses = {"n"}
        engine = make()
        server.requests.clear()
        assert texts(4, 6) == ten[4:], "asked one by one, each has a seed of its own"
        assert sorted(body["seed"] for body in server.requests) == [8, 9, 10, 11, 12, 13]

    def test_extra_body_goes_along_and_is_part_of_the_key(self, make: Any, server: FaultServer) -> None:
        engine = make(extra_body={"top_k": 20})
        ask(engine, free("a dog"))
        assert server.requests[0]["top_k"] == 20
        assert engine.identity != make().identity

    def test_thinking_is_off_in_every_request(self, server: FaultServer) -> None:
        model = ModelConfig("test", "test/model", chat_template_kwargs={"enable_thinking": False})
        engine = engine_for(server, model)
        engine.load()
        ask(engine, free("a dog"))
        engine.close()
        bodies = [body for body in server.requests if "chat_template_kwargs" in body]
        assert len(bodies) == len(server.requests) > 1
        assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in bodies)

    def test_the_arguments_of_the_template_are_part_of_the_key(self, server: FaultServer) -> None:
        model = ModelConfig("test", "test/model", chat_template_kwargs={"enable_thinking": False})
        request = free("a dog")
        texts = [engine_for(server, m).render(request).text for m in (model, None)]
        assert texts[0] != texts[1]

    def test_usage_and_finish_reasons_are_kept(self, make: Any) -> None:
        (response,) = ask(make(), user("one two three", Sampling(6, temperature=1.0, n=4)))
        assert response.prompt_tokens == 3
        assert response.cached_tokens == 1
        assert sum(sample.output_tokens for sample in response.samples) == 24
        assert {sample.finish_reason for sample in response.samples} == {"length"}
        assert response.seconds > 0


class TestProbe:
    def test_a_server_without_n_is_asked_several_times(self, make: Any, server: FaultServer) -> None:
        server.refuses = {"n"}
        engine = make()
        assert engine.info()["takes"]["n"] is False
        (response,) = ask(engine, free("a cat", 6, temperature=1.0, n=3))
        assert len(response.samples) == len(server.requests) == 3

    def test_a_server_that_ignores_n_is_found_out(self, make: Any, server: FaultServer) -> None:
        server.ignores = {"n"}
        assert make().info()["takes"]["n"] is False

    @pytest.mark.parametrize("how", ["refuses", "ignores"])
    def test_what_is_refused_or_ignored_is_said_and_not_dropped(
        self, how: str, make: Any, server: FaultServer
    ) -> None:
        setattr(server, how, {"response_format", "logprobs", "structured_outputs"})
        engine = make()
        assert engine.capabilities.constraints == frozenset()
        assert not engine.capabilities.label_logprobs
        request = user("x", Sampling(9), constraint=Constraint("json", '{"required": ["a"]}'))
        with pytest.raises(EngineError, match="takes no constraint json"):
            engine.submit(jobs_for(engine, [request]))
        with pytest.raises(EngineError, match="takes no label_logprobs"):
            engine.submit(jobs_for(engine, [user("x", Sampling(1), labels=("A", "B"))]))

    def test_the_newer_name_of_max_tokens_is_learnt(self, make: Any, server: FaultServer) -> None:
        server.refuses = {"max_tokens"}
        ask(make(), free("a dog", 5))
        assert server.requests[0]["max_completion_tokens"] == 5

    def test_thinking_that_cannot_be_turned_off_is_an_error(self, server: FaultServer) -> None:
        server.refuses = {"chat_template_kwargs"}
        model = ModelConfig("test", "test/model", chat_template_kwargs={"enable_thinking": False})
        with pytest.raises(EngineError, match="takes no chat_template_kwargs"):
            engine_for(server, model).load()


class TestFaults:
    @pytest.mark.parametrize("fault", ["500", "503", "429", "408", "cut", "reset", "broken", "empty", "list"])
    def test_what_may_pass_is_tried_again(self, fault: str, make: Any, server: FaultServer) -> None:
        server.retry_after = "0.05"
        engine = make()
        (response,) = ask(engine, user(f"FAULT:{fault}x1 hello", Sampling(5)))
        assert response.text
        assert len(server.requests) == 2
        assert engine.info()["again"] == 1

    def test_a_hang_ends_with_the_time_out_and_is_tried_again(self, make: Any, server: FaultServer) -> None:
        started = time.monotonic()
        (response,) = ask(make(timeout=0.5), user("FAULT:hangx1 hello", Sampling(5)))
        assert response.text
        assert 0.5 < time.monotonic() - started < 5

    @pytest.mark.parametrize("status", [400, 413, 422])
    def test_what_will_not_pass_is_tried_once(self, status: int, make: Any, server: FaultServer) -> None:
        engine = make()
        jobs = jobs_for(engine, [user(f"FAULT:{status} hello", Sampling(5)), free("bread")])
        done = finish(engine, jobs)
        assert f"status {status}" in str(done[jobs[0].number].error)
        assert done[jobs[1].number].error is None
        assert len(server.requests) == 2

    def test_a_failure_that_stays_is_given_up(self, make: Any, server: FaultServer) -> None:
        engine = make(retries=1)
        jobs = jobs_for(engine, [user("FAULT:500 hello", Sampling(5)), free("bread")])
        done = finish(engine, jobs)
        assert "failed 2 times" in str(done[jobs[0].number].error)
        assert done[jobs[1].number].response is not None

    def test_a_server_that_fails_at_everything_stops_the_run(self, make: Any) -> None:
        engine = make(retries=0)
        engine.submit(jobs_for(engine, [user(f"FAULT:500 {k}", Sampling(5)) for k in range(12)]))
        with pytest.raises(EngineError, match="8 requests in a row failed"):
            list(engine.completions())

    def test_a_prompt_over_the_limit_is_the_error_of_that_request(self, make: Any) -> None:
        engine = make()
        (job,) = jobs_for(engine, [user("word " * 5000, Sampling(5))])
        error = finish(engine, [job])[job.number].error
        assert error and "maximum context length is 4096" in error and "\n" not in error

    def test_a_mixture_of_faults_loses_no_answer(self, make: Any, server: FaultServer) -> None:
        server.retry_after = "0.02"
        engine = make(concurrency=8)
        server.faults = ["500", "none", "429", "cut", "broken", "none", "empty", "reset", "503"] * 3
        responses = ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(60)])
        assert len(responses) == 60
        assert engine.info()["again"] == 7 * 3


class TestLimits:
    def test_no_more_in_flight_than_allowed(self, make: Any, server: FaultServer) -> None:
        server.delay = 0.01
        engine = make(concurrency=5)
        server.most = 0
        ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(40)])
        # A slow machine may never have all five under way, but never more.
        assert 1 < server.most <= 5

    def test_429_brings_the_number_in_flight_down(self, make: Any, server: FaultServer) -> None:
        server.delay, server.limit, server.retry_after = 0.02, 4, "0.05"
        engine = make(concurrency=32)
        ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(150)])
        (state,) = engine.info()["servers"]
        assert state["lowered"] >= 1
        assert state["concurrency"] < 32

    def test_retry_after_is_kept(self, make: Any, server: FaultServer) -> None:
        server.retry_after = "1"
        engine = make()
        started = time.monotonic()
        ask(engine, user("FAULT:429x1 hello", Sampling(5)))
        assert 1.0 <= time.monotonic() - started < 4

    def test_several_servers_share_the_work(self, make: Any, server: FaultServer) -> None:
        other = FaultServer()
        server.delay = other.delay = 0.01
        engine = make(base_url=f"{server.url},{other.url}", concurrency=2)
        ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(30)])
        asked = len([b for b in other.requests if b["messages"][0]["content"].startswith("question")])
        other.stop()
        assert 10 <= asked <= 20

    def test_a_lost_server_leaves_its_work_to_the_others(self, make: Any, server: FaultServer) -> None:
        other = FaultServer()
        engine = make(base_url=[server.url, other.url])
        other.stop()
        assert len(ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(20)])) == 20

    def test_arithmetic_of_a_limit(self) -> None:
        endpoint = Endpoint("u", bound=10, timeout=100.0)
        endpoint.overload(now=100.0)
        assert endpoint.limit == pytest.approx(7.0)  # 10 x 0.7
        endpoint.overload(now=100.5)  # the same round: counted once
        assert endpoint.limit == pytest.approx(7.0)
        for _ in range(7):
            endpoint.success(1.0, now=101.0)
        assert endpoint.limit == pytest.approx(7.9, abs=0.1)  # one more for each round of answers
        endpoint.success(1000.0, now=300.0)  # 0.9 x 1 + 0.1 x 1000 is more than half the time-out
        assert endpoint.limit < 7

    def test_retry_after_as_a_number_or_a_date(self) -> None:
        import email.utils

        import httpx

        def seconds(value: str) -> float:
            return _retry_after(httpx.Response(429, headers={"Retry-After": value}))

        assert seconds("7") == 7
        assert seconds(email.utils.formatdate(time.time() + 30, usegmt=True)) == pytest.approx(30, abs=2)
        assert 0.5 <= seconds("soon") <= 1.5


class TestServerGone:
    def test_no_server_at_the_start_is_one_line(self, server: FaultServer) -> None:
        engine = engine_for(server)
        server.stop()
        with pytest.raises(EngineError) as caught:
            engine.load()
        assert "no server at" in str(caught.value) and "\n" not in str(caught.value)
        server.start_again()

    def test_a_server_that_comes_back_is_waited_for(self, make: Any, server: FaultServer) -> None:
        server.delay = 0.02
        engine = make(concurrency=4)
        engine.submit(jobs_for(engine, [user(f"question {k}", Sampling(5)) for k in range(40)]))
        done = []
        back = threading.Timer(1.5, server.start_again)
        for completion in engine.completions():
            done.append(completion)
            if len(done) == 10:
                server.stop()
                back.start()
        assert len(done) == 40
        assert all(completion.response is not None for completion in done)

    def test_a_server_that_stays_away_stops_the_run_with_a_clear_word(
        self, make: Any, server: FaultServer
    ) -> None:
        engine = make(max_wait=1.0)
        server.stop()
        engine.submit(jobs_for(engine, [free("a dog")]))
        started = time.monotonic()
        with pytest.raises(EngineError, match="no server has answered for 1 seconds"):
            list(engine.completions())
        assert time.monotonic() - started < 8
        server.start_again()

    def test_another_model_is_named(self, server: FaultServer) -> None:
        with pytest.raises(EngineError, match="serves test/model, not other/model"):
            engine_for(server, ModelConfig("other", "other/model")).load()

    def test_a_plan_over_the_limit_is_refused_before_anything_is_asked(self, server: FaultServer) -> None:
        engine = engine_for(server)
        engine.expect(lambda: server.context + server.context // 2)
        with pytest.raises(
            EngineError, match=r"about 6,144 tokens, and the server's limit is 4,096\n.*texts cut"
        ):
            engine.load()
        assert not server.requests
        nearly = engine_for(server)
        nearly.expect(lambda: server.context + 100)
        nearly.load()
        nearly.close()

    def test_its_name_on_the_server_can_be_said(self, server: FaultServer) -> None:
        engine = engine_for(server, ModelConfig("other", "other/model"), model="test/model")
        engine.load()
        assert engine.identity.model == "other/model"
        assert ask(engine, free("a dog"))[0].text
        engine.close()


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

    def test_a_key_that_expires_stops_the_run(self, make: Any, server: FaultServer) -> None:
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
        assert read_response(self.REQUEST, body, 1, 0.0).samples[0].finish_reason == "refused"

    def test_a_refusal_is_refused_with_its_text(self) -> None:
        body = {"choices": [self.choice(message={"content": None, "refusal": "I cannot."})]}
        sample = read_response(self.REQUEST, body, 1, 0.0).samples[0]
        assert (sample.text, sample.finish_reason) == ("I cannot.", "refused")

    def test_no_content_is_an_empty_answer(self) -> None:
        body = {"choices": [self.choice(message={"content": None})]}
        assert read_response(self.REQUEST, body, 1, 0.0).text == ""

    @pytest.mark.parametrize(
        "body", [[], {}, {"choices": "no"}, {"choices": [{}]}, {"choices": [{"message": {"content": 3}}]}]
    )
    def test_anything_else_is_broken(self, body: Any) -> None:
        with pytest.raises(BrokenAnswer):
            read_response(self.REQUEST, body, 1, 0.0)

    def test_tokens_of_several_samples_are_shared(self) -> None:
        body = {"choices": [self.choice()] * 3, "usage": {"completion_tokens": 8, "prompt_tokens": 4}}
        response = read_response(self.REQUEST, body, 3, 0.0)
        assert [sample.output_tokens for sample in response.samples] == [3, 3, 2]
