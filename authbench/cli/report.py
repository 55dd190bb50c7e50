"""`authbench report RUN... -o report.html`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import json_option, print_json, quiet_option


@click.command("report")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    default=Path("report.html"),
    show_default=True,
    help="The page to write.",
)
@click.option("--title", metavar="TEXT", help="Heading of the page.")
@quiet_option
@json_option
def command(runs: Sequence[Path], output: Path, title: str | None, quiet: bool, as_json: bool) -> int:
    """Write one page with tables, plots, claims, items and provenance.

    RUN is a run's folder, an experiment's, or a whole results folder. The page opens from disk in any current
    browser and asks no host for anything.

    \b
    Example:
      authbench report results -o report.html
    """
    from authbench.reporting.html import write_report
    from authbench.reporting.results import find_runs

    def note(text: str) -> None:
        if not (quiet or as_json):
            click.echo(f"authbench: {text}", err=True)

    report = write_report(find_runs(list(runs), note), output, title, note=note)
    for problem in report.problems:
        click.echo(f"note: {problem}", err=True)
    size = output.stat().st_size
    if as_json:
        facts = {"items": report.items, "with_prompts": report.full, "problems": list(report.problems)}
        print_json({"path": str(output), "bytes": size, **facts})
    elif not quiet:
        click.echo(f"{output}: {report.items:,} items, {size / 1e6:.1f} MB")
    return 0
