"""How many questions LCR asks: the samples and entailment calls of a query, beside plainer ways.

Real documents (DL19, BM25's first ten) and a real model, by default SmolLM2 through OpenVINO. Every row is
worked out from one run of the model: the shorter ways ask a part of what the full one has asked.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from authbench.data.fetch import Places
from authbench.engines.registry import installed, make_engine
from authbench.errors import AuthbenchError
from authbench.experiment.models import load_model
from authbench.lcr.assess import assess
from authbench.lcr.confidence import ConfidenceSettings
from authbench.lcr.cost import cost_of, greedy_calls, pairwise_calls
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.rerank import Rule, Thresholds
from authbench.retrieval.named import load_collection
from authbench.runtime.engine import Engine
from authbench.runtime.messages import Outcome
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store
from benchmarks.common import record, show

WANTED = 3.0
QUERIES = 5
DEPTH = 10

#: Thresholds in the range that a reader of the paper reports; what adaptive sampling saves hangs on them.
RULE = Thresholds.of(0.8, 0.9, 0.3)


@dataclass(frozen=True, slots=True)
class Query:
    """A query with the texts of its first documents."""

    text: str
    documents: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Way:
    """What one way of taking all confidences asks for, a query."""

    samples: float
    entailment: float
    sent: float | None = None  #: entailment questions that reached the engine, equal ones merged


def measure(
    engine: Engine, queries: Sequence[Query], settings: ConfidenceSettings, folder: Path
) -> dict[str, Way]:
    """The cost of each way, from one run of the engine over all queries."""
    with Store(folder / "responses.sqlite") as store:

        def run(how: ConfidenceSettings, rule: Rule | None = None) -> tuple[list[Outcome], Scheduler]:
            scheduler = Scheduler(engine, store, store.register(engine.identity, engine.rendering))
            done = scheduler.run(
                queries, lambda query: assess(query.text, query.documents, how, LcrPrompts(), rule=rule)
            )
            outcomes = [finished.outcome for finished in done]
            return [outcome for outcome in outcomes if outcome is not None], scheduler

        full, scheduler = run(settings)
        short, _ = run(replace(settings, complete=False))
        adaptive, _ = run(settings, RULE)
    n, k = len(full), settings.samples
    rows = [row for outcome in full for row in (outcome.values["query"], *outcome.values["documents"])]
    sampled = len(rows)
    drawn = sampled * k / n
    return {
        "pairwise, both directions": Way(drawn, pairwise_calls(k) * sampled / n),
        "greedy as printed": Way(drawn, sum(greedy_calls(row["labels"]) for row in rows) / n),
        "authbench, complete clusters": _way(full, n, (scheduler.progress.submitted - sampled) / n),
        "authbench, until C is known": _way(short, n),
        f"authbench, adaptive ({RULE})": _way(adaptive, n),
    }


def _way(outcomes: Sequence[Outcome], n: int, sent: float | None = None) -> Way:
    cost = cost_of(outcome.values for outcome in outcomes)
    return Way(cost.samples / n, cost.entailment_calls / n, sent)


def mirror_queries(limit: int) -> list[Query]:
    """The first queries of DL19 with BM25's first documents."""
    given = os.environ.get("AUTHBENCH_MIRROR")
    mirror = Path(given) if given else Path(__file__).resolve().parents[2] / "shared" / "data"
    places = Places(None, mirror, Places.from_environment().cache)
    collection = load_collection("trec-dl-2019", retriever="bm25", places=places)
    assert collection.run is not None
    found = []
    for query, text in list(collection.queries.items())[:limit]:
        documents = collection.run.documents(query, DEPTH)
        found.append(Query(text, tuple(collection.documents[document].full for document in documents)))
    return found


def main() -> int:
    model = os.environ.get("AUTHBENCH_BENCH_MODEL", "smollm2-135m")
    name = os.environ.get("AUTHBENCH_BENCH_ENGINE", "openvino")
    limit = int(os.environ.get("AUTHBENCH_BENCH_QUERIES", QUERIES))
    if not installed(name):
        print(f"lcr_calls: the engine {name} is not installed, skipped")
        return 0
    try:
        queries = mirror_queries(limit)
        engine = make_engine(name, load_model(model), {})
        with tempfile.TemporaryDirectory() as folder:
            ways = measure(engine, queries, ConfidenceSettings(), Path(folder))
        engine.close()
    except AuthbenchError as error:
        print(f"lcr_calls: skipped, {error}", file=sys.stderr)
        return 0
    plain = ways["greedy as printed"].entailment
    rows = [("", "samples, entailment calls (sent after merging) a query, against greedy as printed")]
    for label, way in ways.items():
        sent = "" if way.sent is None else f" ({way.sent:.0f})"
        ratio = plain / way.entailment if way.entailment else float("inf")
        rows.append((label, f"{way.samples:6.1f}  {way.entailment:6.1f}{sent}  {ratio:.2f} times fewer"))
    show(f"LCR's questions: DL19, BM25, {len(queries)} queries, {DEPTH} documents, K = 10, {model}", rows)
    results = {
        label: {"samples": way.samples, "entailment": way.entailment, "sent": way.sent}
        for label, way in ways.items()
    }
    record("lcr_calls", results, model=model, engine=name, queries=len(queries), wanted=WANTED)
    return 0


if __name__ == "__main__":
    sys.exit(main())
