from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from authbench.lcr.clustering import (
    Asking,
    Centroid,
    Clusterer,
    Enough,
    Greedy,
    Pairwise,
    largest,
    never,
    semantic_entropy,
)

Entails = Callable[[str, str], bool]


def same_meaning(a: str, b: str) -> bool:
    """Answers are `meaning/wording`."""
    return a.partition("/")[0] == b.partition("/")[0]


def work(asking: Asking, entails: Entails) -> list[list[tuple[str, str]]]:
    rounds: list[list[tuple[str, str]]] = []
    try:
        pairs = next(asking)
        while True:
            rounds.append(pairs)
            pairs = asking.send([entails(a, b) for a, b in pairs])
    except StopIteration:
        return rounds


def cluster(
    clusterer: Clusterer, samples: Sequence[str], entails: Entails = same_meaning, enough: Enough = never
) -> list[tuple[str, str]]:
    """All pairs that were asked."""
    return [pair for asked in work(clusterer.add(samples, enough), entails) for pair in asked]


def one_by_one(samples: Sequence[str], entails: Entails) -> tuple[list[int], int]:
    """The paper's greedy loop as it is written, and its calls, both directions of every comparison."""
    leaders: list[str] = []
    labels: list[int] = []
    calls = 0
    for sample in samples:
        for number, leader in enumerate(leaders):
            calls += 2
            if sample == leader or (entails(sample, leader) and entails(leader, sample)):
                labels.append(number)
                break
        else:
            labels.append(len(leaders))
            leaders.append(sample)
    return labels, calls


def test_worked_example() -> None:
    # Three meanings in two wordings, the example of the project's notes, in the order A a B A b C.
    samples = ["A/1", "A/2", "B/1", "A/1", "B/2", "C/1"]
    greedy = Greedy()
    rounds = work(greedy.add(samples), same_meaning)
    assert greedy.labels() == [0, 0, 1, 0, 1, 2]
    # Round 1: all others against A/1; round 2: the one that said yes, backwards. Then the same for B/1.
    assert rounds == [
        [("A/2", "A/1"), ("B/1", "A/1"), ("B/2", "A/1"), ("C/1", "A/1")],
        [("A/1", "A/2")],
        [("B/2", "B/1"), ("C/1", "B/1")],
        [("B/1", "B/2")],
    ]
    assert one_by_one(samples, same_meaning) == ([0, 0, 1, 0, 1, 2], 2 * (1 + 1 + 1 + 2 + 2))


def test_equal_answers_need_no_call() -> None:
    greedy = Greedy()
    assert cluster(greedy, ["Paris", " Paris\n", "Paris"]) == []
    assert greedy.labels() == [0, 0, 0]
    assert greedy.bounds == (3, 3)


def test_stops_at_the_first_no() -> None:
    greedy = Greedy()
    # b entails a, but not the other way round.
    asked = cluster(greedy, ["a", "b", "c"], lambda premise, _: premise == "b")
    assert ("a", "c") not in asked and ("a", "b") in asked
    assert greedy.labels() == [0, 1, 2]


def test_an_empty_answer_agrees_with_nothing() -> None:
    for clusterer in (Greedy(), Pairwise()):
        assert cluster(clusterer, ["", "x", " ", "x"]) == []
        assert clusterer.labels() == [0, 1, 2, 1]
    greedy = Greedy()
    assert cluster(greedy, ["", "\n"]) == []
    assert greedy.labels() == [0, 1]
    assert greedy.bounds == (1, 1)


MEANINGS = st.sampled_from(["A", "B", "C", "D"])
SAMPLES = st.lists(
    st.one_of(st.just(""), st.builds(lambda m, w: f"{m}/{w}", MEANINGS, st.integers(0, 2))), max_size=12
)


def relation(seed: int) -> Entails:
    """A relation that is neither symmetric nor transitive, the same in every process."""
    return lambda a, b: crc32(f"{seed} {a} {b}".encode()) % 3 > 0


@given(st.lists(st.sampled_from("abcdefg"), max_size=12), st.integers(0, 10_000))
def test_greedy_equals_the_papers_loop_for_any_relation(samples: list[str], seed: int) -> None:
    greedy = Greedy()
    asked = cluster(greedy, samples, relation(seed))
    labels, calls = one_by_one(samples, relation(seed))
    assert greedy.labels() == labels
    assert len(asked) == len(set(asked)) <= calls


