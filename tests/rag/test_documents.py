"""Documents cut to a budget, in tokens of the engine's own tokenizer or in characters."""

from __future__ import annotations

from collections.abc import Sequence

import pytest
from engine_double import DoubleEngine
from hypothesis import given
from hypothesis import strategies as st

from authbench.data.records import Document, Question
from authbench.rag.documents import characters_within, cut_documents
from authbench.runtime.engine import RenderedPrompt


class WordEngine(DoubleEngine):
    """A tokenizer of one token for every three characters, begun or not."""

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        return [-(-len(prompt.text) // 3) for prompt in prompts]


@given(st.text(max_size=200), st.integers(1, 40))
def test_the_longest_beginning_that_fits(text: str, tokens: int) -> None:
    characters = characters_within(text, tokens, WordEngine())
    assert characters == min(len(text), 3 * tokens)


def test_a_million_characters_take_few_counts() -> None:
    counted: list[int] = []

    class Counting(WordEngine):
        def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
            counted.extend(len(prompt.text) for prompt in prompts)
            return super().count_tokens(prompts)

    assert characters_within("x" * 1_000_000, 100, Counting()) == 300
    assert len(counted) < 20 and max(counted) <= 6400


def test_without_a_tokenizer_it_is_an_estimate() -> None:
    assert characters_within("x" * 1000, 10, DoubleEngine()) == 40
    assert characters_within("x" * 10, 10, DoubleEngine()) == 10


@pytest.mark.parametrize(("budget", "texts"), [(None, ["abcdef", "xy"]), (3, ["abc", "xy"]), (0, ["", ""])])
def test_cutting(budget: int | None, texts: list[str]) -> None:
    question = Question("q", 0, "?", "yes", (Document("u", "abcdef", 3.0), Document("v", "xy")))
    cut = cut_documents(question, lambda place, document: budget)
    assert [document.text for document in cut.documents] == texts
    assert [(document.url, document.label) for document in cut.documents] == [("u", 3.0), ("v", None)]
