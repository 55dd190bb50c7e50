"""What the installed vLLM can do, read from its own source without importing it (that takes seconds).

Releases rename and add parameters; so each is looked up where it is declared, never in a list of ours.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from functools import cache
from pathlib import Path


@cache
def package_folder() -> Path | None:
    """The folder of the installed vLLM, or None."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


@cache
def class_fields(module: str, name: str) -> frozenset[str]:
    """Annotated fields of a class in a module file of vLLM; empty where there is no such class.

    `class_fields("engine/arg_utils.py", "EngineArgs")`.
    """
    folder = package_folder()
    if folder is None or not (folder / module).is_file():
        return frozenset()
    tree = ast.parse((folder / module).read_text(encoding="utf-8"))
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name == name:
            return frozenset(
                item.target.id
                for item in node.body
                if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)
            )
    return frozenset()


def engine_arguments() -> frozenset[str]:
    """Every engine argument of the installed vLLM; empty where none is installed."""
    return frozenset(
        name for name in class_fields("engine/arg_utils.py", "EngineArgs") if not name.startswith("_")
    )


def sampling_parameters() -> frozenset[str]:
    """Every sampling parameter of the installed vLLM; empty where none is installed."""
    return class_fields("sampling_params.py", "SamplingParams")


def version() -> str | None:
    """Version of the installed vLLM, whichever of its builds it is; None where none is installed."""
    if package_folder() is None:
        return None
    for distribution in importlib.metadata.packages_distributions().get("vllm", []):
        return importlib.metadata.version(distribution)
    return None
