from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from random import Random

import pytest
from driving import SimulatedModel, drive, pair_of
from engine_double import DoubleEngine
from hypothesis import given, settings
from hypothesis import strategies as st

from authbench.lcr.assess import Cost, assess, cost_of
from authbench.lcr.confidence import ConfidenceSettings, confidence_of
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.rerank import Margin, Rule, Thresholds, rerank
from authbench.runtime.messages import Outcome
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store

PROMPTS = LcrPrompts()
TEN = ConfidenceSettings()


def draw(prompt: str, rng: Random) -> str:
    """Documents that say how sure they make the model: `certainty 7` agrees with itself seven in ten."""
    _, found, rest = prompt.partition("certainty ")
    sure = int(rest.split()[0]) if found else 4
    return f"m0w{rng.randrange(2)}" if rng.randrange(10) < sure else f"m{rng.randrange(1, 5)}w0"


def confidences(outcome: Outcome, k: int | None = None) -> tuple[Fraction, list[Fraction]]:
    """The query's, and those of the documents that were asked."""
    documents = [row for row in outcome.values["documents"] if row is not None]
    return confidence_of(outcome.values["query"], k=k), [confidence_of(row, k=k) for row in documents]


def order(outcome: Outcome, rule: Rule, documents: list[str]) -> list[str]:
    query, known = confidences(outcome)
    return rerank(documents, query, known, rule)


def test_everything_at_once_without_a_rule() -> None:
    documents = ["certainty 9", "certainty 1"]
    outcome, rounds = drive(assess("q", documents, TEN, PROMPTS), SimulatedModel(draw))
    assert [request.sampling.n for request in rounds[0]] == [10, 10, 10]
    assert len(outcome.answers) == sum(map(len, rounds))
    assert len(outcome.values["documents"]) == 2
    query, known = confidences(outcome)
    assert 0 < query <= 1 and known[0] > known[1]
    _, at_three = confidences(outcome, 3)
    assert all(value.denominator in {1, 3} for value in at_three)


TENTHS = st.integers(0, 11).map(lambda n: Fraction(n, 10))


@st.composite
def rules(drawn: st.DrawFn) -> Rule:
    low, high = sorted((drawn(TENTHS), drawn(TENTHS)))
    gate = drawn(TENTHS)
    return Thresholds(gate, high, low) if drawn(st.booleans()) else Margin(gate, low)


@settings(max_examples=150)
@given(rules(), st.lists(st.integers(0, 10), max_size=6), st.integers(0, 500))
def test_adaptive_gives_the_same_ranking(rule: Rule, sure: list[int], number: int) -> None:
    documents = [f"document {place}: certainty {value} ." for place, value in enumerate(sure)]
    full, asked = SimulatedModel(draw), SimulatedModel(draw)
    everything, _ = drive(assess(f"q{number}", documents, TEN, PROMPTS), full)
    adaptive, _ = drive(assess(f"q{number}", documents, TEN, PROMPTS, rule=rule), asked)
    assert order(adaptive, rule, documents) == order(everything, rule, documents)
    assert sum(asked.drawn.values()) <= sum(full.drawn.values())
    assert len(asked.pairs) <= len(full.pairs)
    for prompt, n in asked.drawn.items():
        assert n <= full.drawn[prompt] == 10


def test_adaptive_skips_the_documents_of_a_query_whose_gate_is_closed() -> None:
    # The query agrees with itself every time; a gate at 0.5 is closed once five samples agree.
    model = SimulatedModel(lambda prompt, rng: "m0w0")
    outcome, rounds = drive(assess("q", ["d"], TEN, PROMPTS, rule=Thresholds.of(0.5, 0.9, 0.1)), model)
    assert outcome.values["documents"] == [None]
    assert [request.sampling.n for asked in rounds for request in asked] == [5]
    assert confidences(outcome) == (Fraction(5, 10), [])


def test_adaptive_stops_as_soon_as_the_bin_is_settled() -> None:
    # Gate open for all; nine of ten must agree to be high: two that disagree settle that it is not, and
    # T_lower = 0 keeps it out of the low bin.
    model = SimulatedModel(lambda prompt, rng: f"m{rng.random()}w")
    outcome, _ = drive(assess("q", ["d"], TEN, PROMPTS, rule=Thresholds.of(1.1, 0.9, 0)), model)
    assert outcome.values["query"]["labels"] == []  # above 1 the gate is open, whatever is drawn
    document = outcome.values["documents"][0]
    assert (document["largest"], len(document["labels"])) == (1, 3)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.sqlite") as opened:
        yield opened


def test_the_scheduler_draws_on_where_an_adaptive_run_had_stopped(store: Store) -> None:
    def answer(prompt: str, sample: int) -> str:
        return "neutral" if pair_of(prompt) else f"meaning {sample}"

    engine = DoubleEngine(answer)
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    rule = Thresholds.of(1.1, 0.9, 0)
    (adaptive,) = scheduler.run([0], lambda _: assess("q", ["d"], TEN, PROMPTS, rule=rule))
    (whole,) = scheduler.run([0], lambda _: assess("q", ["d"], TEN, PROMPTS))
    assert adaptive.outcome is not None and whole.outcome is not None
    few = [answer.value for answer in adaptive.outcome.answers if isinstance(answer.value, list)][-1]
    many = [answer.value for answer in whole.outcome.answers if isinstance(answer.value, list)][-1]
    assert 0 < len(few) < len(many) == 10
    assert many[: len(few)] == few


def test_equal_pairs_of_a_query_are_asked_once(store: Store) -> None:
    # Both documents draw the same two answers, so their entailment prompts are the same.
    def answer(prompt: str, sample: int) -> str:
        return "neutral" if pair_of(prompt) else f"m{sample % 2}w0"

    engine = DoubleEngine(answer)
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    (done,) = scheduler.run([0], lambda _: assess("q", ["d1", "d2"], TEN, PROMPTS))
    assert done.outcome is not None
    asked = sum(
        row["entailment_calls"] for row in [done.outcome.values["query"], *done.outcome.values["documents"]]
    )
    assert asked == 3
    assert sum(pair_of(prompt) is not None for prompt in engine.asked) == 1


def test_what_confidences_cost() -> None:
    model = SimulatedModel(lambda prompt, rng: "m0w0")
    four = ConfidenceSettings(samples=4)
    whole, _ = drive(assess("q", ["d", "e"], four, PROMPTS), model)
    few, _ = drive(assess("q", ["d", "e"], four, PROMPTS, rule=Thresholds.of(0.25, 1, 0)), model)
    assert cost_of([whole.values]) == Cost(3, 0, 12, 0)
    assert cost_of([few.values]) == Cost(1, 2, 0, 0)  # C is at least 1/4: the gate is closed beforehand
    assert cost_of([whole.values, few.values]).confidences == 4
