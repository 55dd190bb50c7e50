"""Pairs: what is asked, what PointJudge shares with Table 1, and how answers become Table 3's numbers."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from engine_double import DoubleEngine

from authbench.errors import ConfigError, DataError
from authbench.experiment.scoring import to_record
from authbench.runtime.scheduler import Scheduler
from authbench.runtime.store import Store
from authbench.tasks.base import Group, Record, Task
from authbench.tasks.fitting import Fitter
from authbench.tasks.registry import EXPERIMENT, make_task

#: Three domains of each level, with text: d70.example has level 7.
DOMAINS = {f"d{level}{copy}.example": level for level in range(10) for copy in range(3)}


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    path = tmp_path / "domains.jsonl"
    rows = [
        json.dumps({"domain": name, "level": level, "text": f"About {name}. " * 20})
        for name, level in DOMAINS.items()
    ]
    path.write_text("\n".join(rows))
    return path


def task_of(corpus: Path, engine: DoubleEngine | None = None, **options: Any) -> Task:
    dataset = {"name": "mine", "path": str(corpus), "pairs": 20, "seed": 1} | options.pop("dataset", {})
    values = {"task": "pairwise", "dataset": dataset, "models": ["m"], **options}
    settings = EXPERIMENT.validate_python(values)
    fitter = Fitter(engine or DoubleEngine(), settings.overflow, settings.text_chars)
    return make_task(settings, fitter)


def names(prompt: str) -> list[str]:
    return re.findall(r"d\d\d\.example", prompt)


def by_label(prompt: str, sample: int) -> str:
    """What a judge who knows every label answers."""
    shown = list(dict.fromkeys(names(prompt)))
    levels = [DOMAINS[name] for name in shown]
    if len(shown) == 1:
        return json.dumps({"score": levels[0]})
    if '{"A"' in prompt:
        return json.dumps({"A": levels[0], "B": levels[1]})
    return "A" if levels[0] > levels[1] else "B"


def constant(prompt: str, sample: int) -> str:
    """Always the same: 5 of 9, or A."""
    if len(set(names(prompt))) == 1:
        return '{"score": 5}'
    return '{"A": 5, "B": 5}' if '{"A"' in prompt else "A"


def run(
    task: Task, answer: Callable[[str, int], str], tmp_path: Path, **options: Any
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


def measure(task: Task, answered: Mapping[str, list[Record]], group: Group) -> dict[tuple[str, str], Any]:
    rows = task.score(group, answered[group.id])
    return {(row["metric"], row["policy"]): row for row in rows}


def test_groups_and_sizes(corpus: Path) -> None:
    task = task_of(corpus, context=["without", "with"])
    groups = task.groups()
    assert [group.id for group in groups[:4]] == [
        "domains/easy/without/pair-rank",
        "domains/easy/without/pair-score",
        "domains/easy/without/point",
        "domains/easy/with/pair-rank",
    ]
    assert len(groups) == 2 * 2 * 3 and {task.size(group) for group in groups} == {20}
    assert groups[-1].dims["difficulty"] == "hard" and groups[-1].dims["output"] == "score"
    for group in groups:
        gaps = {abs(a - b) for a, b in (unit.gold["levels"] for unit in task.units(group))}
        assert min(gaps) >= 6 if group.dims["difficulty"] == "easy" else max(gaps) <= 1


def test_answers_by_label_are_all_right(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus, dataset={"allow_equal": False})
    answered, _ = run(task, by_label, tmp_path)
    for group in task.groups():
        measures = measure(task, answered, group)
        assert {key: row["value"] for key, row in measures.items()} == {
            ("accuracy", "strict"): 1.0,
            ("accuracy", "valid"): 1.0,
        }


def test_constant_scores_are_wrong_and_a_constant_choice_is_a_coin(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus, dataset={"allow_equal": False, "pairs": 50})
    answered, _ = run(task, constant, tmp_path)
    for group in task.groups():
        strict = measure(task, answered, group)["accuracy", "strict"]
        if group.dims["output"] == "score":
            assert (strict["value"], strict["n_ties"], strict["n"]) == (0.0, 50, 50)
        else:
            # The side is a fair coin: 50 of them lie within 0.25 and 0.75 with all but 1 in 5,000 seeds.
            assert 0.25 < strict["value"] < 0.75 and strict["n_ties"] == 0


def test_pairs_of_equal_labels_are_wrong_and_reported_apart(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus)
    answered, _ = run(task, by_label, tmp_path)
    group = next(group for group in task.groups() if group.id == "domains/hard/without/pair-score")
    equal = sum(a == b for a, b in (unit.gold["levels"] for unit in task.units(group)))
    assert 0 < equal < 20
    measures = measure(task, answered, group)
    assert measures["accuracy", "strict"]["value"] == pytest.approx((20 - equal) / 20)
    assert measures["accuracy-unequal", "strict"]["value"] == 1.0
    assert measures["accuracy-unequal", "strict"]["n"] == 20 - equal
    tied = measures["equal-tied", "strict"]
    assert (tied["value"], tied["n"], tied["n_ties"]) == (1.0, equal, equal)


def test_invalid_answers_are_wrong_and_counted(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus)
    answered, _ = run(task, lambda prompt, sample: "Both are fine sources.", tmp_path)
    for group in task.groups():
        measures = measure(task, answered, group)
        strict, valid = measures["accuracy", "strict"], measures["accuracy", "valid"]
        assert (strict["value"], strict["n"], strict["n_invalid"]) == (0.0, 20, 20)
        assert (valid["value"], valid["n"]) == (None, 0)


def test_failed_requests_are_wrong_as_well(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus, judges=["point"], order="both")
    answered, _ = run(task, by_label, tmp_path, fails=lambda prompt: True)
    strict = measure(task, answered, task.groups()[0])["accuracy", "strict"]
    assert (strict["value"], strict["n_invalid"]) == (0.0, 20)


def test_point_judge_asks_what_table_1_asks(corpus: Path, tmp_path: Path) -> None:
    dataset = {"name": "mine", "path": str(corpus), "lists": 40}
    listwise = make_task(
        EXPERIMENT.validate_python(
            {"task": "listwise", "dataset": dataset, "judges": ["point"], "models": ["m"]}
        ),
        Fitter(DoubleEngine()),
    )
    # 40 lists of ten out of three domains of each level: every domain is in one of them.
    _, first = run(listwise, by_label, tmp_path)
    assert set(map(len, map(names, first.asked))) == {1} and len(first.asked) == len(DOMAINS)
    _, second = run(task_of(corpus, judges=["point"]), by_label, tmp_path)
    assert second.asked == []


def test_both_orders(corpus: Path, tmp_path: Path) -> None:
    task = task_of(corpus, judges=["pair-rank", "pair-score"], order="both", dataset={"allow_equal": False})

    def first_always(prompt: str, sample: int) -> str:
        return '{"A": 9, "B": 0}' if '{"A"' in prompt else "A"

    answered, _ = run(task, first_always, tmp_path)
    for group in task.groups():
        measures = measure(task, answered, group)
        assert measures["flip_rate", "valid"]["value"] == 1.0
        assert measures["first_preferred", "valid"]["value"] == 1.0
        # Means over both orders are equal: a preference that flips decides nothing.
        assert measures["accuracy", "strict"]["value"] == 0.0
        assert measures["accuracy", "strict"]["n_ties"] == 20
        drawn = [a > b for a, b in (unit.gold["levels"] for unit in task.units(group))]
        assert measures["accuracy-drawn", "strict"]["value"] == pytest.approx(sum(drawn) / 20)
    answered, _ = run(task, by_label, tmp_path / "again")
    for group in task.groups():
        measures = measure(task, answered, group)
        assert measures["flip_rate", "valid"]["value"] == 0.0
        assert measures["first_preferred", "valid"]["value"] == 0.5
        assert measures["accuracy", "strict"]["value"] == measures["accuracy-drawn", "strict"]["value"] == 1.0


def test_text_is_shown_and_cut_alike_for_all_judges(corpus: Path) -> None:
    task = task_of(corpus, context=["with"], text_chars=30)
    for group in task.groups():
        for request in next(next(task.units(group)).start()):
            prompt = request.messages[0].content
            for name in set(names(prompt)):
                text = f"About {name}. " * 20
                assert text[:30] in prompt and text[:31] not in prompt
    with pytest.raises(ConfigError, match="no web page text"):
        task_of(corpus, context=["with"], dataset={"name": "entityauth", "path": None})


def test_too_many_pairs_are_refused(corpus: Path) -> None:
    with pytest.raises(DataError, match=r"easy pairs wanted, but only 90 exist"):
        # Levels 0 to 3 against 6 to 9: 4 + 3 + 2 + 1 = 10 combinations of 3 by 3.
        task_of(corpus, dataset={"pairs": 5000})
    task_of(corpus, dataset={"pairs": 90})


def test_official_pairs_are_used_as_they_stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "AuthorityBench" / "dataset" / "DomainAuth"
    rows: dict[str, list[dict[str, Any]]] = {
        "corpus/corpus_10_scale.jsonl": [{"domain": d, "label": level} for d, level in DOMAINS.items()],
        # The sides stay what the file has, and a gap of 5 is for the file to answer for.
        "pairwise/easy_pairs.jsonl": [
            {"domain_a": "d00.example", "domain_b": "d90.example"},
            {"domain_a": "d80.example", "domain_b": "d30.example"},
        ],
        "pairwise/hard_pairs.jsonl": [
            {"domain_a": "d40.example", "domain_b": "d41.example"},
            {"domain_a": "d50.example", "domain_b": "d41.example"},
        ],
    }
    for name, content in rows.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("\n".join(map(json.dumps, content)))
    monkeypatch.setenv("AUTHBENCH_DATA", str(tmp_path))
    official = {"name": "domainauth", "path": None, "pairs": 5000}

    def levels(**dataset: Any) -> dict[str, list[tuple[int, list[int]]]]:
        task = task_of(tmp_path, judges=["point"], dataset=official | dataset)
        return {
            group.dims["difficulty"]: [(unit.number, unit.gold["levels"]) for unit in task.units(group)]
            for group in task.groups()
        }

    assert levels() == {"easy": [(0, [0, 9]), (1, [8, 3])], "hard": [(0, [4, 4]), (1, [5, 4])]}
    assert levels(allow_equal=False)["hard"] == [(0, [5, 4])]
    assert levels(pairs=1) == {"easy": [(0, [0, 9])], "hard": [(0, [4, 4])]}
