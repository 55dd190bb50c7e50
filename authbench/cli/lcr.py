"""LCR: rankings without confidences, and thresholds from the confidences of runs: rerank, tune."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from authbench.cli.common import (
    Configs,
    Data,
    EngineName,
    Json,
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
from authbench.errors import PARTIAL_FAILURE, ConfigError, DataError

if TYPE_CHECKING:
    from authbench.experiment.loading import Experiment
    from authbench.reporting.itemfiles import Item
    from authbench.tasks.lcr.settings import LcrExperiment
    from authbench.tasks.lcr.tuning import Choice, Grades, Row

app = typer.Typer()


@app.command(rich_help_panel="LCR")
def rerank(
    configs: Configs,
    engine: EngineName = None,
    models: Models = None,
    sets: Sets = None,
    data: Data = None,
    results: Results = Path("results"),
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="DIR",
            file_okay=False,
            show_default="RESULTS/EXPERIMENT/rankings",
            help="Where the runs go.",
        ),
    ] = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, metavar="N", help="Only the first N judged queries.")
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    r"""Write the first stage and the base rankings of LCR as TREC runs.

    CONFIG is an experiment of the task lcr. No confidences are taken; an engine
    is started only for yesno, qlm and rankgpt. Prints NDCG@5 and NDCG@10.

    Examples:
      authbench rerank lcr_bm25 --set 'bases=\[retriever]'
      authbench rerank lcr_bm25 --set 'bases=\[cross-encoder]' -o runs
    """
    rows: list[dict[str, Any]] = []
    for experiment in load_experiments(configs, engine, models, sets, data):
        folder = output or results / experiment.name / "rankings"
        rows += _rerank(experiment, results, folder, limit, quiet=quiet or as_json)
    if as_json:
        print_json(rows)
    else:
        _print_rankings(rows, limit, quiet=quiet)
    failed = sum(row["failed"] for row in rows)
    if failed:
        say(f"authbench: {failed} queries failed and keep the first stage's order")
        raise typer.Exit(PARTIAL_FAILURE)


def _rerank(
    experiment: "Experiment", results: Path, folder: Path, limit: int | None, *, quiet: bool
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
    for note in stage.notes:
        say(f"note: {note}", quiet=quiet)
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
        say(f"note: {sentence}")
    return rows


def _print_rankings(rows: Sequence[dict[str, Any]], limit: int | None, *, quiet: bool) -> None:
    names = ("collection", "retriever", "base", "model", "n", "ndcg@5", "ndcg@10")
    shown = [[f"{row[name]:.4f}" if name.startswith("ndcg") else row[name] for name in names] for row in rows]
    print_columns(shown, names)
    gains = ", ".join(dict.fromkeys(row["gain"] for row in rows))
    typer.echo(f"\nNDCG with {gains} gain over judged queries")
    if limit is not None:
        typer.echo(f"PARTIAL: only the first {limit} judged queries")
    for row in rows:
        say(f"wrote {row['file']}", quiet=quiet)


@app.command(rich_help_panel="LCR")
def tune(
    runs: Runs,
    step: Annotated[
        float | None,
        typer.Option("--step", metavar="X", help="Step of the grid of thresholds, such as 0.05."),
    ] = None,
    folds: Annotated[
        int | None, typer.Option("--folds", min=2, metavar="N", help="Folds of the cross-validation.")
    ] = None,
    shuffles: Annotated[
        int | None, typer.Option("--shuffles", min=1, metavar="N", help="Shuffles of the control.")
    ] = None,
    seed: Annotated[
        int | None, typer.Option("--seed", metavar="N", help="Seed of folds, shuffles and resampling.")
    ] = None,
    cutoff: Annotated[
        int | None, typer.Option("--cutoff", min=1, metavar="K", help="Measure NDCG at K.")
    ] = None,
    gain: Annotated[
        Literal["linear", "exponential"] | None,
        typer.Option("--gain", help="Gain of NDCG: the grade, or 2 to its power less 1."),
    ] = None,
    method: Annotated[
        Literal["lcr", "car"],
        typer.Option("--method", help="lcr: two thresholds (Algorithm 1). car: CAR's margins."),
    ] = "lcr",
    measure: Annotated[
        Literal["mscp", "entropy"],
        typer.Option(
            "--measure",
            help="mscp: the largest cluster's share. entropy: 1 less semantic entropy over its most.",
        ),
    ] = "mscp",
    samples: Annotated[
        int | None, typer.Option("--samples", min=1, metavar="K", help="Use the first K samples only.")
    ] = None,
    with_grades: Annotated[bool, flag("--grades", help="Also show confidence by relevance grade.")] = False,
    as_json: Json = False,
) -> None:
    """Choose LCR's thresholds from the confidences of runs, with no model.

    Three columns: the best on the test queries, as the paper prints; chosen on
    other queries (cross-validation); the best of the same grid on shuffled
    confidences, the control. An option that is left out is as the run's
    configuration says.

    Examples:
      authbench tune results/lcr_bm25/qwen2.5-7b-instruct
      authbench tune results/lcr_bm25 results/lcr_contriever --gain exponential
    """
    from authbench.cli.tunetext import print_grades, print_tuned
    from authbench.tasks.lcr.tuning import Choice, grades_of, tune_runs

    found = [entry for path in run_folders(runs) if (entry := _read(path, named=path in runs)) is not None]
    if not found:
        raise ConfigError(f"{', '.join(map(str, runs))}: no run of the task lcr here")
    choice = Choice(step, folds, seed, shuffles, cutoff, gain, method, measure, samples)
    rows = tune_runs([entry[:3] for entry in found], choice)
    grades = grades_of([entry[:3] for entry in found], measure) if with_grades else []
    if as_json:
        print_json(_as_json(rows, grades))
        return
    print_tuned(rows, "; ".join(dict.fromkeys(_measured(settings, choice) for _, settings, _, _ in found)))
    for table in grades:
        print_grades(table)
    if any(partial for *_, partial in found):
        typer.echo("PARTIAL: not all queries were asked")


def _read(path: Path, *, named: bool) -> "tuple[str, LcrExperiment, Sequence[Item], bool] | None":
    """A run's model, configuration, items, and whether it is partial; None for one of another task below a
    folder that was named."""
    from dataclasses import replace

    from authbench.experiment.folder import RunFolder
    from authbench.experiment.rescoring import stored_settings
    from authbench.reporting.itemfiles import read_items
    from authbench.tasks.lcr.settings import LcrExperiment

    folder = RunFolder(path)
    facts = folder.read()
    if facts is None:
        raise DataError(f"{path} holds no run (no run.json); name a folder such as results/lcr_bm25/MODEL")
    settings = stored_settings(folder, facts) if facts.get("task") == "lcr" else None
    if not isinstance(settings, LcrExperiment):
        if named:
            raise ConfigError(f"{path} is a run of the task {facts.get('task')}; thresholds belong to lcr")
        return None
    items = [replace(item, answers=()) for item in read_items(path)]  # the texts are not needed
    return str(facts["model"]["name"]), settings, items, bool(facts.get("partial"))


def _measured(settings: "LcrExperiment", choice: "Choice") -> str:
    """What the numbers are: the measure, the rule, and the confidences behind it."""
    rule = "CAR's margins" if choice.method == "car" else "LCR"
    by = "semantic entropy" if choice.measure == "entropy" else "MSCP"
    samples = choice.samples or settings.confidence.samples
    ndcg = f"NDCG@{choice.cutoff or settings.cutoff} (%), {choice.gain or settings.gain} gain"
    return f"{ndcg}; {rule}, {by} of {samples} sample{'' if samples == 1 else 's'}"


def _as_json(rows: "Sequence[Row]", grades: "Sequence[Grades]") -> dict[str, Any]:
    from dataclasses import asdict, replace

    tuned = []
    for row in rows:
        columns = [
            {**asdict(replace(column, rules=())), "rules": [str(rule) for rule in column.rules]}
            for column in row.tuned.columns
        ]
        tuned.append(
            {
                **asdict(row.setting),
                "n": row.tuned.n,
                "n_failed": row.n_failed,
                "base_ranking": asdict(row.tuned.base),
                "columns": columns,
                "p_signal": row.tuned.p_signal,
            }
        )
    return {"tuned": tuned, "grades": [asdict(table) for table in grades]}
