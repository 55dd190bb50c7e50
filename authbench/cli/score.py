"""`authbench score RUN...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import json_option, print_json, quiet_option


@click.command("score")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@quiet_option
@json_option
def command(runs: Sequence[Path], quiet: bool, as_json: bool) -> None:
    """Measure runs again from the store, with no model.

    Writes items.jsonl and cells.json anew: after a change to a parser or a measure, or when they are lost.

    \b
    Example:
      authbench score results/entityauth_fine/qwen3-8b
    """
    from authbench.experiment.rescoring import rescore
    from authbench.reporting.results import load_run
    from authbench.reporting.tables import render_tables

    scored = [load_run(rescore(path).path) for path in find_run_folders(runs)]
    if as_json:
        print_json([{"path": str(run.path), "cells": run.cells} for run in scored])
    elif not quiet:
        click.echo(render_tables(scored, format="text"))


def find_run_folders(paths: Sequence[Path]) -> list[Path]:
    """Every folder with a `run.json` at or below these paths; a path without one is kept, to be refused."""
    found: list[Path] = []
    for path in paths:
        below = sorted(file.parent for file in path.rglob("run.json"))
        found += below or [path]
    return found
