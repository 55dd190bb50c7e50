from __future__ import annotations

from driving import SimulatedModel, drive
from hypothesis import given
from hypothesis import strategies as st

from authbench.lcr.assess import assess
from authbench.lcr.confidence import ConfidenceSettings
from authbench.lcr.cost import Cost, cost_of, greedy_calls, pairwise_calls
from authbench.lcr.prompts import LcrPrompts
from authbench.lcr.rerank import Thresholds


def test_greedy_calls_by_hand() -> None:
    # Three meanings in two wordings each, in the order A B C A B C: 0, 2, 4, then 2, 4, 6.
    assert greedy_calls([0, 1, 2, 0, 1, 2]) == 18
    assert greedy_calls([0] * 10) == 18
    assert greedy_calls(list(range(10))) == pairwise_calls(10) == 90
    assert greedy_calls([]) == 0


@given(st.lists(st.sampled_from("abcd"), max_size=12))
def test_greedy_calls_equal_the_loop(samples: list[str]) -> None:
    leaders: list[str] = []
    labels: list[int] = []
    calls = 0
    for sample in samples:
        for number, leader in enumerate(leaders):
            calls += 2
            if sample == leader:
                labels.append(number)
                break
        else:
            labels.append(len(leaders))
            leaders.append(sample)
    assert greedy_calls(labels) == calls


def test_totals() -> None:
    model = SimulatedModel(lambda prompt, rng: "m0w0")
    whole, _ = drive(assess("q", ["d", "e"], ConfidenceSettings(samples=4), LcrPrompts()), model)
    closed = Thresholds.of(0.25, 1, 0)
    few, _ = drive(assess("q", ["d", "e"], ConfidenceSettings(samples=4), LcrPrompts(), rule=closed), model)
    assert cost_of([whole.values]) == Cost(3, 0, 12, 0)
    assert cost_of([few.values]) == Cost(1, 2, 0, 0)  # C is at least 1/4: the gate is closed beforehand
    assert cost_of([whole.values, few.values]).confidences == 4
