"""What a reader has to know about where numbers come from, out of `run.json`, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from authbench.reporting.results import Run


def provenance(run: Run) -> list[tuple[str, str]]:
    """Names and words, in the order in which a reviewer asks: what ran, on what, with which data."""
    facts = run.run
    rows = [
        ("experiment", run.experiment),
        ("table", run.table or ""),
        ("model", _model(facts)),
        ("engine", _engine(facts)),
        ("state", _state(run)),
        ("options beyond the papers", _pairs(facts.get("options"))),
        ("keys passed", ", ".join(map(str, facts.get("passed") or ()))),
        ("seeds", _pairs(_of(facts, "data").get("seeds"))),
        ("data", _files(_of(facts, "data").get("files") or ())),
        ("left out of the data", _pairs(_of(facts, "data").get("dropped"))),
        ("prompts", str(facts.get("prompts") or "")),
        ("chat template", str(facts.get("rendering_hash") or "")),
        ("texts cut to the context", _count(facts.get("truncated"))),
        ("answers", _pairs(facts.get("statuses"))),
        ("versions", _pairs(facts.get("versions"))),
        ("engine's own", _pairs(_of(facts, "engine").get("info"))),
        ("commit", _commit(facts.get("git"))),
        ("machine", _pairs(facts.get("machine"))),
        ("time", _time(facts)),
        ("session", _pairs(facts.get("session"))),
    ]
    return [(name, words) for name, words in rows if words]


def _of(facts: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    value = facts.get(name)
    return value if isinstance(value, Mapping) else {}


def _model(facts: Mapping[str, Any]) -> str:
    model = _of(facts, "model")
    words = [str(model.get("id") or model.get("name") or facts.get("model") or "")]
    words += [f"revision {model['revision']}"] if model.get("revision") else []
    words += [f"precision {model['precision']}"] if model.get("precision") else []
    words += ["tiny: its numbers mean nothing"] if model.get("tiny") else []
    return ", ".join(words)


def _engine(facts: Mapping[str, Any]) -> str:
    engine = _of(facts, "engine")
    settings = _pairs(engine.get("settings"))
    return f"{engine.get('name') or facts.get('engine') or ''}{f' ({settings})' if settings else ''}"


def _state(run: Run) -> str:
    words = str(run.run.get("status") or "")
    if run.partial:
        words += " PARTIAL" + (f": the first {run.limit} items of each group" if run.limit else "")
    failed = run.run.get("failed_items")
    errors = "; ".join(map(str, run.run.get("errors") or ()))
    return words + (f", {failed:,} items failed ({errors})" if failed else "")


def _files(files: Sequence[Any]) -> str:
    named = [file for file in files if isinstance(file, Mapping)]
    return "; ".join(
        f"{file.get('path')}, SHA-256 {file.get('sha256') or 'unknown'}"
        + (f" (from the {file['where']})" if file.get("where") else "")
        for file in named
    )


def _pairs(values: Any) -> str:
    if not isinstance(values, Mapping):
        return ""
    return ", ".join(f"{name}: {_value(value)}" for name, value in values.items())


def _value(value: Any) -> str:
    if isinstance(value, Mapping):
        return f"({_pairs(value)})"
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _count(values: Any) -> str:
    return f"{len(values):,} items" if isinstance(values, Mapping) and values else ""


def _commit(git: Any) -> str:
    if not isinstance(git, Mapping):
        return ""
    return f"{git.get('commit')}{' with uncommitted changes' if git.get('dirty') else ''}"


def _time(facts: Mapping[str, Any]) -> str:
    started, ended = facts.get("started"), facts.get("ended")
    return f"{started} to {ended}" if started and ended else str(started or "")
