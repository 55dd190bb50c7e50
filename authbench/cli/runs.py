"""Run experiments and measure them again, and look at them before: run, score, prompt, validate."""

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from authbench.cli.common import (
    Configs,
    Data,
    EngineName,
    Json,
    Limit,
    Models,
    Quiet,
    Results,
    Runs,
    Sets,
    flag,
    load_experiments,
    print_columns,
    print_json,
    run_folders,
    say,
)
from authbench.errors import PARTIAL_FAILURE, AuthbenchError

if TYPE_CHECKING:
    from authbench.experiment.planning import GroupPlan
    from authbench.experiment.running import Done

app = typer.Typer()

_PLAN = (
    "experiment", "model", "group", "items", "calls", "unique", "new", "median", "95%", "most", "over",
)  # fmt: skip


@app.command(rich_help_panel="Run")
def run(
    configs: Configs,
    engine: EngineName = None,
    models: Models = None,
    sets: Sets = None,
    data: Data = None,
    results: Results = Path("results"),
    limit: Limit = None,
    fresh: Annotated[
        bool,
        flag(
            "--fresh", help="Replace an earlier run and ask everything again; one that was stopped goes on."
        ),
    ] = False,
    dry_run: Annotated[
        bool, flag("--dry-run", help="Show calls and tokens; ask nothing, load no weights.")
    ] = False,
    show_prompt: Annotated[
        bool, flag("--show-prompt", help="With --dry-run: print one rendered prompt of each group.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Run experiments or continue them, and print their tables.

    A run that was stopped goes on where it was; a run that is done is only
    printed. Several configurations share one load of each model and never ask
    the same thing twice.

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
        return
    from authbench.cli.progress import Reporter
    from authbench.experiment.running import Options
    from authbench.experiment.running import run as run_experiments

    done = run_experiments(experiments, Options(results, limit, fresh), Reporter(quiet=quiet or as_json))
    _print_results(done, quiet=quiet, as_json=as_json)
    failed = sum(entry.failed for entry in done)
    if failed:
        errors = dict.fromkeys(why for entry in done for why in entry.errors)
        say(
            f"authbench: {failed:,} items failed: {next(iter(errors))}\n"
            f"the same command asks them again{'; run.json has the other errors' if len(errors) > 1 else ''}"
        )
        raise typer.Exit(PARTIAL_FAILURE)


def _print_results(done: "Sequence[Done]", *, quiet: bool, as_json: bool) -> None:
    from authbench.reporting.results import load_run
    from authbench.reporting.tables import render_tables

    runs = [load_run(entry.folder.path) for entry in done]
    if as_json:
        print_json([{"path": str(run.path), "run": run.run, "cells": run.cells} for run in runs])
        return
    typer.echo(render_tables(runs, format="text", intervals=any(run.run["model"]["tiny"] for run in runs)))
    for entry in done:
        say(f"results: {entry.folder.path}", quiet=quiet)


def _print_overflows(rows: "Sequence[GroupPlan]", policies: Sequence[str]) -> None:
    """What a run would do about items that do not fit, if there are any."""
    count = sum(row.overflows for row in rows)
    if not count:
        return
    way = "their texts will be cut"
    if "error" in policies:
        way = "a run refuses them; cut their texts with --set overflow=truncate or --set text_chars=N"
    typer.echo(f"{count:,} items do not fit the model's context (column over): {way}")


def _print_plan(rows: "Sequence[GroupPlan]", *, show_prompt: bool) -> None:
    table = []
    for row in rows:
        counts = (row.items, row.calls, row.unique_calls, row.new_calls)
        tokens = (row.tokens.median, row.tokens.p95, row.tokens.most)
        table.append((row.experiment, row.model, row.group, *counts, *tokens, row.overflows))
    print_columns(table, _PLAN)
    calls, new = sum(row.calls for row in rows), sum(row.new_calls for row in rows)
    typer.echo(f"\n{calls:,} calls, {new:,} to be asked after merging and with what is known")
    typer.echo("calls are those of the first round; median, 95% and most are prompt tokens of unique calls")
    if not all(row.tokens.exact for row in rows):
        typer.echo("token counts are ESTIMATES from characters: no tokenizer of this model is at hand")
    for why in dict.fromkeys(row.without for row in rows if row.without is not None):
        models = ", ".join(dict.fromkeys(row.model for row in rows if row.without == why))
        typer.echo(
            f"note: planned without an engine for {models}: {why}\n"
            "whether prompts fit the context, and what the store knows, was not looked at"
        )
    for row in rows:
        if row.lacking is not None:
            typer.echo(f"note: {row.experiment} {row.model} {row.group} cannot be run here: {row.lacking}")
    if show_prompt:
        for row in rows:
            typer.echo(f"\n--- {row.experiment} {row.model} {row.group}\n{row.example}")


@app.command(rich_help_panel="Run")
def score(runs: Runs, quiet: Quiet = False, as_json: Json = False) -> None:
    """Measure runs again from the store, with no model.

    Writes items.jsonl and cells.json anew: after a change to a parser or a
    measure, or when they are lost.

    Example:
      authbench score results/entityauth_fine/qwen3-8b
    """
    from authbench.experiment.rescoring import rescore
    from authbench.reporting.results import load_run
    from authbench.reporting.tables import render_tables

    scored, problems = [], []
    for path in run_folders(runs):
        try:
            scored.append(load_run(rescore(path).path))
        except AuthbenchError as error:
            problems.append(error)
    if as_json:
        print_json([{"path": str(run.path), "cells": run.cells} for run in scored])
    elif scored:
        typer.echo(render_tables(scored, format="text"))
    for run in scored:
        say(f"measured: {run.path}", quiet=quiet or as_json)
    for problem in problems[1:]:
        say(f"authbench: {problem}")
    if problems:
        raise problems[0]


@app.command(rich_help_panel="Run")
def prompt(
    configs: Configs,
    engine: EngineName = None,
    models: Models = None,
    sets: Sets = None,
    data: Data = None,
    item: Annotated[int, typer.Option("--item", min=0, metavar="N", help="Which item, from 0.")] = 0,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="TEXT", help="Only groups whose name contains this, such as list-score."
        ),
    ] = None,
    everything: Annotated[
        bool, flag("--all", help="Every request of the first round, not only the first.")
    ] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show the rendered prompts of an item.

    They are shown as the model sees them, chat template included; no weights
    are loaded.

    Example:
      authbench prompt entityauth_fine --models qwen3-8b --group list-score
    """
    from authbench.experiment.planning import rendered_prompts

    experiments = load_experiments(configs, engine, models, sets, data)
    shown = rendered_prompts(experiments, item=item, group=group, everything=everything)
    if as_json:
        print_json(shown)
        return
    for row in shown:
        typer.echo(f"--- {row['experiment']} {row['model']} {row['group']} {row['item']}\n{row['prompt']}\n")


@app.command(rich_help_panel="Run")
def validate(
    configs: Configs,
    engine: EngineName = None,
    models: Models = None,
    sets: Sets = None,
    data: Data = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Check configurations without running anything.

    Keys and values, models, names of data sets, and the settings of engines
    that are installed here.

    Examples:
      authbench validate configs/*.yaml
      authbench validate my.yaml --engine openai --json
    """
    from authbench.experiment.checking import check_experiment

    experiments = load_experiments(configs, engine, models, sets, data)
    noted: dict[str, list[Path]] = {}
    for experiment in experiments:
        for note in check_experiment(experiment):
            noted.setdefault(note, []).append(experiment.path)
    for note, paths in noted.items():
        more = f" and {len(paths) - 1} more" if len(paths) > 1 else ""
        say(f"note: {paths[0]}{more}: {note}", quiet=quiet or as_json)
    if as_json:
        print_json([{"name": e.name, "path": str(e.path), "config": e.resolved()} for e in experiments])
    elif not quiet:
        for experiment in experiments:
            settings, count = experiment.settings, len(experiment.settings.models)
            words = f"{settings.task}, {count} model{'s' * (count != 1)}, table {settings.table}"
            typer.echo(f"{experiment.path}: ok ({words})")
