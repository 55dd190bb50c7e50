from __future__ import annotations

from fractions import Fraction
from pathlib import Path
from random import Random

import numpy as np
import pytest
from driving import SimulatedModel, drive

from authbench.engines.fake import FakeEngine
from authbench.errors import ConfigError
from authbench.experiment.models import load_model
from authbench.lcr.assess import assess
from authbench.lcr.confidence import ConfidenceSettings, confidence_of
from authbench.lcr.grid import grid
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.rerank import Thresholds
from authbench.lcr.surface import Query, problem, surface
from authbench.lcr.tuning import adjust, best, cross_validated, shuffled_best, tune
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store


def simulated(n: int, signal: bool, seed: int = 0) -> list[Query]:
    """Queries assessed by a model that is sure exactly on relevant documents, or on random ones."""
    rng = Random(seed)

    def draw(prompt: str, stream: Random) -> str:
        return "same" if "RELEVANT" in prompt else f"m{stream.randrange(1000)}"

    made = []
    for number in range(n):
        grades = [int(rng.random() < 0.2) for _ in range(10)]
        marks = grades if signal else [int(rng.random() < 0.2) for _ in range(10)]
        texts = [f"{number} {place} {'RELEVANT' if mark else ''}" for place, mark in enumerate(marks)]
        outcome, _ = drive(
            assess(f"q{number}", texts, ConfidenceSettings(samples=4), LcrPrompts()), SimulatedModel(draw)
        )
        own = confidence_of(outcome.values["query"])
        documents = [confidence_of(row) for row in outcome.values["documents"]]
        made.append(Query(f"q{number}", grades, [*grades, 1], own, documents))
    return made


def test_a_model_that_is_sure_on_relevant_documents_beats_the_base_and_the_control_does_not() -> None:
    result = tune(problem(simulated(60, signal=True)), grid(0.25), shuffles=20, rounds=2000)
    on_test, held_out, shuffled = result.columns
    assert held_out.gain.low is not None and held_out.gain.low > 0.1
    assert held_out.p is not None and held_out.p < 0.01
    assert on_test.gain.value is not None and held_out.gain.value is not None
    assert on_test.gain.value >= held_out.gain.value
    assert shuffled.gain.high is not None and shuffled.gain.high < held_out.gain.low
    assert result.p_signal == pytest.approx(1 / 21)


def test_without_signal_the_best_on_test_still_gains_and_the_held_out_does_not() -> None:
    result = tune(problem(simulated(60, signal=False, seed=3)), grid(0.25), shuffles=20, rounds=2000)
    on_test, held_out, shuffled = result.columns
    assert on_test.gain.value is not None and on_test.gain.value >= 0  # T_query = 0 is in the grid
    assert held_out.gain.low is not None and held_out.gain.low < 0.02
    assert shuffled.gain.value is not None and shuffled.gain.value > 0  # selection alone
    assert result.p_signal > 0.05


def test_the_same_seed_gives_the_same_numbers() -> None:
    made = problem(simulated(20, signal=True))
    assert tune(made, grid(0.5), shuffles=5, rounds=200) == tune(made, grid(0.5), shuffles=5, rounds=200)
    assert shuffled_best(made, grid(0.5), 3, seed=1).tolist() != shuffled_best(made, grid(0.5), 3, 2).tolist()


def test_ties_go_to_the_rule_that_intervenes_least() -> None:
    # Nothing relevant is retrieved, so every rule gives 0.
    made = problem([Query("q", [0, 0], [1], Fraction(1, 2), [Fraction(1, 2)] * 2)] * 2)
    found = surface(made, grid())
    assert best(found.sums()) == (0, 0)
    assert found.grid.rule(0, 0) == Thresholds.of(0, 1, 0)


def test_the_best_on_test_by_hand() -> None:
    # One query, relevant second: it must be high and the first must not; C(q) = 0.5 must open the gate.
    made = problem([Query("q", [0, 1], [1], Fraction(5, 10), [Fraction(6, 10), Fraction(8, 10)])])
    found = surface(made, grid())
    gate, pair = best(found.sums())
    assert str(found.grid.rule(gate, pair)) == "T_query 0.6, T_upper 1, T_lower 0.6"  # 0.6 demoted, 0.8 kept
    assert found.sums()[gate, pair] == pytest.approx(1.0)
    assert made.base[0] == pytest.approx(1 / np.log2(3))


def test_held_out_queries_do_not_choose_their_own_rule() -> None:
    # Of ten queries nine gain from any reordering and one loses. Its own fold's rule comes from the others.
    low, high = Fraction(1, 10), Fraction(1)
    gains = [Query(f"q{n}", [0, 1], [1], low, [low, high]) for n in range(9)]
    loses = Query("q9", [1, 0], [1], low, [low, high])
    made = problem([*gains, loses])
    found = surface(made, grid(0.5))
    held_out = cross_validated(found, folds=10, seed=0)
    assert held_out.values[:9] == pytest.approx(1.0)
    assert held_out.values[9] == pytest.approx(1 / np.log2(3))
    assert len(held_out.rules) == 10


def test_folds_that_cannot_be() -> None:
    found = surface(problem(simulated(3, signal=True)), grid(0.5))
    for folds in (0, 1, 4):
        with pytest.raises(ConfigError, match="between 2 and the number of queries, 3"):
            cross_validated(found, folds)


def test_holm_over_all_rows() -> None:
    rows = {n: tune(problem(simulated(15, n == 0, n)), grid(0.5), shuffles=3, rounds=500) for n in range(3)}
    adjusted = adjust(rows)
    for place in (0, 1):
        raw = sorted(row.columns[place].p or 0 for row in rows.values())
        made = sorted(row.columns[place].p_holm or 0 for row in adjusted.values())
        assert made[0] == pytest.approx(min(1, 3 * raw[0]))  # Holm: the smallest p times the number of tests
    assert all(row.columns[2].p_holm is None for row in adjusted.values())


def test_with_the_fake_engine(tmp_path: Path) -> None:
    """The whole way through the scheduler: confident exactly on relevant documents, LCR beats the base."""
    draw = Random(7)
    grades = {f"q{n}": [int(draw.random() < 0.2) for _ in range(10)] for n in range(40)}
    texts = {name: [f"passage {place} of {name}" for place in range(10)] for name in grades}
    truth = {text: float(g) for name in grades for text, g in zip(texts[name], grades[name], strict=True)}
    engine = FakeEngine(load_model("fake"), {"truth": truth})
    with Store(tmp_path / "s.sqlite") as store:
        scheduler = Scheduler(engine, store, store.register(engine.identity, engine.rendering))
        done = list(
            scheduler.run(
                grades,
                lambda name: assess(f"what is {name}?", texts[name], ConfidenceSettings(), LcrPrompts()),
            )
        )
    queries = []
    for finished in sorted(done, key=lambda finished: finished.unit):
        assert finished.outcome is not None
        own = confidence_of(finished.outcome.values["query"])
        documents = [confidence_of(row) for row in finished.outcome.values["documents"]]
        name = finished.unit
        queries.append(Query(name, grades[name], [*grades[name], 1], own, documents))
    result = tune(problem(queries), grid(), shuffles=20, rounds=2000)
    _, held_out, shuffled = result.columns
    assert held_out.gain.low is not None and shuffled.gain.high is not None
    assert held_out.gain.low > 0.1 and held_out.gain.low > shuffled.gain.high
    assert held_out.p is not None and held_out.p < 0.01
