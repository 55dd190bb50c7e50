"""RAG: filter one's own retrieved documents, and compare the filters of a run: rag filter, rag compare."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from authbench.cli.common import (
    Json,
    Quiet,
    Results,
    complete_engine,
    complete_models,
    flag,
    print_columns,
    print_json,
    say,
)
from authbench.errors import PARTIAL_FAILURE, ConfigError, DataError, did_you_mean

if TYPE_CHECKING:
    from authbench.experiment.filtering import FilterSummary
    from authbench.rag.significance import FilterDifference

app = typer.Typer(no_args_is_help=True)

_DIFFERENCES = (
    "cut", "filter", "against", "n", "acc.", "acc.", "diff", "low", "high", "only", "only", "p", "p(Holm)",
)  # fmt: skip


@app.callback()
def rag() -> None:
    """Filter a file of retrieved documents, and compare filters."""


@app.command("filter")
def filter_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE.jsonl", exists=True, dir_okay=False, help="A line each question.")
    ],
    output: Annotated[
        str, typer.Option("-o", "--output", metavar="OUT", help="Where the lines go; - for stdout.")
    ],
    model: Annotated[
        str,
        typer.Option(
            "--model", metavar="NAME", autocompletion=complete_models, help="A model's name, hub id or path."
        ),
    ],
    engine: Annotated[
        str | None,
        typer.Option(
            "--engine",
            metavar="NAME",
            autocompletion=complete_engine,
            help="Instead of the one that fits this machine.",
        ),
    ] = None,
    name: Annotated[
        str,
        typer.Option(
            "--filter",
            metavar="NAME",
            help="relevance, utility, authority, or joined, such as authority+relevance.",
        ),
    ] = "authority",
    keep: Annotated[
        int | None, typer.Option("--keep", min=1, metavar="K", help="Keep the K best documents.")
    ] = None,
    threshold: Annotated[
        float | None, typer.Option("--threshold", min=0, max=9, metavar="T", help="Keep scores from T on.")
    ] = None,
    min_keep: Annotated[
        int, typer.Option("--min-keep", min=0, metavar="K", help="With --threshold: keep at least K.")
    ] = 0,
    weights: Annotated[
        list[str] | None,
        typer.Option("--weight", metavar="FILTER=W", help="Of a joined filter; may be repeated."),
    ] = None,
    constrain: Annotated[
        Literal["none", "json"],
        typer.Option("--constrain", help="json: let the model write nothing but scores."),
    ] = "none",
    overflow: Annotated[
        Literal["truncate", "error"],
        typer.Option("--overflow", help="What happens to documents that do not fit the model."),
    ] = "truncate",
    text_chars: Annotated[
        int | None, typer.Option("--text-chars", min=1, metavar="N", help="Show N characters of each text.")
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of the engine, such as dtype=auto."),
    ] = None,
    fresh: Annotated[bool, flag("--fresh", help="Ask again what the store knows.")] = False,
    results: Results = Path("results"),
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    r"""Score the documents of each question and mark those to keep.

    FILE has a line for each question:
      {"question": "...", "documents": \[{"url": "...", "text": "..."}]}
    OUT has the same lines; each document gets a score and `kept`. The authority
    filter looks at URLs alone. A filter that was stopped goes on where it was.
    Without --keep and --threshold the 3 best are kept.

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
        chosen=parse_filter(name, _numbers(weights or ())),
        cut=cut,
        model=model,
        minimum=min_keep,
        engine=engine,
        settings=_settings(sets or ()),
        constrain=constrain,
        overflow=overflow,
        text_chars=text_chars,
        results=results,
        fresh=fresh,
    )
    target = None if output == "-" else Path(output)
    summary = filter_file(file, target, options, Reporter(quiet=quiet or as_json))
    _report(summary, output, quiet=quiet, as_json=as_json)
    if summary.statuses["failed"]:
        raise typer.Exit(PARTIAL_FAILURE)


def _report(summary: "FilterSummary", output: str, *, quiet: bool, as_json: bool) -> None:
    """On stderr where the lines themselves go to stdout."""
    names = ("model", "engine", "lines", "documents", "kept", "ties", "truncated", "asked")
    statuses = dict(sorted(summary.statuses.items()))
    if as_json and output != "-":
        facts = {name: getattr(summary, name) for name in names}
        print_json({**facts, "statuses": statuses, "output": output})
        return
    counts = ", ".join(f"{count} {status}" for status, count in statuses.items())
    say(
        f"{summary.lines} lines ({counts}), kept {summary.kept} of {summary.documents} documents, "
        f"{summary.ties} ties at the cut, {summary.truncated} lines with cut texts, "
        f"{summary.asked} requests asked; wrote {output}",
        quiet=quiet,
    )


@app.command()
def compare(
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run's folder.")],
    against: Annotated[
        str | None, typer.Option("--against", metavar="FILTER", help="Only differences to this filter.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare the filters of a run in pairs, by McNemar's exact test.

    Both filters of a line answered the same questions; p(Holm) is corrected for
    all lines shown.

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
        return
    if not differences:
        typer.echo("nothing to compare: one filter, or no question that two of them answered")
        return
    _print_differences(differences)
    if facts.get("partial"):
        typer.echo("PARTIAL: not all questions were asked")


def _print_differences(differences: "Sequence[FilterDifference]") -> None:
    rows = []
    for d in differences:
        shares = (d.accuracy_a, d.accuracy_b, d.difference, d.low, d.high)
        percent = (None if share is None else f"{100 * share:.2f}" for share in shares)
        rows.append(
            (d.cut, d.a, d.b, d.n, *percent, d.only_a, d.only_b, f"{d.pvalue:.4f}", f"{d.adjusted:.4f}")
        )
    print_columns(rows, _DIFFERENCES)
    typer.echo(
        "\nacc., diff, low, high: percent, with the 95 % bootstrap interval of the difference over questions"
        "\nonly: questions that only one of the two got right; p: McNemar's exact test, two-sided"
    )


def _numbers(pairs: Sequence[str]) -> dict[str, float]:
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
