"""Prompts that the engine `openvino` answers, and what its prefix cache is worth: LCR's entailment.

Processor seconds, since these hardly change with what else a machine does; loading is left out. Both sides
must give the same answers.
"""

from __future__ import annotations

import sys
import time
from itertools import permutations

from authbench.engines.openvino import OpenVinoEngine
from authbench.experiment.models import load_model
from authbench.lcr.prompts import LcrPrompts
from authbench.runtime.engine import Job
from authbench.runtime.messages import Request
from benchmarks.common import alternate, ratios, record, show

#: Without a prefix cache the same prompts took 2.4 times as long when it was decided to keep it.
LEAST_RATIO = 1.5

QUESTIONS = (
    "When was the Eiffel tower built and opened?",
    "Who wrote the first history of the Roman republic?",
    "What causes the northern lights to appear?",
)
ANSWERS = (
    "The year 1889.",
    "In Paris.",
    "It was built for the fair.",
    "Nobody knows.",
    "Solar wind.",
    "Livy.",
)


def requests() -> list[Request]:
    """Ninety of them: each question with all ordered pairs of answers."""
    prompts = LcrPrompts()
    return [
        prompts.entailment(question, *pair) for question in QUESTIONS for pair in permutations(ANSWERS, 2)
    ]


def main() -> int:
    asked = requests()
    answers: set[tuple[str, ...]] = set()

    def answered(prefixes: bool) -> float:
        engine = OpenVinoEngine(load_model("smollm2-135m"), {"prefix_caching": prefixes})
        engine.load()
        jobs = [Job(number, request, engine.render(request)) for number, request in enumerate(asked)]
        started = time.process_time()
        engine.submit(jobs)
        done = {completion.number: completion.response for completion in engine.completions()}
        seconds = time.process_time() - started
        answers.add(tuple(response.text if (response := done[job.number]) else "" for job in jobs))
        engine.close()
        return seconds

    taken = alternate({"with": lambda: answered(True), "without": lambda: answered(False)}, rounds=3)
    middle, least, most = ratios(taken["without"], taken["with"])
    show(
        f"openvino: {len(asked)} prompts of LCR's entailment, SmolLM2-135M, processor time",
        [
            ("with the prefix cache", taken["with"].spread()),
            ("without", taken["without"].spread()),
            (
                "without against with",
                f"{middle:.2f} ({least:.2f} to {most:.2f}; wanted: {LEAST_RATIO} or more)",
            ),
            ("the same answers", "yes" if len(answers) == 1 else "NO"),
        ],
    )
    seconds = {name: list(timing.seconds) for name, timing in taken.items()}
    record("openvino_prompts", {"prompts": len(asked), "processor_seconds": seconds})
    return 0 if len(answers) == 1 and middle >= LEAST_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
