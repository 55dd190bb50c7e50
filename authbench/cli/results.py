"""Print results and take them elsewhere: table, report, plot, export."""

import sys
from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from authbench.cli.common import Json, Quiet, Runs, flag, print_json, say
from authbench.errors import ConfigError, DataError, did_you_mean

if TYPE_CHECKING:
    from rich.console import Console

    from authbench.reporting.results import Run

app = typer.Typer()


@app.command(rich_help_panel="Read results")
def table(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN",
            help="A run's folder, an experiment's, a whole results folder, or a paper's table such as "
            "authoritybench/1 for the paper's own numbers.",
        ),
    ],
    paper: Annotated[
        bool,
        flag("--paper", help="Add the paper's numbers, ours minus them, and if they lie in our intervals."),
    ] = False,
    policy: Annotated[
        Literal["strict", "valid"],
        typer.Option(
            "--policy", help="strict: invalid answers count as 0 or wrong. valid: they are left out."
        ),
    ] = "strict",
    intervals: Annotated[bool, flag("--intervals", help="Show 95 % bootstrap intervals.")] = False,
    cost: Annotated[
        bool, flag("--cost", help="Show calls, unique calls and tokens instead of the measures.")
    ] = False,
    with_cost: Annotated[
        bool, flag("--with-cost", help="Show calls, unique calls and tokens below the measures.")
    ] = False,
    format_: Annotated[
        Literal["text", "md", "csv", "latex", "json"],
        typer.Option("--format", help="csv and json always hold measures, intervals, counts and costs."),
    ] = "text",
    as_json: Json = False,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", dir_okay=False, help="Write to a file.")
    ] = None,
) -> None:
    """Print runs in the layout of the paper's tables.

    The best of each row is bold, the second best underlined; other results get
    a table of what varies. Runs of one experiment share a table. Tables fit the
    terminal; COLUMNS=120 widens what goes into a pipe or a file.

    Examples:
      authbench table results/domainauth_fine --paper
      authbench table results --format latex -o tables.tex
      authbench table authoritybench/1
    """
    from authbench.reporting.paper import runs_or_paper
    from authbench.reporting.tables import render_tables

    kind = "json" if as_json else format_
    found = runs_or_paper(runs, on_skipped=lambda text: say(f"left out: {text}"))
    console = _table_console(output) if kind == "text" else None
    rendered = render_tables(
        found,
        kind,
        policy=policy,
        intervals=intervals,
        paper=paper,
        cost=cost or with_cost,
        measures=not cost or with_cost or kind in ("csv", "json"),
        console=console,
    )
    if output is None:
        # Bytes: what is data is UTF-8 whatever the terminal, and text is made for the terminal's encoding.
        typer.echo(rendered.encode("utf-8" if console is None else console.encoding), nl=False)
        return
    try:
        output.write_text(rendered, encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{output}: cannot be written: {error.strerror}") from error
    say(f"wrote {output}")


def _table_console(output: Path | None) -> "Console":
    """Where text goes: the terminal or pipe, or a file that has no bold."""
    from rich.console import Console

    if output is None:
        return Console(file=sys.stdout)
    return Console(file=StringIO(), force_terminal=False)


@app.command(rich_help_panel="Read results")
def report(
    runs: Runs,
    output: Annotated[
        Path, typer.Option("-o", "--output", metavar="FILE", dir_okay=False, help="The page to write.")
    ] = Path("report.html"),
    title: Annotated[str | None, typer.Option("--title", metavar="TEXT", help="Heading of the page.")] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Write one page with tables, plots, claims, items and provenance.

    The page opens from disk in any current browser and asks no host for
    anything.

    Example:
      authbench report results -o report.html
    """
    from authbench.reporting.html import write_report
    from authbench.reporting.results import find_runs

    def note(text: str) -> None:
        say(f"authbench: {text}", quiet=quiet or as_json)

    written = write_report(find_runs(runs, note), output, title, note=note)
    for problem in written.problems:
        say(f"note: {problem}")
    size = output.stat().st_size
    if as_json:
        facts = {"items": written.items, "with_prompts": written.full, "problems": list(written.problems)}
        print_json({"path": str(output), "bytes": size, **facts})
    elif not quiet:
        typer.echo(f"{output}: {written.items:,} items, {size / 1e6:.1f} MB")


def _complete_kind(incomplete: str) -> list[str]:
    from authbench.reporting.plots.kinds import KINDS

    return ["list", *KINDS]


@app.command(rich_help_panel="Read results")
def plot(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="A run's folder, or an experiment's with several models."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option(
            "--kind",
            metavar="KIND",
            autocompletion=_complete_kind,
            help="What to draw; --kind list names all.",
        ),
    ] = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "-o",
            "--output",
            metavar="FILE",
            dir_okay=False,
            help="File to write; its ending (.svg, .png, .pdf) is the format.",
        ),
    ] = None,
    dark: Annotated[bool, flag("--dark", help="For a dark page.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Draw one of the report's plots into a file.

    Runs of one experiment go into one plot. SVG needs nothing more; PNG and PDF
    need the extra 'plots'.

    Examples:
      authbench plot results/domainauth_fine --kind forest -o forest.svg
      authbench plot results/domainauth_fine/qwen3-8b --kind heatmap -o heatmap.pdf
    """
    from authbench.reporting.plots.files import draw, write_plot
    from authbench.reporting.plots.kinds import KINDS
    from authbench.reporting.results import find_runs

    if kind not in KINDS:
        listed = "\n".join(f"  {name:<13} {spec.title}" for name, spec in KINDS.items())
        if kind == "list":
            typer.echo(listed)
            return
        said = "plot needs --kind"
        if kind is not None:
            said = f"no kind is called '{kind}'{did_you_mean(kind, list(KINDS))}"
        raise ConfigError(f"{said}; kinds are\n{listed}")
    if not runs:
        raise ConfigError(f"plot needs a run: authbench plot results/EXPERIMENT --kind {kind}")
    path = output or Path(f"{kind}.svg")
    svg = draw(find_runs(runs), kind)
    write_plot(svg, path, dark=dark)
    if as_json:
        print_json({"path": str(path), "kind": kind, "title": svg.title, "text": svg.desc})
    elif not quiet:
        typer.echo(f"{path}: {svg.title}. {svg.desc}")


@app.command(rich_help_panel="Read results")
def export(
    runs: Runs,
    to: Annotated[
        Literal["csv", "jsonl", "parquet", "inspect", "hub", "latex"], typer.Option("--to", help="Format.")
    ],
    output: Annotated[
        Path | None,
        typer.Option("-o", "--output", metavar="PATH", help="File; a folder for inspect and hub."),
    ] = None,
    what: Annotated[
        Literal["values", "answers", "cells"],
        typer.Option(
            "--what", help="For csv, jsonl and parquet: one row an item and measure, an answer, or a cell."
        ),
    ] = "values",
    prompts: Annotated[
        bool, flag("--prompts", help="With --what answers: the rendered prompts as well.")
    ] = False,
    paper: Annotated[bool, flag("--paper", help="With latex: the paper's numbers as well.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Take results elsewhere.

    csv, jsonl and parquet are flat tables; inspect writes logs that
    inspect_ai's viewer reads; hub writes a folder for the Hugging Face hub with
    a card; latex writes a file that compiles, with the paper's tables.

    Examples:
      authbench export results --to csv --what values -o values.csv
      authbench export results/ragauth --to inspect -o logs
      authbench export results --to latex --paper -o tables.tex
    """
    from authbench.reporting.results import find_runs

    if prompts and what != "answers":
        raise ConfigError("--prompts needs --what answers: a prompt belongs to an answer")
    names = {"inspect": "inspect-logs", "hub": "hub", "latex": "tables.tex"}
    path = output or Path(names.get(to, f"{what}.{to}"))
    if to in ("inspect", "hub") and path.exists() and (not path.is_dir() or any(path.iterdir())):
        raise ConfigError(f"{path} exists and is no empty folder; name another with -o")
    found = find_runs(runs)
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        count, unit = _write(found, to, path, what, prompts=prompts, paper=paper)
    except OSError as error:
        raise DataError(f"{path} cannot be written: {error.strerror}") from None
    if as_json:
        print_json({"path": str(path), "format": to, "count": count, "unit": unit})
    elif not quiet:
        typer.echo(f"{path}: {count:,} {unit}")


def _write(
    runs: "Sequence[Run]",
    to: str,
    path: Path,
    what: Literal["values", "answers", "cells"],
    *,
    prompts: bool,
    paper: bool,
) -> tuple[int, str]:
    """Write, and say how many of what."""
    if to == "inspect":
        from authbench.reporting.inspect_log import write_inspect_logs

        return sum(len(write_inspect_logs(run, path)) for run in runs), "logs"
    if to == "hub":
        from authbench.reporting.cards import write_hub_folder

        return len(write_hub_folder(runs, path)), "files"
    if to == "latex":
        from authbench.reporting.tables import build_tables, render_tables

        path.write_text(render_tables(runs, "latex", paper=paper), encoding="utf-8")
        return len(build_tables(runs)), "tables"
    from authbench.reporting.export import WRITERS, columns_of, rows

    return WRITERS[to](path, columns_of(what, prompts), rows(runs, what, prompts=prompts)), "rows"
