"""What the verbs share: options, completion of names, and how results are printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from authbench.experiment.loading import Experiment


def complete_config(incomplete: str) -> list[str]:
    """Names of the configurations that ship; where none fits, the shell completes files."""
    from authbench.paths import share_dir

    return [path.stem for path in sorted(share_dir("configs").glob("*.yaml"))]


def complete_models(incomplete: str) -> list[str]:
    """Names of models, the last one of a list such as `qwen3-8b,qwen3-14b`."""
    from authbench.experiment.models import known_models

    before, comma, _ = incomplete.rpartition(",")
    return [before + comma + name for name in known_models()]


def complete_engine(incomplete: str) -> list[str]:
    """Names of engines."""
    from authbench.engines.registry import ENGINES

    return list(ENGINES)


def flag(*names: str, help: str) -> Any:
    """An option without a value: `metavar` keeps its type out of the help."""
    return typer.Option(*names, metavar="", help=help)


Json = Annotated[bool, flag("--json", help="Print JSON for programs.")]
Quiet = Annotated[bool, flag("--quiet", "-q", help="Only results and errors.")]
Results = Annotated[
    Path, typer.Option("--results", metavar="DIR", file_okay=False, help="Folder of runs and answers.")
]
Runs = Annotated[
    list[Path],
    typer.Argument(metavar="RUN", help="A run's folder, an experiment's, or a whole results folder."),
]
#: The five that decide an experiment; `load_experiments` takes their values.
Configs = Annotated[
    list[str],
    typer.Argument(
        metavar="CONFIG",
        autocompletion=complete_config,
        help="A YAML file, or the name of a configuration that ships (authbench list configs).",
    ),
]
EngineName = Annotated[
    str | None,
    typer.Option(
        "--engine",
        metavar="NAME",
        autocompletion=complete_engine,
        help="Instead of the configuration's engine.",
    ),
]
Models = Annotated[
    str | None,
    typer.Option(
        "--models",
        metavar="M,..",
        autocompletion=complete_models,
        help="Instead of the configuration's models: names of `authbench list models`, or paths.",
    ),
]
Sets = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Change a setting, such as dataset.lists=50; may be repeated."
    ),
]
Data = Annotated[
    Path | None,
    typer.Option(
        "--data", metavar="DIR", exists=True, file_okay=False, help="Look for data files here first."
    ),
]
Limit = Annotated[
    int | None,
    typer.Option("--limit", min=1, metavar="N", help="Only the first N items of each group; stamps PARTIAL."),
]


def load_experiments(
    configs: Sequence[str],
    engine: str | None,
    models: str | None,
    sets: Sequence[str] | None,
    data: Path | None,
) -> list[Experiment]:
    """The experiments that a command line names. Raises `ConfigError`."""
    from authbench.experiment.loading import load_experiment

    if data is not None:
        os.environ["AUTHBENCH_DATA"] = str(data)
    names = [name.strip() for name in models.split(",") if name.strip()] if models else None
    return [load_experiment(name, sets=sets or (), models=names, engine=engine) for name in configs]


def run_folders(paths: Sequence[Path]) -> list[Path]:
    """Every folder with a `run.json` at or below these paths; a path without one is kept, to be refused."""
    found: list[Path] = []
    for path in paths:
        found += sorted(file.parent for file in path.rglob("run.json")) or [path]
    return found


def print_json(value: object, indent: int = 1) -> None:
    """Print a value as JSON, in ASCII where stdout is not UTF-8."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    typer.echo(json.dumps(value, indent=indent, ensure_ascii=encoding != "utf8", default=str))


def say(text: str, *, quiet: bool = False) -> None:
    """A line for a person, on stderr; where that cannot be written, nobody is waiting for it."""
    if not quiet:
        with suppress(OSError, ValueError):
            typer.echo(text, err=True)


def console() -> Console:
    """A rich console on stdout that honours NO_COLOR and never wraps what a pipe reads."""
    from rich.console import Console

    width = None if sys.stdout.isatty() else int(os.environ.get("COLUMNS", "100"))
    return Console(file=sys.stdout, highlight=False, width=width)


def print_columns(rows: Sequence[Sequence[object]], head: Sequence[str]) -> None:
    """Print rows in columns: numbers right, words left. Nothing is cut off, so that a pipe gets it whole."""
    cells = [[_cell(value) for value in row] for row in rows]
    widths = [max(len(line[i]) for line in [list(head), *cells]) for i in range(len(head))]
    numeric = [all(_is_number(row[i]) for row in rows) and bool(rows) for i in range(len(head))]
    for line in [list(head), *cells]:
        words = [
            word.rjust(width) if right else word.ljust(width)
            for word, width, right in zip(line, widths, numeric, strict=True)
        ]
        typer.echo("  ".join(words).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))
