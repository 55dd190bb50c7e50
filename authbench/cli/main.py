"""The `authbench` command: finds the verb, and turns errors into one line and an exit status."""

from __future__ import annotations

import sys
from importlib import import_module
from typing import NoReturn

import click

from authbench import __version__
from authbench.errors import AuthbenchError, did_you_mean

#: Verb -> (module, one line of help). Modules are imported when their verb is used, so that `--help` and
#: completion answer at once; the help stands here for the same reason (a test compares them).
VERBS: dict[str, tuple[str, str]] = {
    "run": ("run", "Run experiments or continue them, and print their tables."),
    "score": ("score", "Measure runs again from the store, with no model."),
    "table": ("table", "Print runs in the layout of the paper's tables."),
    "compare": ("compare", "Compare two runs, item by item."),
    "report": ("report", "Make one self-contained page of runs."),
    "plot": ("plot", "Draw one plot of a run."),
    "audit": ("audit", "Check the papers' claims on a table."),
    "rerank": ("rerank", "Write the first stage and the base rankings of LCR as TREC runs."),
    "tune": ("tune", "Choose LCR's thresholds from the confidences of runs, with no model."),
    "rag": ("rag", "Filter a file of retrieved documents, and compare filters."),
    "list": ("list", "List configurations, data sets, models, judges or engines."),
    "prompt": ("prompt", "Show the rendered prompts of an item."),
    "validate": ("validate", "Check configurations without running anything."),
    "data": ("data", "List, fetch, check, describe and build data sets."),
    "store": ("store", "Count, prune and export the answers of a results folder."),
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
    debug = "--debug" in sys.argv[1:]
    words = [word for word in sys.argv[1:] if word != "--debug"]
    try:
        status = cli.main(args=words, prog_name="authbench", standalone_mode=False)
    except AuthbenchError as error:
        if debug:
            raise
        click.echo(f"authbench: {error}", err=True)
        sys.exit(error.exit_status)
    except click.exceptions.Abort:
        click.echo("authbench: stopped", err=True)
        sys.exit(130)
    except click.ClickException as error:
        error.show()
        sys.exit(error.exit_code)
    except KeyboardInterrupt:
        click.echo("\nauthbench: stopped; what was answered is kept, the same command continues", err=True)
        sys.exit(130)
    except BrokenPipeError:
        # `authbench ... | head`: nobody reads on, and Python must not complain while it closes stdout.
        sys.stdout = None
        sys.exit(0)
    sys.exit(status if isinstance(status, int) else 0)


if __name__ == "__main__":
    main()
