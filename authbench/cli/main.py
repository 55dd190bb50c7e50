"""The process `authbench`: a command line runs, and errors and signals become a line and an exit status."""

from __future__ import annotations

import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

import typer

from authbench.cli.app import app
from authbench.cli.common import say
from authbench.errors import AuthbenchError, DataError

#: Set by the shell's completion script.
_COMPLETE = "_AUTHBENCH_COMPLETE"
#: What a shell shows of a command that Ctrl-C ended.
STOPPED = 130


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 2 wrong use, 3 data, 4 engine, 7 some requests failed."""
    status = STOPPED
    try:
        status = execute(sys.argv[1:])
        # From here on nothing changes the status: a signal while Python closes down ends it at once.
        signal.signal(signal.SIGINT, lambda *_: os._exit(status))
    except KeyboardInterrupt:  # once more, while the first one was being explained
        status = STOPPED
    sys.exit(status)


def execute(arguments: Sequence[str]) -> int:
    """Run one command line; gives its exit status. Whatever a user can mend is said in a line or two."""
    _prepare_terminal()
    if _COMPLETE in os.environ:
        app(prog_name="authbench")
    words = [word for word in arguments if word != "--debug"]
    try:
        command = typer.main.get_command(app)
        with command.make_context("authbench", list(words)) as context:
            command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
        return 0
    except typer.Exit as end:
        return end.exit_code
    except (KeyboardInterrupt, typer.Abort):
        keeps = "; what was answered is kept, the same command continues" if words[:1] == ["run"] else ""
        say(f"\nauthbench: stopped{keeps}")
        return STOPPED
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):  # rich's way out
            raise
        # `authbench ... | head`: nobody reads on, and Python must not complain while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (AuthbenchError, typer.TyperException, OSError) as error:
        if len(words) < len(arguments):
            raise
        return _explain(error)


def _explain(error: AuthbenchError | typer.TyperException | OSError) -> int:
    """Say what went wrong; gives the exit status."""
    if isinstance(error, AuthbenchError):
        say(f"authbench: {error}")
        return error.exit_status
    if isinstance(error, typer.TyperException):
        context = getattr(error, "ctx", None)
        if context is not None:
            say(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
        say(f"Error: {error.format_message().replace('Value error, ', '')}")
        return error.exit_code
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
