from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from engine_double import DoubleEngine, watch_lengths

from authbench.errors import ConfigError
from authbench.experiment.loading import load_experiment
from authbench.experiment.running import Options, run
from authbench.runtime.engine import RenderedPrompt
from authbench.runtime.messages import Request, Sampling, user
from authbench.tasks.fitting import Fitter


class WordEngine(DoubleEngine):
    """A token is a word; counts how many prompts it was asked to count."""

    counted = 0

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        self.counted += len(prompts)
        return [len(prompt.text.split()) for prompt in prompts]

    @property
    def context_length(self) -> int | None:
        return 50


def showing(text: str, answer: int = 5) -> Callable[[int | None], list[Request]]:
    return lambda budget: [user(text[:budget], Sampling(max_tokens=answer))]


def test_the_longest_is_counted_in_tokens_with_its_answer() -> None:
    engine = WordEngine()
    fitter = Fitter(engine)
    fitter.budget("short", showing("a b c"))
    fitter.budget("many words", showing("a b c d e f g h i j k l", answer=7))
    fitter.budget("long words", showing("Donaudampfschifffahrtsgesellschaft kapitän"))
    engine.counted = 0
    assert fitter.longest() == 12 + 7
    assert engine.counted == 2, "the short one cannot be the longest, whatever its tokens"


def test_what_was_cut_counts_as_it_is_shown() -> None:
    fitter = Fitter(WordEngine(), "truncate")
    assert fitter.budget("cut", showing("w " * 100, answer=20)) == 50
    assert fitter.longest() == 25 + 20


def test_without_items_nothing_is_longest() -> None:
    assert Fitter(WordEngine()).longest() == 0


def test_the_policy_error_says_how_to_cut() -> None:
    with pytest.raises(ConfigError, match="a prompt of 105 tokens does not fit the context of 50"):
        Fitter(WordEngine()).budget("cut", showing("w " * 100))


DOCUMENTS = [
    {"url": f"https://s{n}.example/", "text": f"{n} says so. " * n, "label": n % 10} for n in range(12)
]
QUESTION = {"id": "q", "question": "Is it so?", "answer": "yes", "documents": DOCUMENTS}
TASKS = {
    "listwise": "task: listwise\ndataset: {name: sample, lists: 3}",
    "pairwise": "task: pairwise\norder: both\ndataset: {name: sample-domains, pairs: 30}",
    "rag": "task: rag\ndataset: {name: mine, path: QUESTIONS}",
}


@pytest.mark.parametrize("task", TASKS)
def test_no_request_is_longer_than_the_engine_is_told(
    task: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told, asked = watch_lengths(monkeypatch)
    (tmp_path / "questions.jsonl").write_text(json.dumps(QUESTION))
    path = tmp_path / "trial.yaml"
    text = TASKS[task].replace("QUESTIONS", str(tmp_path / "questions.jsonl"))
    path.write_text(f"{text}\nmodels: [fake]\nengine: fake\n")
    run([load_experiment(str(path))], Options(tmp_path / "r"))
    assert max(asked) <= told[0] <= max(asked) + 32, "the engine makes room for the longest, and hardly more"
    assert len(told) == 1
    run([load_experiment(str(path))], Options(tmp_path / "r"))
    assert len(told) == 1, "nothing is counted where nothing is asked"
