"""RAG as a task: groups, cells, what is asked, options beyond the paper, and what the data may lack."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from engine_double import DoubleEngine
from pydantic import ValidationError

from authbench.errors import ConfigError, DataError
from authbench.experiment.scoring import to_record
from authbench.runtime.engine import RenderedPrompt
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store
from authbench.tasks.base import Record, Task
from authbench.tasks.fitting import Fitter
from authbench.tasks.registry import EXPERIMENT, make_task

LEVELS = (1, 9, 2, 0, 8, 1)
QUESTIONS = 8


def rows() -> list[dict[str, Any]]:
    """Questions in which the label decides: the two domains of level 8 and 9 are right, the others wrong."""
    made = []
    for number in range(QUESTIONS):
        right, wrong = ("yes", "no") if number % 2 else ("no", "yes")
        documents = [
            {
                "url": f"https://l{level}.example/{number}/{place}",
                "text": f"Document {number}-{place} claims: {right if level >= 8 else wrong}.",
                "label": level,
            }
            for place, level in enumerate(LEVELS)
        ]
        made.append(
            {
                "id": f"q{number}",
                "question": f"Is claim {number} right?",
                "answer": right,
                "topic": "health" if number < 3 else "politics",
                "documents": documents,
            }
        )
    return made


def write(tmp_path: Path, made: Sequence[object]) -> Path:
    path = tmp_path / "questions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in made))
    return path


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write(tmp_path, rows())


def task_of(path: Path, *, fitter: Fitter | None = None, **options: Any) -> Task:
    dataset = {"name": "mine", "path": str(path)} | options.pop("dataset", {})
    settings = EXPERIMENT.validate_python({"task": "rag", "dataset": dataset, "models": ["m"], **options})
    return make_task(settings, fitter or Fitter(DoubleEngine(), settings.overflow, settings.text_chars))


def reader(prompt: str, sample: int) -> str:
    """Knows every domain's level, and answers what most of the documents that it is shown claim."""
    if "ONLY" in prompt:
        claims = Counter(re.findall(r"claims: (yes|no)", prompt))
        return "yes" if claims["yes"] > claims["no"] else "no"
    levels = re.findall(r"\[\d\]:? https://l(\d)\.example", prompt)
    if "score the relevance" in prompt:
        levels = [9 - int(level) for level in levels]
    scores = {str(place): int(level) for place, level in enumerate(levels)}
    if '"answers"' in prompt:
        return json.dumps({"answers": dict.fromkeys(scores, "?"), "scores": dict.fromkeys(scores, 5)})
    return json.dumps(scores)


def run(
    task: Task, tmp_path: Path, answer: Callable[[str, int], str] = reader, **options: Any
) -> tuple[dict[str, list[Record]], DoubleEngine]:
    engine = DoubleEngine(answer, **options)
    answered: dict[str, list[Record]] = {group.id: [] for group in task.groups()}
    with Store(tmp_path / "r.sqlite") as store:
        scheduler = Scheduler(engine, store, store.register(engine.identity, {}))
        units = [unit for group in task.groups() for unit in task.units(group)]
        for finished in scheduler.run(units, lambda unit: unit.start()):
            answered[finished.unit.group.id].append(to_record(finished, finished.unit))
    for records in answered.values():
        records.sort(key=lambda record: record.number)
    return answered, engine


def cells(task: Task, answered: Mapping[str, list[Record]]) -> dict[tuple[Any, ...], dict[str, Any]]:
    """Rows by filter, k, method, metric, policy and domain."""
    found = {}
    for group in task.groups():
        for row in task.score(group, answered[group.id]):
            key = (row.get("k"), row.get("method"), row["metric"], row["policy"], row.get("domain"))
            found[(group.dims["filter"], *key)] = row
    return found


def accuracy(task: Task, answered: Mapping[str, list[Record]], policy: str = "strict") -> dict[Any, Any]:
    return {
        (key[0], key[1]): row["value"]
        for key, row in cells(task, answered).items()
        if key[2:] == (None, "accuracy", policy, None)
    }


