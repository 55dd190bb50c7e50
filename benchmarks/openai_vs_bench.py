"""The openai engine against the client of vLLM's own server benchmark: throughput at one server.

The unique prompts of Table 1, all to the same server (without a prefix cache, so that the second to ask
finds nothing prepared), at the same concurrency, in alternation.
"""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from itertools import count
from pathlib import Path
from typing import Any

from authbench.paths import cache_dir
from benchmarks.common import Timing, alternate, ratios, record, show
from benchmarks.support import peers, table1

LEAST = 0.95
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
CONCURRENCY = 32
MAX_TOKENS = 24
NAME = "HuggingFaceTB/SmolLM2-135M-Instruct"


class Server:
    """vLLM's server on the loopback."""

    def __init__(self, log: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        words = [str(table1.vllm_python()), str(table1.ROOT / "scripts" / "vllm_cli.py"), "serve"]
        words += [str(cache_dir("models", f"{table1.MODEL}-hf")), "--served-model-name", NAME]
        words += ["--host", "127.0.0.1", "--port", str(self.port), "--max-model-len", "2048"]
        words += ["--no-enable-prefix-caching", "--generation-config", "vllm"]
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                words, stdout=out, stderr=out, env=table1.environment(), start_new_session=True
            )
        self._wait(log)

    def _wait(self, log: Path) -> None:
        import httpx

        while True:
            if self.process.poll() is not None:
                raise SystemExit(f"the server did not start:\n{log.read_text(errors='replace')[-2000:]}")
            try:
                if httpx.get(f"http://127.0.0.1:{self.port}/health", timeout=5).status_code == 200:
                    return
            except httpx.TransportError:
                time.sleep(1)

    def stop(self) -> None:
        os.killpg(self.process.pid, signal.SIGTERM)
        try:
            self.process.wait(30)
        except subprocess.TimeoutExpired:
            os.killpg(self.process.pid, signal.SIGKILL)


def ours(server: Server, contents: list[str]) -> float:
    """Seconds from the first request to the last answer, loaded and probed before."""
    from authbench.engines.openai import OpenAIEngine
    from authbench.runtime.engine import Job, ModelConfig
    from authbench.runtime.messages import Sampling, user

    settings = {"base_url": f"http://127.0.0.1:{server.port}/v1", "concurrency": CONCURRENCY}
    engine = OpenAIEngine(ModelConfig(table1.MODEL, NAME), settings)
    engine.load()
    requests = [user(content, Sampling(MAX_TOKENS)) for content in contents]
    jobs = [Job(number, request, engine.render(request)) for number, request in enumerate(requests)]
    started = time.perf_counter()
    engine.submit(jobs)
    done = sum(completion.response is not None for completion in engine.completions())
    seconds = time.perf_counter() - started
    engine.close()
    if done != len(jobs):
        raise SystemExit(f"{len(jobs) - done} of {len(jobs)} requests failed")
    return seconds


def theirs(server: Server, prompts: Path, number: int, folder: Path) -> float:
    """Seconds that the benchmark client reports for the same prompts."""
    result = folder / f"bench{next_number()}.json"
    words = [str(peers.python().with_name("vllm")), "bench", "serve"]
    words += ["--backend", "openai-chat", "--endpoint", "/v1/chat/completions", "--model", NAME]
    words += ["--tokenizer", str(cache_dir("models", f"{table1.MODEL}-hf"))]
    words += ["--base-url", f"http://127.0.0.1:{server.port}", "--dataset-name", "custom"]
    words += ["--dataset-path", str(prompts), "--custom-output-len", str(MAX_TOKENS)]
    words += ["--num-prompts", str(number), "--max-concurrency", str(CONCURRENCY), "--temperature", "0"]
    words += ["--disable-shuffle", "--save-result", "--result-filename", str(result)]
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=table1.environment(), cwd=folder
    )
    if done.returncode != 0 or not result.is_file():
        raise SystemExit(f"the benchmark client failed:\n{done.stdout[-1500:]}{done.stderr[-2000:]}")
    facts: dict[str, Any] = json.loads(result.read_text(encoding="utf-8"))
    if facts["completed"] != number:
        raise SystemExit(f"the benchmark client completed {facts['completed']} of {number}")
    return float(facts["duration"])


_NUMBERS = count()


def next_number() -> int:
    return next(_NUMBERS)


def main() -> int:
    why = table1.missing()
    if why is not None:
        print(f"\nopenai_vs_bench: not run, {why}")
        return 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        contents = [asked.content for asked in dict.fromkeys(table1.requests())]
        prompts = folder / "prompts.jsonl"
        prompts.write_text("".join(json.dumps({"prompt": c}) + "\n" for c in contents), encoding="utf-8")
        peers.python()
        server = Server(folder / "server.log")
        try:
            ours(server, contents[:64])  # the first requests compile
            taken: dict[str, Timing] = alternate(
                {
                    "authbench": lambda: ours(server, contents),
                    "vllm bench serve": lambda: theirs(server, prompts, len(contents), folder),
                },
                rounds=ROUNDS,
            )
        finally:
            server.stop()
    middle, least, most = ratios(taken["vllm bench serve"], taken["authbench"])
    speed = {side: len(contents) / timing.median for side, timing in taken.items()}
    show(
        f"openai: {len(contents)} prompts of Table 1 to vLLM's server, {CONCURRENCY} at a time",
        [
            *((side, f"{timing.spread()}, {speed[side]:.2f} requests/s") for side, timing in taken.items()),
            ("throughput ratio", f"{middle:.3f} ({least:.3f} to {most:.3f}; wanted: at least {LEAST})"),
        ],
    )
    record(
        "openai_vs_bench",
        {
            **{side: [round(second, 2) for second in timing.seconds] for side, timing in taken.items()},
            "throughput_ratio": [round(value, 4) for value in (middle, least, most)],
            "concurrency": CONCURRENCY,
        },
    )
    return 0 if middle >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main())
