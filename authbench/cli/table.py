"""`authbench table`: results in the papers' layouts."""

from __future__ import annotations

import sys
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authbench.cli.common import json_option
from authbench.errors import ConfigError

if TYPE_CHECKING:
    from rich.console import Console


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True)
@click.option(
    "--paper",
    is_flag=True,
    help="Add the paper's numbers, ours minus them, and if they lie in our intervals.",
)
@click.option(
    "--policy",
    type=click.Choice(["strict", "valid"]),
    default="strict",
    show_default=True,
    help="strict: invalid answers count as 0 or wrong. valid: they are left out.",
)
@click.option("--intervals", is_flag=True, help="Show 95 % bootstrap intervals.")
@click.option("--cost", is_flag=True, help="Add calls, unique calls and tokens.")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["text", "md", "csv", "latex", "json"]),
    default="text",
    show_default=True,
    help="csv and json always hold intervals, counts and costs.",
)
@json_option
@click.option("-o", "--output", type=click.Path(dir_okay=False, path_type=Path), help="Write to a file.")
def command(
    runs: tuple[str, ...],
    paper: bool,
    policy: str,
    intervals: bool,
    cost: bool,
    format_: str,
    as_json: bool,
    output: Path | None,
) -> None:
    """Print runs in the layout of the paper's tables.

    The best of each row is bold, the second best underlined; other results get a table of what varies.

    \b
    Examples:
      authbench table results/domainauth_fine --paper
      authbench table results --format latex -o tables.tex
      authbench table authoritybench/1

    RUN is a model's folder, an experiment's folder, or a whole results folder; runs of one experiment share a
    table. The id of a paper's table, such as authoritybench/1, stands for the paper's own numbers. Tables fit
    the terminal; COLUMNS=120 widens what goes into a pipe or a file.
    """
    from authbench.reporting.paper import runs_or_paper
    from authbench.reporting.tables import render_tables

    kind = "json" if as_json else format_
    found = runs_or_paper(runs, on_skipped=lambda text: click.echo(f"left out: {text}", err=True))
    console = _console(output) if kind == "text" else None
    rendered = render_tables(
        found,
        kind,  # type: ignore[arg-type]
        policy=policy,  # type: ignore[arg-type]
        intervals=intervals,
        paper=paper,
        cost=cost,
        console=console,
    )
    if output is None:
        # Bytes: what is data is UTF-8 whatever the terminal, and text is made for the terminal's encoding.
        click.echo(rendered.encode("utf-8" if console is None else console.encoding), nl=False)
        return
    try:
        output.write_text(rendered, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{output}: cannot be written: {error.strerror}") from error
    click.echo(f"wrote {output}", err=True)


def _console(output: Path | None) -> Console:
    """Where text goes: the terminal or pipe, or a file that has no bold."""
    from rich.console import Console

    if output is None:
        return Console(file=sys.stdout)
    return Console(file=StringIO(), force_terminal=False)
