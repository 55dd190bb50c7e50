"""The answers of a results folder: store stats, prune, export, repair."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from authbench.cli.common import Json, Quiet, Results, flag, print_columns, print_json, say
from authbench.errors import ConfigError, DataError

if TYPE_CHECKING:
    from authbench.runtime.store import Store

app = typer.Typer(no_args_is_help=True)


@app.callback()
def store() -> None:
    """Count, prune, export and repair the answers of a results folder."""


@app.command()
def stats(results: Results = Path("results"), quiet: Quiet = False, as_json: Json = False) -> None:
    """Answers and tokens by model.

    Example: authbench store stats --results results
    """
    with _open(results, read_only=True) as answers:
        rows = answers.stats()
        size = answers.path.stat().st_size
    if as_json:
        print_json({"path": str(results), "bytes": size, "models": rows})
        return
    table = []
    for row in rows:
        who = row["identity"]
        counts = (row["prompts"], row["samples"], row["output_tokens"])
        table.append((who["model"], who["family"], who["precision"], *counts, _date(row["last"])))
    print_columns(table, ("model", "engine", "precision", "prompts", "answers", "output tokens", "last"))
    typer.echo(f"{size / 1e6:,.1f} MB")


@app.command()
def prune(
    results: Results = Path("results"),
    model: Annotated[
        str | None,
        typer.Option("--model", metavar="ID", help="Only the answers of this model id (see `store stats`)."),
    ] = None,
    older_than: Annotated[
        float | None,
        typer.Option("--older-than", min=0, metavar="DAYS", help="Only answers older than this."),
    ] = None,
    yes: Annotated[bool, flag("--yes", help="Do not ask.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Delete answers. Runs that need them will ask again.

    Example: authbench store prune --model HuggingFaceTB/SmolLM2-135M-Instruct
    """
    if model is None and older_than is None:
        raise ConfigError("nothing to prune: give --model or --older-than")
    if not yes:
        typer.confirm(f"Delete answers from {results}?", abort=True)
    before = None if older_than is None else time.time() - older_than * 86400
    with _open(results) as answers:
        deleted = answers.prune(model=model, before=before)
    if as_json:
        print_json({"path": str(results), "deleted": deleted})
    say(f"{deleted:,} answers deleted", quiet=quiet or as_json)


@app.command()
def export(
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", help="FILE.jsonl or FILE.jsonl.gz")
    ],
    results: Results = Path("results"),
    models: Annotated[
        list[str] | None, typer.Option("--model", metavar="ID", help="Only this model id; may be repeated.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write answers to a file that the `replay` engine reads.

    The file holds hashes of prompts, never the prompts, so a recording can be
    shared without the data.

    Example:
      authbench store export --results results -o answers.jsonl.gz
    """
    from authbench.runtime.export import write_export

    with _open(results, read_only=True) as answers:
        chosen = [
            number for number, record in answers.models() if not models or record.identity.model in models
        ]
        if not chosen:
            raise DataError(f"{answers.path} has no answers of {', '.join(models or ()) or 'any model'}")
        try:
            written = write_export(answers, output, chosen)
        except OSError as error:
            raise DataError(f"{output} cannot be written: {error.strerror}") from None
    if as_json:
        print_json({"path": str(output), "written": written})
    say(f"{written:,} answers written to {output}", quiet=quiet or as_json)


@app.command()
def repair(results: Results = Path("results"), quiet: Quiet = False, as_json: Json = False) -> None:
    """Move a damaged store aside and save what can be read.

    A run does the same by itself. The damaged file is kept beside the new one.

    Example:
      authbench store repair --results results
    """
    with _open(results) as answers:
        repaired = answers.repaired
    if as_json:
        print_json({"path": str(results), "repaired": repaired})
    say(repaired or "nothing to repair", quiet=quiet or as_json)


def _open(results: Path, *, read_only: bool = False) -> "Store":
    from authbench.experiment.jobs import STORE_FILE
    from authbench.runtime.store import Store

    path = results / STORE_FILE
    if not path.is_file():
        raise DataError(f"no answers in {results} (no {STORE_FILE}); name the folder with --results")
    return Store(path, read_only=read_only)


def _date(moment: float | None) -> str:
    return "-" if moment is None else time.strftime("%Y-%m-%d %H:%M", time.localtime(moment))
