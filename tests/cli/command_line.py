"""A folder with an experiment, and the command line in it: what the tests of wrong use share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from authbench.cli.main import execute

CONFIG = """\
table: authoritybench/1
task: listwise
dataset: {name: sample-domains, lists: 3}
context: [without]
judges: [point, list-rank]
models: [fake]
engine: fake
"""
Run = Callable[..., tuple[int, str, str]]

#: A file of the user's own, `f.csv`, as the data.
OWN = "--set dataset.name=own --set dataset.path=f.csv "


def prepared(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder to work in with the configuration `x.yaml`, and nothing from the environment."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("AUTHBENCH_DATA", "")
    monkeypatch.setenv("AUTHBENCH_MIRROR", "")
    monkeypatch.setenv("AUTHBENCH_CACHE", str(folder / "cache"))
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    (folder / "x.yaml").write_text(CONFIG)
    return folder


def runner(capsys: pytest.CaptureFixture[str]) -> Run:
    """Runs a command line; gives exit status, stdout and stderr."""

    def do(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        status = execute(words)
        said = capsys.readouterr()
        assert "Traceback" not in said.err
        return status, said.out, said.err

    return do


def refused(said: tuple[int, str, str], status: int, *words: str) -> None:
    """Assert a status, words of the message, its length, and that nothing was printed as a result."""
    assert said[0] == status, said
    for word in words:
        assert word in said[2], f"{word!r} is not in {said[2]!r}"
    assert said[1] == ""
    lines = [line for line in said[2].splitlines() if not line.startswith(("note: ", "fake "))]
    assert 1 <= len(lines) <= 4 if "Usage" in said[2] else 1 <= len(lines) <= 2, said[2]


def lists_file(levels: range, text: str = "Some text.", lacking: int | None = None) -> str:
    """A user's own file with one site of each level; `lacking` is the level whose site has no text."""
    rows = [f"d{level}.org,{level},{'' if level == lacking else text}" for level in levels]
    return "\n".join(["domain,label,text", *rows]) + "\n"
