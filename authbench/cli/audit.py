"""`authbench audit RUN...` and `authbench audit --paper`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import click

from authbench.cli.common import console, json_option, print_json, quiet_option
from authbench.errors import ConfigError, did_you_mean

#: Exit status of an audit that found a claim to fail, with `--strict`.
FAILED_CLAIM = 1


def _claims(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    from authbench.reporting.claimlist import CLAIMS

    return [claim.name for claim in CLAIMS if claim.name.startswith(incomplete)]


@click.command("audit")
@click.argument("runs", nargs=-1, type=click.Path(path_type=Path), metavar="[RUN...]")
@click.option("--paper", is_flag=True, help="Check the papers' own numbers.")
@click.option(
    "--claim", "names", multiple=True, metavar="NAME", shell_complete=_claims, help="Only this claim."
)
@click.option("--all", "show_all", is_flag=True, help="Show every exception, not the first few.")
@click.option("--strict", is_flag=True, help="Exit status 1 if a claim fails.")
@quiet_option
@json_option
def command(
    runs: Sequence[Path],
    paper: bool,
    names: Sequence[str],
    show_all: bool,
    strict: bool,
    quiet: bool,
    as_json: bool,
) -> int:
    """Hold the papers' claims against runs, or against the papers' own numbers.

    Each claim of the text is a named check: it holds, fails (and where), or is undecided because differences
    lie inside the 95 % intervals. RUN is a run's folder, an experiment's, or a whole results folder. The more
    models, contexts and experiments there are, the more claims can be checked.

    \b
    Examples:
      authbench audit --paper
      authbench audit results
      authbench audit results/ragauth --claim authority-filter-best --strict
    """
    from authbench.reporting.audit import audit
    from authbench.reporting.audittext import audit_lines
    from authbench.reporting.claimlist import CLAIMS
    from authbench.reporting.paper import paper_runs, table_ids
    from authbench.reporting.results import find_runs

    if paper == bool(runs):
        raise ConfigError("audit takes runs or --paper: authbench audit results, or authbench audit --paper")
    known = {claim.name: claim for claim in CLAIMS}
    for name in names:
        if name not in known:
            raise ConfigError(f"no claim is called '{name}'{did_you_mean(name, list(known))}")
    chosen = [known[name] for name in names] or list(CLAIMS)
    if paper:
        found = [run for table in table_ids() for run in paper_runs(table)]
    else:
        found = find_runs(list(runs), lambda text: None if quiet else click.echo(f"note: {text}", err=True))
    results = audit(found, chosen)
    if as_json:
        print_json({"paper": paper, "claims": [result.as_dict() for result in results]})
    else:
        out = console()
        for line in audit_lines(results, None if show_all else 8):
            out.print(line, soft_wrap=True)
    failed = any(result.verdict == "fails" for result in results)
    return FAILED_CLAIM if strict and failed else 0
