"""`authbench store stats|prune|export`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authbench.cli.common import json_option, print_columns, print_json, results_option
from authbench.errors import DataError

if TYPE_CHECKING:
    from authbench.runtime.store import Store


@click.group("store")
def command() -> None:
    """Count, prune and export the answers of a results folder."""


@command.command("stats")
@results_option
@json_option
def stats(results: Path, as_json: bool) -> None:
    """Answers and tokens by model.

    \b
    Example:
      authbench store stats --results results
    """
    with _open(results) as store:
        rows = store.stats()
        size = store.path.stat().st_size
    if as_json:
        print_json({"path": str(results), "bytes": size, "models": rows})
        return
    head = ("model", "engine", "precision", "prompts", "answers", "output tokens", "last")
    print_columns(
        [
            (
                row["identity"]["model"],
                row["identity"]["family"],
                row["identity"]["precision"],
                row["prompts"],
                row["samples"],
                row["output_tokens"],
                _date(row["last"]),
            )
            for row in rows
        ],
        head,
    )
    click.echo(f"{size / 1e6:,.1f} MB")


@command.command("prune")
@results_option
@click.option("--model", help="Only the answers of this model id (see `store stats`).")
@click.option(
    "--older-than", type=click.FloatRange(min=0), metavar="DAYS", help="Only answers older than this."
)
@click.option("--yes", is_flag=True, help="Do not ask.")
def prune(results: Path, model: str | None, older_than: float | None, yes: bool) -> None:
    """Delete answers. Runs that need them will ask again.

    \b
    Example:
      authbench store prune --model HuggingFaceTB/SmolLM2-135M-Instruct
    """
    if model is None and older_than is None:
        raise click.UsageError("nothing to prune: give --model or --older-than")
    if not yes:
        click.confirm(f"Delete answers from {results}?", abort=True)
    before = None if older_than is None else time.time() - older_than * 86400
    with _open(results) as store:
        click.echo(f"{store.prune(model=model, before=before):,} answers deleted")


@command.command("export")
@results_option
@click.option("--model", "models", multiple=True, help="Only this model id; may be repeated.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="FILE.jsonl or FILE.jsonl.gz"
)
def export(results: Path, models: Sequence[str], output: Path) -> None:
    """Write answers to a file that the `replay` engine reads.

    The file holds hashes of prompts, never the prompts, so a recording can be shared without the data.

    \b
    Example:
      authbench store export --results results -o answers.jsonl.gz
    """
    from authbench.runtime.export import write_export

    with _open(results) as store:
        chosen = [
            number for number, record in store.models() if not models or record.identity.model in models
        ]
        if not chosen:
            raise DataError(f"{store.path} has no answers of {', '.join(models) or 'any model'}")
        click.echo(f"{write_export(store, output, chosen):,} answers written to {output}")


def _open(results: Path) -> Store:
    from authbench.experiment.jobs import STORE_FILE
    from authbench.runtime.store import Store

    path = results / STORE_FILE
    if not path.is_file():
        raise DataError(f"no answers in {results} (no {STORE_FILE}); name the folder with --results")
    return Store(path)


def _date(moment: float | None) -> str:
    return "-" if moment is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
