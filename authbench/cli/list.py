"""`authbench list configs|datasets|models|judges|engines`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from authbench.cli.common import output_options, print_columns, print_json

Rows = list[dict[str, Any]]


@click.command("list")
@click.argument("what", type=click.Choice(["configs", "datasets", "models", "judges", "engines"]))
@output_options
def command(what: str, quiet: bool, as_json: bool) -> None:
    """List configurations, data sets, models, judges or engines.

    \b
    Example:
      authbench list models
    """
    rows = LISTS[what]()
    if as_json:
        print_json(rows)
        return
    head = list(rows[0]) if rows else []
    print_columns([[row[name] for name in head] for row in rows], head)


def _configs() -> Rows:
    import yaml

    from authbench.paths import share_dir

    rows = []
    for path in sorted(share_dir("configs").glob("*.yaml")):
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_fast_loader())
        if "extends" in values:
            parent = path.with_name(values["extends"])
            values = {**yaml.load(parent.read_text(encoding="utf-8"), Loader=_fast_loader()), **values}
        rows.append({"name": path.stem, "task": values.get("task"), "title": values.get("title")})
    return rows


def _datasets() -> Rows:
    from authbench.data.catalog import catalog

    return [
        {"name": entry.name, "kind": entry.kind, "text": entry.has_text, "title": entry.title}
        for entry in catalog().values()
    ]


def _models() -> Rows:
    import yaml

    from authbench.experiment.models import known_models

    rows = []
    for name, path in sorted(known_models().items()):
        values = yaml.load(path.read_text(encoding="utf-8"), Loader=_fast_loader())
        parameters = values.get("parameters")
        rows.append(
            {
                "name": name,
                "id": values.get("id"),
                "parameters": f"{parameters / 1e9:.1f}B" if parameters else None,
                "context": values.get("context_length"),
                "paper": values.get("paper_name"),
            }
        )
    return rows


def _judges() -> Rows:
    return [
        {"name": "point", "calls": 10, "coarse": 5, "answers": 'a score: {"score": 7}'},
        {"name": "list-rank", "calls": 1, "coarse": 1, "answers": "a ranking: [4] > [0]"},
        {"name": "list-score", "calls": 1, "coarse": 1, "answers": 'scores: {"0": 7, "1": 4}'},
        {"name": "pair-rank", "calls": 35, "coarse": 10, "answers": "A or B"},
        {"name": "pair-score", "calls": 35, "coarse": 10, "answers": 'scores: {"A": 7, "B": 4}'},
    ]  # fmt: skip


def _engines() -> Rows:
    from authbench.engines.registry import ENGINES, installed

    return [
        {
            "name": name,
            "installed": installed(name),
            "extra": spec.extra,
            "for": spec.summary,
            "can": ", ".join(spec.can) or None,
        }
        for name, spec in ENGINES.items()
    ]


LISTS: dict[str, Callable[[], Rows]] = {
    "configs": _configs,
    "datasets": _datasets,
    "models": _models,
    "judges": _judges,
    "engines": _engines,
}


def _fast_loader() -> Any:
    import yaml

    return getattr(yaml, "CSafeLoader", yaml.SafeLoader)
