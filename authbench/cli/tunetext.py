"""What `authbench tune` prints, in lines of at most 80 columns as long as names are no longer than usual."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import typer

from authbench.cli.common import print_columns
from authbench.reporting.comparetext import probability

if TYPE_CHECKING:
    from authbench.lcr.tuning import TunedColumn
    from authbench.measures.resampling import Interval
    from authbench.tasks.lcr.tuning import Grades, Row, Setting

_COLUMNS = {"best-on-test": "best on test", "held-out": "held out", "shuffled": "shuffled"}

_LEGEND = """\
n: judged queries. [low, high]: 95 % over queries, of shuffled over shuffles.
best on test was chosen on these queries: read it against shuffled, not against
  the base ranking; p signal is the share of shuffles that do as well.
held out is what new queries would gain.
p: paired randomisation test against the base ranking; Holm: corrected over all
  rows. Intervals of NDCG itself: --json."""


def print_tuned(rows: Sequence[Row], measured: str) -> None:
    """The three columns of every base ranking side by side, their differences, and the thresholds.

    `measured` says what the numbers are.
    """
    typer.echo(measured)
    sections: dict[str, list[Row]] = {}
    for row in rows:
        sections.setdefault(_stage(row.setting), []).append(row)
    for name, members in sections.items():
        typer.echo(f"\n{name}\n")
        _print_side_by_side(members)
        typer.echo()
        _print_differences(members)
        typer.echo()
        _print_thresholds(members)
    typer.echo(f"\n{_LEGEND}")
    failed = sum(row.n_failed for row in rows)
    if failed:
        typer.echo(f"{failed} items without answers are left out")


def _stage(setting: Setting) -> str:
    return f"{setting.model}, {setting.collection}, {setting.retriever}"


def _print_side_by_side(rows: Sequence[Row]) -> None:
    cells = [
        [
            row.setting.base,
            row.tuned.n,
            _percent(row.tuned.base.value, 6),
            *(
                _percent(column.value.value, len(name))
                for column, name in zip(row.tuned.columns, _COLUMNS.values(), strict=True)
            ),
            f"{row.tuned.p_signal:8.3f}",
        ]
        for row in rows
    ]
    print_columns(cells, ["base ranking", "n", "  base", *_COLUMNS.values(), "p signal"])


def _print_differences(rows: Sequence[Row]) -> None:
    cells = [
        [row.setting.base if place == 0 else "", *_difference(column)]
        for row in rows
        for place, column in enumerate(row.tuned.columns)
    ]
    print_columns(cells, ["base ranking", "thresholds", "difference", "gain %", "p", "Holm"])


def _difference(column: TunedColumn) -> list[str]:
    share = "-" if column.relative is None else f"{100 * column.relative:+.1f}"
    tests = ["" if value is None else probability(value) for value in (column.p, column.p_holm)]
    return [_COLUMNS[column.column], _interval(column.gain, "+"), share.rjust(6), *tests]


def _print_thresholds(rows: Sequence[Row]) -> None:
    cells = []
    for row in rows:
        best, held_out = row.tuned.columns[0], row.tuned.columns[1]
        different = len({str(rule) for rule in held_out.rules})
        cells.append([row.setting.base, str(best.rules[0]), f"{different} in {len(held_out.rules)} folds"])
    print_columns(cells, ["base ranking", "best on test", "held out"])


def print_grades(table: Grades) -> None:
    """Confidence by relevance grade, and their correlation."""
    correlation = table.correlation
    typer.echo(f"\nconfidence (%) by relevance grade: {_stage(table.setting)}\n")
    print_columns(
        [
            ["unjudged" if row.grade is None else str(row.grade), str(row.n), _interval(row.confidence)]
            for row in table.rows
        ],
        ["grade", "n", "confidence"],
    )
    within = correlation.within
    bounds = "" if within.low is None else f" [{_number(within.low)}, {_number(within.high)}]"
    typer.echo(
        f"over {correlation.n} judged documents: Spearman {_number(correlation.spearman)}, "
        f"tau-b {_number(correlation.kendall)}\n"
        f"within {correlation.n_queries} queries: tau-b {_number(within.value)}{bounds}"
    )


def _percent(value: float | None, width: int) -> str:
    return ("-" if value is None else f"{100 * value:.2f}").rjust(width)


def _interval(found: Interval, sign: str = "") -> str:
    if found.value is None:
        return "-"
    form = f"{sign}.2f"
    text = format(100 * found.value, form)
    if found.low is None or found.high is None:
        return text
    return f"{text} [{format(100 * found.low, form)}, {format(100 * found.high, form)}]"


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"
