"""`authbench score RUN...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import output_options, print_json, say
from authbench.errors import AuthbenchError


@click.command("score")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@output_options
def command(runs: Sequence[Path], quiet: bool, as_json: bool) -> None:
    """Measure runs again from the store, with no model.

    Writes items.jsonl and cells.json anew: after a change to a parser or a measure, or when they are lost.
    RUN is a model's folder, or any folder above such.

    \b
    Example:
      authbench score results/entityauth_fine/qwen3-8b
    """
    from authbench.experiment.rescoring import rescore
    from authbench.reporting.results import load_run
    from authbench.reporting.tables import render_tables

    scored, problems = [], []
    for path in find_run_folders(runs):
        try:
            scored.append(load_run(rescore(path).path))
        except AuthbenchError as error:
            problems.append(error)
    if as_json:
        print_json([{"path": str(run.path), "cells": run.cells} for run in scored])
    elif scored:
        click.echo(render_tables(scored, format="text"))
    for run in scored:
        say(f"measured: {run.path}", quiet=quiet or as_json)
    for problem in problems[1:]:
        say(f"authbench: {problem}")
    if problems:
        raise problems[0]


def find_run_folders(paths: Sequence[Path]) -> list[Path]:
    """Every folder with a `run.json` at or below these paths; a path without one is kept, to be refused."""
    found: list[Path] = []
    for path in paths:
        below = sorted(file.parent for file in path.rglob("run.json"))
        found += below or [path]
    return found
