"""The process `authbench`: a command line runs, and errors and signals become a line and an exit status."""

from __future__ import annotations

import atexit
import io
import os
import signal
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, NoReturn

from authbench.errors import AuthbenchError, DataError

if TYPE_CHECKING:
    from typer import TyperException

#: Set by the shell's completion script.
_COMPLETE = "_AUTHBENCH_COMPLETE"
#: What a shell shows of a command that Ctrl-C ended.
STOPPED = 130


def main() -> NoReturn:
    """Run the command line and exit: 0 done, 2 wrong use, 3 data, 4 engine, 7 some requests failed.

    A signal at any time gives one of these or `STOPPED`. What is imported, typer too, is imported where a
    signal is caught. When the status is known, Python takes a moment to close down: Ctrl-C then ends what is
    waited for, and changes the status no more.
    """
    atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)  # the last that is called
    status = STOPPED
    try:
        status = execute(sys.argv[1:])
        signal.signal(signal.SIGINT, lambda *_: os._exit(status))
    except KeyboardInterrupt:  # once more, while the first was being explained
        status = STOPPED
    sys.exit(status)


def execute(arguments: Sequence[str]) -> int:
    """Run one command line; gives its exit status. Whatever a user can mend is said in a line or two."""
    words = [word for word in arguments if word != "--debug"]
    try:
        status = _invoke(words)
        if sys.stdout is not None:
            sys.stdout.flush()
        return status
    except KeyboardInterrupt:
        return _stopped(words)
    except (BrokenPipeError, SystemExit) as end:
        if isinstance(end, SystemExit) and not isinstance(end.__context__, BrokenPipeError):  # rich's way out
            raise
        # `authbench ... | head`: nobody reads on, and Python must not complain while it closes stdout.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except (AuthbenchError, OSError) as error:
        if len(words) < len(arguments):
            raise
        return _explain(error)


def _invoke(words: Sequence[str]) -> int:
    """Hand a command line to typer; gives the exit status."""
    import typer

    from authbench.cli.app import app

    _prepare_terminal()
    if _COMPLETE in os.environ:
        app(prog_name="authbench")
    try:
        command = typer.main.get_command(app)
        with command.make_context("authbench", list(words)) as context:
            command.invoke(context)
    except typer.Exit as end:
        return end.exit_code
    except typer.Abort:
        return _stopped(words)
    except typer.TyperException as error:
        return _misused(error)
    return 0


def _stopped(words: Sequence[str]) -> int:
    keeps = "; what was answered is kept, the same command continues" if words[:1] == ["run"] else ""
    _say(f"\nauthbench: stopped{keeps}")
    return STOPPED


def _misused(error: TyperException) -> int:
    """Say what is wrong with a command line, in lines and not in a box; gives the exit status."""
    context = getattr(error, "ctx", None)
    if context is not None:
        _say(f"{context.get_usage()}\nTry '{context.command_path} --help' for help.\n")
    _say(f"Error: {error.format_message().replace('Value error, ', '')}")
    return error.exit_code


def _explain(error: AuthbenchError | OSError) -> int:
    """Say what went wrong; gives the exit status."""
    if isinstance(error, AuthbenchError):
        _say(f"authbench: {error}")
        return error.exit_status
    place = f"{error.filename}: " if error.filename else ""
    _say(f"authbench: {place}{error.strerror or error} (--debug shows where)")
    return DataError.exit_status


def _say(text: str) -> None:
    from authbench.cli.common import say

    say(text)


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
