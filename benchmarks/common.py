"""What the benchmarks share: alternation, spread, and a history as small JSON files."""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from authbench.experiment.provenance import git, machine, versions

RESULTS = Path(__file__).resolve().parent / "results"


@dataclass(frozen=True, slots=True)
class Timing:
    """Wall-clock seconds of one side, one a round."""

    seconds: tuple[float, ...]

    @property
    def median(self) -> float:
        return statistics.median(self.seconds)

    def spread(self) -> str:
        return f"{self.median:.2f} s ({min(self.seconds):.2f} to {max(self.seconds):.2f})"


def alternate(sides: dict[str, Callable[[], float]], rounds: int) -> dict[str, Timing]:
    """Run the sides in turn, so that a slow minute of a shared machine falls on all of them.

    Each side gives the seconds it took; the order is reversed every other round.
    """
    taken: dict[str, list[float]] = {name: [] for name in sides}
    for number in range(rounds):
        order = list(sides.items())
        for name, side in order if number % 2 == 0 else reversed(order):
            taken[name].append(side())
    return {name: Timing(tuple(seconds)) for name, seconds in taken.items()}


def ratios(numerator: Timing, denominator: Timing) -> tuple[float, float, float]:
    """Median, least and greatest of the ratios of rounds that ran side by side."""
    pairs = [a / b for a, b in zip(numerator.seconds, denominator.seconds, strict=True)]
    return statistics.median(pairs), min(pairs), max(pairs)


def timed(work: Callable[[], object]) -> float:
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def command(words: Sequence[str], **options: Any) -> float:
    """Seconds of a command; its output is shown only if it fails."""
    started = time.perf_counter()
    done = subprocess.run(words, capture_output=True, text=True, check=False, **options)
    seconds = time.perf_counter() - started
    if done.returncode != 0:
        sys.stderr.write(done.stdout[-2000:] + done.stderr[-2000:])
        raise SystemExit(f"{' '.join(words[:4])} ... ended with {done.returncode}")
    return seconds


def record(name: str, results: dict[str, Any], **facts: Any) -> None:
    """Append a measurement to `benchmarks/results/NAME.json`."""
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{name}.json"
    history = json.loads(path.read_text(encoding="utf-8")) if path.is_file() else []
    entry = {
        "date": datetime.now(UTC).isoformat(timespec="minutes"),
        "git": git(),
        "machine": machine(),
        "versions": versions(),
        **facts,
        "results": results,
    }
    path.write_text(json.dumps([*history, entry], indent=1) + "\n", encoding="utf-8")


def show(title: str, rows: Sequence[tuple[str, str]]) -> None:
    print(f"\n{title}")
    width = max(len(label) for label, _ in rows)
    for label, value in rows:
        print(f"  {label.ljust(width)}  {value}")
