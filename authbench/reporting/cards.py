"""A results folder for the Hugging Face hub: data files that its viewer reads, and a card that describes
them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from authbench import __version__
from authbench.reporting.export import columns_of, rows, write_jsonl
from authbench.reporting.provenance import provenance
from authbench.reporting.results import Run
from authbench.reporting.tables import render_tables

#: What of the data files a run used may be told: not where they lay on somebody's disk.
_FILE_FACTS = ("path", "sha256", "size", "where")


def write_hub_folder(runs: Sequence[Run], folder: Path) -> list[Path]:
    """Write `README.md`, `data/{cells,values,answers}.jsonl` and `runs/EXPERIMENT/MODEL/run.json`.

    Prompts are left out: they hold the judged data, whose licences are not ours.
    """
    (folder / "data").mkdir(parents=True, exist_ok=True)
    written = []
    counts: dict[str, int] = {}
    for what in ("cells", "values", "answers"):
        path = folder / "data" / f"{what}.jsonl"
        counts[what] = write_jsonl(path, columns_of(what), rows(runs, what))
        written.append(path)
    for run in runs:
        path = folder / "runs" / run.experiment / run.model / "run.json"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(
            json.dumps(public_facts(run.run), indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )
        written.append(path)
    card = folder / "README.md"
    card.write_text(card_text(runs, counts), encoding="utf-8", errors="replace")
    return [card, *written]


def public_facts(facts: Mapping[str, Any]) -> dict[str, Any]:
    """`run.json` without the places of data files on the machine that ran it."""
    data = facts.get("data")
    if not isinstance(data, Mapping):
        return dict(facts)
    files = [
        {name: file[name] for name in _FILE_FACTS if name in file}
        for file in data.get("files", ())
        if isinstance(file, Mapping)
    ]
    return {**facts, "data": {**data, "files": files}}


def card_text(runs: Sequence[Run], counts: Mapping[str, int]) -> str:
    """The card: what the hub's viewer needs, what the files hold, the tables, and where they come from."""
    experiments = list(dict.fromkeys(run.experiment for run in runs))
    models = list(dict.fromkeys(run.model for run in runs))
    return "\n".join(
        [
            *_front_matter(experiments),
            f"# authbench results: {', '.join(map(_md, experiments))}",
            "",
            f"Made with authbench {__version__}. Models: {', '.join(map(_md, models))}.",
            *_caveats(runs),
            "",
            "| file | rows | a row is |",
            "| :-- | --: | :-- |",
            f"| `data/cells.jsonl` | {counts['cells']:,} | a measure of a cell, with its 95 % interval |",
            f"| `data/values.jsonl` | {counts['values']:,} | the value of one item in one cell |",
            f"| `data/answers.jsonl` | {counts['answers']:,} | one answer, with how it was read |",
            "",
            "Values are fractions. Under the policy `strict` an answer that cannot be used counts as wrong, "
            "or as no correlation; under `valid` it is left out. Prompts are not part of this folder, since "
            "they hold the judged data; `key` finds them in the store of whoever ran this.",
            "",
            "## Tables",
            "",
            render_tables(runs, format="md", intervals=True, paper=True).strip(),
            "",
            "## Provenance",
            "",
            *_provenance(runs),
        ]
    )


def _front_matter(experiments: Sequence[str]) -> list[str]:
    lines = ["---", f"pretty_name: {json.dumps('authbench results: ' + ', '.join(experiments))}"]
    lines += ["tags:", "- authbench", "- llm-as-a-judge", "- evaluation-results", "configs:"]
    for what in ("cells", "values", "answers"):
        lines += [f"- config_name: {what}", f"  data_files: data/{what}.jsonl"]
        lines += ["  default: true"] if what == "cells" else []
    return [*lines, "---", ""]


def _caveats(runs: Sequence[Run]) -> list[str]:
    said = []
    if any(run.partial for run in runs):
        said.append("**PARTIAL**: not every item of every experiment was judged.")
    if any(run.tiny or run.engine == "fake" for run in runs):
        said.append("Some models here are tiny or made up: their numbers prove machinery, nothing else.")
    return said


def _provenance(runs: Sequence[Run]) -> list[str]:
    lines = []
    for run in runs:
        lines += [f"### {_md(run.experiment)}, {_md(run.model)}", ""]
        lines += [f"- {name}: {_md(words)}" for name, words in provenance(run)]
        lines.append("")
    return lines


def _md(text: str) -> str:
    for sign in "\\|<>*_`[]":
        text = text.replace(sign, f"\\{sign}")
    return " ".join(text.split())
