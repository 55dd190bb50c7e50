"""The vllm engine against `LLM.generate`: what the harness costs while answers are being generated.

440 requests of Table 1 through `authbench run`, and its unique prompts in the same order in one call of the
bare engine with the same settings. Both in processes of their own, in alternation. CPU build, SmolLM2.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from itertools import count
from pathlib import Path
from typing import Any

from benchmarks.common import Timing, alternate, ratios, record, show
from benchmarks.support import table1

MOST = 1.05
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "3"))


def bare_seconds(asked: Path, arguments: dict[str, Any]) -> dict[str, Any]:
    """Facts of one process of the bare engine."""
    words = [str(table1.vllm_python()), "-m", "benchmarks.support.table1", "bare", str(asked)]
    environment = table1.environment(BARE_ARGUMENTS=json.dumps(arguments))
    done = subprocess.run(
        words, capture_output=True, text=True, check=False, env=environment, cwd=table1.ROOT
    )
    for line in done.stdout.splitlines():
        if line.startswith("BARE "):
            facts: dict[str, Any] = json.loads(line.removeprefix("BARE "))
            return facts
    raise SystemExit(f"the bare engine failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")


def ours_seconds(results: Path, *sets: str) -> dict[str, Any]:
    """Facts of one run."""
    done = subprocess.run(
        table1.run_words(results, *sets), capture_output=True, text=True, check=False,
        env=table1.environment(), cwd=table1.ROOT,
    )  # fmt: skip
    if done.returncode != 0:
        raise SystemExit(f"authbench run failed:\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    return table1.generation_seconds(results)


def main() -> int:
    why = table1.missing()
    if why is not None:
        print(f"\nvllm_vs_bare: not run, {why}")
        return 0
    facts: dict[str, list[dict[str, Any]]] = {"authbench": [], "bare": []}
    with tempfile.TemporaryDirectory() as name:
        folder, numbers = Path(name), count()
        asked = folder / "asked.json"
        words = [str(table1.vllm_python()), "-m", "benchmarks.support.table1", "requests", str(asked)]
        subprocess.run(words, check=True, env=table1.environment(), cwd=table1.ROOT, capture_output=True)

        def ours() -> float:
            facts["authbench"].append(ours_seconds(folder / f"r{next(numbers)}"))
            return float(facts["authbench"][-1]["seconds"])

        def bare() -> float:
            facts["bare"].append(bare_seconds(asked, {}))
            return float(facts["bare"][-1]["seconds"])

        taken: dict[str, Timing] = alternate({"authbench": ours, "bare": bare}, rounds=ROUNDS)
    middle, least, most = ratios(taken["authbench"], taken["bare"])
    unique = facts["bare"][0]["requests"]
    show(
        f"vllm: 440 requests of Table 1, {unique} unique, SmolLM2 on the CPU: generation phase",
        [
            ("authbench run", taken["authbench"].spread()),
            ("LLM.generate", taken["bare"].spread()),
            ("ratio", f"{middle:.3f} ({least:.3f} to {most:.3f}; wanted: at most {MOST})"),
        ],
    )
    record(
        "vllm_vs_bare",
        {
            "seconds": list(taken["authbench"].seconds),
            "bare_seconds": list(taken["bare"].seconds),
            "ratio": [round(value, 4) for value in (middle, least, most)],
            "requests": [f["requests"] for f in facts["authbench"]],
            "load_seconds": [round(f["load_seconds"], 1) for f in facts["authbench"]],
            "bare_load_seconds": [round(f["load_seconds"], 1) for f in facts["bare"]],
        },
        engine=facts["authbench"][0]["resolved"],
    )
    return 0 if middle <= MOST else 1


if __name__ == "__main__":
    sys.exit(main())
