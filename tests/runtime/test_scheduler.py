from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest
from engine_double import DoubleEngine

from authbench.errors import ConfigError, EngineError
from authbench.runtime import scheduler as scheduler_module
from authbench.runtime.messages import Constraint, Outcome, Parsed, Procedure, Sampling, user
from authbench.runtime.scheduler import Finished, Scheduler
from authbench.runtime.store import Store

GREEDY = Sampling(max_tokens=4)


def ask(*rounds: list[str], n: int = 1) -> Procedure[Outcome]:
    """A procedure that asks the rounds one after the other and returns every text it was told."""
    texts: list[str] = []
    sampling = Sampling(max_tokens=4, n=n, temperature=0.0 if n == 1 else 1.0)
    for prompts in rounds:
        responses = yield [user(prompt, sampling) for prompt in prompts]
        texts += [sample.text for response in responses for sample in response.samples]
    return Outcome(tuple(Parsed("ok") for _ in texts), {"texts": texts})


def run(
    engine: DoubleEngine,
    store: Store,
    plans: Sequence[tuple[list[str], ...]],
    *,
    n: int = 1,
    fresh: bool = False,
) -> dict[int, Finished[int]]:
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}), fresh=fresh)
    return {f.unit: f for f in scheduler.run(range(len(plans)), lambda i: ask(*plans[i], n=n))}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "s.sqlite") as opened:
        yield opened


def test_rounds_are_answered_in_the_order_asked(store: Store) -> None:
    engine = DoubleEngine()
    done = run(engine, store, [(["a", "b"], ["c"]), (["d"], [], ["e", "f"])])
    assert done[0].outcome is not None and done[1].outcome is not None
    assert done[0].outcome.values["texts"] == ["a/0", "b/0", "c/0"]
    assert done[1].outcome.values["texts"] == ["d/0", "e/0", "f/0"]
    assert [call.response.text for call in done[0].calls] == ["a/0", "b/0", "c/0"]


def test_equal_requests_are_asked_once(store: Store) -> None:
    engine = DoubleEngine()
    run(engine, store, [(["same", "same"], ["same"]), (["same"],)])
    assert engine.asked == ["same"]


def test_a_second_run_asks_nothing_and_loads_nothing(store: Store) -> None:
    plans = [(["a", "b"], ["c"]), (["b"],)]
    first = run(DoubleEngine(), store, plans)
    again = DoubleEngine()
    second = run(again, store, plans)
    assert again.loads == 0 and again.asked == []
    assert {i: f.outcome for i, f in first.items()} == {i: f.outcome for i, f in second.items()}


def test_fresh_asks_once_more_and_replaces(store: Store) -> None:
    run(DoubleEngine(lambda prompt, _: "old"), store, [(["a"], ["a"])])
    engine = DoubleEngine(lambda prompt, _: "new")
    done = run(engine, store, [(["a"], ["a"])], fresh=True)
    assert engine.asked == ["a"]
    assert done[0].outcome is not None and done[0].outcome.values["texts"] == ["new", "new"]
    stored = run(DoubleEngine(), store, [(["a"],)])
    assert stored[0].outcome is not None and stored[0].outcome.values["texts"] == ["new"]


def test_more_samples_of_a_known_request_ask_for_the_missing_ones(store: Store) -> None:
    engine = DoubleEngine()
    four = run(engine, store, [(["a"],)], n=4)
    assert four[0].outcome is not None
    six = run(engine, store, [(["a"],)], n=6)
    assert six[0].outcome is not None
    assert six[0].outcome.values["texts"][:4] == four[0].outcome.values["texts"]
    assert six[0].outcome.values["texts"][4:] == ["a/100", "a/101"]
    two = run(engine, store, [(["a"],)], n=2)
    assert two[0].outcome is not None and len(two[0].outcome.values["texts"]) == 2
    assert engine.asked == ["a", "a"]


def test_waiting_for_more_samples_than_are_in_flight(store: Store) -> None:
    engine = DoubleEngine()
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    done = {f.unit: f for f in scheduler.run([2, 5, 3], lambda n: ask(["a"], n=n))}
    lengths = {n: len(f.outcome.values["texts"]) for n, f in done.items() if f.outcome}
    assert lengths == {2: 2, 5: 5, 3: 3}
    assert len(store.get([done[5].calls[0].key])[done[5].calls[0].key].samples) == 5


def test_a_failed_request_ends_its_procedure_only(store: Store) -> None:
    engine = DoubleEngine(fails=lambda prompt: prompt == "bad")
    done = run(engine, store, [(["good", "bad"],), (["good"], ["fine"])])
    assert done[0].outcome is None and done[0].error == "this one fails"
    assert done[1].outcome is not None
    retried = run(DoubleEngine(), store, [(["good", "bad"],)])
    assert retried[0].outcome is not None, "a failure is not kept as an answer"


def test_what_was_answered_before_the_engine_died_is_kept(tmp_path: Path) -> None:
    plans = [([f"p{i}"],) for i in range(50)]
    with Store(tmp_path / "s.sqlite") as store, pytest.raises(EngineError):
        run(DoubleEngine(dies_after=20), store, plans)
    with Store(tmp_path / "s.sqlite") as store:
        engine = DoubleEngine()
        assert len(run(engine, store, plans)) == 50
    assert len(engine.asked) == 30


def test_procedures_start_lazily(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "MAX_PROCEDURES", 10)
    engine = DoubleEngine()
    started = 0

    def units() -> Iterator[int]:
        nonlocal started
        for i in range(500):
            started += 1
            yield i

    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    ended = 0
    for _ in scheduler.run(units(), lambda i: ask([f"p{i}"])):
        ended += 1
        assert started - ended <= 20
    assert ended == 500 and engine.in_flight_most <= 10


def test_what_the_engine_cannot_do_is_refused(store: Store) -> None:
    engine = DoubleEngine()

    def constrained(_: int) -> Procedure[Outcome]:
        yield [user("a", GREEDY, constraint=Constraint("json", "{}"))]
        return Outcome(())

    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    with pytest.raises(ConfigError, match="'double' cannot do what this run asks for: constraint json"):
        list(scheduler.run([0], constrained))


def test_progress_counts(store: Store) -> None:
    engine = DoubleEngine()
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    list(scheduler.run([0, 1], lambda i: ask(["a", "b"], ["a"])))
    progress = scheduler.progress
    assert (progress.procedures, progress.calls, progress.submitted, progress.answered) == (2, 6, 2, 2)
    assert progress.from_store + progress.merged == 4
    assert (progress.prompt_tokens, progress.output_tokens) == (6, 2)
