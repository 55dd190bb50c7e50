"""What the installed vLLM declares, read from its source without importing it (that takes seconds).

Releases rename and add parameters, so each is looked up where vLLM declares it and there is no list of ours.
"""

from __future__ import annotations

import ast
import importlib.metadata
import importlib.util
from collections.abc import Mapping
from functools import cache
from pathlib import Path


@cache
def package_folder() -> Path | None:
    """The folder of the installed vLLM, or None."""
    spec = importlib.util.find_spec("vllm")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations)))


def engine_arguments() -> Mapping[str, str]:
    """Every argument of vLLM's engine with its declared type; empty where none is installed."""
    return _declared_fields(package_folder(), "engine/arg_utils.py", "EngineArgs")


def sampling_parameters() -> Mapping[str, str]:
    """Every sampling parameter with its declared type; empty where none is installed."""
    return _declared_fields(package_folder(), "sampling_params.py", "SamplingParams")


def version() -> str | None:
    """Version of the installed vLLM, whichever of its builds it is; None where none is installed."""
    if package_folder() is None:
        return None
    for distribution in importlib.metadata.packages_distributions().get("vllm", []):
        return importlib.metadata.version(distribution)
    return None


@cache
def _declared_fields(folder: Path | None, module: str, name: str) -> Mapping[str, str]:
    """Public annotated fields of a class, each with its annotation's text."""
    if folder is None or not (folder / module).is_file():
        return {}
    tree = ast.parse((folder / module).read_text(encoding="utf-8"))
    body = next((n.body for n in tree.body if isinstance(n, ast.ClassDef) and n.name == name), [])
    fields = [item for item in body if isinstance(item, ast.AnnAssign) and isinstance(item.target, ast.Name)]
    declared = {ast.unparse(field.target): ast.unparse(field.annotation) for field in fields}
    return {field: kind for field, kind in declared.items() if not field.startswith("_")}
