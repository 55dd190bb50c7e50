"""How many questions LCR asks: the samples and entailment calls of a query, beside plainer ways.

Real documents (DL19, BM25's first ten) and a real model, by default SmolLM2 through OpenVINO. Every row is
worked out from one run of the model: the shorter ways ask a part of what the full one has asked.

The saving hangs on how far answers agree. Where K answers all differ and none entails another, the loop as
printed asks K(K-1) questions and any exact way at least K(K-1)/2, one "no" for each pair: 2 times fewer is
then the limit. A tiny model that answers at random comes near it: the agreement is printed with the counts.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from authbench.data.fetch import Places
from authbench.engines.registry import installed, make_engine
from authbench.errors import AuthbenchError, EngineError
from authbench.experiment.models import load_model
from authbench.lcr.assess import assess, cost_of
from authbench.lcr.confidence import ConfidenceSettings
from authbench.lcr.entailment import entails
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.rerank import Rule, Thresholds
from authbench.retrieval.named import load_collection
from authbench.runtime.engine import Engine
from authbench.runtime.scheduler import Finished, Scheduler
from authbench.runtime.store import Store
from benchmarks.common import record, show

WANTED = 3.0
QUERIES = 2
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


@dataclass(frozen=True, slots=True)
class Agreement:
    """What decides how much can be saved: shares of all samples, comparisons and answers."""

    distinct: float  #: different samples among those of an input
    entailing: float  #: entailment answers that say so
    unclear: float  #: entailment answers that are none of the three words


def measure(
    engine: Engine, queries: Sequence[Query], settings: ConfidenceSettings, prompts: LcrPrompts, folder: Path
) -> tuple[dict[str, Way], Agreement]:
    """The cost of each way and the agreement, from one run of the engine over all queries."""
    with Store(folder / "responses.sqlite") as store:

        def run(how: ConfidenceSettings, rule: Rule | None = None) -> list[Finished[Query]]:
            scheduler = Scheduler(engine, store, store.register(engine.identity, engine.rendering))
            done = list(
                scheduler.run(
                    queries, lambda query: assess(query.text, query.documents, how, prompts, rule=rule)
                )
            )
            for finished in done:
                if finished.outcome is None:
                    raise EngineError(f"a request failed: {finished.error}")
            return done

        full = run(settings)
        adaptive = _values(run(settings, RULE))
    values, n, k = _values(full), len(queries), settings.samples
    rows = [row for found in values for row in (found["query"], *found["documents"])]
    drawn = len(rows) * k / n
    different = {call.key for finished in full for call in finished.calls if len(call.response.samples) == 1}
    ways = {
        "pairwise, both directions": Way(drawn, k * (k - 1) * len(rows) / n),
        "greedy as printed": Way(drawn, sum(greedy_calls(row["labels"]) for row in rows) / n),
        "authbench, complete clusters": _way(values, n, len(different) / n),
        f"authbench, adaptive ({RULE})": _way(adaptive, n),
    }
    return ways, _agreement(rows, full)


def greedy_calls(labels: Sequence[int]) -> int:
    """Calls of the paper's greedy loop as it is written: every sample, both directions of every comparison.

    `labels` are greedy clusters numbered by first appearance: a sample was compared with every cluster up to
    its own, or, if it opened one, with all there were.
    """
    calls = opened = 0
    for label in labels:
        calls += 2 * min(label + 1, opened)
        opened = max(opened, label + 1)
    return calls


def _values(done: Sequence[Finished[Query]]) -> list[Mapping[str, Any]]:
    return [finished.outcome.values for finished in done if finished.outcome is not None]


def _agreement(rows: Sequence[Mapping[str, Any]], done: Sequence[Finished[Query]]) -> Agreement:
    answers = [answer for finished in done if finished.outcome for answer in finished.outcome.answers]
    said = [answer for answer in answers if not isinstance(answer.value, list)]
    drawn = [answer.value for answer in answers if isinstance(answer.value, list)]
    asked = max(1, sum(row["entailment_calls"] for row in rows))
    return Agreement(
        sum(len(set(texts)) for texts in drawn) / sum(map(len, drawn)),
        sum(entails(answer) for answer in said) / asked,
        sum(row["n_unclear"] for row in rows) / asked,
    )


def _way(outcomes: Sequence[Mapping[str, Any]], n: int, sent: float | None = None) -> Way:
    cost = cost_of(outcomes)
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
    results = {}
    try:
        queries = mirror_queries(limit)
        engine = make_engine(name, load_model(model), {})
        with tempfile.TemporaryDirectory() as folder:
            for constrain in ("none", "choice"):
                prompts = LcrPrompts(constrain=constrain)
                ways, agreement = measure(engine, queries, ConfidenceSettings(), prompts, Path(folder))
                _print(
                    f"{model}, {len(queries)} queries, entailment constrained: {constrain}", ways, agreement
                )
                counts = {label: asdict(way) for label, way in ways.items()}
                results[constrain] = {"ways": counts, "agreement": asdict(agreement)}
        engine.close()
    except AuthbenchError as error:
        print(f"lcr_calls: skipped, {error}", file=sys.stderr)
        return 0
    record("lcr_calls", results, model=model, engine=name, queries=len(queries), wanted=WANTED)
    return 0


def _print(title: str, ways: Mapping[str, Way], agreement: Agreement) -> None:
    plain = ways["greedy as printed"].entailment
    rows = [("a query:", "samples, entailment calls (different ones), times fewer than greedy as printed")]
    for label, way in ways.items():
        sent = "" if way.sent is None else f" ({way.sent:.0f})"
        ratio = f"{plain / way.entailment:.2f}" if way.entailment else "-"
        rows.append((label, f"{way.samples:6.1f}  {way.entailment:6.1f}{sent}  {ratio}"))
    rows.append(
        (
            "agreement",
            f"{agreement.distinct:.0%} of samples differ, {agreement.entailing:.0%} of answers say "
            f"entailment, {agreement.unclear:.0%} none of the three words",
        )
    )
    show(f"LCR's questions: DL19, BM25, {DEPTH} documents, K = 10, {title}", rows)


if __name__ == "__main__":
    sys.exit(main())
