"""The `openai` engine on a server that refuses, hangs, breaks off, is crowded, dies and comes back."""

from __future__ import annotations

import email.utils
import threading
import time

import pytest
from engine_contract import ask, finish, free, jobs_for
from fault_server import FaultServer
from openai_support import Make, OnServer, engine_for

from authbench.engines.openai import OpenAIEngine
from authbench.engines.openai.servers import Server
from authbench.errors import EngineError
from authbench.runtime.messages import Request, Sampling, user

PASSING = ("500", "503", "429", "408", "cut", "reset", "broken", "empty", "list", "odd", "error", "error503")


def questions(number: int) -> list[Request]:
    return [user(f"question {k}", Sampling(5)) for k in range(number)]


def error_of(engine: OpenAIEngine, content: str) -> str:
    """The error of one request, which leaves another alone and is one line."""
    jobs = jobs_for(engine, [user(content, Sampling(5)), free("bread")])
    done = finish(engine, jobs)
    assert done[jobs[1].number].response is not None
    error = done[jobs[0].number].error
    assert error and "\n" not in error
    return error


class TestFaults(OnServer):
    @pytest.mark.parametrize("fault", PASSING)
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

    @pytest.mark.parametrize("fault", ["400", "413", "422", "error400"])
    def test_what_will_not_pass_is_tried_once(self, fault: str, make: Make, server: FaultServer) -> None:
        assert f"status {fault[-3:]}" in error_of(make(), f"FAULT:{fault} hello")
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("fault", "reason"),
        [("500", "status 500: status 500 on demand"), ("error", "status 200: the model behind is out")],
    )
    def test_a_failure_that_stays_is_given_up(self, fault: str, reason: str, make: Make) -> None:
        error = error_of(make(retries=1), f"FAULT:{fault} hello")
        assert error == f"failed 2 times, the last time with: {reason}"

    def test_a_server_that_fails_at_everything_stops_the_run(self, make: Make) -> None:
        engine = make(retries=0)
        engine.submit(jobs_for(engine, [user(f"FAULT:500 {k}", Sampling(5)) for k in range(12)]))
        with pytest.raises(EngineError, match="8 requests in a row failed"):
            list(engine.completions())

    @pytest.mark.parametrize(
        ("status", "reason"),
        [("302", "does not offer"), ("404", "does not offer"), ("402", "lack of credit"), ("403", "no key")],
    )
    def test_what_every_request_would_get_stops_the_run(self, status: str, reason: str, make: Make) -> None:
        engine = make()
        engine.submit(jobs_for(engine, [user(f"FAULT:{status}", Sampling(5))]))
        with pytest.raises(EngineError, match=reason) as caught:
            list(engine.completions())
        assert f"status {status}" in str(caught.value)

    def test_a_prompt_over_the_limit_is_the_error_of_that_request(self, make: Make) -> None:
        assert "maximum context length is 4096" in error_of(make(), "word " * 5000)

    def test_a_web_page_stops_the_run_after_one_try(self, make: Make, server: FaultServer) -> None:
        engine = make()
        engine.submit(jobs_for(engine, [user("FAULT:page", Sampling(5))]))
        with pytest.raises(
            EngineError, match=r"no OpenAI-compatible server: .* a web page, 'Sign in'\n.*login"
        ):
            list(engine.completions())
        assert len(server.requests) == 1
        server.page = True
        with pytest.raises(EngineError, match="no OpenAI-compatible server"):
            engine_for(server).load()

    @pytest.mark.parametrize(("fault", "text"), [("parts", "ab"), ("thinks", ""), ("plain", "hello")])
    def test_odd_answers_are_read(self, fault: str, text: str, make: Make, server: FaultServer) -> None:
        """Parts of text; thoughts with no answer; JSON that is not called so."""
        assert ask(make(), user(f"FAULT:{fault}", Sampling(5)))[0].text == text
        assert len(server.requests) == 1

    def test_a_mixture_of_faults_loses_no_answer(self, make: Make, server: FaultServer) -> None:
        server.retry_after = "0.02"
        engine = make(concurrency=8)
        server.faults = ["500", "none", "429", "cut", "broken", "none", "empty", "reset", "503"] * 3
        assert len(ask(engine, *questions(60))) == 60
        assert engine.info()["again"] == 7 * 3


