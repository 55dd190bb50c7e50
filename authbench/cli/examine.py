"""Look closer at results: at their items, against another run, against the papers' claims."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from authbench.cli.common import Json, Quiet, console, flag, print_json, say
from authbench.errors import ConfigError, did_you_mean

if TYPE_CHECKING:
    from authbench.reporting.results import Run

#: Exit status of `compare --fail-if-worse` where B is worse, and of `audit --strict` where a claim fails: the
#: command itself went well.
OBJECTION = 1

app = typer.Typer()


@app.command(rich_help_panel="Read results")
def show(
    run: Annotated[
        Path,
        typer.Argument(metavar="RUN", help="A run's folder, or the folder of an experiment with one model."),
    ],
    status: Annotated[
        str | None,
        typer.Option(
            "--status", metavar="S", help="Only items with this status; invalid for all that are not usable."
        ),
    ] = None,
    group: Annotated[
        str | None,
        typer.Option(
            "--group", metavar="TEXT", help="Only groups whose name holds TEXT, such as list-score."
        ),
    ] = None,
    item: Annotated[str | None, typer.Option("--item", metavar="ID", help="Only this item.")] = None,
    limit: Annotated[int, typer.Option("--limit", min=0, metavar="N", help="Items to show.")] = 5,
    every_answer: Annotated[bool, flag("--answers", help="Show every answer of an item.")] = False,
    full: Annotated[bool, flag("--full", help="Cut nothing off prompts and answers.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Show a run's items, worst first, with prompt and answer side by side.

    Of each item the first answer that could not be used is shown, or the first
    one. Prompts come from the store of the results folder.

    Examples:
      authbench show results/domainauth_fine/qwen3-8b --status wrong_format
      authbench show results/quickstart/smollm2-135m --item domains-0007 --answers
    """
    from authbench.reporting.show import MOST_TEXT, as_dict, renderables, select, summary_line

    most = 0 if full or as_json else MOST_TEXT
    selection = select(_one_run(run), status=status, group=group, item=item, limit=limit, most=most)
    for problem in selection.problems:
        say(f"note: {problem}", quiet=quiet)
    if as_json:
        print_json(
            {
                "matching": selection.matching,
                "statuses": dict(selection.statuses),
                "items": [as_dict(shown) for shown in selection.shown],
            }
        )
        return
    out = console()
    out.print(summary_line(selection))
    for part in renderables(selection, out.width, every_answer=every_answer):
        out.print(part)
    left = selection.matching - len(selection.shown)
    if left:
        out.print(f"{left:,} more match; --limit shows more of them", style="dim")
    elif not selection.matching:
        out.print("No item matches.", style="dim")


def _one_run(path: Path) -> "Run":
    """The run in a folder, which may be an experiment's folder with one model."""
    from authbench.reporting.results import find_runs

    found = find_runs([path])
    if len(found) > 1:
        names = ", ".join(str(run.path) for run in found[:4])
        raise ConfigError(f"{path} holds {len(found)} runs; name one of them: {names}")
    return found[0]


