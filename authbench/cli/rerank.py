"""`authbench rerank CONFIG...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from authbench.cli.common import (
    experiment_options,
    json_option,
    load_experiments,
    print_columns,
    print_json,
    quiet_option,
    results_option,
)
from authbench.errors import PARTIAL_FAILURE, ConfigError

if TYPE_CHECKING:
    from authbench.experiment.loading import Experiment


@click.command("rerank")
@experiment_options
@results_option
@click.option(
    "-o",
    "--output",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Where the runs go.  [default: RESULTS/EXPERIMENT/rankings]",
)
@click.option("--limit", type=click.IntRange(min=1), metavar="N", help="Only the first N judged queries.")
@quiet_option
@json_option
def command(
    configs: Sequence[str],
    engine: str | None,
    models: str | None,
    sets: Sequence[str],
    data: Path | None,
    results: Path,
    output: Path | None,
    limit: int | None,
    quiet: bool,
    as_json: bool,
) -> int:
    """Write the first stage and the base rankings of LCR as TREC runs.

    CONFIG is an experiment of the task lcr. No confidences are taken; an engine is started only for yesno,
    qlm and rankgpt. Prints NDCG@5 and NDCG@10.

    \b
    Examples:
      authbench rerank lcr_bm25 --set dataset.name=trec-dl-2019 --set 'bases=[retriever]'
      authbench rerank lcr_bm25 --set 'bases=[cross-encoder]' -o runs
    """
    rows: list[dict[str, Any]] = []
    for experiment in load_experiments(configs, engine, models, sets, data):
        folder = output or results / experiment.name / "rankings"
        rows += _rerank(experiment, results, folder, limit, quiet=quiet or as_json)
    if as_json:
        print_json(rows)
    else:
        _print(rows, limit, quiet=quiet)
    failed = sum(row["failed"] for row in rows)
    if failed:
        click.echo(f"authbench: {failed} queries failed and keep the first stage's order", err=True)
    return PARTIAL_FAILURE if failed else 0


def _rerank(
    experiment: Experiment, results: Path, folder: Path, limit: int | None, *, quiet: bool
) -> list[dict[str, Any]]:
    """Write the runs of one experiment; gives a row each."""
    from authbench.experiment.rankings import rankings_of
    from authbench.retrieval.runfile import write_run
    from authbench.tasks.lcr.settings import LcrExperiment
    from authbench.words import left_out_sentences

    settings = experiment.settings
    if not isinstance(settings, LcrExperiment):
        raise ConfigError(f"{experiment.path}: task is {settings.task}; rerank needs an experiment of lcr")
    left_out: dict[str, str] = {}
    stage, rankings = rankings_of(experiment, settings, results, left_out, limit)
    if not quiet:
        for note in stage.notes:
            click.echo(f"note: {note}", err=True)
    dataset = settings.dataset
    rows = []
    for ranking in rankings:
        parts = [dataset.retriever, *([ranking.base] if ranking.base != "retriever" else [])]
        parts += [ranking.model] if ranking.model is not None else []
        path = folder / f"{'.'.join([dataset.name.replace('/', '-'), *parts])}.trec"
        folder.mkdir(parents=True, exist_ok=True)
        write_run(path, ranking.hits, "-".join(parts))
        rows.append(
            {
                "collection": dataset.name,
                "retriever": dataset.retriever,
                "base": ranking.base,
                "model": ranking.model,
                "n": len(ranking.hits),
                "failed": ranking.failed,
                "gain": settings.gain,
                **{f"ndcg@{cutoff}": value for cutoff, value in ranking.ndcg.items()},
                "file": str(path),
            }
        )
    for sentence in left_out_sentences(left_out):
        click.echo(f"note: {sentence}", err=True)
    return rows


def _print(rows: Sequence[dict[str, Any]], limit: int | None, *, quiet: bool) -> None:
    names = ("collection", "retriever", "base", "model", "n", "ndcg@5", "ndcg@10")
    shown = [[f"{row[name]:.4f}" if name.startswith("ndcg") else row[name] for name in names] for row in rows]
    print_columns(shown, names)
    gains = ", ".join(dict.fromkeys(row["gain"] for row in rows))
    click.echo(f"\nNDCG with {gains} gain over judged queries")
    if limit is not None:
        click.echo(f"PARTIAL: only the first {limit} judged queries")
    if not quiet:
        for row in rows:
            click.echo(f"wrote {row['file']}", err=True)