def test_ten_cells_and_an_authority_filter_that_helps(data: Path, tmp_path: Path) -> None:
    task = task_of(data)
    assert [group.id for group in task.groups()] == [
        "mine/none",
        "mine/relevance",
        "mine/utility",
        "mine/authority",
    ]
    answered, _ = run(task, tmp_path)
    # Four of six documents are wrong. By authority the two right ones come first, by relevance last; with
    # equal scores the order of retrieval decides: wrong; wrong, right, wrong; three wrong of five.
    assert accuracy(task, answered) == {
        ("none", None): 0.0,
        ("relevance", 1): 0.0,
        ("relevance", 3): 0.0,
        ("relevance", 5): 0.0,
        ("utility", 1): 0.0,
        ("utility", 3): 0.0,
        ("utility", 5): 0.0,
        ("authority", 1): 1.0,
        ("authority", 3): 1.0,
        ("authority", 5): 0.0,
    }
    found = cells(task, answered)
    assert found["utility", 3, None, "accuracy", "strict", None]["n_ties"] == QUESTIONS
    # Levels 1 and 1 lie on both sides of k = 5 by relevance (9 8 8 7 1 | 0): no; by authority 0 is alone.
    assert found["authority", 5, None, "accuracy", "strict", None]["n_ties"] == 0
    assert {row["n"] for row in found.values()} == {QUESTIONS}


def test_what_is_equal_is_asked_once(data: Path, tmp_path: Path) -> None:
    task = task_of(data, keep=[1, 3, 6, 8], filters=["none", "authority", "utility", "authority+utility"])
    _, engine = run(task, tmp_path)
    assert len(engine.asked) == len(set(engine.asked))
    answers = [prompt for prompt in engine.asked if "ONLY" in prompt]
    # A question: all six documents (none, and every k of 6 or more), best one and best three by authority
    # (the joined filter keeps the same), and the first one and three by equal scores.
    assert len(answers) == 5 * QUESTIONS
    assert len(engine.asked) == len(answers) + 2 * QUESTIONS


def test_bad_filter_answers_are_wrong_at_every_k(data: Path, tmp_path: Path) -> None:
    def lazy(prompt: str, sample: int) -> str:
        return reader(prompt, sample) if "ONLY" in prompt else "I would rather not."

    task = task_of(data, filters=["none", "authority"])
    answered, engine = run(task, tmp_path, lazy)
    found = cells(task, answered)
    for k in (1, 3, 5):
        row = found["authority", k, None, "accuracy", "strict", None]
        assert (row["value"], row["n"], row["n_invalid"]) == (0.0, QUESTIONS, QUESTIONS)
        assert found["authority", k, None, "accuracy", "valid", None]["n"] == 0
    assert sum("ONLY" in prompt for prompt in engine.asked) == QUESTIONS  # those of no filter


def test_answers_that_are_neither_yes_nor_no(data: Path, tmp_path: Path) -> None:
    def careful(prompt: str, sample: int) -> str:
        return "It depends." if "claim 1" in prompt and "ONLY" in prompt else reader(prompt, sample)

    task = task_of(data, filters=["authority"], keep=1)
    answered, _ = run(task, tmp_path, careful)
    strict = cells(task, answered)["authority", 1, None, "accuracy", "strict", None]
    valid = cells(task, answered)["authority", 1, None, "accuracy", "valid", None]
    assert (strict["value"], strict["n_invalid"]) == (pytest.approx(7 / 8), 1)
    assert (valid["value"], valid["n"]) == (1.0, 7)


def test_failed_requests_are_wrong(data: Path, tmp_path: Path) -> None:
    task = task_of(data, filters=["authority"], calibration=True, by_topic=True, thresholds=[5])
    answered, _ = run(task, tmp_path, fails=lambda prompt: True)
    found = cells(task, answered)
    assert found["authority", 1, None, "accuracy", "strict", None]["n_invalid"] == QUESTIONS
    assert found["authority", None, "score>=5", "kept-share", "valid", None]["n"] == 0


