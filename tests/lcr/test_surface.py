from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from authbench.errors import ConfigError, DataError
from authbench.lcr.grid import grid
from authbench.lcr.rerank import Margin, Thresholds, rerank
from authbench.lcr.surface import Query, problem, surface
from authbench.measures.ndcg import Gain, ndcg_by_query


@st.composite
def queries(draw: st.DrawFn) -> list[Query]:
    k = draw(st.sampled_from([1, 4, 10]))
    share = st.integers(1, k).map(lambda n: Fraction(n, k))
    made = []
    for number in range(draw(st.integers(1, 4))):
        grades = draw(st.lists(st.integers(-1, 3), max_size=14))
        missed = draw(st.lists(st.integers(0, 3), max_size=3))
        documents = [draw(share) for _ in grades[:10]]
        made.append(Query(f"q{number}", grades, [*grades, *missed], draw(share), documents))
    return made


@settings(max_examples=60, deadline=None)
@given(
    queries(),
    st.sampled_from([3, 5, 12]),
    st.sampled_from(["linear", "exponential"]),
    st.sampled_from(["lcr", "car"]),
)
def test_equals_reranking_one_by_one_and_ir_measures(
    given_: list[Query], cutoff: int, gain: Gain, method: str
) -> None:
    pytest.importorskip("ir_measures")
    searched = grid(0.25, method=method)
    found = surface(problem(given_, cutoff=cutoff, gain=gain), searched)
    qrels = {
        query.id: {
            f"d{place}": grade
            for place, grade in enumerate([*query.grades, *query.judged[len(query.grades) :]])
        }
        for query in given_
    }
    qrels = {name: row or {"none": 0} for name, row in qrels.items()}
    for gate in range(0, len(searched.gates), 2):
        for pair in range(0, len(searched.bins), 4):
            rule = searched.rule(gate, pair)
            rankings = {
                query.id: rerank(
                    [f"d{place}" for place in range(len(query.grades))], query.own, query.documents, rule
                )
                for query in given_
            }
            wanted = ndcg_by_query(rankings, qrels, cutoff, gain)
            values = found.values(gate, pair)
            assert values == pytest.approx([wanted[query.id] for query in given_], abs=1e-9)
            assert found.sums()[gate, pair] == pytest.approx(values.sum(), abs=1e-9)


def test_the_grid_of_the_paper() -> None:
    tenths = grid()
    assert len(tenths.gates) == 12 and tenths.gates[-1] == Fraction(11, 10)
    assert len(tenths.bins) == 66
    assert tenths.rule(0, 0) == Thresholds.of(0, 1, 0)  # intervenes least
    assert tenths.rule(11, 65) == Thresholds.of(1.1, 0, 0)
    assert grid(0.5, method="car").rule(1, 0) == Margin.of(0.5, 1)


def test_grids_that_cannot_be() -> None:
    for step in (0, -0.1, 0.3):
        with pytest.raises(ConfigError, match="must divide 1"):
            grid(step)
    with pytest.raises(ConfigError, match="not one of lcr, car"):
        grid(method="best")


def test_a_query_without_results_counts_zero() -> None:
    found = problem(
        [Query("q", [], [1], Fraction(1, 10), []), Query("r", [1], [1], Fraction(1), [Fraction(1)])]
    )
    assert found.base.tolist() == [0.0, 1.0]


def test_what_is_refused() -> None:
    with pytest.raises(DataError, match="nothing to tune"):
        problem([])
    with pytest.raises(ValueError, match="2 documents are reranked, 1 have"):
        problem([Query("q", [1, 0], [1], Fraction(1), [Fraction(1)])])


def test_shuffling_keeps_what_each_query_has() -> None:
    rng = np.random.default_rng(0)
    made = problem(
        [
            Query(
                str(n),
                [1, 0, 0],
                [1],
                Fraction(n + 1, 10),
                [Fraction(n + 1, 10), Fraction(1), Fraction(1, 10)],
            )
            for n in range(8)
        ],
        depth=5,
    )
    mixed = made.shuffled(rng)
    assert np.sort(mixed.documents[:, :3], axis=1).tolist() == np.sort(made.documents[:, :3], axis=1).tolist()
    assert (mixed.documents[:, 3:] == -1).all()  # the end of a ranking stays where it is
    assert sorted(mixed.own) == sorted(made.own)
    assert mixed.documents.tolist() != made.documents.tolist()
    assert mixed.base is made.base
