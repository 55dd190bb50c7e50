"""Options that several verbs share, and how results are printed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

if TYPE_CHECKING:
    from rich.console import Console

    from authbench.experiment.loading import Experiment

F = TypeVar("F", bound=Callable[..., Any])


def json_option(function: F) -> F:
    """`--json`."""
    return click.option("--json", "as_json", is_flag=True, help="Print JSON for programs.")(function)


def quiet_option(function: F) -> F:
    """`--quiet`: results on stdout and errors on stderr, nothing else."""
    return click.option("-q", "--quiet", is_flag=True, help="Only results and errors.")(function)


def output_options(function: F) -> F:
    """`--json` and `--quiet`."""
    return quiet_option(json_option(function))


def results_option(function: F) -> F:
    """`--results DIR`."""
    return click.option(
        "--results",
        type=click.Path(path_type=Path, file_okay=False),
        default=Path("results"),
        show_default=True,
        help="Folder of runs and answers.",
    )(function)


def count_option(name: str, default: int, text: str) -> Callable[[F], F]:
    """An option that takes a number from 0 on."""
    return click.option(
        name, type=click.IntRange(min=0), metavar="N", default=default, show_default=True, help=text
    )


def experiment_options(function: F) -> F:
    """Everything that decides an experiment: configurations, --engine, --models, --set, --data."""
    options = (
        click.argument("configs", nargs=-1, required=True, metavar="CONFIG...", shell_complete=_configs),
        click.option(
            "--engine",
            metavar="NAME",
            shell_complete=_engines,
            help="Instead of the configuration's engine.",
        ),
        click.option(
            "--models",
            metavar="M,..",
            help="Instead of the configuration's models: names of `authbench list models`, or paths.",
        ),
        click.option(
            "--set",
            "sets",
            multiple=True,
            metavar="KEY=VALUE",
            help="Change a setting, such as dataset.lists=50; may be repeated.",
        ),
        click.option(
            "--data",
            type=click.Path(path_type=Path, file_okay=False, exists=True),
            help="Look for data files here first.",
        ),
    )  # fmt: skip
    for option in reversed(options):
        function = option(function)
    return function


def load_experiments(
    configs: Sequence[str], engine: str | None, models: str | None, sets: Sequence[str], data: Path | None
) -> list[Experiment]:
    """The experiments that a command line names. Raises `ConfigError`."""
    from authbench.experiment.loading import load_experiment

    if data is not None:
        os.environ["AUTHBENCH_DATA"] = str(data)
    names = [name.strip() for name in models.split(",") if name.strip()] if models else None
    return [load_experiment(name, sets=sets, models=names, engine=engine) for name in configs]


def print_json(value: object) -> None:
    """Print a value as JSON, in ASCII where stdout is not UTF-8."""
    encoding = (getattr(sys.stdout, "encoding", None) or "").lower().replace("-", "")
    click.echo(json.dumps(value, indent=1, ensure_ascii=encoding != "utf8", default=str))


def say(text: str, *, quiet: bool = False) -> None:
    """A line for a person, on stderr; where that cannot be written, nobody is waiting for it."""
    if not quiet:
        with suppress(OSError, ValueError):
            click.echo(text, err=True)


def console(*, stderr: bool = False) -> Console:
    """A rich console that honours NO_COLOR and never wraps what a pipe reads."""
    from rich.console import Console

    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else int(os.environ.get("COLUMNS", "100"))
    return Console(file=stream, highlight=False, width=width)


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
        click.echo("  ".join(words).rstrip())


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    return "-" if value is None else str(value)


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _configs(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[Any]:
    """Shell completion: shipped configurations by name, and files."""
    from click.shell_completion import CompletionItem

    from authbench.paths import share_dir

    names = [path.stem for path in sorted(share_dir("configs").glob("*.yaml"))]
    items = [CompletionItem(name) for name in names if name.startswith(incomplete)]
    return [*items, CompletionItem(incomplete, type="file")]


def _engines(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from authbench.engines.registry import ENGINES

    return [name for name in ENGINES if name.startswith(incomplete)]