def test_a_constant_generator_is_right_for_half_of_the_questions(data: Path, tmp_path: Path) -> None:
    def constant(prompt: str, sample: int) -> str:
        return "yes" if "ONLY" in prompt else reader(prompt, sample)

    task = task_of(data)
    answered, _ = run(task, tmp_path, constant)
    assert set(accuracy(task, answered).values()) == {0.5}


def test_thresholds_topics_calibration_and_oracles(data: Path, tmp_path: Path) -> None:
    task = task_of(
        data,
        filters=["authority", "oracle-authority"],
        keep=[1],
        thresholds=[7, 9.0],
        by_topic=True,
        calibration=True,
    )
    answered, engine = run(task, tmp_path)
    found = cells(task, answered)
    at_seven = found["authority", None, "score>=7", "accuracy", "strict", None]
    assert (at_seven["value"], at_seven["k"]) == (1.0, None)
    assert found["authority", None, "score>=7", "kept-share", "valid", None]["value"] == pytest.approx(2 / 6)
    assert found["authority", None, "score>=9", "kept-share", "valid", None]["value"] == pytest.approx(1 / 6)
    topics = {
        key[5]: row["n"]
        for key, row in found.items()
        if key[:5] == ("authority", 1, None, "accuracy-by-topic", "strict")
    }
    assert topics == {"health": 3, "politics": 5}
    assert found["authority", None, None, "spearman", "strict", None]["value"] == 1.0
    assert found["authority", None, None, "calibration-error", "valid", None]["value"] == 0.0
    assert found["authority", None, "level-9", "mean-score", "valid", None]["value"] == 1.0
    assert found["oracle-authority", 1, None, "accuracy", "strict", None]["value"] == 1.0
    # The oracle asks for no scores and keeps what a judge who knows the labels keeps.
    assert len(engine.asked) == QUESTIONS * (1 + 2)


def test_labels_of_domains_from_another_data_set(data: Path, tmp_path: Path) -> None:
    made = rows()
    for row in made:
        for place, document in enumerate(row["documents"]):
            document["url"] = f"https://{'nih.gov' if place == 1 else 'nowhere.example'}/{place}"
            del document["label"]
    path = write(tmp_path, made)
    task = task_of(path, filters=["oracle-authority"], keep=[1], dataset={"labels": "sample-domains"})
    unit = next(task.units(task.groups()[0]))
    assert [level is not None for level in unit.gold["levels"]] == [False, True, False, False, False, False]
    answered, _ = run(task, tmp_path)
    assert answered["mine/oracle-authority"][0].values["cuts"][0]["kept"] == [1]
    assert len(task.data().files) == 2


