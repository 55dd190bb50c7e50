"""`authbench tune RUN...`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from authbench.cli.common import json_option, print_columns, print_json
from authbench.errors import ConfigError

if TYPE_CHECKING:
    from authbench.experiment.schema import LcrExperiment
    from authbench.experiment.tasks.lcr_tuning import Grades, Row
    from authbench.lcr.tuning import TunedColumn
    from authbench.measures.resampling import Interval
    from authbench.reporting.itemfiles import Item

_COLUMNS = {"best-on-test": "best on test", "held-out": "held out", "shuffled": "shuffled"}


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
    from authbench.experiment.tasks.lcr_tuning import Choice, grades_of, tune_runs

    found = [entry for path in _folders(runs) if (entry := _read(path, named=path in runs)) is not None]
    if not found:
        raise ConfigError(f"{', '.join(map(str, runs))}: no run of the task lcr here")
    choice = Choice(step, folds, seed, shuffles, cutoff, gain, method, measure, samples)
    rows = tune_runs([entry[:3] for entry in found], choice)
    grades = grades_of([entry[:3] for entry in found], measure) if with_grades else []
    if as_json:
        print_json(_as_json(rows, grades))
        return 0
    kinds = dict.fromkeys(f"NDCG@{cutoff or s.cutoff}, {gain or s.gain} gain" for _, s, _, _ in found)
    _print(rows, "; ".join(kinds))
    for table in grades:
        _print_grades(table)
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
    from authbench.experiment.schema import LcrExperiment
    from authbench.reporting.itemfiles import read_items

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


def _print(rows: Sequence[Row], measured: str) -> None:
    varying = [
        name
        for name in ("model", "collection", "retriever")
        if len({getattr(row.setting, name) for row in rows}) > 1
    ]
    shared = [
        str(getattr(rows[0].setting, name))
        for name in ("model", "collection", "retriever")
        if name not in varying
    ]
    click.echo(f"{measured} (%): {', '.join(shared)}\n")
    head = [*varying, "base", "n", "base ranking", *_COLUMNS.values()]
    print_columns(
        [
            [
                *(getattr(row.setting, name) for name in varying),
                row.setting.base,
                str(row.tuned.n),
                _percent(row.tuned.base),
                *(_percent(column.value) for column in row.tuned.columns),
            ]
            for row in rows
        ],
        head,
    )
    click.echo("\ndifference from the base ranking (points), with p of the paired randomisation test\n")
    print_columns([_gains(row, varying) for row in rows], [*varying, "base", *_COLUMNS.values(), "p signal"])
    click.echo("\nthresholds\n")
    for row in rows:
        best, held_out = row.tuned.columns[0], row.tuned.columns[1]
        name = " ".join([*(str(getattr(row.setting, n)) for n in varying), row.setting.base])
        folds = len({str(rule) for rule in held_out.rules})
        click.echo(
            f"{name}: best on test {best.rules[0]}; {folds} different ones over {len(held_out.rules)} folds"
        )
    click.echo(
        "\nn = judged queries; [low, high]: 95 % over queries, for shuffled over shuffles\n"
        "best on test was chosen on these queries: read it against shuffled, not against the base ranking;\n"
        "p signal is the share of shuffles that do as well. held out is what new queries would gain.\n"
        "p in brackets: Holm's correction over all rows"
    )
    failed = sum(row.n_failed for row in rows)
    if failed:
        click.echo(f"{failed} items without answers are left out")


def _gains(row: Row, varying: Sequence[str]) -> list[object]:
    cells = [_gain(column) for column in row.tuned.columns]
    names = [getattr(row.setting, name) for name in varying]
    return [*names, row.setting.base, *cells, f"{row.tuned.p_signal:.3f}"]


def _gain(column: TunedColumn) -> str:
    text = _percent(column.gain, sign="+")
    if column.relative is not None:
        text += f" {100 * column.relative:+.1f} %"
    if column.p is not None:
        text += (
            f" p {column.p:.3f} ({column.p_holm:.3f})" if column.p_holm is not None else f" p {column.p:.3f}"
        )
    return text


def _percent(found: Interval, sign: str = "") -> str:
    if found.value is None:
        return "-"
    form = f"{sign}.2f"
    text = format(100 * found.value, form)
    if found.low is None or found.high is None:
        return text
    return f"{text} [{format(100 * found.low, form)}, {format(100 * found.high, form)}]"


def _print_grades(table: Grades) -> None:
    setting, correlation = table.setting, table.correlation
    click.echo(
        f"\nconfidence (%) by relevance grade: {setting.model}, {setting.collection}, {setting.retriever}\n"
    )
    print_columns(
        [
            ["unjudged" if row.grade is None else str(row.grade), str(row.n), _percent(row.confidence)]
            for row in table.rows
        ],
        ["grade", "n", "confidence"],
    )
    within = correlation.within
    parts = [
        f"Spearman {_number(correlation.spearman)}",
        f"tau-b {_number(correlation.kendall)} over {correlation.n} judged documents",
        f"tau-b within queries {_number(within.value)} [{_number(within.low)}, {_number(within.high)}] "
        f"over {correlation.n_queries} queries",
    ]
    click.echo("; ".join(parts))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


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
