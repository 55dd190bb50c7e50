"""What the harness itself costs: AuthorityBench Table 1 for one model at full size, with made-up answers.

500 lists, five judges: 41,000 calls from the plan to the printed table, each in a process of its own, with
the ratio of a run to a bare loop that renders and answers the same number of prompts.
"""

from __future__ import annotations

import csv
import random
import resource
import sys
import tempfile
from pathlib import Path

from benchmarks.common import Timing, alternate, command, ratios, record, show

CALLS = 41_000
LEAST_CALLS_PER_SECOND = 5_000
MOST_MEMORY = 1e9
MOST_SECONDS_AGAIN = 10.0

_BARE = """
import sys
from authbench.engines.fake import FakeEngine
from authbench.experiment.models import load_model
from authbench.prompts.render import prompt_set
from authbench.data.records import Source
from authbench.runtime.engine import Job
engine = FakeEngine(load_model("fake"), {})
prompts = prompt_set("domain", context="without", scale_levels=10)
for start in range(0, %d, 1000):
    jobs = []
    for i in range(start, start + 1000):
        request = prompts.pair_score(Source(f"a{i}.com", 0, 0.0), Source(f"b{i}.com", 1, 1.0))
        jobs.append(Job(i, request, engine.render(request)))
    engine.submit(jobs)
    for completion in engine.completions():
        pass
"""


def corpus(folder: Path) -> Path:
    """3,962 made-up domains with a long tail of levels, as many as the stand-in has."""
    draw = random.Random(0)
    path = folder / "domains.csv"
    with path.open("w", newline="") as out:
        rows = csv.writer(out)
        rows.writerow(["domain", "level"])
        for i in range(3962):
            level = i % 10 if i < 100 else min(9, int(draw.expovariate(0.35)))
            rows.writerow([f"site{i}.example", level])
    return path


def main() -> int:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        words = [sys.executable, "-m", "authbench.cli.main", "run", "domainauth_fine", "--engine", "fake"]
        words += ["--models", "fake", "--set", "context=[without]", "--quiet"]
        words += ["--set", f"dataset.path={corpus(folder)}"]
        runs = iter(range(1000))

        def fresh() -> float:
            return command([*words, "--results", str(folder / f"r{next(runs)}")])

        taken = alternate(
            {"run": fresh, "bare": lambda: command([sys.executable, "-c", _BARE % CALLS])}, rounds=3
        )
        again = Timing(tuple(command([*words, "--results", str(folder / "r0")]) for _ in range(3)))
        dry = Timing((command([*words, "--results", str(folder / "none"), "--dry-run"]),))
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024
    speed = CALLS / taken["run"].median
    middle, least, most = ratios(taken["run"], taken["bare"])
    show(
        "harness: Table 1, one model, 500 lists, all judges, 41,000 calls, engine fake",
        [
            ("plan to table", taken["run"].spread()),
            ("calls per second", f"{speed:,.0f} (wanted: {LEAST_CALLS_PER_SECOND:,})"),
            ("against a bare loop over the engine", f"{middle:.2f} ({least:.2f} to {most:.2f})"),
            ("again, all known", f"{again.spread()} (wanted: under {MOST_SECONDS_AGAIN:.0f} s)"),
            ("dry run", dry.spread()),
            ("most memory", f"{memory / 1e6:,.0f} MB (wanted: under {MOST_MEMORY / 1e6:,.0f} MB)"),
        ],
    )
    record(
        "harness",
        {
            "seconds": list(taken["run"].seconds),
            "bare_seconds": list(taken["bare"].seconds),
            "again_seconds": list(again.seconds),
            "calls_per_second": round(speed),
            "memory_mb": round(memory / 1e6),
        },
    )
    held = speed >= LEAST_CALLS_PER_SECOND and memory < MOST_MEMORY and again.median < MOST_SECONDS_AGAIN
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
