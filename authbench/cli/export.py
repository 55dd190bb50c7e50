"""`authbench export RUN... --to FORMAT -o PATH`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authbench.cli.common import json_option, print_json, quiet_option
from authbench.errors import ConfigError, DataError

if TYPE_CHECKING:
    from authbench.reporting.results import Run

FORMATS = ("csv", "jsonl", "parquet", "inspect", "hub", "latex")
_FOLDERS = ("inspect", "hub")


@click.command("export")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--to", "to", type=click.Choice(FORMATS), required=True, help="Format.")
@click.option("-o", "--output", type=click.Path(path_type=Path), help="File; a folder for inspect and hub.")
@click.option(
    "--what",
    type=click.Choice(("values", "answers", "cells")),
    default="values",
    show_default=True,
    help="For csv, jsonl and parquet: one row an item and measure, an answer, or a cell.",
)
@click.option("--prompts", is_flag=True, help="With --what answers: the rendered prompts as well.")
@click.option("--paper", is_flag=True, help="With latex: the paper's numbers as well.")
@quiet_option
@json_option
def command(
    runs: Sequence[Path],
    to: str,
    output: Path | None,
    what: str,
    prompts: bool,
    paper: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Take results elsewhere.

    csv, jsonl and parquet are flat tables; inspect writes logs that inspect_ai's viewer reads; hub writes a
    folder for the Hugging Face hub with a card; latex writes a file that compiles, with the paper's tables.

    \b
    Examples:
      authbench export results --to csv --what values -o values.csv
      authbench export results/ragauth --to inspect -o logs && inspect view --log-dir logs
      authbench export results --to latex --paper -o tables.tex
    """
    from authbench.reporting.results import find_runs

    if prompts and what != "answers":
        raise ConfigError("--prompts needs --what answers: a prompt belongs to an answer")
    path = output or Path(_default(to, what))
    if to in _FOLDERS and path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} exists and is no empty folder; name another with -o")
    found = find_runs(list(runs))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        count, unit = _write(found, to, path, what, prompts=prompts, paper=paper)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
    if as_json:
        print_json({"path": str(path), "format": to, "count": count, "unit": unit})
    elif not quiet:
        click.echo(f"{path}: {count:,} {unit}")
    return 0


def _default(to: str, what: str) -> str:
    names = {"inspect": "inspect-logs", "hub": "hub", "latex": "tables.tex"}
    return names.get(to, f"{what}.{to}")


def _write(
    runs: Sequence[Run], to: str, path: Path, what: str, *, prompts: bool, paper: bool
) -> tuple[int, str]:
    """Write, and say how many of what."""
    if to == "inspect":
        from authbench.reporting.inspect_log import write_inspect_logs

        return sum(len(write_inspect_logs(run, path)) for run in runs), "logs"
    if to == "hub":
        from authbench.reporting.cards import write_hub_folder

        return len(write_hub_folder(runs, path)), "files"
    if to == "latex":
        from authbench.reporting.tables import build_tables, render_tables

        path.write_text(render_tables(runs, "latex", paper=paper), encoding="utf-8")
        return len(build_tables(runs)), "tables"
    from authbench.reporting.export import WRITERS, columns_of, rows

    kind = what if what in ("values", "answers") else "cells"
    columns = columns_of(kind, prompts)  # type: ignore[arg-type]
    return WRITERS[to](path, columns, rows(runs, kind, prompts=prompts)), "rows"  # type: ignore[arg-type]
