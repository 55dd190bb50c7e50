"""`authbench prompt CONFIG`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import (
    count_option,
    experiment_options,
    load_experiments,
    output_options,
    print_json,
)


@click.command("prompt")
@experiment_options
@count_option("--item", 0, "Which item, from 0.")
@click.option("--group", help="Only groups whose name contains this, such as list-score.")
@click.option(
    "--all", "everything", is_flag=True, help="Every request of the first round, not only the first."
)
@output_options
def command(
    configs: Sequence[str],
    engine: str | None,
    models: str | None,
    sets: Sequence[str],
    data: Path | None,
    item: int,
    group: str | None,
    everything: bool,
    quiet: bool,
    as_json: bool,
) -> None:
    """Show the rendered prompts of an item.

    They are shown as the model sees them, chat template included; no weights are loaded.

    \b
    Example:
      authbench prompt configs/entityauth_fine.yaml --models smollm2-135m --engine openvino --group list-score
    """
    from authbench.experiment.planning import rendered_prompts

    experiments = load_experiments(configs, engine, models, sets, data)
    shown = rendered_prompts(experiments, item=item, group=group, everything=everything)
    if as_json:
        print_json(shown)
        return
    for row in shown:
        click.echo(f"--- {row['experiment']} {row['model']} {row['group']} {row['item']}\n{row['prompt']}\n")
