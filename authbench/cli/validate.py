"""`authbench validate CONFIG...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import experiment_options, load_experiments, output_options, print_json, say


@click.command("validate")
@experiment_options
@output_options
def command(
    configs: Sequence[str],
    engine: str | None,
    models: str | None,
    sets: Sequence[str],
    data: Path | None,
    quiet: bool,
    as_json: bool,
) -> None:
    """Check configurations without running anything.

    Keys and values, models, names of data sets, and the settings of engines that are installed here.

    \b
    Examples:
      authbench validate configs/*.yaml
      authbench validate my.yaml --engine openai --json
    """
    from authbench.experiment.checking import check_experiment

    experiments = load_experiments(configs, engine, models, sets, data)
    for experiment in experiments:
        for note in check_experiment(experiment):
            say(f"note: {experiment.path}: {note}", quiet=quiet or as_json)
    if as_json:
        print_json([{"name": e.name, "path": str(e.path), "config": e.resolved()} for e in experiments])
        return
    for experiment in experiments:
        settings = experiment.settings
        count = len(settings.models)
        words = f"{settings.task}, {count} model{'s' * (count != 1)}, table {settings.table}"
        if not quiet:
            click.echo(f"{experiment.path}: ok ({words})")