@given(st.lists(st.sampled_from("abcdefg"), max_size=12), st.integers(0, 12), st.integers(0, 10_000))
def test_greedy_clusters_of_the_first_samples_do_not_depend_on_later_ones(
    samples: list[str], cut: int, seed: int
) -> None:
    whole, steps, head = Greedy(), Greedy(), Greedy()
    cluster(whole, samples, relation(seed))
    cluster(steps, samples[:cut], relation(seed))
    cluster(steps, samples[cut:], relation(seed))
    cluster(head, samples[:cut], relation(seed))
    assert steps.labels() == whole.labels()
    assert head.labels() == whole.labels()[:cut]


@given(SAMPLES)
def test_greedy_and_pairwise_agree_where_entailment_is_an_equivalence(samples: list[str]) -> None:
    greedy, pairwise = Greedy(), Pairwise()
    cluster(greedy, samples)
    rounds = work(pairwise.add(samples), same_meaning)
    assert greedy.labels() == pairwise.labels()
    assert len(rounds) <= 2


def test_pairwise_joins_what_greedy_does_not() -> None:
    chain = {("a", "b"), ("b", "a"), ("b", "c"), ("c", "b")}  # a = b and b = c, but a is not c
    greedy, pairwise = Greedy(), Pairwise()
    cluster(greedy, ["a", "b", "c"], lambda x, y: (x, y) in chain)
    cluster(pairwise, ["a", "b", "c"], lambda x, y: (x, y) in chain)
    assert greedy.labels() == [0, 0, 1]
    assert pairwise.labels() == [0, 0, 0]
    assert sorted(pairwise.links()) == [(0, 1), (1, 2)]


def test_pairwise_counts_calls_as_stated() -> None:
    # K = 10 different answers, all of one meaning: 45 pairs, both directions.
    pairwise = Pairwise()
    assert len(cluster(pairwise, [f"A/{n}" for n in range(10)])) == 90


def test_centroid_compares_with_the_member_nearest_to_the_mean() -> None:
    place = {"left": 0.0, "middle": 0.5, "right": 1.0, "new": 0.6}

    def embed(texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return np.array([[math.cos(place[t]), math.sin(place[t])] for t in texts])

    centroid = Centroid(embed)
    asked = cluster(centroid, ["left", "middle", "right", "new"], lambda a, b: True)
    # With one member or two at equal distance the first; with three, the middle one.
    assert asked == [
        ("middle", "left"),
        ("left", "middle"),
        ("right", "left"),
        ("left", "right"),
        ("new", "middle"),
        ("middle", "new"),
    ]
    assert centroid.labels() == [0, 0, 0, 0]


@given(SAMPLES)
def test_centroid_agrees_where_entailment_is_an_equivalence(samples: list[str]) -> None:
    def embed(texts: Sequence[str]) -> npt.NDArray[np.float64]:
        return np.array([[len(t), ord(t[0])] for t in texts], dtype=np.float64)

    greedy, centroid = Greedy(), Centroid(embed)
    cluster(greedy, samples)
    cluster(centroid, samples)
    assert centroid.labels() == greedy.labels()


@given(st.lists(st.sampled_from("abcdefg"), min_size=1, max_size=12), st.integers(0, 10_000))
def test_bounds_hold_whenever_clustering_could_stop(samples: list[str], seed: int) -> None:
    whole = Greedy()
    told: list[tuple[int, int]] = []

    def listen(low: int, high: int) -> bool:
        told.append((low, high))
        return False

    cluster(whole, samples, relation(seed), listen)
    final = largest(whole.labels())
    assert all(low <= final <= high for low, high in told)
    early = Greedy()
    cluster(early, samples, relation(seed), lambda low, high: low == high)
    assert early.bounds == (final, final)


def test_stopping_when_the_largest_is_known_saves_the_rest() -> None:
    # Five of eight agree, so the other three cannot overtake them, whatever they mean.
    samples = ["A/1", "A/2", "A/3", "A/4", "A/5", "B/1", "C/1", "D/1"]
    early = Greedy()
    asked = cluster(early, samples, enough=lambda low, high: low == high)
    assert early.bounds == (5, 5)
    assert early.labels() == [0, 0, 0, 0, 0, None, None, None]
    assert len(asked) == 7 + 4


def test_entropy() -> None:
    # Shares 1/2, 1/4, 1/4: ln 2 / 2 + 2 * ln 4 / 4.
    assert semantic_entropy([0, 0, 1, 2]) == pytest.approx(math.log(2) / 2 + math.log(4) / 2)
    assert semantic_entropy([0, 0, 0]) == 0.0
    assert semantic_entropy([0, 1, 2, 3]) == pytest.approx(math.log(4))
    with pytest.raises(ValueError, match="ended early"):
        semantic_entropy([0, None])
