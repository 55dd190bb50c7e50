"""The `openai` engine on a server that refuses, hangs, breaks off, is crowded, dies and comes back."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator

import pytest
from engine_contract import ask, finish, free, jobs_for
from fault_server import FaultServer
from openai_support import Make, engine_for, loading, running

from authbench.engines.openai.client import retry_after
from authbench.engines.openai.servers import Server
from authbench.errors import EngineError
from authbench.runtime.engine import ModelConfig
from authbench.runtime.messages import Sampling, user


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
    with running(monkeypatch) as made:
        yield made


@pytest.fixture
def make(server: FaultServer) -> Iterator[Make]:
    with loading(server) as made:
        yield made


class TestFaults:
    @pytest.mark.parametrize("fault", ["500", "503", "429", "408", "cut", "reset", "broken", "empty", "list"])
    def test_what_may_pass_is_tried_again(self, fault: str, make: Make, server: FaultServer) -> None:
        server.retry_after = "0.05"
        engine = make()
        (response,) = ask(engine, user(f"FAULT:{fault}x1 hello", Sampling(5)))
        assert response.text
        assert len(server.requests) == 2
        assert engine.info()["again"] == 1

    def test_a_hang_ends_with_the_time_out_and_is_tried_again(self, make: Make, server: FaultServer) -> None:
        started = time.monotonic()
        (response,) = ask(make(timeout=0.5), user("FAULT:hangx1 hello", Sampling(5)))
        assert response.text
        assert 0.5 < time.monotonic() - started < 5

    @pytest.mark.parametrize("status", [400, 413, 422])
    def test_what_will_not_pass_is_tried_once(self, status: int, make: Make, server: FaultServer) -> None:
        engine = make()
        jobs = jobs_for(engine, [user(f"FAULT:{status} hello", Sampling(5)), free("bread")])
        done = finish(engine, jobs)
        assert f"status {status}" in str(done[jobs[0].number].error)
        assert done[jobs[1].number].error is None
        assert len(server.requests) == 2

    def test_a_failure_that_stays_is_given_up(self, make: Make, server: FaultServer) -> None:
        engine = make(retries=1)
        jobs = jobs_for(engine, [user("FAULT:500 hello", Sampling(5)), free("bread")])
        done = finish(engine, jobs)
        assert "failed 2 times" in str(done[jobs[0].number].error)
        assert done[jobs[1].number].response is not None

    def test_a_server_that_fails_at_everything_stops_the_run(self, make: Make) -> None:
        engine = make(retries=0)
        engine.submit(jobs_for(engine, [user(f"FAULT:500 {k}", Sampling(5)) for k in range(12)]))
        with pytest.raises(EngineError, match="8 requests in a row failed"):
            list(engine.completions())

    def test_a_prompt_over_the_limit_is_the_error_of_that_request(self, make: Make) -> None:
        engine = make()
        (job,) = jobs_for(engine, [user("word " * 5000, Sampling(5))])
        error = finish(engine, [job])[job.number].error
        assert error and "maximum context length is 4096" in error and "\n" not in error

    def test_a_mixture_of_faults_loses_no_answer(self, make: Make, server: FaultServer) -> None:
        server.retry_after = "0.02"
        engine = make(concurrency=8)
        server.faults = ["500", "none", "429", "cut", "broken", "none", "empty", "reset", "503"] * 3
        responses = ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(60)])
        assert len(responses) == 60
        assert engine.info()["again"] == 7 * 3


class TestLimits:
    def test_no_more_in_flight_than_allowed(self, make: Make, server: FaultServer) -> None:
        server.delay = 0.01
        engine = make(concurrency=5)
        server.most = 0
        ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(40)])
        # A slow machine may never have all five under way, but never more.
        assert 1 < server.most <= 5

    def test_429_brings_the_number_in_flight_down(self, make: Make, server: FaultServer) -> None:
        server.delay, server.limit, server.retry_after = 0.02, 4, "0.05"
        engine = make(concurrency=32)
        ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(150)])
        (state,) = engine.info()["servers"]
        assert state["lowered"] >= 1
        assert state["concurrency"] < 32

    def test_retry_after_is_kept(self, make: Make, server: FaultServer) -> None:
        server.retry_after = "1"
        engine = make()
        started = time.monotonic()
        ask(engine, user("FAULT:429x1 hello", Sampling(5)))
        assert 1.0 <= time.monotonic() - started < 4

    def test_several_servers_share_the_work(self, make: Make, server: FaultServer) -> None:
        other = FaultServer()
        server.delay = other.delay = 0.01
        engine = make(base_url=f"{server.url},{other.url}", concurrency=2)
        ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(30)])
        asked = len([b for b in other.requests if b["messages"][0]["content"].startswith("question")])
        other.stop()
        assert 10 <= asked <= 20

    def test_a_lost_server_leaves_its_work_to_the_others(self, make: Make, server: FaultServer) -> None:
        other = FaultServer()
        engine = make(base_url=[server.url, other.url])
        other.stop()
        assert len(ask(engine, *[user(f"question {k}", Sampling(5)) for k in range(20)])) == 20

    def test_arithmetic_of_a_limit(self) -> None:
        endpoint = Server(AsyncOpenAI(api_key="k"), "u", bound=10, timeout=100.0)
        endpoint.overload(100.0, 0.0)
        assert endpoint.limit == pytest.approx(7.0)  # 10 x 0.7
        endpoint.overload(100.5, 0.0)  # the same round: counted once
        assert endpoint.limit == pytest.approx(7.0)
        for _ in range(7):
            endpoint.success(1.0, now=101.0)
        assert endpoint.limit == pytest.approx(7.9, abs=0.1)  # one more for each round of answers
        endpoint.success(1000.0, now=300.0)  # 0.9 x 1 + 0.1 x 1000 is more than half the time-out
        assert endpoint.limit < 7

    def test_retry_after_as_a_number_or_a_date(self) -> None:
        import email.utils

        import httpx2

        def seconds(value: str) -> float:
            return retry_after(httpx2.Headers({"Retry-After": value}))

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

    def test_a_server_that_comes_back_is_waited_for(self, make: Make, server: FaultServer) -> None:
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
        self, make: Make, server: FaultServer
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
