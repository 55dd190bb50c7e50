"""Result folders as `authbench run` writes them, made from a few lines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

#: The five judges, PairJudge's scores by both aggregations.
JUDGES: tuple[dict[str, str | None], ...] = (
    {"judge": "point", "output": "score", "aggregation": None},
    {"judge": "list", "output": "rank", "aggregation": None},
    {"judge": "list", "output": "score", "aggregation": None},
    {"judge": "pair", "output": "rank", "aggregation": "bubble"},
    {"judge": "pair", "output": "score", "aggregation": "average"},
    {"judge": "pair", "output": "score", "aggregation": "bubble"},
)


def cell(metric: str, value: float | None, **facts: Any) -> dict[str, Any]:
    """A row of `cells.json`, strict, over 500 items, with an interval of two points to each side."""
    return {
        "metric": metric,
        "policy": "strict",
        "value": value,
        "low": None if value is None else value - 0.02,
        "high": None if value is None else value + 0.02,
        "n": 500,
        "n_invalid": 0,
        "n_constant": 0,
        "n_ties": 0,
        "calls": 5000,
        "unique_calls": 4000,
        "prompt_tokens": 1_000_000,
        "output_tokens": 30_000,
        "partial": False,
        **facts,
    }


def write_run(
    results: Path, experiment: str, name: str, cells: Iterable[Mapping[str, Any]], **facts: Any
) -> Path:
    """Write `results/experiment/name`; `facts` replace what `run.json` says. Gives the model's folder."""
    folder = results / experiment / name
    folder.mkdir(parents=True)
    run = {
        "experiment": experiment,
        "table": None,
        "title": None,
        "task": "listwise",
        "model": {"name": name, "id": f"org/{name}", "paper_name": None, "tiny": False},
        "engine": {"name": "vllm", "settings": {}},
        "partial": False,
        "limit": None,
        "options": {},
        "statuses": {"ok": 500},
        **facts,
    }
    rows = [
        {"experiment": experiment, "table": run["table"], "model": name, "engine": "vllm", **c} for c in cells
    ]
    (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
    (folder / "cells.json").write_text(json.dumps(rows), encoding="utf-8")
    return folder
