"""Runs everything in a folder of its own; gives the recorded files as text."""

from __future__ import annotations

import json
import shlex
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from .adapter import call, options
from .commands import EXPERIMENTS, READS, RUNS, Line
from .mistakes import BAD
from .normal import document, text
from .page import visible_text
from .plots import plot_tables

HERE = Path(__file__).resolve().parent
EXPECTED = HERE / "expected"
_REPOSITORY = HERE.parent.parent
#: Folders of results whose runs are recorded file by file.
_RESULTS = ("results", "limited", "failing", "constant", "replayed")


def record() -> dict[str, str]:
    """The recorded files: path below `expected` -> text."""
    with tempfile.TemporaryDirectory() as name:
        return dict(_recorded(Path(name)))


def expected() -> dict[str, str]:
    """What was recorded."""
    files = (path for path in sorted(EXPECTED.rglob("*")) if path.is_file())
    return {path.relative_to(EXPECTED).as_posix(): path.read_text(encoding="utf-8") for path in files}


def _recorded(folder: Path) -> Iterator[tuple[str, str]]:
    shutil.copytree(HERE / "inputs", folder, dirs_exist_ok=True)
    yield from _transcripts(RUNS, folder)
    for results in _RESULTS:
        yield from _runs(folder / results, folder)
    _damage(folder)
    yield from _transcripts(READS, folder)
    yield from _transcripts(BAD, folder)
    for kind, rows in plot_tables([folder / "results" / name for name in EXPERIMENTS]).items():
        yield f"plots/{kind}.csv", rows
    yield "options.txt", _options()


def _transcripts(groups: Mapping[str, Sequence[Line]], folder: Path) -> Iterator[tuple[str, str]]:
    for name, lines in groups.items():
        yield f"{name}.txt", "\n".join(_transcript(line, folder) for line in lines)


def _transcript(line: Line, folder: Path) -> str:
    words = shlex.split(line.words.replace("<repository>", str(_REPOSITORY)))
    said = call(words, folder, line.width)
    out = _first_words(said.out) if line.labels else document(said.out, folder)
    wide = "" if line.width == 80 else f"COLUMNS={line.width} "
    parts = [f"$ {wide}authbench {line.words}\n", out]
    if said.err:
        parts += ["[stderr]\n", text(said.err, folder)]
    for pattern in line.files:
        for path in sorted(folder.glob(pattern)):
            written = path.read_text(encoding="utf-8")
            shown = text(visible_text(written), folder) if line.page else document(written, folder)
            parts += [text(f"[{path.relative_to(folder)}]\n", folder), shown]
    ended = [part if part.endswith("\n") or not part else f"{part}\n[no newline]\n" for part in parts]
    return "".join([*ended, f"[exit {said.status}]\n"])


def _first_words(said: str) -> str:
    return "".join(
        f"{line.split()[0]}\n" for line in said.splitlines() if line.strip() and not line.startswith("Linux")
    )


def _runs(results: Path, folder: Path) -> Iterator[tuple[str, str]]:
    """The three files of every run; of `run.json` the facts about the machine are left out."""
    for path in sorted(results.glob("*/*/run.json")):
        name = f"runs/{path.parent.relative_to(folder)}"
        yield f"{name}/run.json", document(path.read_text(encoding="utf-8"), folder)
        for other in ("cells.json", "items.jsonl"):
            yield f"{name}/{other}", (path.parent / other).read_text(encoding="utf-8")


def _damage(folder: Path) -> None:
    """Runs that are damaged in one way each."""
    whole = folder / "results" / "own" / "fake"
    for name, file, content in (
        ("cells", "cells.json", '[{"metric": "spear'),
        ("run", "run.json", '{"format": '),
        ("items", "items.jsonl", '{"group": "a"}\n{"gro'),
        ("noitems", "items.jsonl", None),
    ):
        copy = folder / "damaged" / name
        shutil.copytree(whole, copy)
        (copy / file).unlink() if content is None else (copy / file).write_text(content, encoding="utf-8")
    copy = folder / "damaged" / "version"
    shutil.copytree(whole, copy)
    facts = json.loads((copy / "run.json").read_text(encoding="utf-8"))
    (copy / "run.json").write_text(json.dumps({**facts, "format": 99, "authbench": "9.9"}), encoding="utf-8")


def _options() -> str:
    lines = [
        f"{f'authbench {verb}'.strip()}\n" + "".join(f"    {word}\n" for word in words)
        for verb, words in options().items()
    ]
    return "\n".join(lines)
