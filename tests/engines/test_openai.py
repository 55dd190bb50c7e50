"""The `openai` engine: the contract, what is sent, and what a server is found to take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from engine_contract import EngineContract, ask, finish, free, jobs_for
from fault_server import FaultServer
from openai_support import Make, engine_for, loading, running

from authbench.errors import EngineError
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.messages import Constraint, Request, Sampling, user


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with running(monkeypatch) as made:
        yield made


@pytest.fixture
def make(server: FaultServer) -> Iterator[Make]:
    with loading(server) as made:
        yield made


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
    def test_the_body_holds_what_was_asked_and_nothing_else(self, make: Make, server: FaultServer) -> None:
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

    def test_further_samples_have_the_seeds_that_follow(self, make: Make, server: FaultServer) -> None:
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

    def test_extra_body_goes_along_and_is_part_of_the_key(self, make: Make, server: FaultServer) -> None:
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

    def test_usage_and_finish_reasons_are_kept(self, make: Make) -> None:
        (response,) = ask(make(), user("one two three", Sampling(6, temperature=1.0, n=4)))
        assert response.prompt_tokens == 3
        assert response.cached_tokens == 1
        assert sum(sample.output_tokens for sample in response.samples) == 24
        assert {sample.finish_reason for sample in response.samples} == {"length"}
        assert response.seconds > 0


class TestProbe:
    def test_a_server_without_n_is_asked_several_times(self, make: Make, server: FaultServer) -> None:
        server.refuses = {"n"}
        engine = make()
        assert engine.info()["takes"]["n"] is False
        (response,) = ask(engine, free("a cat", 6, temperature=1.0, n=3))
        assert len(response.samples) == len(server.requests) == 3

    def test_a_server_that_ignores_n_is_found_out(self, make: Make, server: FaultServer) -> None:
        server.ignores = {"n"}
        assert make().info()["takes"]["n"] is False

    @pytest.mark.parametrize("how", ["refuses", "ignores"])
    def test_what_is_refused_or_ignored_is_said_and_not_dropped(
        self, how: str, make: Make, server: FaultServer
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

    def test_the_newer_name_of_max_tokens_is_learnt(self, make: Make, server: FaultServer) -> None:
        server.refuses = {"max_tokens"}
        ask(make(), free("a dog", 5))
        assert server.requests[0]["max_completion_tokens"] == 5

    def test_thinking_that_cannot_be_turned_off_is_an_error(self, server: FaultServer) -> None:
        server.refuses = {"chat_template_kwargs"}
        model = ModelConfig("test", "test/model", chat_template_kwargs={"enable_thinking": False})
        with pytest.raises(EngineError, match="takes no chat_template_kwargs"):
            engine_for(server, model).load()
