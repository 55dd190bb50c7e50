"""The openai engine against a stub that answers at once: requests/s, so what the engine itself costs.

The stub is a process of its own on the loopback and gives every request the same answer.
"""

from __future__ import annotations

import asyncio
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Sequence

from benchmarks.common import record, show
from benchmarks.support import table1

LEAST = 300
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
REQUESTS = int(os.environ.get("BENCH_REQUESTS", "2000"))
CONCURRENCY = 64
MODEL = "stub"


#: The answers to a request, and to the question for models.
CHOICE = {"index": 0, "message": {"role": "assistant", "content": "7"}, "finish_reason": "stop"}
ANSWER = json.dumps({"choices": [CHOICE], "usage": {"prompt_tokens": 20, "completion_tokens": 1}}).encode()
MODELS = json.dumps({"data": [{"id": MODEL}]}).encode()


class Stub(asyncio.Protocol):
    """HTTP/1.1 as far as the engine needs it."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self.transport = transport
        self.received = b""

    def data_received(self, data: bytes) -> None:
        self.received += data
        head, end, rest = self.received.partition(b"\r\n\r\n")
        lines = head.lower().split(b"\r\n")
        length = next((int(line[15:]) for line in lines if line.startswith(b"content-length:")), 0)
        if end and len(rest) >= length:
            self.received = rest[length:]
            body = ANSWER if length else MODELS
            self.transport.write(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s"
                % (len(body), body)
            )


async def serve() -> None:
    """Answer until the process is ended; the port is the first line printed."""
    server = await asyncio.get_running_loop().create_server(Stub, "127.0.0.1", 0)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


def rate(port: int) -> tuple[float, float]:
    """Requests/s from the first request to the last answer, and this process's ms of CPU a request."""
    from authbench.engines.openai import OpenAIEngine
    from authbench.runtime.engine import Job, ModelConfig
    from authbench.runtime.messages import Sampling, user

    settings = {"base_url": f"http://127.0.0.1:{port}/v1", "concurrency": CONCURRENCY}
    engine = OpenAIEngine(ModelConfig(MODEL, MODEL), settings)
    engine.load()
    requests = [user(f"How well known is site {k}?", Sampling(8)) for k in range(REQUESTS)]
    jobs = [Job(k, request, engine.render(request)) for k, request in enumerate(requests)]
    started, used = time.perf_counter(), time.process_time()
    engine.submit(jobs)
    done = sum(completion.response is not None for completion in engine.completions())
    seconds, used = time.perf_counter() - started, time.process_time() - used
    engine.close()
    if done != REQUESTS:
        raise SystemExit(f"{REQUESTS - done} of {REQUESTS} requests failed")
    return REQUESTS / seconds, 1000 * used / REQUESTS


def main(arguments: Sequence[str] = ()) -> int:
    if arguments:
        asyncio.run(serve())
    words = [sys.executable, "-m", "benchmarks.openai_requests", "serve"]
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True, cwd=table1.ROOT) as stub:
        assert stub.stdout is not None
        try:
            port = int(stub.stdout.readline())
            rates, costs = zip(*(rate(port) for _ in range(ROUNDS)), strict=True)
        finally:
            stub.terminate()
    middle = statistics.median(rates)
    show(
        f"openai: {REQUESTS:,} requests to a stub, {CONCURRENCY} at a time",
        [
            ("requests/s", f"{middle:.0f} ({min(rates):.0f} to {max(rates):.0f}; wanted: at least {LEAST})"),
            ("CPU a request", f"{statistics.median(costs):.2f} ms"),
        ],
    )
    record(
        "openai_requests",
        {
            "requests_per_second": [round(value) for value in rates],
            "cpu_ms": [round(value, 3) for value in costs],
            "concurrency": CONCURRENCY,
        },
    )
    return 0 if middle >= LEAST else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