class TestLimits(OnServer):
    def test_no_more_in_flight_than_allowed(self, make: Make, server: FaultServer) -> None:
        server.delay = 0.01
        engine = make(concurrency=5)
        server.most = 0
        ask(engine, *questions(40))
        # A slow machine may never have all five under way, but never more.
        assert 1 < server.most <= 5

    def test_429_brings_the_number_in_flight_down(self, make: Make, server: FaultServer) -> None:
        server.delay, server.limit, server.retry_after = 0.02, 4, "0.05"
        engine = make(concurrency=32)
        ask(engine, *questions(150))
        (state,) = engine.info()["servers"]
        assert state["lowered"] >= 1
        assert state["concurrency"] < 32

    @pytest.mark.parametrize("kind", ["number", "date"])
    def test_retry_after_is_kept(self, kind: str, make: Make, server: FaultServer) -> None:
        engine = make()
        started = time.time()
        server.retry_after = "1" if kind == "number" else email.utils.formatdate(started + 2, usegmt=True)
        ask(engine, user("FAULT:429x1 hello", Sampling(5)))
        assert 1.0 <= time.time() - started < 4

    def test_several_servers_share_the_work(self, make: Make, server: FaultServer) -> None:
        other = FaultServer()
        server.delay = other.delay = 0.01
        engine = make(base_url=f"{server.url},{other.url}", concurrency=2)
        ask(engine, *questions(30))
        asked = len([b for b in other.requests if b["messages"][0]["content"].startswith("question")])
        other.stop()
        assert 10 <= asked <= 20

    def test_a_lost_server_leaves_its_work_to_the_others_at_once(
        self, make: Make, server: FaultServer
    ) -> None:
        other = FaultServer()
        engine = make(base_url=[server.url, other.url])
        other.stop()
        started = time.monotonic()
        assert len(ask(engine, *questions(20))) == 20
        assert time.monotonic() - started < 5

    def test_arithmetic_of_a_limit(self) -> None:
        server = Server(None, "u", bound=10, timeout=100.0)  # type: ignore[arg-type]
        server.overload(100.0, 0.0)
        assert server.limit == pytest.approx(7.0)  # 10 x 0.7
        server.overload(100.5, 0.0)  # the same round: counted once
        assert server.limit == pytest.approx(7.0)
        for _ in range(7):
            server.success(1.0, 101.0)
        assert server.limit == pytest.approx(7.9, abs=0.1)  # one more for each round of answers
        server.success(1000.0, 300.0)  # 0.9 x 1 + 0.1 x 1000 is more than half the time-out
        assert server.limit < 7

    def test_pauses_that_nobody_asked_for_fit_the_answers_and_double(self) -> None:
        server = Server(None, "u", bound=10, timeout=100.0)  # type: ignore[arg-type]
        server.success(0.02, 100.0)
        for rounds, (least, most) in enumerate([(0.01, 0.03), (0.02, 0.06), (0.04, 0.12)]):
            server.overload(now := 101.0 + rounds, None)  # 0.25 to 0.75 x 2 ** rounds x 0.02 s
            assert least <= server.paused_until - now <= most
        for k in range(2000):
            server.overload(200.0 + 10 * k, None)
        assert server.paused_until - (200.0 + 10 * 1999) <= 5.0


class TestServerGone(OnServer):
    def test_no_server_at_the_start_is_one_line(self, server: FaultServer) -> None:
        engine = engine_for(server)
        server.stop()
        with pytest.raises(EngineError) as caught:
            engine.load()
        assert "server at" in str(caught.value) and "\n" not in str(caught.value)
        server.start_again()

    def test_a_server_that_comes_back_is_waited_for(self, make: Make, server: FaultServer) -> None:
        server.delay = 0.02
        engine = make(concurrency=4)
        engine.submit(jobs_for(engine, questions(40)))
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
        with pytest.raises(
            EngineError,
            match=r"no server has answered for 1 seconds .*: no connection .*\n.*same command again",
        ):
            list(engine.completions())
        assert time.monotonic() - started < 8
        server.start_again()
