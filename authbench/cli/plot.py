"""`authbench plot RUN... --kind K -o X.svg|png|pdf`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import json_option, print_json, quiet_option
from authbench.errors import ConfigError, did_you_mean


def _kinds(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from authbench.reporting.plots.kinds import KINDS

    return [name for name in KINDS if name.startswith(incomplete)]


@click.command("plot")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--kind", metavar="KIND", shell_complete=_kinds, help="What to draw; --kind list names all.")
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, dir_okay=False),
    help="File to write; its ending (.svg, .png, .pdf) is the format.",
)
@click.option("--dark", is_flag=True, help="For a dark page.")
@quiet_option
@json_option
def command(
    runs: Sequence[Path], kind: str | None, output: Path | None, dark: bool, quiet: bool, as_json: bool
) -> int:
    """Draw one of the report's plots into a file.

    RUN is a run's folder, or an experiment's with several models; runs of one experiment go into one plot.
    SVG needs nothing more; PNG and PDF need the extra [plots].

    \b
    Examples:
      authbench plot results/domainauth_fine --kind forest -o forest.svg
      authbench plot results/domainauth_fine/qwen3-8b --kind heatmap -o heatmap.pdf
    """
    from authbench.reporting.plots.files import draw, write_plot
    from authbench.reporting.plots.kinds import KINDS
    from authbench.reporting.results import find_runs

    if kind not in KINDS:
        listed = "\n".join(f"  {name:<13} {spec.title}" for name, spec in KINDS.items())
        if kind == "list":
            click.echo(listed)
            return 0
        said = (
            "plot needs --kind"
            if kind is None
            else f"no kind is called '{kind}'{did_you_mean(kind, list(KINDS))}"
        )
        raise ConfigError(f"{said}; kinds are\n{listed}")
    if not runs:
        raise ConfigError(f"plot needs a run: authbench plot results/EXPERIMENT --kind {kind}")
    path = output or Path(f"{kind}.svg")
    svg = draw(find_runs(list(runs)), kind)
    write_plot(svg, path, dark=dark)
    if as_json:
        print_json({"path": str(path), "kind": kind, "title": svg.title, "text": svg.desc})
    elif not quiet:
        click.echo(f"{path}: {svg.title}. {svg.desc}")
    return 0
