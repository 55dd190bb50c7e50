"""The `openai` engine: the contract, what is sent, and what a server is found to take."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from engine_contract import EngineContract, ask, finish, free, jobs_for
from fault_server import FaultServer
from openai_support import Make, OnServer, engine_for

from authbench.errors import EngineError
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.messages import Constraint, Request, Sampling, user

THINKING_OFF = ModelConfig("test", "test/model", chat_template_kwargs={"enable_thinking": False})


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


class TestWhatIsSent(OnServer):
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

    def test_half_a_surrogate_pair_in_a_text_is_sent_as_a_question_mark(
        self, make: Make, server: FaultServer
    ) -> None:
        ask(make(), user("odd \ud83d é", Sampling(5)))
        assert server.requests[0]["messages"][0]["content"] == "odd ? é"

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
        assert texts(4, 6) == ten[4:], "asked one by one, each has a seed of its own"
        assert sorted(body["seed"] for body in server.requests) == [8, 9, 10, 11, 12, 13]

    def test_extra_body_goes_along_and_is_part_of_the_key(self, make: Make, server: FaultServer) -> None:
        engine = make(extra_body={"top_k": 20})
        ask(engine, free("a dog"))
        assert server.requests[0]["top_k"] == 20
        assert engine.identity.precision == 'unknown {"top_k": 20}'

    def test_thinking_is_off_in_every_request_and_part_of_the_key(self, server: FaultServer) -> None:
        engine = engine_for(server, THINKING_OFF)
        engine.load()
        ask(engine, free("a dog"))
        engine.close()
        bodies = [body for body in server.requests if "chat_template_kwargs" in body]
        assert len(bodies) == len(server.requests) > 1
        assert all(body["chat_template_kwargs"] == {"enable_thinking": False} for body in bodies)
        assert engine.render(free("a dog")) != engine_for(server).render(free("a dog"))

    def test_usage_and_finish_reasons_are_kept(self, make: Make) -> None:
        (response,) = ask(make(), user("one two three", Sampling(6, temperature=1.0, n=4)))
        assert response.prompt_tokens == 3
        assert response.cached_tokens == 1
        assert sum(sample.output_tokens for sample in response.samples) == 24
        assert {sample.finish_reason for sample in response.samples} == {"length"}
        assert response.seconds > 0


class TestProbe(OnServer):
    @pytest.mark.parametrize("how", ["refuses", "ignores"])
    def test_a_server_without_n_is_asked_several_times(
        self, how: str, make: Make, server: FaultServer
    ) -> None:
        setattr(server, how, {"n"})
        engine = make()
        assert engine.info()["takes"]["n"] is False
        (response,) = ask(engine, free("a cat", 6, temperature=1.0, n=3))
        assert len(response.samples) == len(server.requests) == 3

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

    def test_refused_fields_of_every_request_are_named_all_at_once(self, server: FaultServer) -> None:
        server.refuses = {"temperature", "top_p", "max_tokens"}
        with pytest.raises(
            EngineError, match=r"takes no temperature, top_p: .*Only the default .*\n"
        ) as caught:
            engine_for(server).load()
        assert str(caught.value).endswith("--set engine.omit=temperature,top_p")

    def test_a_run_without_them_says_so_in_its_facts_and_keys(self, make: Make, server: FaultServer) -> None:
        server.refuses = {"temperature", "top_p"}
        engine = make(omit=["temperature", "top_p"])
        ask(engine, free("a dog"))
        assert set(server.requests[0]) == {"model", "messages", "max_tokens"}
        assert engine.info()["omitted"] == ["temperature", "top_p"]
        assert engine.identity.precision == "unknown without temperature, top_p"

    @pytest.mark.parametrize("name", ["seed", "stop"])
    def test_a_field_that_only_some_requests_have_is_missed_by_those_alone(
        self, name: str, make: Make, server: FaultServer
    ) -> None:
        server.refuses = {name}
        engine = make()
        assert ask(engine, free("a dog"))[0].text
        sampled = free("a dog", temperature=1.0, seed=3, stop=("x",))
        with pytest.raises(EngineError, match=rf"takes no {name}: .*\n.*engine\.omit={name}$"):
            engine.submit(jobs_for(engine, [sampled]))
        ask(make(omit=name), sampled)
        assert name not in server.requests[0]

    def test_thinking_that_cannot_be_turned_off_is_an_error(self, server: FaultServer) -> None:
        server.refuses = {"chat_template_kwargs"}
        with pytest.raises(EngineError, match="takes no chat_template_kwargs"):
            engine_for(server, THINKING_OFF).load()
        engine = engine_for(server, THINKING_OFF, omit="chat_template_kwargs")
        engine.load()
        engine.close()

    def test_another_model_is_named(self, server: FaultServer) -> None:
        with pytest.raises(EngineError, match="serves test/model, not other/model"):
            engine_for(server, ModelConfig("other", "other/model")).load()

    def test_its_name_on_the_server_can_be_said(self, server: FaultServer) -> None:
        engine = engine_for(server, ModelConfig("other", "other/model"), model="test/model")
        engine.load()
        assert engine.identity.model == "other/model"
        assert ask(engine, free("a dog"))[0].text
        engine.close()

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
