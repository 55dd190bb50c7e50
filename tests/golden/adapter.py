"""The one place where the golden net touches the program: its command line, in this process.

What a rebuild of the command line changes here is `call` and `options`; the recorded files stay.
"""

from __future__ import annotations

import io
import os
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup, TyperOption

from authbench.cli.app import app
from authbench.cli.main import execute

#: Variables that could change what is printed or found; all others are left alone.
_UNSET = (
    "AUTHBENCH_DATA", "AUTHBENCH_MIRROR", "NO_COLOR", "FORCE_COLOR", "CLICOLOR_FORCE", "TTY_COMPATIBLE",
    "LINES", "HF_ENDPOINT", "HF_TOKEN", "OPENAI_API_KEY", "OPENAI_BASE_URL",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Said:
    """What a command line did: exit status, stdout and stderr."""

    status: int
    out: str
    err: str


def call(arguments: Sequence[str], folder: Path, width: int = 80) -> Said:
    """Run `authbench ARGUMENTS` in a folder, `width` columns wide, without colour, mirror or network."""
    out, err = _stream(), _stream()
    with _environment(folder, width), _streams(out, err):
        status = execute(arguments)
    return Said(status, _text(out), _text(err))


def options() -> Mapping[str, Sequence[str]]:
    """Every verb with its arguments and options, such as `--format {text|md}`; the program itself is ''."""
    found: dict[str, Sequence[str]] = {}

    def visit(name: str, command: object, above: typer.Context | None) -> None:
        assert isinstance(command, TyperCommand | TyperGroup), name
        context = typer.Context(command, parent=above, **command.context_settings)
        found[name] = sorted(_option(parameter) for parameter in command.get_params(context))
        if isinstance(command, TyperGroup):
            for word, below in command.commands.items():
                visit(f"{name} {word}".strip(), below, context)

    visit("", typer.main.get_command(app), None)
    return found


def _option(parameter: object) -> str:
    assert isinstance(parameter, TyperArgument | TyperOption)
    choices = parameter.type_descriptor.choices
    among = None if choices is None else f"{{{'|'.join(map(str, choices))}}}"
    if isinstance(parameter, TyperArgument):
        shown = among or f"{parameter.metavar}{'...' if parameter.nargs == -1 else ''}"
        return shown if parameter.required else f"[{shown}]"
    names = ", ".join(sorted((*parameter.opts, *parameter.secondary_opts), key=len))
    value = "" if parameter.is_flag else f" {among or 'VALUE'}"
    return (
        names + value + (" ..." if parameter.multiple else "") + (" (required)" if parameter.required else "")
    )


@contextmanager
def _environment(folder: Path, width: int) -> Iterator[None]:
    before, cwd = dict(os.environ), Path.cwd()
    for name in _UNSET:
        os.environ.pop(name, None)
    os.environ |= {
        "AUTHBENCH_CACHE": str(folder / "cache"),
        "COLUMNS": str(width),
        "HF_HUB_OFFLINE": "1",
        "TERM": "dumb",
    }
    os.chdir(folder)
    try:
        yield
    finally:
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(before)


@contextmanager
def _streams(out: io.TextIOWrapper, err: io.TextIOWrapper) -> Iterator[None]:
    before = sys.stdout, sys.stderr
    sys.stdout, sys.stderr = out, err
    try:
        yield
    finally:
        sys.stdout, sys.stderr = before


def _stream() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    assert isinstance(stream.buffer, io.BytesIO)
    return stream.buffer.getvalue().decode("utf-8")
