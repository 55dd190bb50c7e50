"""`authbench store stats|prune|export|repair`."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authbench.cli.common import output_options, print_columns, print_json, results_option, say
from authbench.errors import DataError

if TYPE_CHECKING:
    from authbench.runtime.store import Store


@click.group("store")
def command() -> None:
    """Count, prune, export and repair the answers of a results folder.

    \b
    Example:
      authbench store stats --results results
    """


@command.command("stats")
@results_option
@output_options
def stats(results: Path, quiet: bool, as_json: bool) -> None:
    """Answers and tokens by model.

    \b
    Example:
      authbench store stats --results results
    """
    with _open(results, read_only=True) as store:
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
@output_options
def prune(
    results: Path, model: str | None, older_than: float | None, yes: bool, quiet: bool, as_json: bool
) -> None:
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
        deleted = store.prune(model=model, before=before)
    if as_json:
        print_json({"path": str(results), "deleted": deleted})
    say(f"{deleted:,} answers deleted", quiet=quiet or as_json)


@command.command("export")
@results_option
@click.option("--model", "models", multiple=True, help="Only this model id; may be repeated.")
@click.option(
    "-o", "--output", required=True, type=click.Path(path_type=Path), help="FILE.jsonl or FILE.jsonl.gz"
)
@output_options
def export(results: Path, models: Sequence[str], output: Path, quiet: bool, as_json: bool) -> None:
    """Write answers to a file that the `replay` engine reads.

    The file holds hashes of prompts, never the prompts, so a recording can be shared without the data.

    \b
    Example:
      authbench store export --results results -o answers.jsonl.gz
    """
    from authbench.runtime.export import write_export

    with _open(results, read_only=True) as store:
        chosen = [
            number for number, record in store.models() if not models or record.identity.model in models
        ]
        if not chosen:
            raise DataError(f"{store.path} has no answers of {', '.join(models) or 'any model'}")
        try:
            written = write_export(store, output, chosen)
        except OSError as error:
            raise DataError(f"{output} cannot be written: {error.strerror}") from None
    if as_json:
        print_json({"path": str(output), "written": written})
    say(f"{written:,} answers written to {output}", quiet=quiet or as_json)


@command.command("repair")
@results_option
@output_options
def repair(results: Path, quiet: bool, as_json: bool) -> None:
    """Move a damaged store aside and save what can be read.

    A run does the same by itself. The damaged file is kept beside the new one.

    \b
    Example:
      authbench store repair --results results
    """
    with _open(results) as store:
        repaired = store.repaired
    if as_json:
        print_json({"path": str(results), "repaired": repaired})
    say(repaired or "nothing to repair", quiet=quiet or as_json)


def _open(results: Path, *, read_only: bool = False) -> Store:
    from authbench.experiment.jobs import STORE_FILE
    from authbench.runtime.store import Store

    path = results / STORE_FILE
    if not path.is_file():
        raise DataError(f"no answers in {results} (no {STORE_FILE}); name the folder with --results")
    return Store(path, read_only=read_only)


def _date(moment: float | None) -> str:
    return "-" if moment is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
