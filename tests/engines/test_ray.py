"""The `ray` engine: the contract, lost actors and a lost node, with inner engines that need no GPU."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_contract import EngineContract, ask, free, jobs_for
from ray_support import RayNodes
from vllm_support import require

from authbench.engines.fake import FakeEngine
from authbench.engines.ray import RayEngine
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.messages import Constraint, Request, Sampling, user

pytestmark = [pytest.mark.ray, pytest.mark.timeout(600)]

MODEL = ModelConfig("fake", "fake")


def settings(**changes: Any) -> dict[str, Any]:
    """Two actors with the fake engine, which take half a core of Ray's book-keeping each."""
    return {"inner": "fake", "actors": 2, "num_cpus": 0.5, **changes}


@pytest.fixture(scope="module")
def loaded() -> Iterator[RayEngine]:
    require("ray")
    engine = RayEngine(MODEL, settings(settings={"seed": 1}))
    engine.load()
    yield engine
    engine.close()


def pids(engine: RayEngine) -> list[int]:
    import ray

    found = [actor.handle.__ray_call__.remote(lambda worker: os.getpid()) for actor in engine._actors]
    return [int(pid) for pid in ray.get(found, timeout=60)]


def wait_for_all(engine: RayEngine, seconds: float = 120) -> None:
    """Work goes on with the actors that are ready; some tests want them all to be."""
    deadline = time.monotonic() + seconds
    while not all(actor.ready for actor in engine._actors):
        ask(engine, free("a wait"))
        assert time.monotonic() < deadline, "an actor is not ready"


class TestContract(EngineContract):
    @pytest.fixture
    def engine(self, loaded: RayEngine) -> Engine:
        return loaded

    @pytest.fixture
    def failing(self) -> Request:
        return user("Say something.", Sampling(9), constraint=Constraint("regex", "[0-9]{40}"))


def test_it_is_what_the_inner_engine_is(loaded: RayEngine) -> None:
    inner = FakeEngine(MODEL, {"seed": 1})
    request = free("a dog")
    assert loaded.identity == inner.identity
    assert loaded.capabilities == inner.capabilities
    assert loaded.rendering == inner.rendering
    assert loaded.render(request) == inner.render(request)
    assert ask(loaded, request)[0].samples == ask(inner, request)[0].samples


def test_both_actors_work_and_are_recorded(loaded: RayEngine) -> None:
    wait_for_all(loaded)
    ask(loaded, *[free(f"the number {k}") for k in range(200)])
    facts = loaded.info()
    assert len(facts["actors"]) == 2
    # How work is shared out depends on the machine; that both take part does not.
    assert all(actor["jobs"] > 0 for actor in facts["actors"])
    assert facts["nodes"] == 1 and facts["inner"] == "fake" and facts["ray"]


class TestLostActors:
    @pytest.fixture
    def slow(self, loaded: RayEngine) -> Iterator[RayEngine]:
        """Joins the cluster that `loaded` has started."""
        engine = RayEngine(MODEL, settings(window=8, settings={"latency": 0.05}))
        engine.load()
        yield engine
        engine.close()

    def test_a_killed_actor_loses_no_answer(self, slow: RayEngine) -> None:
        jobs = jobs_for(slow, [free(f"the number {k}") for k in range(60)])
        slow.submit(jobs)
        done: list[int] = []
        for completion in slow.completions():
            assert completion.response is not None, completion.error
            done.append(completion.number)
            if len(done) == 10:
                os.kill(pids(slow)[0], signal.SIGKILL)
        assert sorted(done) == sorted(job.number for job in jobs)
        facts = slow.info()
        assert facts["lost_actors"] == 1
        assert facts["handed_over_again"] >= 1

    def test_the_lost_one_is_replaced_and_works(self, slow: RayEngine) -> None:
        slow.submit(jobs_for(slow, [free(f"the number {k}") for k in range(40)]))
        completions = slow.completions()
        next(completions)
        os.kill(pids(slow)[1], signal.SIGKILL)
        assert len(list(completions)) == 39
        wait_for_all(slow)
        before = [actor.finished for actor in slow._actors]
        ask(slow, *[free(f"the number {k}") for k in range(40)])
        after = [actor.finished for actor in slow._actors]
        assert all(b > a for a, b in zip(before, after, strict=True))

    def test_without_replacements_the_last_loss_ends_the_run(self, loaded: RayEngine) -> None:
        engine = RayEngine(MODEL, settings(actors=1, restarts=0, settings={"latency": 0.05}))
        engine.load()
        engine.submit(jobs_for(engine, [free(f"the number {k}") for k in range(40)]))
        completions = engine.completions()
        next(completions)
        os.kill(pids(engine)[0], signal.SIGKILL)
        with pytest.raises(EngineError):
            list(completions)
        engine.close()

    def test_a_request_that_kills_actors_is_given_up(self, loaded: RayEngine) -> None:
        engine = RayEngine(MODEL, settings(actors=1, restarts=5, settings={"latency": 30.0}))
        engine.load()
        engine.submit(jobs_for(engine, [free("a bomb")]))
        killer = threading.Thread(target=kill_at_work, args=(engine,), daemon=True)
        killer.start()
        (completion,) = engine.completions()
        assert completion.error and "3 actors were lost" in completion.error
        killer.join(timeout=30)
        engine.close()


