"""`authbench tune RUN...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from authbench.cli.common import json_option, print_json
from authbench.errors import ConfigError

if TYPE_CHECKING:
    from authbench.reporting.itemfiles import Item
    from authbench.tasks.lcr.settings import LcrExperiment
    from authbench.tasks.lcr.tuning import Choice, Grades, Row


@click.command("tune")
@click.argument("runs", nargs=-1, required=True, type=click.Path(path_type=Path), metavar="RUN...")
@click.option("--step", type=float, metavar="X", help="Step of the grid of thresholds, such as 0.05.")
@click.option("--folds", type=click.IntRange(min=2), metavar="N", help="Folds of the cross-validation.")
@click.option("--shuffles", type=click.IntRange(min=1), metavar="N", help="Shuffles of the control.")
@click.option("--seed", type=int, metavar="N", help="Seed of folds, shuffles and resampling.")
@click.option("--cutoff", type=click.IntRange(min=1), metavar="K", help="Measure NDCG at K.")
@click.option(
    "--gain",
    type=click.Choice(["linear", "exponential"]),
    help="Gain of NDCG: the grade, or 2 to its power less 1.",
)
@click.option(
    "--method",
    type=click.Choice(["lcr", "car"]),
    default="lcr",
    show_default=True,
    help="lcr: two thresholds (Algorithm 1). car: CAR's margins.",
)
@click.option(
    "--measure",
    type=click.Choice(["mscp", "entropy"]),
    default="mscp",
    show_default=True,
    help="mscp: the largest cluster's share. entropy: 1 less semantic entropy over its most.",
)
@click.option("--samples", type=click.IntRange(min=1), metavar="K", help="Use the first K samples only.")
@click.option("--grades", "with_grades", is_flag=True, help="Also show confidence by relevance grade.")
@json_option
def command(
    runs: Sequence[Path],
    step: float | None,
    folds: int | None,
    shuffles: int | None,
    seed: int | None,
    cutoff: int | None,
    gain: Literal["linear", "exponential"] | None,
    method: Literal["lcr", "car"],
    measure: Literal["mscp", "entropy"],
    samples: int | None,
    with_grades: bool,
    as_json: bool,
) -> int:
    """Choose LCR's thresholds from the confidences of runs, with no model.

    Three columns: the best on the test queries, as the paper prints; chosen on other queries
    (cross-validation); the best of the same grid on shuffled confidences, the control. An option that is
    left out is as the run's configuration says.

    \b
    Examples:
      authbench tune results/lcr_bm25/qwen2.5-7b-instruct
      authbench tune results/lcr_bm25 results/lcr_contriever --gain exponential --grades
    """
    from authbench.cli.tunetext import print_grades, print_tuned
    from authbench.tasks.lcr.tuning import Choice, grades_of, tune_runs

    found = [entry for path in _folders(runs) if (entry := _read(path, named=path in runs)) is not None]
    if not found:
        raise ConfigError(f"{', '.join(map(str, runs))}: no run of the task lcr here")
    choice = Choice(step, folds, seed, shuffles, cutoff, gain, method, measure, samples)
    rows = tune_runs([entry[:3] for entry in found], choice)
    grades = grades_of([entry[:3] for entry in found], measure) if with_grades else []
    if as_json:
        print_json(_as_json(rows, grades))
        return 0
    print_tuned(rows, "; ".join(dict.fromkeys(_measured(settings, choice) for _, settings, _, _ in found)))
    for table in grades:
        print_grades(table)
    if any(partial for *_, partial in found):
        click.echo("PARTIAL: not all queries were asked")
    return 0


def _folders(paths: Sequence[Path]) -> list[Path]:
    """Every folder with a run at or below these; one without is kept, to be refused."""
    found: list[Path] = []
    for path in paths:
        found += sorted(file.parent for file in path.rglob("run.json")) or [path]
    return found


def _read(path: Path, *, named: bool) -> tuple[str, LcrExperiment, Sequence[Item], bool] | None:
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
        raise ConfigError(f"{path} holds no run (no run.json); name a folder such as results/lcr_bm25/MODEL")
    if facts.get("task") != "lcr" or not isinstance(
        settings := stored_settings(folder, facts), LcrExperiment
    ):
        if named:
            raise ConfigError(f"{path} is a run of the task {facts.get('task')}; thresholds belong to lcr")
        return None
    items = [replace(item, answers=()) for item in read_items(path)]  # the texts are not needed
    return str(facts["model"]["name"]), settings, items, bool(facts.get("partial"))


def _measured(settings: LcrExperiment, choice: Choice) -> str:
    """What the numbers are: the measure, the rule, and the confidences behind it."""
    rule = "CAR's margins" if choice.method == "car" else "LCR"
    by = "semantic entropy" if choice.measure == "entropy" else "MSCP"
    samples = choice.samples or settings.confidence.samples
    ndcg = f"NDCG@{choice.cutoff or settings.cutoff} (%), {choice.gain or settings.gain} gain"
    return f"{ndcg}; {rule}, {by} of {samples} sample{'' if samples == 1 else 's'}"


def _as_json(rows: Sequence[Row], grades: Sequence[Grades]) -> dict[str, Any]:
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
