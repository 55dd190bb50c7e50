"""A results folder of real runs with the `fake` engine: every kind of table, two models, bad answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from runfolders import cell, write_run

from authbench.experiment.loading import load_experiment
from authbench.experiment.running import Options, run
from authbench.runtime.engine import ModelIdentity
from authbench.runtime.messages import Response, Sample
from authbench.runtime.store import Store

BAD = {"wrong_format": 0.04, "out_of_range": 0.02, "empty": 0.01, "refused": 0.01}
#: Models with the skill they are given: the second one is better.
MODELS = {"qwen3-8b": 0.5, "qwen3-14b": 0.9}
LEVELS = (1, 9, 2, 0, 8, 1)

FINE = """\
table: authoritybench/1
task: listwise
dataset: {name: sample-domains, scale: fine, lists: 12, seed: 0}
context: [without, with]
"""
ENTITIES = """\
table: authoritybench/6
task: listwise
dataset: {name: sample-entities, scale: coarse, lists: 6, seed: 0}
context: [without]
"""
PAIRS = """\
table: authoritybench/3
task: pairwise
dataset: {name: sample-domains, pairs: 30, seed: 0}
context: [without, with]
"""


def questions(folder: Path, count: int = 16, **changes: Any) -> Path:
    """A file of yes/no questions whose documents have levels."""
    rows = [
        {
            "id": f"q{number}",
            "question": f"Is claim {number} right?",
            "answer": "yes" if number % 2 else "no",
            "documents": [
                {"url": f"https://l{level}.example/{number}/{place}", "text": "Text.", "label": level}
                for place, level in enumerate(LEVELS)
            ],
        }
        | changes
        for number in range(count)
    ]
    path = folder / "questions.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return path


def collection(folder: Path, queries: int = 12, depth: int = 6) -> Path:
    """A collection in BEIR's layout with a run: of six documents a query one is relevant, not the first."""
    folder.mkdir(parents=True)
    corpus, asked, qrels, ranking = [], [], ["query-id\tcorpus-id\tscore"], []
    for query in range(queries):
        asked.append({"_id": f"q{query}", "text": f"subject {query}?"})
        qrels.append(f"q{query}\td{query}-{2 + query % 4}\t{1 + query % 3}")
        for place in range(depth):
            text = f"passage {place} on subject {query}"
            corpus.append({"_id": f"d{query}-{place}", "title": "", "text": text})
            ranking.append(f"q{query} Q0 d{query}-{place} {place + 1} {9 - place} first")
    (folder / "corpus.jsonl").write_text("\n".join(map(json.dumps, corpus)))
    (folder / "queries.jsonl").write_text("\n".join(map(json.dumps, asked)))
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text("\n".join(qrels))
    (folder / "first.run").write_text("\n".join(ranking))
    return folder


def lcr(folder: Path, extra: str = "") -> str:
    """An LCR experiment on that collection."""
    return (
        f"table: lcr/2\ntask: lcr\nbases: [retriever, rankgpt]\n"
        f"dataset: {{name: mine, path: {folder}, run: {folder / 'first.run'}, retriever: first, depth: 6}}\n"
        f"confidence: {{samples: 5, measures: [mscp, entropy], at: [3]}}\n"
        f"thresholds: {{step: 0.25, folds: 3, methods: [lcr, car]}}\n{extra}"
    )


def run_one(
    folder: Path, name: str, text: str, model: str = "fake", limit: int | None = None, **engine: Any
) -> Path:
    """Run an experiment with the `fake` engine; gives the run's folder."""
    config = folder / "configs" / f"{name}.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)
    config.write_text(f"{text}models: [{model}]\nengine: fake\n", encoding="utf-8")
    sets = [f"engine.{key}={json.dumps(value)}" for key, value in engine.items()]
    done = run([load_experiment(str(config), sets=sets)], Options(folder / "results", limit))
    return done[0].folder.path


def domain_truth() -> Mapping[str, int]:
    """The level of every domain of the sample."""
    from authbench.data.authority import load_authority

    return {s.name: s.level for s in load_authority("sample-domains", "fine").domains["domains"]}


def make_results(folder: Path) -> Path:
    """Every kind of table; gives the results folder."""
    truth: dict[str, Any] = dict(domain_truth())
    rag = f"table: authoritybench/5\ntask: rag\ndataset: {{name: mine, path: {questions(folder)}}}\n"
    answers = {f"Is claim {n} right?": "yes" if n % 2 else "no" for n in range(16)}
    for model, skill in MODELS.items():
        settings: dict[str, Any] = {"truth": truth, "skill": skill, "bad": BAD}
        run_one(folder, "domainauth_fine", FINE, model, **settings)
        run_one(folder, "domainauth_pairs", PAIRS, model, **settings)
        hosts = {f"l{level}.example": level for level in LEVELS}
        run_one(folder, "ragauth", rag, model, truth={**hosts, **answers}, skill=skill, bad=BAD)
    run_one(folder, "entityauth_coarse", ENTITIES, "qwen3-8b", limit=4, bad=BAD)
    run_one(folder, "lcr_bm25", lcr(collection(folder / "beir")), "qwen2.5-7b-instruct", bad={"empty": 0.02})
    return folder / "results"


def big_run(results: Path, items: int) -> Path:
    """A run of PairJudge with so many pairs, and their prompts in the store."""
    dims = {
        "difficulty": "easy",
        "context": "without",
        "judge": "pair",
        "output": "score",
        "domain": "domains",
    }
    folder = write_run(
        results,
        "big",
        "m",
        [cell("accuracy", 0.5, **dims, n=items)],
        task="pairwise",
        table="authoritybench/3",
    )
    with Store(results / "responses.sqlite") as store, (folder / "items.jsonl").open("w") as file:
        model = store.register(ModelIdentity("m", "1", "none", "fake"), {})
        for number in range(items):
            key = number.to_bytes(32, "big")
            a, b = number % 10, number * 7 % 10
            text = f'{{"A": {a}, "B": {b}}}' if number % 11 else "I would rather not say."
            prompt = f"Which is more authoritative, site{number}.example or host{number * 31}.example? " * 4
            store.put(key, model, prompt, Response((Sample(text, "stop", 9),), 60))
            row = {
                "group": "domains/easy/without/pair-score",
                "item": f"domains-easy-{number:06}",
                "number": number,
                "gold": {"levels": [number % 3, 9 - number % 3]},
                "values": {"scores": [a, b] if number % 11 else [None, None]},
                "answers": [
                    {"key": key.hex(), "texts": [text], "status": "ok" if number % 11 else "refused"}
                ],
                "error": None,
            }
            file.write(json.dumps(row) + "\n")
    return folder