def kill_at_work(engine: RayEngine, times: int = 3) -> None:
    """Kill the actor whenever it is at work; found in the list of processes, since it answers no call."""
    while times:
        time.sleep(0.1)
        if not any(actor.ready and actor.calls for actor in engine._actors):
            continue
        for folder in Path("/proc").glob("[0-9]*"):
            with contextlib.suppress(OSError):
                if b"ray::Worker.work" in (folder / "cmdline").read_bytes():
                    os.kill(int(folder.name), signal.SIGKILL)
                    times -= 1


def test_on_two_nodes_a_killed_actor_and_a_lost_node_lose_no_answer(loaded: RayEngine) -> None:
    """Two nodes by `ray start`; in the middle an actor is killed, and later a node with all that is on it."""
    import ray

    loaded.close()
    nodes = RayNodes()
    try:
        second = nodes.add()
        nodes.wait_for(2)
        ray.shutdown()
        engine = RayEngine(
            MODEL, settings(num_cpus=1, window=8, address=nodes.address, settings={"latency": 0.05})
        )
        engine.load()
        wait_for_all(engine)
        assert len({actor.node for actor in engine._actors}) == 2, "both nodes have an actor"
        jobs = jobs_for(engine, [free(f"the number {k}") for k in range(300)])
        engine.submit(jobs)
        done: list[int] = []
        for completion in engine.completions():
            assert completion.response is not None, completion.error
            done.append(completion.number)
            if len(done) == 30:
                os.kill(pids(engine)[0], signal.SIGKILL)
            if len(done) == 100:
                nodes.kill(second)
        assert sorted(done) == sorted(job.number for job in jobs)
        assert engine.info()["lost_actors"] >= 2
        engine.close()
    finally:
        ray.shutdown()
        nodes.stop()


class TestBadInput:
    def test_a_cluster_out_of_reach(self) -> None:
        require("ray")
        import ray

        ray.shutdown()
        engine = RayEngine(MODEL, settings(address="127.0.0.1:1"))
        with pytest.raises(EngineError, match=r"no Ray cluster can be had at 127\.0\.0\.1:1") as caught:
            engine.load()
        assert str(caught.value).count("\n") == 1

    def test_no_room_in_the_cluster(self) -> None:
        require("ray")
        engine = RayEngine(MODEL, settings(num_gpus=2))
        with pytest.raises(EngineError, match="an actor takes 2 GPUs and the cluster has 0"):
            engine.load()

    @pytest.mark.parametrize(
        ("changes", "message"),
        [
            ({"inner": "ray"}, "inner 'ray' is not one of vllm"),
            ({"actors": 0}, "actors is 0, and must be greater than 0"),
            ({"num_cpus": "two"}, "num_cpus is 'two', and must be a valid number"),
            ({"actor": 2}, "did you mean 'actors'"),
            ({"seed": 2}, r"engine\.settings\.seed"),
            ({"settings": 3}, "settings is 3, and must be a valid dictionary"),
        ],
    )
    def test_settings_that_cannot_be(self, changes: dict[str, Any], message: str) -> None:
        with pytest.raises(ConfigError, match=message):
            RayEngine(MODEL, settings(**changes))

    def test_an_inner_engine_that_cannot_load_says_why(self, tmp_path: Any) -> None:
        require("ray")
        pytest.importorskip("openvino_genai")
        model = ModelConfig("m", "m", gguf={"path": str(tmp_path / "no.gguf")})
        engine = RayEngine(model, settings(inner="openvino", restarts=0))
        with pytest.raises(EngineError, match=r"no\.gguf"):
            engine.load()
        engine.close()
