"""`authbench rag`: filter one's own retrieved documents, and compare the filters of a run."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import click

from authbench.cli.common import json_option, print_columns, print_json, quiet_option, results_option
from authbench.errors import PARTIAL_FAILURE, ConfigError, DataError

if TYPE_CHECKING:
    from authbench.experiment.filtering import FilterSummary
    from authbench.rag.significance import FilterDifference


@click.group("rag")
def command() -> None:
    """Filter a file of retrieved documents, and compare filters."""


@command.command("filter")
@click.argument("file", type=click.Path(path_type=Path, dir_okay=False, exists=True), metavar="FILE.jsonl")
@click.option("-o", "--output", required=True, metavar="OUT", help="Where the lines go; - for stdout.")
@click.option("--model", required=True, metavar="NAME", help="A model's name, hub id or path.")
@click.option("--engine", metavar="NAME", help="Instead of the one that fits this machine.")
@click.option(
    "--filter",
    "name",
    default="authority",
    show_default=True,
    metavar="NAME",
    help="relevance, utility, authority, or joined, such as authority+relevance.",
)
@click.option("--keep", type=click.IntRange(min=1), metavar="K", help="Keep the K best documents.")
@click.option("--threshold", type=click.FloatRange(0, 9), metavar="T", help="Keep scores from T on.")
@click.option(
    "--min-keep",
    type=click.IntRange(min=0),
    metavar="K",
    default=0,
    help="With --threshold: keep at least K.",
)
@click.option(
    "--weight", "weights", multiple=True, metavar="FILTER=W", help="Of a joined filter; may be repeated."
)
@click.option(
    "--constrain",
    type=click.Choice(["none", "json"]),
    default="none",
    show_default=True,
    help="json: let the model write nothing but scores.",
)
@click.option(
    "--overflow",
    type=click.Choice(["truncate", "error"]),
    default="truncate",
    show_default=True,
    help="What happens to documents that do not fit the model.",
)
@click.option("--text-chars", type=click.IntRange(min=1), metavar="N", help="Show N characters of each text.")
@click.option(
    "--set", "sets", multiple=True, metavar="KEY=VALUE", help="A setting of the engine, such as dtype=auto."
)
@click.option("--fresh", is_flag=True, help="Ask again what the store knows.")
@results_option
@quiet_option
@json_option
def filter_command(
    file: Path,
    output: str,
    model: str,
    engine: str | None,
    name: str,
    keep: int | None,
    threshold: float | None,
    min_keep: int,
    weights: Sequence[str],
    constrain: str,
    overflow: Literal["truncate", "error"],
    text_chars: int | None,
    sets: Sequence[str],
    fresh: bool,
    results: Path,
    quiet: bool,
    as_json: bool,
) -> int:
    """Score the documents of each question and mark those to keep.

    FILE has a line for each question: {"question": "...", "documents": [{"url": "...", "text": "..."}]}. OUT
    has the same lines; each document gets a score and `kept`. The authority filter looks at URLs alone. A
    filter that was stopped goes on where it was. Without --keep and --threshold the 3 best are kept.

    \b
    Examples:
      authbench rag filter retrieved.jsonl -o kept.jsonl --model qwen3-8b --keep 3
      authbench rag filter retrieved.jsonl -o - --model qwen3-8b --threshold 7
    """
    from authbench.cli.progress import Reporter
    from authbench.experiment.filtering import FilterOptions, filter_file
    from authbench.rag.filters import parse_filter
    from authbench.rag.selection import Cut

    if keep is not None and threshold is not None:
        raise ConfigError("--keep and --threshold exclude each other; give one of them")
    cut = Cut(threshold=threshold) if threshold is not None else Cut(k=keep or 3)
    options = FilterOptions(
        chosen=parse_filter(name, _numbers(weights)),
        cut=cut,
        model=model,
        minimum=min_keep,
        engine=engine,
        settings=_settings(sets),
        constrain=constrain,
        overflow=overflow,
        text_chars=text_chars,
        results=results,
        fresh=fresh,
    )
    target = None if output == "-" else Path(output)
    summary = filter_file(file, target, options, Reporter(quiet=quiet or as_json))
    _report(summary, output, quiet=quiet, as_json=as_json)
    return PARTIAL_FAILURE if summary.statuses["failed"] else 0


def _report(summary: FilterSummary, output: str, *, quiet: bool, as_json: bool) -> None:
    """On stderr where the lines themselves go to stdout."""
    facts = {
        "model": summary.model,
        "engine": summary.engine,
        "lines": summary.lines,
        "documents": summary.documents,
        "kept": summary.kept,
        "ties": summary.ties,
        "truncated": summary.truncated,
        "asked": summary.asked,
        "statuses": dict(sorted(summary.statuses.items())),
        "output": output,
    }
    if as_json and output != "-":
        print_json(facts)
    elif not quiet:
        statuses = ", ".join(f"{count} {status}" for status, count in sorted(summary.statuses.items()))
        click.echo(
            f"{summary.lines} lines ({statuses}), kept {summary.kept} of {summary.documents} documents, "
            f"{summary.ties} ties at the cut, {summary.truncated} lines with cut texts, "
            f"{summary.asked} requests asked; wrote {output}",
            err=True,
        )


@command.command("compare")
@click.argument("run", type=click.Path(path_type=Path), metavar="RUN")
@click.option("--against", metavar="FILTER", help="Only differences to this filter.")
@json_option
def compare_command(run: Path, against: str | None, as_json: bool) -> int:
    """Compare the filters of a run in pairs, by McNemar's exact test.

    Both filters of a line answered the same questions; p(Holm) is corrected for all lines shown.

    \b
    Example:
      authbench rag compare results/ragauth/qwen3-8b --against none
    """
    from dataclasses import asdict

    from authbench.experiment.folder import RunFolder
    from authbench.rag.significance import compare_filters
    from authbench.reporting.itemfiles import read_items

    facts = RunFolder(run).read()
    if facts is None:
        raise DataError(f"{run} holds no run; name a folder such as results/ragauth/MODEL")
    if facts.get("task") != "rag":
        raise ConfigError(f"{run} is a run of the task {facts.get('task')}, and filters are compared of rag")
    if against is not None and against not in facts["config"]["filters"]:
        known = ", ".join(facts["config"]["filters"])
        raise ConfigError(f"--against {against}: this run has the filters {known}")
    differences = compare_filters(read_items(run), against=against)
    if as_json:
        print_json([asdict(difference) for difference in differences])
        return 0
    if not differences:
        click.echo("nothing to compare: one filter, or no question that two of them answered")
        return 0
    _print_differences(differences)
    if facts.get("partial"):
        click.echo("PARTIAL: not all questions were asked")
    return 0


def _print_differences(differences: Sequence[FilterDifference]) -> None:
    head = (
        "cut",
        "filter",
        "against",
        "n",
        "acc.",
        "acc.",
        "diff",
        "low",
        "high",
        "only",
        "only",
        "p",
        "p(Holm)",
    )
    rows = [
        (
            d.cut,
            d.a,
            d.b,
            d.n,
            _percent(d.accuracy_a),
            _percent(d.accuracy_b),
            _percent(d.difference),
            _percent(d.low),
            _percent(d.high),
            d.only_a,
            d.only_b,
            f"{d.pvalue:.4f}",
            f"{d.adjusted:.4f}",
        )
        for d in differences
    ]
    print_columns(rows, head)
    click.echo(
        "\nacc., diff, low, high: percent, with the 95 % bootstrap interval of the difference over questions"
        "\nonly: questions that only one of the two got right; p: McNemar's exact test, two-sided"
    )


def _percent(value: float | None) -> str | None:
    return None if value is None else f"{100 * value:.2f}"


def _numbers(pairs: Sequence[str]) -> dict[str, float]:
    from authbench.errors import did_you_mean
    from authbench.rag.filters import ASKED

    numbers = {}
    for pair in pairs:
        name, _, value = pair.partition("=")
        if name not in ASKED:
            raise ConfigError(f"--weight {pair}: no filter is called '{name}'{did_you_mean(name, ASKED)}")
        try:
            numbers[name] = float(value)
        except ValueError:
            raise ConfigError(f"--weight {pair}: write it as FILTER=NUMBER, such as authority=2") from None
    return numbers


def _settings(pairs: Sequence[str]) -> dict[str, Any]:
    import yaml

    settings: dict[str, Any] = {}
    for pair in pairs:
        key, equals, value = pair.removeprefix("engine.").partition("=")
        if not equals or not key:
            raise ConfigError(
                f"--set {pair}: write it as key=value, such as base_url=http://localhost:8000/v1"
            )
        try:
            settings[key] = yaml.safe_load(value)
        except yaml.YAMLError:
            raise ConfigError(f"--set {pair}: the value is not valid YAML; quote it") from None
    return settings
