"""The errors a user can cause or meet, and the exit status of each.

Everything that goes wrong for a reason that a person can mend is an `AuthbenchError` whose text is one
or two lines: what is wrong (with the file, key or line), then the way out. The command line turns it
into an exit status in one place (`authbench.cli.main`); anything else is a bug and shows a traceback.
"""

from __future__ import annotations


class AuthbenchError(Exception):
    """Base class. `exit_status` is what the process ends with."""

    exit_status = 1


class ConfigError(AuthbenchError):
    """Wrong use: a YAML key or value, a command-line argument, a results folder of another experiment."""

    exit_status = 2


class DataError(AuthbenchError):
    """Data that is missing, damaged or not enough, the store included."""

    exit_status = 3


class EngineError(AuthbenchError):
    """A model or an engine that is missing, cannot be loaded, or died. What had finished is kept."""

    exit_status = 4


class UnavailableError(EngineError):
    """An engine that is not installed, or a model neither on this machine nor within reach.

    Nothing is wrong with either: a plan can be made without (`--dry-run`).
    """


#: Exit status of a run that finished although some of its requests failed.
PARTIAL_FAILURE = 7


def did_you_mean(word: str, known: list[str] | tuple[str, ...]) -> str:
    """` (did you mean 'x'?)` for the nearest known word, or an empty string if none is near."""
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""
