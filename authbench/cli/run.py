"""`authbench run CONFIG...`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from authbench.cli.common import (
    experiment_options,
    load_experiments,
    output_options,
    print_columns,
    print_json,
    results_option,
    say,
)
from authbench.errors import PARTIAL_FAILURE

if TYPE_CHECKING:
    from authbench.experiment.planning import GroupPlan
    from authbench.experiment.running import Done


@click.command("run")
@experiment_options
@results_option
@click.option(
    "--limit",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the first N items of each group; stamps PARTIAL.",
)
@click.option(
    "--fresh",
    is_flag=True,
    help="Replace an earlier run and ask everything again; one that was stopped goes on.",
)
@click.option("--dry-run", is_flag=True, help="Show calls and tokens; ask nothing, load no weights.")
@click.option("--show-prompt", is_flag=True, help="With --dry-run: print one rendered prompt of each group.")
@output_options
def command(
    configs: Sequence[str],
    engine: str | None,
    models: str | None,
    sets: Sequence[str],
    data: Path | None,
    results: Path,
    limit: int | None,
    fresh: bool,
    dry_run: bool,
    show_prompt: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Run experiments or continue them, and print their tables.

    CONFIG is a file, or the name of a configuration that ships with authbench. A run that was stopped goes
    on where it was; a run that is done is only printed. Several configurations share one load of each model
    and never ask the same thing twice.

    \b
    Examples:
      authbench run quickstart
      authbench run configs/entityauth_fine.yaml --models qwen3-8b --limit 20
      authbench run domainauth_fine domainauth_coarse --dry-run
    """
    experiments = load_experiments(configs, engine, models, sets, data)
    if dry_run:
        from authbench.experiment.planning import plan

        rows = plan(experiments, results, limit)
        if as_json:
            print_json([asdict(row) for row in rows])
        else:
            _print_plan(rows, show_prompt=show_prompt)
            _print_overflows(rows, [experiment.settings.overflow for experiment in experiments])
        return 0
    from authbench.cli.progress import Reporter
    from authbench.experiment.running import Options, run

    done = run(experiments, Options(results, limit, fresh), Reporter(quiet=quiet or as_json))
    _print_results(done, quiet=quiet, as_json=as_json)
    failed = sum(entry.failed for entry in done)
    if failed:
        errors = dict.fromkeys(why for entry in done for why in entry.errors)
        say(
            f"authbench: {failed:,} items failed: {next(iter(errors))}\n"
            f"the same command asks them again{'; run.json has the other errors' if len(errors) > 1 else ''}"
        )
    return PARTIAL_FAILURE if failed else 0


def _print_results(done: Sequence[Done], *, quiet: bool, as_json: bool) -> None:
    from authbench.reporting.results import load_run
    from authbench.reporting.tables import render_tables

    runs = [load_run(entry.folder.path) for entry in done]
    if as_json:
        print_json([{"path": str(run.path), "run": run.run, "cells": run.cells} for run in runs])
        return
    click.echo(render_tables(runs, format="text", intervals=any(run.run["model"]["tiny"] for run in runs)))
    for entry in done:
        say(f"results: {entry.folder.path}", quiet=quiet)


def _print_overflows(rows: Sequence[GroupPlan], policies: Sequence[str]) -> None:
    """What a run would do about items that do not fit, if there are any."""
    count = sum(row.overflows for row in rows)
    if not count:
        return
    way = "their texts will be cut"
    if "error" in policies:
        way = "a run refuses them; cut their texts with --set overflow=truncate or --set text_chars=N"
    click.echo(f"{count:,} items do not fit the model's context (column over): {way}")


def _print_plan(rows: Sequence[GroupPlan], *, show_prompt: bool) -> None:
    head = (
        "experiment",
        "model",
        "group",
        "items",
        "calls",
        "unique",
        "new",
        "median",
        "95%",
        "most",
        "over",
    )
    table = [
        (
            row.experiment,
            row.model,
            row.group,
            row.items,
            row.calls,
            row.unique_calls,
            row.new_calls,
            row.tokens.median,
            row.tokens.p95,
            row.tokens.most,
            row.overflows,
        )
        for row in rows
    ]
    print_columns(table, head)
    calls, new = sum(row.calls for row in rows), sum(row.new_calls for row in rows)
    click.echo(f"\n{calls:,} calls, {new:,} to be asked after merging and with what is known")
    click.echo("calls are those of the first round; median, 95% and most are prompt tokens of unique calls")
    if not all(row.tokens.exact for row in rows):
        click.echo("token counts are ESTIMATES from characters: no tokenizer of this model is at hand")
    for why in dict.fromkeys(row.without for row in rows if row.without is not None):
        models = ", ".join(dict.fromkeys(row.model for row in rows if row.without == why))
        click.echo(
            f"note: planned without an engine for {models}: {why}\n"
            "whether prompts fit the context, and what the store knows, was not looked at"
        )
    for row in rows:
        if row.lacking is not None:
            click.echo(f"note: {row.experiment} {row.model} {row.group} cannot be run here: {row.lacking}")
    if show_prompt:
        for row in rows:
            click.echo(f"\n--- {row.experiment} {row.model} {row.group}\n{row.example}")
