from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from engine_double import DoubleEngine

from authbench.errors import ConfigError, EngineError
from authbench.runtime import scheduler as scheduler_module
from authbench.runtime.engine import Completion, Job
from authbench.runtime.messages import (
    Constraint,
    Outcome,
    Parsed,
    Procedure,
    Response,
    Sample,
    Sampling,
    user,
)
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
    since: float | None = None,
) -> dict[int, Finished[int]]:
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}), since=since)
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
    done = run(engine, store, [(["a"], ["a"])], since=time.time())
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


class Seeded(DoubleEngine):
    """Draws as vLLM does: every sample by a seed of its own."""

    def completions(self) -> Iterator[Completion]:
        while self._queue:
            job = self._queue.pop()
            assert job.seed is not None
            drawn = (Sample(f"by {job.seed + k}", "stop", 1) for k in range(job.request.sampling.n))
            yield Completion(job.number, Response(tuple(drawn)))


def test_more_samples_of_a_seeded_request_are_drawn_by_the_seeds_that_follow(store: Store) -> None:
    """Four samples and six more are the ten of one request, under one key; fresh ones start again."""

    def judge(n: int) -> Procedure[Outcome]:
        sampling = Sampling(max_tokens=4, temperature=1.0, n=n, seed=7)
        (response,) = yield [user("a", sampling)]
        return Outcome((), {"texts": [sample.text for sample in response.samples]})

    def drawn(*wanted: int, since: float | None = None) -> tuple[list[list[str]], set[bytes]]:
        engine = Seeded()
        scheduler = Scheduler(engine, store, store.register(engine.identity, {}), since=since)
        done = {f.unit: f for f in scheduler.run(wanted, judge)}
        outcomes = [done[n].outcome for n in wanted]
        texts = [outcome.values["texts"] for outcome in outcomes if outcome is not None]
        return texts, {call.key for f in done.values() for call in f.calls}

    def by(*seeds: int) -> list[str]:
        return [f"by {seed}" for seed in seeds]

    assert drawn(4)[0] == [by(7, 8, 9, 10)]
    texts, keys = drawn(10, 12)
    assert texts == [by(*range(7, 17)), by(*range(7, 19))]
    assert len(keys) == 1
    assert drawn(2, since=time.time())[0] == [by(7, 8)]


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


def numbered(count: int) -> list[tuple[list[str], ...]]:
    return [([f"p{i}"],) for i in range(count)]


@pytest.mark.parametrize("known", [0, 1, 2, 3])
def test_no_unit_is_left_out_however_many_are_known(
    store: Store, monkeypatch: pytest.MonkeyPatch, known: int
) -> None:
    """With everything known no completion comes that would let procedures in: all must end all the same."""
    monkeypatch.setattr(scheduler_module, "MAX_PROCEDURES", 7)
    run(DoubleEngine(), store, numbered(100)[: known * 50])
    assert len(run(DoubleEngine(), store, numbered(100))) == 100


def test_a_bug_in_a_judge_shows_and_loses_no_answer(store: Store) -> None:
    def judge(i: int) -> Procedure[Outcome]:
        yield [user(f"p{i}", GREEDY)]
        if i == 30:
            raise KeyError("a bug")
        return Outcome(())

    engine = DoubleEngine()
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    ended = 0
    with pytest.raises(KeyError, match="a bug"):
        for _ in scheduler.run(range(50), judge):
            ended += 1
    answered = scheduler.progress.answered
    assert 0 < ended < answered <= 50
    again = DoubleEngine()
    run(again, store, numbered(50))
    assert len(again.asked) == 50 - answered


def test_a_procedure_must_end_with_an_outcome(store: Store) -> None:
    def judge(i: int) -> Procedure[Outcome]:
        yield [user("p", GREEDY)]
        return None  # type: ignore[return-value]

    engine = DoubleEngine()
    scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
    with pytest.raises(TypeError, match="the procedure of 7 ended with None, not with an Outcome"):
        list(scheduler.run([7], judge))


def test_procedures_that_ask_nothing_end(store: Store) -> None:
    engine = DoubleEngine()
    done = run(engine, store, [([], [], []), ()])
    assert [done[i].calls for i in (0, 1)] == [(), ()] and engine.loads == 0


