"""The `openai` engine against vLLM's own server on the CPU."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from engine_contract import EngineContract, ask, free, jobs_for
from ray_support import free_port
from vllm_support import exported_folder

from authbench.engines.openai import OpenAIEngine
from authbench.errors import EngineError
from authbench.runtime.engine import Engine, ModelConfig
from authbench.runtime.messages import Request, Sampling, user

pytestmark = [pytest.mark.vllm, pytest.mark.timeout(1000)]

MODEL = ModelConfig("smollm2-135m", "HuggingFaceTB/SmolLM2-135M-Instruct", tiny=True)


class VllmServer:
    """`vllm serve` on the loopback, its processes in a group of their own."""

    def __init__(self, log: Path) -> None:
        self.port = free_port()
        self.log = log
        script = Path(__file__).resolve().parents[2] / "scripts" / "vllm_cli.py"
        command = [sys.executable, str(script), "serve", str(exported_folder())]
        command += ["--host", "127.0.0.1", "--port", str(self.port), "--served-model-name", MODEL.id]
        command += ["--max-model-len", "2048", "--enforce-eager", "--generation-config", "vllm"]
        environment = {**os.environ, "VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_NO_USAGE_STATS": "1"}
        for name in ("VLLM_LOGGING_CONFIG_PATH", "AUTHBENCH_VLLM_LOG", "VLLM_ENABLE_V1_MULTIPROCESSING"):
            environment.pop(name, None)
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, start_new_session=True, stdout=out, stderr=out, env=environment
            )

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    def wait(self, seconds: float = 900) -> None:
        import httpx

        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self.log.read_text(errors="replace")[-2000:]
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                pass
            time.sleep(1)
        raise TimeoutError("vLLM's server did not start")

    def kill(self) -> None:
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[VllmServer]:
    made = VllmServer(tmp_path_factory.mktemp("server") / "log")
    try:
        made.wait()
        yield made
    finally:
        made.kill()


@pytest.fixture(scope="module")
def loaded(server: VllmServer) -> Iterator[OpenAIEngine]:
    engine = engine_for(server)
    engine.load()
    yield engine
    engine.close()


def engine_for(server: VllmServer, **settings: Any) -> OpenAIEngine:
    return OpenAIEngine(MODEL, {"base_url": server.url, **settings})


class TestContract(EngineContract):
    repeatable = False

    @pytest.fixture
    def engine(self, loaded: OpenAIEngine) -> Engine:
        return loaded

    @pytest.fixture
    def failing(self) -> Request:
        return user("word " * 4000, Sampling(5))


def test_what_it_takes_was_found_out(loaded: OpenAIEngine) -> None:
    assert loaded.capabilities.constraints == {"json", "regex", "choice"}
    assert loaded.capabilities.label_logprobs
    facts = loaded.info()
    assert facts["served_model"] == MODEL.id
    assert facts["server_version"]
    assert facts["takes"]["n"] is True


def test_usage_is_kept(loaded: OpenAIEngine) -> None:
    (response,) = ask(loaded, free("a king", 7))
    assert response.prompt_tokens > 20
    assert response.samples[0].output_tokens == 7


def test_a_thinking_switch_that_the_template_lacks_is_found(server: VllmServer) -> None:
    model = ModelConfig("m", MODEL.id, chat_template_kwargs={"enable_thinking": False})
    with pytest.raises(EngineError, match="has no switch 'enable_thinking'"):
        OpenAIEngine(model, {"base_url": server.url}).load()


def test_its_limit_is_known_at_the_start(server: VllmServer) -> None:
    engine = engine_for(server)
    engine.expect(lambda: 30_000)
    with pytest.raises(EngineError, match="the server's limit is 2,048"):
        engine.load()


def test_another_model_is_named(server: VllmServer) -> None:
    with pytest.raises(EngineError, match=f"serves {MODEL.id}, not other/model"):
        OpenAIEngine(ModelConfig("other", "other/model"), {"base_url": server.url}).load()


def test_a_server_killed_in_the_middle_keeps_what_had_finished(server: VllmServer) -> None:
    """The last test: the server is gone after it."""
    engine = engine_for(server, max_wait=2.0, concurrency=4)
    engine.load()
    engine.submit(jobs_for(engine, [free(f"the number {k}", 8) for k in range(60)]))
    completions = engine.completions()
    done = [next(completions)]
    server.kill()
    with pytest.raises(EngineError, match="no server has answered for 2 seconds"):
        done.extend(completions)
    assert all(completion.response is not None for completion in done)
    engine.close()
