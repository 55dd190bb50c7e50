"""The ray engine: two actors against one, and what handing a request over costs.

Inner engine `fake`: with a latency of 5 ms a request, two actors should take half as long; without one,
what is left is the overhead.
"""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import Any

from benchmarks.common import Timing, alternate, ratios, record, show
from benchmarks.support import table1

ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))
LATENCY = 0.005
MANY, FEW = 20_000, 2_000


def run(engine: Any, number: int) -> float:
    """Seconds for so many different requests through a loaded engine."""
    from authbench.runtime.engine import Job
    from authbench.runtime.messages import Sampling, user

    requests = [user(f"Is number {k} even? Answer yes or no.", Sampling(4)) for k in range(number)]
    jobs = [Job(k, request, engine.render(request)) for k, request in enumerate(requests)]
    started = time.perf_counter()
    engine.submit(jobs)
    done = sum(1 for _ in engine.completions())
    seconds = time.perf_counter() - started
    if done != number:
        raise SystemExit(f"{done} answers to {number} requests")
    return seconds


def loaded(actors: int, latency: float) -> Any:
    from authbench.engines.ray import RayEngine
    from authbench.runtime.engine import ModelConfig

    settings = {"inner": "fake", "actors": actors, "num_cpus": 0.5, "settings": {"latency": latency}}
    engine = RayEngine(ModelConfig("fake", "fake"), settings)
    engine.load()
    while sum(actor.ready for actor in engine._actors) < actors:
        run(engine, 1)
    return engine


def side(actors: int, latency: float, number: int) -> float:
    engine = loaded(actors, latency)
    try:
        return run(engine, number)
    finally:
        engine.close()


def main(arguments: Sequence[str] = ()) -> int:
    if importlib.util.find_spec("ray") is None:
        python = table1.vllm_python()
        if python is None or arguments:
            print("\nray_overhead: not run, Ray is not installed (scripts/setup_vllm_cpu.sh)")
            return 0
        words = [str(python), "-m", "benchmarks.ray_overhead", "inner"]
        return subprocess.run(words, check=False, cwd=table1.ROOT).returncode
    from authbench.engines.fake import FakeEngine
    from authbench.runtime.engine import ModelConfig

    taken: dict[str, Timing] = alternate(
        {
            "one": lambda: side(1, LATENCY, FEW),
            "two": lambda: side(2, LATENCY, FEW),
            "handing over": lambda: side(2, 0.0, MANY),
            "without Ray": lambda: run(FakeEngine(ModelConfig("fake", "fake"), {}), MANY),
        },
        rounds=ROUNDS,
    )
    middle, least, most = ratios(taken["two"], taken["one"])
    overhead = 1000 * (taken["handing over"].median - taken["without Ray"].median) / MANY
    show(
        "ray: two actors against one, inner engine fake",
        [
            (f"one actor, {FEW:,} requests of {1000 * LATENCY:.0f} ms", taken["one"].spread()),
            ("two actors", taken["two"].spread()),
            ("ratio", f"{middle:.3f} ({least:.3f} to {most:.3f}; 0.5 would be ideal)"),
            ("overhead per request", f"{overhead:.3f} ms ({MANY:,} requests that take no time)"),
        ],
    )
    record(
        "ray_overhead",
        {
            **{name: [round(second, 3) for second in timing.seconds] for name, timing in taken.items()},
            "ratio": [round(value, 4) for value in (middle, least, most)],
            "overhead_ms": round(overhead, 4),
        },
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
