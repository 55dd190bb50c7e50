"""Result folders as `authbench run` writes them, made from a few lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

Cells = Iterable[Mapping[str, Any]]
WriteRun = Callable[..., Path]

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


@pytest.fixture
def write_run(tmp_path: Path) -> WriteRun:
    """`write_run(experiment, model, cells, **facts of run.json) -> folder of the model`."""

    def write(experiment: str, model: str, cells: Cells, results: str = "results", **facts: Any) -> Path:
        folder = tmp_path / results / experiment / model
        folder.mkdir(parents=True)
        run = {
            "experiment": experiment,
            "table": None,
            "task": "listwise",
            "model": {"name": model, "id": f"org/{model}", "paper_name": None, "tiny": False},
            "engine": "vllm",
            "partial": False,
            "limit": None,
            "config": {"title": None},
            "options": {"constrain": "none", "scoring": "text"},
            "statuses": {"ok": 500},
            **facts,
        }
        (folder / "run.json").write_text(json.dumps(run), encoding="utf-8")
        (folder / "cells.json").write_text(json.dumps(list(cells)), encoding="utf-8")
        return folder

    return write
