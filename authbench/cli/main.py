"""The `authbench` command: finds the verb, and turns errors into one line and an exit status."""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

import click

from authbench import __version__
from authbench.cli.common import say
from authbench.errors import AuthbenchError, DataError, did_you_mean

#: Set by the shell's completion script.
_COMPLETE = "_AUTHBENCH_COMPLETE"

#: Verb -> (module, one line of help). Modules are imported when their verb is used, so that `--help` and
#: completion answer at once; the help stands here for the same reason (a test compares them).
VERBS: dict[str, tuple[str, str]] = {
    "run": ("run", "Run experiments or continue them, and print their tables."),
    "score": ("score", "Measure runs again from the store, with no model."),
    "table": ("table", "Print runs in the layout of the paper's tables."),
    "compare": ("compare", "Compare two runs over the same items, cell by cell."),
    "report": ("report", "Write one page with tables, plots, claims, items and provenance."),
    "show": ("show", "Show a run's items, worst first, with prompt and answer side by side."),
    "plot": ("plot", "Draw one of the report's plots into a file."),
    "audit": ("audit", "Hold the papers' claims against runs, or against the papers' own numbers."),
    "rerank": ("rerank", "Write the first stage and the base rankings of LCR as TREC runs."),
    "tune": ("tune", "Choose LCR's thresholds from the confidences of runs, with no model."),
    "export": ("export", "Take results elsewhere."),
    "rag": ("rag", "Filter a file of retrieved documents, and compare filters."),
    "list": ("list", "List configurations, data sets, models, judges or engines."),
    "prompt": ("prompt", "Show the rendered prompts of an item."),
    "validate": ("validate", "Check configurations without running anything."),
    "data": ("data", "List, fetch, check, describe and build data sets."),
    "store": ("store", "Count, prune, export and repair the answers of a results folder."),
    "doctor": ("doctor", "Say what works on this machine."),
    "completion": ("completion", "Print the shell's completion script."),
}


class Verbs(click.Group):
    """A group whose commands are imported when they are used."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Verbs in the order in which a newcomer needs them."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import one verb."""
        if cmd_name not in VERBS:
            return None
        module = import_module(f"authbench.cli.{VERBS[cmd_name][0]}")
        command: click.Command = module.command
        return command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """As click does, with the nearest verb in the error."""
        if args and args[0] not in VERBS and not args[0].startswith("-"):
            hint = did_you_mean(args[0], tuple(VERBS))
            if args[0] == "help":
                hint = ": authbench --help lists them all, authbench COMMAND --help explains one"
            raise click.UsageError(f"no such command '{args[0]}'{hint}", ctx)
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The list of verbs, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in VERBS.items()])


@click.command(cls=Verbs, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="authbench")
@click.option("--debug", is_flag=True, help="Show a traceback where an error is normally one line.")
def cli(debug: bool) -> None:
    """Can language models tell how authoritative a source is?

    Reproduces AuthorityBench and LCR: from a YAML experiment to the paper's table.

    \b
    authbench run quickstart                  a small sample on this machine's CPU
    authbench run configs/domainauth_fine.yaml --dry-run
    authbench table results/domainauth_fine --paper
    """


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 2 wrong use, 3 data, 4 engine, 7 some requests failed."""
    sys.exit(execute(sys.argv[1:]))


def execute(arguments: Sequence[str]) -> int:
    """Run one command line; gives its exit status. Whatever a user can mend is said in a line or two."""
    _prepare_terminal()
    if _COMPLETE in os.environ:
        cli.main(args=[], prog_name="authbench", complete_var=_COMPLETE)
    words = [word for word in arguments if word != "--debug"]
    try:
        with cli.make_context("authbench", list(words)) as context:  # click takes words out of its list
            status = cli.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.Exit as exit_:
        return exit_.exit_code
    except (KeyboardInterrupt, click.exceptions.Abort):
        keeps = "; what was answered is kept, the same command continues" if words[:1] == ["run"] else ""
        say(f"\nauthbench: stopped{keeps}")
        return 130
    except BrokenPipeError:
        # `authbench ... | head`: nobody reads on, and Python must not complain while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (AuthbenchError, click.ClickException, OSError) as error:
        if len(words) < len(arguments):
            raise
        return _explain(error)


def _explain(error: AuthbenchError | click.ClickException | OSError) -> int:
    """Say what went wrong; gives the exit status."""
    if isinstance(error, click.ClickException):
        error.show()
        return error.exit_code
    if isinstance(error, AuthbenchError):
        say(f"authbench: {error}")
        return error.exit_status
    place = f"{error.filename}: " if error.filename else ""
    say(f"authbench: {place}{error.strerror or error} (--debug shows where)")
    return DataError.exit_status


def _prepare_terminal() -> None:
    """Let no character that the terminal lacks, and no nonsense in COLUMNS, end a command."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    columns = os.environ.get("COLUMNS", "")
    if not columns.isdigit() or int(columns) == 0:
        os.environ.pop("COLUMNS", None)


if __name__ == "__main__":
    main()
