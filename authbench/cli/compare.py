"""`authbench compare RUN_A RUN_B`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authbench.cli.common import console, json_option, print_json, quiet_option
from authbench.errors import ConfigError

if TYPE_CHECKING:
    from authbench.reporting.results import Run

#: Exit status where run B is worse than `--fail-if-worse` allows: the comparison itself went well.
WORSE = 1


@click.command("compare")
@click.argument("run_a", type=click.Path(path_type=Path), metavar="RUN_A")
@click.argument("run_b", type=click.Path(path_type=Path), metavar="RUN_B")
@click.option("--common", is_flag=True, help="Compare on the items that both judged, if they differ.")
@click.option("--metric", "metrics", multiple=True, metavar="M", help="Only this measure, such as spearman.")
@click.option(
    "--items",
    "most",
    type=click.IntRange(min=0),
    metavar="N",
    default=10,
    show_default=True,
    help="Items to list.",
)
@click.option("--seed", type=int, metavar="N", default=0, show_default=True, help="Seed of the resampling.")
@click.option(
    "--fail-if-worse",
    "threshold",
    type=click.FloatRange(min=0, max=1),
    metavar="X",
    help="Exit status 1 if B lies more than X (0.02 is two points) below A in any cell.",
)
@quiet_option
@json_option
def command(
    run_a: Path,
    run_b: Path,
    common: bool,
    metrics: Sequence[str],
    most: int,
    seed: int,
    threshold: float | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Compare two runs over the same items, cell by cell.

    RUN_A and RUN_B are folders of a run: two models, two prompts, or two versions of the same. Differences
    are B minus A and paired by item; runs over other items are refused. With --quiet nothing is printed but
    what --fail-if-worse objects to.

    \b
    Examples:
      authbench compare results/entityauth_fine/qwen3-8b results/entityauth_fine/qwen3-14b
      authbench compare golden/ci/smollm2-135m results/ci/smollm2-135m --fail-if-worse 0.02
    """
    from authbench.reporting.compare import compare
    from authbench.reporting.comparetext import as_dict, cell_setting, comparison_lines
    from authbench.reporting.labels import metric_label

    comparison = compare(one_run(run_a), one_run(run_b), common=common, metrics=metrics, most=most, seed=seed)
    worse = () if threshold is None else comparison.worse_than(threshold)
    if as_json:
        print_json({**as_dict(comparison), "worse": [dict(cell.dims) for cell in worse]})
    elif not quiet:
        out = console()
        for line in comparison_lines(comparison):
            out.print(line, soft_wrap=True)
    for cell in worse:
        click.echo(
            f"authbench: worse by {-100 * cell.difference:.2f} points: {cell_setting(cell)}, "
            f"{metric_label(str(cell.dims['metric']))}",
            err=True,
        )
    return WORSE if worse else 0


def one_run(path: Path) -> Run:
    """The run in a folder, which may be an experiment's folder with one model."""
    from authbench.reporting.results import find_runs

    found = find_runs([path])
    if len(found) > 1:
        names = ", ".join(str(run.path) for run in found[:4])
        raise ConfigError(f"{path} holds {len(found)} runs; name one of them: {names}")
    return found[0]
