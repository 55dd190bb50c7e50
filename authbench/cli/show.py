"""`authbench show RUN`."""

from __future__ import annotations

from pathlib import Path

import click

from authbench.cli.common import console, json_option, print_json, quiet_option
from authbench.cli.compare import one_run


@click.command("show")
@click.argument("run_folder", type=click.Path(path_type=Path), metavar="RUN")
@click.option(
    "--status", metavar="S", help="Only items with this status; invalid for all that are not usable."
)
@click.option("--group", metavar="TEXT", help="Only groups whose name holds TEXT, such as list-score.")
@click.option("--item", metavar="ID", help="Only this item.")
@click.option(
    "--limit", type=click.IntRange(min=0), metavar="N", default=5, show_default=True, help="Items to show."
)
@click.option("--answers", "every_answer", is_flag=True, help="Show every answer of an item.")
@click.option("--full", is_flag=True, help="Cut nothing off prompts and answers.")
@quiet_option
@json_option
def command(
    run_folder: Path,
    status: str | None,
    group: str | None,
    item: str | None,
    limit: int,
    every_answer: bool,
    full: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Show a run's items, worst first, with prompt and answer side by side.

    Of each item the first answer that could not be used is shown, or the first one. Prompts come from the
    store of the results folder.

    \b
    Examples:
      authbench show results/domainauth_fine/qwen3-8b --status wrong_format
      authbench show results/domainauth_fine/qwen3-8b --item domains-0007 --group pair-score --answers
    """
    from authbench.reporting.show import MOST_TEXT, as_dict, renderables, select, summary_line

    most = 0 if full or as_json else MOST_TEXT
    selection = select(one_run(run_folder), status=status, group=group, item=item, limit=limit, most=most)
    for problem in () if quiet else selection.problems:
        click.echo(f"note: {problem}", err=True)
    if as_json:
        print_json(
            {
                "matching": selection.matching,
                "statuses": dict(selection.statuses),
                "items": [as_dict(shown) for shown in selection.shown],
            }
        )
        return 0
    out = console()
    out.print(summary_line(selection))
    for part in renderables(selection, out.width, every_answer=every_answer):
        out.print(part)
    left = selection.matching - len(selection.shown)
    if left:
        out.print(f"{left:,} more match; --limit shows more of them", style="dim")
    elif not selection.matching:
        out.print("No item matches.", style="dim")
    return 0
