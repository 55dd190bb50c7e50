"""The commands that README and docs show: verbs, options and their fixed choices are those there are."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from authbench.cli.app import app
from authbench.reporting.plots.kinds import KINDS

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
_FENCED = re.compile(r"^```[a-z]*\n(.*?)^```", re.MULTILINE | re.DOTALL)


def commands(document: Path) -> Iterator[list[str]]:
    """The words of every line `authbench ...` of a block, without what is piped or set in front of it."""
    for block in _FENCED.findall(document.read_text(encoding="utf-8")):
        for line in block.replace("\\\n", " ").splitlines():
            found = re.match(r"(?:\$ )?(?:[A-Z_]+=\S+ )*authbench (.*)", line.strip())
            if found:
                words = shlex.split(found[1], comments=True)
                ends = [words.index(mark) for mark in ("|", ">", "&&", "&") if mark in words]
                yield words[: min(ends, default=len(words))]


def command_of(words: list[str]) -> TyperCommand | TyperGroup:
    command = typer.main.get_command(app)
    for word in words:
        if not isinstance(command, TyperGroup) or word.startswith("-"):
            break
        assert word in command.commands, f"no such command: {word}"
        command = command.commands[word]
    assert isinstance(command, TyperCommand | TyperGroup)
    return command


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.stem)
def test_commands_are_there(document: Path) -> None:
    for words in commands(document):
        parameters = [each for each in command_of(words).params if isinstance(each, TyperOption)]
        options = {name: each for each in parameters for name in each.opts}
        for word, value in zip(words, [*words[1:], ""], strict=True):
            if not re.match(r"--?[a-z]", word):
                continue
            name, _, joined = word.partition("=")
            assert name in options or name == "--help", f"{' '.join(words)}: there is no {name}"
            choices = options[name].type_descriptor.choices if name in options else None
            if choices is not None:
                assert (joined or value) in choices, f"{' '.join(words)}: {value}"
            if name == "--kind":
                assert (joined or value) in {*KINDS, "list"}, f"{' '.join(words)}: {value}"


def test_there_are_commands_to_check() -> None:
    assert len(list(commands(ROOT / "README.md"))) > 30
