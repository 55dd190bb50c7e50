from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from authbench.reranking.common import Candidate, order_by, rerank_all


def candidates(*names: str) -> list[Candidate]:
    return [Candidate(name, f"text of {name}") for name in names]


def test_order_is_stable_and_missing_scores_come_last() -> None:
    found = candidates("a", "b", "c", "d", "e")
    assert order_by(found, [0.5, None, 0.9, 0.5, None]) == ["c", "a", "d", "b", "e"]


@given(st.lists(st.one_of(st.none(), st.floats(allow_nan=False)), max_size=12))
def test_order_is_a_permutation(scores: list[float | None]) -> None:
    found = candidates(*map(str, range(len(scores))))
    assert sorted(order_by(found, scores)) == sorted(candidate.id for candidate in found)


class Lengths:
    """Scores a pair by the length of its document, and notes the calls."""

    def __init__(self) -> None:
        self.calls: list[int] = []

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.calls.append(len(pairs))
        return [float(len(document)) - len(query) for query, document in pairs]


def test_all_pairs_go_in_one_call() -> None:
    scorer = Lengths()
    found = rerank_all(
        scorer,
        {"1": "q", "2": "qq", "3": "unused"},
        {"1": [Candidate("a", "x"), Candidate("b", "xxx")], "2": [Candidate("b", "xxx")], "3": []},
    )
    assert scorer.calls == [3]
    assert found["1"].order == ["b", "a"] and found["1"].scores == [0.0, 2.0]
    assert found["2"].scores == [1.0]
    assert found["3"].order == []


def test_nothing_to_rerank_loads_no_model() -> None:
    scorer = Lengths()
    assert rerank_all(scorer, {}, {}) == {}
    assert scorer.calls == []


def test_a_text_budget() -> None:
    assert Candidate("a", "abcdef").shown(3) == "abc"
    assert Candidate("a", "abcdef").shown(None) == "abcdef"
