"""Encoder checkpoints: where one lies, and a fingerprint of its weights.

A checkpoint is a hub id (`facebook/contriever-msmarco`), a folder, or `package:NAME/FOLDER`, a folder
inside an installed Python package.
"""

from __future__ import annotations

import hashlib
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from authbench.data.digests import digest
from authbench.errors import ConfigError, EngineError

_PACKAGE = "package:"


def locate(checkpoint: str) -> str:
    """What `from_pretrained` takes: a folder, or a hub id unchanged.

    Raises `ConfigError` for a package that is not installed or has no such folder, and for something that
    looks like a path but is not there.
    """
    if checkpoint.startswith(_PACKAGE):
        name, _, inside = checkpoint.removeprefix(_PACKAGE).partition("/")
        spec = find_spec(name) if name.isidentifier() else None
        if spec is None or spec.origin is None:
            raise ConfigError(f"checkpoint '{checkpoint}': no package {name!r} is installed")
        folder = Path(spec.origin).parent / inside
    elif checkpoint.startswith((".", "/", "~")) or Path(checkpoint).is_dir():
        folder = Path(checkpoint).expanduser()
    else:
        return checkpoint
    if not (folder / "config.json").is_file():
        raise ConfigError(f"checkpoint '{checkpoint}': no model in {folder} (there is no config.json)")
    return str(folder)


def fingerprint(checkpoint: str, revision: str | None = None) -> str:
    """What names the weights: the hub's commit, or a hash over a folder's files. Loads no weights.

    Raises `EngineError` if a hub checkpoint is neither in the local cache nor within reach.
    """
    place = locate(checkpoint)
    folder = Path(place)
    if folder.is_dir():
        total = hashlib.sha256()
        for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.suffix != ".md"):
            total.update(f"{path.relative_to(folder).as_posix()} {digest(path)[0]}\n".encode())
        return total.hexdigest()
    from transformers import AutoConfig

    commit = load(checkpoint, lambda: AutoConfig.from_pretrained(place, revision=revision))._commit_hash
    return str(commit)


def load(checkpoint: str, loader: Any) -> Any:
    """`loader()`, with what goes wrong told in one line that names the checkpoint."""
    try:
        return loader()
    except (OSError, ValueError) as error:
        first = str(error).strip().splitlines()[0]
        raise EngineError(
            f"checkpoint '{checkpoint}' cannot be loaded: {first}\n"
            "name a folder that holds it, or fetch it where the model hub can be reached"
        ) from None


def require(module: str) -> Any:
    """An optional library, imported; `ConfigError` that names the extra to install where it is missing."""
    from importlib import import_module

    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(not_installed(error.name or module)) from None


def not_installed(module: str) -> str:
    """What is said of an optional library that is missing."""
    return f"this needs {module}, which is not installed; pip install 'authbench[rerankers]'"