@app.command(rich_help_panel="Read results")
def compare(
    run_a: Annotated[Path, typer.Argument(metavar="RUN_A", help="A run's folder.")],
    run_b: Annotated[Path, typer.Argument(metavar="RUN_B", help="Another run's folder.")],
    common: Annotated[
        bool, flag("--common", help="Compare on the items that both judged, if they differ.")
    ] = False,
    metrics: Annotated[
        list[str] | None,
        typer.Option("--metric", metavar="M", help="Only this measure, such as spearman; may be repeated."),
    ] = None,
    most: Annotated[int, typer.Option("--items", min=0, metavar="N", help="Items to list.")] = 10,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="Seed of the resampling.")] = 0,
    threshold: Annotated[
        float | None,
        typer.Option(
            "--fail-if-worse",
            min=0,
            max=1,
            metavar="X",
            help="Exit status 1 if B lies more than X (0.02 is two points) below A in any cell.",
        ),
    ] = None,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Compare two runs over the same items, cell by cell.

    Two models, two prompts, or two versions of the same. Differences are B minus
    A and paired by item; runs over other items are refused. With --quiet nothing
    is printed but what --fail-if-worse objects to.

    Examples:
      authbench compare results/ragauth/qwen3-8b results/ragauth/qwen3-14b
      authbench compare golden/ci/m results/ci/m --fail-if-worse 0.02
    """
    from authbench.reporting.compare import compare as compare_runs
    from authbench.reporting.comparetext import as_dict, cell_setting, comparison_lines
    from authbench.reporting.labels import metric_label

    comparison = compare_runs(
        _one_run(run_a), _one_run(run_b), common=common, metrics=metrics or (), most=most, seed=seed
    )
    worse = () if threshold is None else comparison.worse_than(threshold)
    if as_json:
        print_json({**as_dict(comparison), "worse": [dict(cell.dims) for cell in worse]})
    elif not quiet:
        out = console()
        for line in comparison_lines(comparison):
            out.print(line, soft_wrap=True)
    for cell in worse:
        say(
            f"authbench: worse by {-100 * cell.difference:.2f} points: {cell_setting(cell)}, "
            f"{metric_label(str(cell.dims['metric']))}"
        )
    if worse:
        raise typer.Exit(OBJECTION)


def _complete_claim(incomplete: str) -> list[str]:
    from authbench.reporting.claimlist import CLAIMS

    return [claim.name for claim in CLAIMS]


@app.command(rich_help_panel="Read results")
def audit(
    runs: Annotated[
        list[Path] | None,
        typer.Argument(metavar="RUN", help="A run's folder, an experiment's, or a whole results folder."),
    ] = None,
    paper: Annotated[bool, flag("--paper", help="Check the papers' own numbers.")] = False,
    names: Annotated[
        list[str] | None,
        typer.Option(
            "--claim",
            metavar="NAME",
            autocompletion=_complete_claim,
            help="Only this claim; may be repeated.",
        ),
    ] = None,
    show_all: Annotated[bool, flag("--all", help="Show every exception, not the first few.")] = False,
    strict: Annotated[bool, flag("--strict", help="Exit status 1 if a claim fails.")] = False,
    quiet: Quiet = False,
    as_json: Json = False,
) -> None:
    """Hold the papers' claims against runs, or against the papers' own numbers.

    Each claim of the text is a named check: it holds, fails (and where), or is
    undecided because differences lie inside the 95 % intervals. The more models,
    contexts and experiments there are, the more claims can be checked.

    Examples:
      authbench audit --paper
      authbench audit results
      authbench audit results/ragauth --claim authority-filter-best --strict
    """
    from authbench.reporting.audit import audit as audit_runs
    from authbench.reporting.audittext import audit_lines
    from authbench.reporting.claimlist import CLAIMS
    from authbench.reporting.paper import paper_runs, table_ids
    from authbench.reporting.results import find_runs

    if paper == bool(runs):
        raise ConfigError("audit takes runs or --paper: authbench audit results, or authbench audit --paper")
    known = {claim.name: claim for claim in CLAIMS}
    for name in names or ():
        if name not in known:
            raise ConfigError(f"no claim is called '{name}'{did_you_mean(name, list(known))}")
    chosen = [known[name] for name in names or known]
    if paper:
        found = [run for table in table_ids() for run in paper_runs(table)]
    else:
        found = find_runs(runs or (), lambda text: say(f"note: {text}", quiet=quiet))
    results = audit_runs(found, chosen)
    if as_json:
        print_json({"paper": paper, "claims": [result.as_dict() for result in results]})
    else:
        out = console()
        for line in audit_lines(results, None if show_all else 8):
            out.print(line, soft_wrap=True)
    if strict and any(result.verdict == "fails" for result in results):
        raise typer.Exit(OBJECTION)
