"""`authbench validate CONFIG...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import experiment_options, json_option, load_experiments, print_json


@click.command("validate")
@experiment_options
@json_option
def command(
    configs: Sequence[str],
    engine: str | None,
    models: str | None,
    sets: Sequence[str],
    data: Path | None,
    as_json: bool,
) -> None:
    """Check configurations without running anything: keys, values, models, engine settings.

    \b
    Example:
      authbench validate configs/*.yaml
    """
    from authbench.experiment.models import load_model

    experiments = load_experiments(configs, engine, models, sets, data)
    for experiment in experiments:
        for name in experiment.settings.models:
            load_model(name, experiment.path)
    if as_json:
        print_json([{"name": e.name, "path": str(e.path), "config": e.resolved()} for e in experiments])
        return
    for experiment in experiments:
        settings = experiment.settings
        click.echo(
            f"{experiment.path}: ok ({settings.task}, {len(settings.models)} models, table {settings.table})"
        )