def test_stances(data: Path, tmp_path: Path) -> None:
    made = rows()
    for row in made:
        for document in row["documents"]:
            claims_yes = document["text"].endswith("yes.")
            document["stance"] = "completely-support" if claims_yes else "refute"
            del document["label"]
    task = task_of(write(tmp_path, made), filters=["oracle-stance"], keep=[1, 3])
    answered, _ = run(task, tmp_path)
    assert accuracy(task, answered)["oracle-stance", 1] == 1.0


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filters": ["oracle-stance"]}, "needs documents with a stance as label, and this data has numbers"),
        (
            {"calibration": True, "dataset": {"columns": {"document_label": "nothing"}}},
            "calibration: true needs",
        ),
        (
            {"filters": ["oracle-authority"], "dataset": {"columns": {"document_label": "nothing"}}},
            "this data has no labels",
        ),
        ({"dataset": {"labels": "sample-entities"}}, "has labels of entities"),
    ],
)
def test_options_that_the_data_cannot_serve_are_refused(
    data: Path, options: dict[str, Any], said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        task_of(data, **options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"filters": ["authorty"]}, "did you mean 'authority'"),
        ({"filters": ["authority", "authority"]}, "the same value stands there twice"),
        ({"keep": [1, 1]}, "the same value stands there twice"),
        ({"keep": [0]}, "greater than or equal to 1"),
        ({"thresholds": [11]}, "less than or equal to 9"),
        ({"keep": []}, "neither keep nor thresholds"),
        ({"weights": {"none": 1}}, "'none' is no single filter"),
        ({"shown": "reversed"}, "'original' or 'score'"),
    ],
)
def test_settings_that_mean_nothing_are_refused(data: Path, options: dict[str, Any], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        task_of(data, **options)
    assert task_of(data, filters=["none"], keep=[]).groups()


def test_documents_that_lack_something(tmp_path: Path) -> None:
    made = rows()
    made[0]["documents"][0]["text"] = ""
    made[0]["documents"][1]["url"] = None
    del made[0]["documents"][2]["url"]
    path = write(tmp_path, made)
    kept = task_of(path)
    assert kept.data().dropped == {"documents without text": 1, "documents without url": 2}
    assert len(next(kept.units(kept.groups()[0])).gold["urls"]) == 6
    dropped = task_of(path, dataset={"no_text": "drop", "no_url": "drop"})
    assert dropped.data().dropped["documents dropped"] == 3
    assert [len(unit.gold["urls"]) for unit in dropped.units(dropped.groups()[0])][:2] == [3, 6]
    shallow = task_of(path, dataset={"depth": 2, "no_text": "drop", "no_url": "drop"})
    units = list(shallow.units(shallow.groups()[0]))
    assert [len(unit.gold["urls"]) for unit in units][:2] == [0, 2]
    answered, _ = run(kept, tmp_path)
    assert all(record.error is None for records in answered.values() for record in records)
    answered, _ = run(shallow, tmp_path / "shallow")
    none = answered["mine/none"][0]
    assert none.values["cuts"][0]["kept"] == [] and none.error is None


def test_a_file_without_questions(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"line 1: the answer is 'perhaps'"):
        task_of(write(tmp_path, [{**rows()[0], "answer": "perhaps"}]))


class Small(DoubleEngine):
    """A model whose context holds 1500 tokens of four characters each."""

    @property
    def context_length(self) -> int | None:
        return 1500

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        return [-(-len(prompt.text) // 4) for prompt in prompts]


def long_rows() -> list[dict[str, Any]]:
    made = rows()[:2]
    made[1]["documents"][3]["text"] = "Long. " * 170_000  # a million characters
    return made


def test_a_million_characters_are_refused_or_cut_and_recorded(tmp_path: Path) -> None:
    path = write(tmp_path, long_rows())
    task = task_of(path, fitter=Fitter(Small(), "error"))
    with pytest.raises(ConfigError, match=r"rag/q1: a prompt of \d+ tokens does not fit the context of 1500"):
        task.check_fit(None)
    task.check_fit(1)  # the first question fits
    fitter = Fitter(Small(), "truncate")
    task = task_of(path, fitter=fitter)
    task.check_fit(None)
    assert list(fitter.truncated) == ["rag/q1"]
    answered, engine = run(task, tmp_path)
    assert max(len(prompt) for prompt in engine.asked) <= 4 * 1500
    assert all(record.error is None for records in answered.values() for record in records)


def test_a_budget_in_tokens_for_each_document(tmp_path: Path) -> None:
    path = write(tmp_path, long_rows())
    fitter = Fitter(Small(), "error")
    task = task_of(path, fitter=fitter, document_tokens=10)
    task.check_fit(None)
    # Ten tokens are forty characters here; the other documents are shorter and stay whole.
    assert fitter.truncated == {"rag/q1/document 3": 40}
    _, engine = run(task, tmp_path)
    whole = next(
        prompt for prompt in engine.asked if "ONLY" in prompt and "1-4" in prompt and "1-0" in prompt
    )
    assert ("Long. " * 10)[:40] in whole and ("Long. " * 10)[:41] not in whole
    # The same prompts are made from what was recorded, with no tokenizer at hand.
    again = task_of(path, fitter=Fitter(DoubleEngine(), recorded=fitter.truncated), document_tokens=10)
    _, engine = run(again, tmp_path)
    assert engine.asked == []