class Odd(DoubleEngine):
    """Does what an engine must not do."""

    def __init__(self, oddity: str) -> None:
        super().__init__()
        self.oddity = oddity

    def submit(self, jobs: Sequence[Job]) -> None:
        if self.oddity == "dies in submit" and any(job.prompt.text == "p40" for job in jobs):
            raise EngineError("died in submit")
        super().submit(jobs)

    def completions(self) -> Iterator[Completion]:
        for completion in super().completions():
            if self.oddity == "unknown numbers":
                yield replace(completion, number=completion.number + 10_000)
            if self.oddity == "forgets" and completion.number % 3 == 0:
                continue
            yield replace(completion, response=Response(())) if self.oddity == "no samples" else completion


def test_unknown_job_numbers_are_ignored(store: Store) -> None:
    done = run(Odd("unknown numbers"), store, numbered(20))
    assert [done[i].outcome.values["texts"] for i in range(20)] == [[f"p{i}/0"] for i in range(20)]  # type: ignore[union-attr]


def test_an_engine_that_forgets_requests_does_not_hang_the_run(store: Store) -> None:
    with pytest.raises(EngineError, match="'double' ended with 10 requests unanswered; what was answered is"):
        run(Odd("forgets"), store, numbered(30))
    again = DoubleEngine()
    run(again, store, numbered(30))
    assert len(again.asked) == 10


def test_an_engine_that_dies_in_submit_loses_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "MAX_PROCEDURES", 10)
    with pytest.raises(EngineError, match="died in submit"):
        run(Odd("dies in submit"), store, numbered(60))
    again = DoubleEngine()
    run(again, store, numbered(60))
    assert 20 <= len(again.asked) <= 30


def test_an_answer_without_samples_is_a_failure(store: Store) -> None:
    done = run(Odd("no samples"), store, numbered(3))
    assert {f.error for f in done.values()} == {"the engine gave no answer"}
    assert len(run(DoubleEngine(), store, numbered(3))) == 3


def test_a_run_that_is_closed_keeps_its_answers(tmp_path: Path) -> None:
    with Store(tmp_path / "s.sqlite") as store:
        engine = DoubleEngine()
        scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
        running = scheduler.run(range(50), lambda i: ask([f"p{i}"]))
        for _ in range(10):
            next(running)
        running.close()
    with Store(tmp_path / "s.sqlite") as store:
        again = DoubleEngine()
        run(again, store, numbered(50))
        assert len(again.asked) == 40


def test_requests_that_wait_are_bounded(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scheduler_module, "MAX_WAITING", 100)
    engine = DoubleEngine()
    run(engine, store, [([f"p{i}/{k}" for k in range(10)],) for i in range(200)])
    assert engine.in_flight_most <= 100 * 10


class InOrder(DoubleEngine):
    """Answers the oldest job first."""

    def submit(self, jobs: Sequence[Job]) -> None:
        super().submit(jobs)
        self._queue.sort(key=lambda job: -job.number)


def test_a_further_round_goes_before_units_that_have_not_started(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scheduler_module, "MAX_PROCEDURES", 5)
    engine = InOrder()
    run(engine, store, [([f"first {i}"], [f"second {i}"]) for i in range(60)])
    for i in range(60):
        between = engine.asked.index(f"second {i}") - engine.asked.index(f"first {i}")
        assert 0 < between <= 10


def test_what_a_procedure_asked_of_the_engine_is_counted(store: Store) -> None:
    run(DoubleEngine(), store, [(["a"],)])
    done = run(DoubleEngine(), store, [(["a", "b"], ["c", "b"]), (["a"],)])
    assert [done[i].asked for i in (0, 1)] == [2, 0]


def test_fresh_answers_replace_all_older_samples(store: Store) -> None:
    run(DoubleEngine(lambda prompt, k: f"old {k}"), store, [(["a"],)], n=6)
    since = time.time()
    done = run(DoubleEngine(lambda prompt, k: f"new {k}"), store, [(["a"],)], n=2, since=since)
    assert done[0].outcome is not None and done[0].outcome.values["texts"] == ["new 0", "new 1"]
    [stored] = store.get([done[0].calls[0].key]).values()
    assert [sample.text for sample in stored.samples] == ["new 0", "new 1"]
    again = DoubleEngine()
    run(again, store, [(["a"],)], n=2, since=since)
    assert again.asked == [], "a fresh run that goes on does not ask twice"
