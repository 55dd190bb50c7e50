"""Logs in the JSON format of inspect_ai (version 2 of its log files): one log a group, one sample an item.

`inspect view --log-dir DIR` shows them, and `inspect_ai.log.read_eval_log` reads them. The format is written
here field by field, so that inspect_ai need not be installed.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from authbench.reporting.compare import key_dims
from authbench.reporting.export import grouped_items
from authbench.reporting.itemdetails import item_detail
from authbench.reporting.itemfiles import Item
from authbench.reporting.labels import dim_label
from authbench.reporting.peritem import CellItems, cell_key, group_values
from authbench.reporting.prompttexts import PromptTexts
from authbench.reporting.results import Run

_VERSION = 2
#: inspect_ai's names for answers that could not be used.
_REASONS = {"refused": "refusal", "empty": "no_response"}


def write_inspect_logs(run: Run, folder: Path) -> list[Path]:
    """Write a run's logs into a folder; gives their files."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    with PromptTexts() as prompts:
        for group, items in grouped_items(run):
            log = inspect_log(run, group, items, prompts)
            path = folder / _file_name(run, group)
            text = json.dumps(log, ensure_ascii=False, indent=1)
            path.write_text(text, encoding="utf-8", errors="replace")
            written.append(path)
    return written


def inspect_log(run: Run, group: str, items: Sequence[Item], prompts: PromptTexts) -> dict[str, Any]:
    """The log of one group of items."""
    task = run.run.get("task")
    cells = group_values(run, group, items)
    scores = _scores_by_item(cells)
    failed = sum(item.error is not None for item in items)
    model = _model(run)
    return {
        "version": _VERSION,
        "status": "success" if not failed else "error",
        "eval": _spec(run, group, items, model),
        "plan": {"name": str(task), "steps": [], "config": {}},
        "results": {
            "total_samples": len(items),
            "completed_samples": len(items) - failed,
            "scores": [_score(name, cell, run) for name, cell in _named(cells).items()],
        },
        "stats": {
            "started_at": str(run.run.get("started") or ""),
            "completed_at": str(run.run.get("ended") or ""),
            "model_usage": {},
        },
        "error": None if not failed else _error(f"{failed} of {len(items)} items failed"),
        "samples": [_sample(run, item, scores.get(item.item, {}), model, prompts) for item in items],
    }


def _spec(run: Run, group: str, items: Sequence[Item], model: str) -> dict[str, Any]:
    facts = run.run
    git = facts.get("git")
    name = f"{run.experiment}/{group}"
    return {
        "created": str(facts.get("started") or "1970-01-01T00:00:00+00:00"),
        "task": name,
        "task_id": _id(name),
        "task_version": 0,
        "run_id": _id(run.experiment, run.model, facts.get("started")),
        "eval_id": _id(name, run.model, facts.get("started")),
        "task_attribs": {},
        "task_args": {},
        "dataset": {
            "name": str(_mapping(_mapping(facts.get("config")).get("dataset")).get("name") or group),
            "samples": len(items),
            "sample_ids": [item.item for item in items],
            "shuffled": False,
        },
        "model": model,
        "model_args": {},
        "config": {"limit": run.limit},
        "revision": _revision(git),
        "packages": {"authbench": str(facts.get("authbench") or "")},
        "metadata": {"group": group, "partial": run.partial, "options": facts.get("options")},
    }


def _sample(
    run: Run, item: Item, scores: Mapping[str, Any], model: str, prompts: PromptTexts
) -> dict[str, Any]:
    found = prompts.find(run, [answer.key for answer in item.answers])
    detail = item_detail(str(run.run.get("task")), item)
    messages: list[dict[str, str]] = []
    for answer in item.answers:
        messages.append({"role": "user", "content": found.get(answer.key) or f"(prompt {answer.key})"})
        messages += [{"role": "assistant", "content": text} for text in answer.texts]
    last = item.answers[-1].texts[-1] if item.answers and item.answers[-1].texts else ""
    read = [answer.read for answer in detail.answers if answer.read]
    return {
        "id": item.item,
        "epoch": 1,
        "input": messages[0]["content"] if messages else "",
        "target": json.dumps(item.gold, ensure_ascii=False),
        "messages": messages,
        "output": {
            "model": model,
            "choices": [{"message": {"role": "assistant", "content": last}, "stop_reason": "stop"}],
        },
        "scores": {
            name: {
                "value": value,
                "answer": "; ".join(read),
                "explanation": f"status: {item.worst}",
                "reason": None if valid else _REASONS.get(item.worst, "invalid_response_format"),
            }
            for name, (value, valid) in scores.items()
        },
        "metadata": {"status": item.worst, "gold": item.gold, "values": item.values},
        "error": None if item.error is None else _error(item.error),
    }


def _named(cells: Sequence[CellItems]) -> dict[str, CellItems]:
    """A group's cells by a name that tells them apart: the measure, then what varies within the group."""
    named = {}
    for cell in cells:
        dims = key_dims(cell.key)
        parts = [str(dims["metric"])]
        parts += [
            dim_label(name, dims[name], dims)
            for name in ("aggregation", "k", "base", "method")
            if name in dims
        ]
        named[" ".join(parts)] = cell
    return named


def _scores_by_item(cells: Sequence[CellItems]) -> dict[str, dict[str, tuple[float, bool]]]:
    scores: dict[str, dict[str, tuple[float, bool]]] = {}
    for name, cell in _named(cells).items():
        for item, value, valid in zip(cell.items, cell.values.tolist(), cell.valid.tolist(), strict=True):
            scores.setdefault(item, {})[name] = (value, valid)
    return scores


def _score(name: str, cell: CellItems, run: Run) -> dict[str, Any]:
    row = next((r for r in run.cells if r["policy"] == "strict" and cell_key(r) == cell.key), {})
    values = {"mean": float(cell.values.mean()), "low": row.get("low"), "high": row.get("high")}
    return {
        "name": name,
        "scorer": name,
        "params": {},
        "metrics": {
            metric: {"name": metric, "value": value, "params": {}}
            for metric, value in values.items()
            if value is not None
        },
        "metadata": {"policy": "strict", "n_invalid": int((~cell.valid).sum())},
    }


def _error(text: str) -> dict[str, str]:
    return {"message": text, "traceback": "", "traceback_ansi": ""}


def _revision(git: Any) -> dict[str, Any] | None:
    if not isinstance(git, Mapping) or not git.get("commit"):
        return None
    return {"type": "git", "origin": "", "commit": str(git["commit"]), "dirty": bool(git.get("dirty"))}


def _model(run: Run) -> str:
    return f"{run.engine}/{_mapping(run.run.get('model')).get('id') or run.model}"


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _id(*parts: object) -> str:
    return hashlib.sha256("\0".join(map(str, parts)).encode()).hexdigest()[:22]


def _file_name(run: Run, group: str) -> str:
    """`TIME_TASK_ID.json`, as inspect_ai names its logs; it lists no others."""
    when = re.sub(r"[^0-9T]+", "-", str(run.run.get("started") or "1970-01-01T00:00:00+00:00"))
    task = re.sub(r"[^A-Za-z0-9]+", "-", f"{run.experiment}-{run.model}-{group}").strip("-")
    return f"{when}_{task}_{_id(run.experiment, run.model, group)}.json"
