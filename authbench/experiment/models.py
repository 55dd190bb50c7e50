"""Models by name: `configs/models/NAME.yaml`, a hub id, or a local folder or GGUF file."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import Field

from authbench.errors import ConfigError, did_you_mean
from authbench.experiment.loading import read_yaml
from authbench.paths import share_dir
from authbench.runtime.engine import ModelConfig
from authbench.tasks.settings import Name, Settings


class GgufFile(Settings):
    """Where a GGUF of a model lies: a path, a file of an installed package, or a file of a hub repository."""

    path: str | None = None
    package: str | None = None
    repo: str | None = None
    file: str | None = None


class ModelFile(Settings):
    """What `configs/models/NAME.yaml` may say; see `authbench.runtime.engine.ModelConfig`."""

    id: Name
    revision: str | None = None
    paper_name: str | None = None
    context_length: int | None = Field(default=None, ge=1)
    chat_template_kwargs: Mapping[str, Any] = Field(default_factory=dict)
    gguf: GgufFile | None = None
    path: str | None = None
    engine: Mapping[str, Mapping[str, Any]] = Field(default_factory=dict)
    parameters: int | None = Field(default=None, ge=1)
    kv_bytes_per_token: int | None = Field(default=None, ge=1)
    tiny: bool = False
    note: str | None = None


def known_models(beside: Path | None = None) -> dict[str, Path]:
    """Every described model by name; files beside the configuration win over those that ship."""
    folders = [share_dir("configs", "models")]
    if beside is not None:
        folders += [beside.parent / "models", beside.parent.parent / "models"]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def load_model(name: str, beside: Path | None = None) -> ModelConfig:
    """The model of this name.

    Args:
        name: of a file in `configs/models`, a path to such a file, to a folder or to a `.gguf` file, or a hub
            id (`org/model`); the id of a described model means that description, with its chat template
            arguments.
        beside: the experiment's file, whose folder is looked in as well.

    Raises:
        ConfigError: no such model, with the nearest known one.
    """
    known = known_models(beside)
    if name in known:
        return _described(known[name])
    path = Path(name).expanduser()
    if path.suffix in (".yaml", ".yml") and path.is_file():
        return _described(path)
    if path.suffix == ".gguf" and path.is_file():
        return ModelConfig(name=path.stem, id=path.stem, gguf={"path": str(path)})
    if path.is_dir() and path.resolve().name:
        folder = path.resolve().name
        return ModelConfig(name=folder, id=folder, path=str(path))
    if name.count("/") == 1 and all(part.strip(". ") for part in name.split("/")) and name[0] not in "~/":
        return _with_id(name, known) or ModelConfig(name=name.replace("/", "--"), id=name)
    hint = did_you_mean(name, sorted(known))
    raise ConfigError(
        f"unknown model '{name}'{hint}\n"
        "give a name of `authbench list models`, a hub id (org/model), or a path to a folder or .gguf file"
    )


def _described(path: Path) -> ModelConfig:
    file: ModelFile = read_yaml(path, ModelFile)
    return ModelConfig(name=path.stem, **file.model_dump(exclude={"note"}, exclude_none=True))


def _with_id(hub_id: str, known: Mapping[str, Path]) -> ModelConfig | None:
    """The described model of a hub id, if there is one."""
    models = (_described(path) for path in known.values())
    return next((model for model in models if model.id.lower() == hub_id.lower()), None)
