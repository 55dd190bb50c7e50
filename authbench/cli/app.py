"""The tree of commands: which verbs there are, in which groups, and what `authbench --help` says."""

from typing import Annotated

import typer

from authbench import __version__
from authbench.cli import data, doctor, examine, lcr, rag, results, runs, store
from authbench.cli.common import flag

app = typer.Typer(
    name="authbench",
    context_settings={"help_option_names": ["-h", "--help"]},
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"authbench, version {__version__}")
        raise typer.Exit


@app.callback()
def authbench(
    version: Annotated[
        bool,
        typer.Option(
            "--version", metavar="", callback=_version, is_eager=True, help="Show the version and exit."
        ),
    ] = False,
    debug: Annotated[
        bool, flag("--debug", help="Show a traceback where an error is normally one line.")
    ] = False,
) -> None:
    """Can language models tell how authoritative a source is?

    Reproduces AuthorityBench and LCR: from a YAML experiment to the paper's table.

      authbench run quickstart                  a small sample on this machine's CPU
      authbench run configs/domainauth_fine.yaml --dry-run
      authbench table results/domainauth_fine --paper
    """


for family in (runs, results, examine, lcr):
    app.add_typer(family.app)
app.add_typer(rag.app, name="rag", rich_help_panel="Run")
app.add_typer(data.app, name="data", rich_help_panel="Data")
app.add_typer(store.app, name="store", rich_help_panel="Service")
app.add_typer(doctor.app)
