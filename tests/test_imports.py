"""Imports run one way (docs/architecture.md, "Where things are"), and no two files import each other."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import authbench

ROOT = Path(authbench.__file__).parent

#: For everyone: the errors, where files lie, how counts are said; and the version.
COMMON = {"authbench", "authbench.errors", "authbench.paths", "authbench.words"}

ASKING = {"authbench.prompts", "authbench.data.records", "authbench.runtime"}
TASKS = {"authbench.judging", "authbench.rag", "authbench.reranking", "authbench.lcr"}

#: What each package may import beside itself and `COMMON`: a package, or single modules of it.
MAY_IMPORT: dict[str, set[str]] = {
    "measures": set(),
    "runtime": set(),
    "data": set(),
    "engines": {"authbench.runtime"},
    "retrieval": {"authbench.data"},
    "prompts": {"authbench.data.records", "authbench.runtime.messages"},
    "judging": ASKING,
    "rag": ASKING | {"authbench.judging", "authbench.measures"},
    "lcr": ASKING | {"authbench.judging", "authbench.measures"},
    "reranking": ASKING | {"authbench.judging", "authbench.retrieval.checkpoints"},
    "tasks": ASKING
    | TASKS
    | {"authbench.data", "authbench.retrieval", "authbench.measures", "authbench.engines.registry"},
    "experiment": ASKING | TASKS | {"authbench.tasks", "authbench.engines", "authbench.measures"},
    # Result files are read with what measured them. Settings of tasks: until `lcrvalues` reads them as
    # `authbench.lcr.search.Search`.
    "reporting": {
        "authbench.runtime",
        "authbench.measures",
        "authbench.lcr",
        "authbench.judging.aggregate",
        "authbench.judging.logprob",
        "authbench.tasks.lcr.settings",
    },
}


#: Files of `reporting` that import each other, until its rebuild replaces them.
FOR_NOW = {
    ("authbench.reporting.facts.pairs", "authbench.reporting.facts.lists"),
    ("authbench.reporting.frames", "authbench.reporting.runs"),
}


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


FILES = {module_of(path): path for path in ROOT.rglob("*.py")}


def imported(path: Path) -> Iterator[tuple[int, str]]:
    """Line and module of every import from this package, also those inside functions or for types alone."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            # A name of a package may be one of its modules: then it is that which is imported.
            names = [
                full if (full := f"{node.module}.{alias.name}") in FILES else str(node.module)
                for alias in node.names
            ]
        else:
            continue
        yield from ((node.lineno, name) for name in names if name.split(".")[0] == "authbench")


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_a_package_imports_only_what_lies_below(package: str) -> None:
    allowed = {f"authbench.{package}"} | MAY_IMPORT[package]
    wrong = [
        f"{path.relative_to(ROOT.parent)}:{line} imports {name}"
        for path in sorted((ROOT / package).rglob("*.py"))
        for line, name in imported(path)
        if name not in COMMON and not any(name == one or name.startswith(f"{one}.") for one in allowed)
    ]
    assert not wrong, "\n".join(wrong)


def test_every_package_but_the_command_line_has_a_rule() -> None:
    packages = {path.parent.name for path in ROOT.glob("*/__init__.py")}
    assert packages - {"cli"} == set(MAY_IMPORT)


def test_no_circle() -> None:
    graph = {
        name: {other for _, other in imported(path) if other != name and (name, other) not in FOR_NOW}
        for name, path in FILES.items()
    }
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(f"these import each other: {' -> '.join(error.args[1])}")
