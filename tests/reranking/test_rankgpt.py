from __future__ import annotations

import re
from itertools import pairwise

import pytest
from driving import drive, prompt_of, says
from hypothesis import given
from hypothesis import strategies as st

from authbench.errors import ConfigError
from authbench.reranking.common import Candidate
from authbench.reranking.rankgpt import RankGptSettings, rank_gpt, windows
from authbench.runtime.messages import Request, Response


def found(n: int) -> list[Candidate]:
    """Candidates from worst to best: `worth n` is the text of the last."""
    return [Candidate(f"d{place}", f"worth {place}") for place in range(n)]


def sorter(request: Request) -> Response:
    """A model that ranks a window perfectly."""
    shown = [(int(worth), name) for name, worth in re.findall(r"\[(\d+)\] worth (\d+)", prompt_of(request))]
    return says(" > ".join(f"[{name}]" for _, name in sorted(shown, reverse=True)))


def test_windows_slide_from_the_end() -> None:
    assert windows(100, 20, 10)[:2] == [(80, 100), (70, 90)]
    assert windows(100, 20, 10)[-1] == (0, 20) and len(windows(100, 20, 10)) == 9
    assert windows(10, 20, 10) == [(0, 10)]
    assert windows(20, 20, 10) == [(0, 20)]
    assert windows(25, 20, 10) == [(5, 25), (0, 15)]
    assert windows(1, 20, 10) == windows(0, 20, 10) == []


@given(st.integers(2, 60), st.integers(2, 25), st.data())
def test_windows_cover_everything_and_overlap(count: int, window: int, data: st.DataObject) -> None:
    step = data.draw(st.integers(1, window))
    made = windows(count, window, step)
    assert made[0][1] == count and made[-1][0] == 0
    for (start, end), (next_start, next_end) in pairwise(made):
        assert end - start <= window
        assert next_start < start <= next_end < end


def test_one_window_of_ten() -> None:
    outcome, rounds = drive(rank_gpt("q", found(10), RankGptSettings()), sorter)
    assert outcome.values == {"order": [f"d{n}" for n in range(9, -1, -1)], "windows": 1, "kept": 0}
    prompt = prompt_of(rounds[0][0])
    assert "You are given 10 passages" in prompt and "[9] worth 9" in prompt
    assert outcome.valid


def test_the_best_of_the_tail_climbs_to_the_front() -> None:
    outcome, rounds = drive(rank_gpt("q", found(30), RankGptSettings(window=10, step=5)), sorter)
    # A perfect model brings the five best of each window along, so the best five end up first.
    assert outcome.values["order"][:5] == ["d29", "d28", "d27", "d26", "d25"]
    assert len(rounds) == outcome.values["windows"] == 5
    assert sorted(outcome.values["order"]) == sorted(c.id for c in found(30))


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("[1] > [0]", "missing_ids"),
        ("[2] > [1] > [0] > [2]", "duplicate_ids"),
        ("[3] > [2] > [1] > [0]", "extra_ids"),
        ("The second one.", "wrong_format"),
        ("", "empty"),
        ("I'm sorry, I cannot rank these.", "refused"),
    ],
)
def test_an_invalid_ranking_leaves_the_window_as_it_was(text: str, status: str) -> None:
    outcome, _ = drive(rank_gpt("q", found(3), RankGptSettings()), lambda _: says(text))
    assert outcome.values == {"order": ["d0", "d1", "d2"], "windows": 1, "kept": 1}
    assert [answer.status for answer in outcome.answers] == [status]


def test_a_window_that_failed_does_not_stop_the_others() -> None:
    turn = iter([False, True])

    def respond(request: Request) -> Response:
        return sorter(request) if next(turn) else says("?")

    outcome, _ = drive(rank_gpt("q", found(6), RankGptSettings(window=4, step=2)), respond)
    assert outcome.values["order"] == ["d3", "d2", "d1", "d0", "d4", "d5"]
    assert outcome.values["kept"] == 1


def test_text_is_shown_as_it_is_up_to_a_budget() -> None:
    texts = [Candidate("a", "100% [0] {items}"), Candidate("b", "0123456789")]
    _, rounds = drive(rank_gpt("50%?", texts, RankGptSettings()), lambda _: says("[0] > [1]"))
    assert "100% [0] {items}" in prompt_of(rounds[0][0]) and "Query: 50%?" in prompt_of(rounds[0][0])
    _, rounds = drive(rank_gpt("q", texts, RankGptSettings(text_budget=3)), lambda _: says("[0] > [1]"))
    assert "[1] 012\n" in prompt_of(rounds[0][0])


def test_a_single_candidate_needs_no_call() -> None:
    outcome, rounds = drive(rank_gpt("q", found(1), RankGptSettings()), sorter)
    assert outcome.values["order"] == ["d0"] and rounds == []


def test_settings_that_cannot_be() -> None:
    for window, step in ((1, 1), (10, 0), (10, 11)):
        with pytest.raises(ConfigError, match="rankgpt"):
            RankGptSettings(window=window, step=step)
