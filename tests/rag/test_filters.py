"""Filters by name, weighted sums and stages."""

from __future__ import annotations

import pytest

from authbench.errors import ConfigError
from authbench.rag.filters import parse_filter
from authbench.rag.selection import Cut

SCORES = {
    "relevance": [9.0, 8.0, 7.0, 6.0, 1.0],
    "authority": [0.0, 2.0, 9.0, 9.0, 9.0],
}


def test_names() -> None:
    assert parse_filter("none").parts == ()
    assert parse_filter("authority").asked == ("authority",)
    assert parse_filter("oracle-stance").asked == ()
    assert parse_filter("authority+relevance").parts == ("authority", "relevance")
    staged = parse_filter("relevance-then-authority")
    assert (staged.parts, staged.mode) == (("relevance", "authority"), "stages")


@pytest.mark.parametrize(
    ("name", "weights", "said"),
    [
        ("authorty", {}, r"no filter is called 'authorty' \(did you mean 'authority'\?\)"),
        ("authority+authority", {}, "names the same filter twice"),
        ("none+authority", {}, "no filter is called 'none'"),
        ("authority+relevance", {"authority": 0, "relevance": 0}, "not all 0"),
        ("authority+relevance", {"authority": -1}, "must be 0 or more"),
    ],
)
def test_refused(name: str, weights: dict[str, float], said: str) -> None:
    with pytest.raises(ConfigError, match=said):
        parse_filter(name, weights)


def test_single_filter_takes_its_scores_as_they_are() -> None:
    chosen = parse_filter("authority")
    assert chosen.scores(SCORES) == SCORES["authority"]
    assert chosen.select(SCORES, Cut(k=2)).kept == (2, 3)
    assert chosen.select(SCORES, Cut(k=2)).tie


def test_weighted_mean_by_hand() -> None:
    equal = parse_filter("authority+relevance")
    assert equal.scores(SCORES) == [4.5, 5.0, 8.0, 7.5, 5.0]
    # Three parts authority, one part relevance: (3 * 0 + 9) / 4 = 2.25, (3 * 2 + 8) / 4 = 3.5, ...
    heavy = parse_filter("authority+relevance", {"authority": 3})
    assert heavy.scores(SCORES) == [2.25, 3.5, 8.5, 8.25, 7.0]
    assert heavy.select(SCORES, Cut(k=3)).kept == (2, 3, 4)
    assert heavy.select(SCORES, Cut(threshold=7)).kept == (2, 3, 4)


def test_means_that_are_equal_on_paper_tie() -> None:
    # 0.1 * 7 + 0.2 * 1 and 0.1 * 1 + 0.2 * 4 differ in floats, (7 + 2) / 3 and (1 + 8) / 3 do not.
    chosen = parse_filter("authority+relevance", {"authority": 0.1, "relevance": 0.2})
    scores = {"authority": [7.0, 1.0], "relevance": [1.0, 4.0]}
    assert chosen.scores(scores) == [3.0, 3.0]
    assert chosen.select(scores, Cut(k=1)).tie


def test_stages_choose_a_pool_first() -> None:
    # Half of five documents, rounded up: the three most relevant are the pool of the authority filter.
    chosen = parse_filter("relevance-then-authority", pool=0.5)
    assert chosen.select(SCORES, Cut(k=1)).kept == (2,)
    assert chosen.select(SCORES, Cut(k=2)).kept == (2, 1)
    # Four are wanted, so the pool is four.
    assert chosen.select(SCORES, Cut(k=4)).kept == (2, 3, 1, 0)
    assert chosen.select(SCORES, Cut(threshold=9)).kept == (2,)
    assert chosen.select(SCORES, Cut(threshold=9), minimum=2).kept == (2, 1)
    whole = parse_filter("relevance-then-authority", pool=1)
    assert whole.select(SCORES, Cut(k=3)).kept == parse_filter("authority").select(SCORES, Cut(k=3)).kept


def test_a_tie_at_the_edge_of_the_pool_counts() -> None:
    scores = {"relevance": [5.0, 5.0, 5.0, 5.0], "authority": [1.0, 2.0, 3.0, 4.0]}
    selection = parse_filter("relevance-then-authority").select(scores, Cut(k=1))
    assert selection.kept == (1,)
    assert selection.tie
