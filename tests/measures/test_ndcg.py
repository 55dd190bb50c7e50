from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authbench.errors import DataError
from authbench.measures.ndcg import (
    Gain,
    discounts,
    gains_of,
    ideal_dcg,
    mean_ndcg,
    ndcg,
    ndcg_by_query,
)

pytest.importorskip("ir_measures")

QRELS = {"q": {"a": 3, "b": 1, "c": 0, "d": 2}}


def test_worked_example() -> None:
    # Ranking c a x b: linear gains 0 3 0 1, ideal 3 2 1.
    dcg = 3 / math.log2(3) + 1 / math.log2(5)
    ideal = 3 + 2 / math.log2(3) + 1 / 2
    ranking = {"q": ["c", "a", "x", "b"]}
    assert ndcg_by_query(ranking, QRELS, 5)["q"] == pytest.approx(dcg / ideal)
    # Exponential gains: 2^3 - 1 = 7, 2^1 - 1 = 1; ideal 7 3 1.
    dcg = 7 / math.log2(3) + 1 / math.log2(5)
    ideal = 7 + 3 / math.log2(3) + 1 / 2
    assert ndcg_by_query(ranking, QRELS, 5, "exponential")["q"] == pytest.approx(dcg / ideal)
    assert ndcg_by_query(ranking, QRELS, 1)["q"] == 0.0


def test_queries_without_results_relevant_documents_or_judgements() -> None:
    qrels = {"none": {"a": 1}, "found": {"a": 1}, "irrelevant": {"a": 0}, "empty": {"a": 1}}
    rankings = {"found": ["a"], "irrelevant": ["a"], "unjudged": ["a"], "empty": []}
    values = ndcg_by_query(rankings, qrels)
    assert values == {"none": 0.0, "found": 1.0, "irrelevant": 0.0, "empty": 0.0}
    assert mean_ndcg(rankings, qrels) == 0.25
    assert mean_ndcg({}, qrels) == 0.0
    assert mean_ndcg({"q": ["a"]}, {}) == 0.0


DOCUMENTS = [f"d{number}" for number in range(8)]


@settings(max_examples=80, deadline=None)
@given(
    st.dictionaries(st.sampled_from(DOCUMENTS), st.integers(-2, 4), min_size=1),
    st.lists(st.sampled_from([*DOCUMENTS, "x", "y"]), unique=True),
    st.integers(1, 7),
    st.sampled_from(["linear", "exponential"]),
)
def test_numpy_equals_ir_measures(
    grades: dict[str, int], ranking: list[str], cutoff: int, gain: Gain
) -> None:
    ranked = np.zeros(cutoff)
    shown = gains_of([grades.get(document, 0) for document in ranking[:cutoff]], gain)
    ranked[: len(shown)] = shown
    value = ndcg(ranked[None, :], np.array([ideal_dcg(list(grades.values()), cutoff, gain)]))
    wanted = ndcg_by_query({"q": ranking}, {"q": grades}, cutoff, gain)["q"]
    assert value[0] == pytest.approx(wanted, abs=1e-9)
    assert 0.0 <= value[0] <= 1.0


def test_exponential_gain_is_its_own_measure_only_for_graded_judgements() -> None:
    ranking = {"q": ["c", "a", "b"]}
    binary = {"q": {"a": 1, "b": 1}}
    assert ndcg_by_query(ranking, binary) == ndcg_by_query(ranking, binary, gain="exponential")
    assert ndcg_by_query(ranking, QRELS) != ndcg_by_query(ranking, QRELS, gain="exponential")


@pytest.mark.parametrize(("gain", "most"), [("linear", 1_000_000), ("exponential", 30)])
def test_the_highest_grade_is_measured_and_a_higher_one_refused(gain: Gain, most: int) -> None:
    rankings = {"q": ["a", "b"]}
    found = ndcg_by_query(rankings, {"q": {"a": 0, "b": most}}, 5, gain)
    assert found["q"] == pytest.approx(1 / math.log2(3))  # the one gain, at place 2 instead of 1
    with pytest.raises(DataError, match=f"grade {most + 1}: {gain} gain"):
        ndcg_by_query(rankings, {"q": {"b": most + 1}}, 5, gain)


def test_discounts() -> None:
    assert discounts(3) == pytest.approx([1.0, 1 / math.log2(3), 0.5])
    assert gains_of([-1, 0, 2], "exponential").tolist() == [0.0, 0.0, 3.0]


@pytest.mark.mirror
@pytest.mark.parametrize(("year", "at_5", "at_10"), [("19", 0.5278, 0.5058), ("20", 0.5067, 0.4796)])
def test_trec_dl_bm25_from_the_ranking_files(mirror: Path, year: str, at_5: float, at_10: float) -> None:
    # Values measured on these files when the mirror was made (linear gain, all judgements).
    from authbench.retrieval.collections import from_ranking_file

    folder = mirror / "trec_dl"
    made = from_ranking_file(
        "dl", folder / f"BM25.dl{year}.top100.json", folder / f"qrels.dl{year}-passage.txt"
    )
    assert made.run is not None
    rankings = {query: made.run.documents(query) for query in made.queries}
    assert mean_ndcg(rankings, made.judged, 5) == pytest.approx(at_5, abs=5e-5)
    assert mean_ndcg(rankings, made.judged, 10) == pytest.approx(at_10, abs=5e-5)
