"""Models by name: `configs/models/NAME.yaml`, a hub id, or a local folder or GGUF file."""

from __future__ import annotations

from pathlib import Path

from authbench.errors import ConfigError, did_you_mean
from authbench.experiment.loading import read_yaml
from authbench.paths import share_dir
from authbench.runtime.engine import ModelConfig


def known_models(beside: Path | None = None) -> dict[str, Path]:
    """Every described model by name; files beside the configuration win over those that ship."""
    folders = [share_dir("configs", "models")]
    if beside is not None:
        folders += [beside.parent / "models", beside.parent.parent / "models"]
    return {path.stem: path for folder in folders for path in sorted(folder.glob("*.yaml"))}


def load_model(name: str, beside: Path | None = None) -> ModelConfig:
    """The model of this name.

    Args:
        name: of a file in `configs/models`, a path to a folder or a `.gguf` file, or a hub id (`org/model`).
        beside: the experiment's file, whose folder is looked in as well.

    Raises:
        ConfigError: no such model, with the nearest known one.
    """
    from authbench.experiment.schema import ModelFile

    known = known_models(beside)
    if name in known:
        file: ModelFile = read_yaml(known[name], ModelFile)
        values = file.model_dump(exclude={"note"}, exclude_none=True)
        return ModelConfig(name=name, **values)
    path = Path(name).expanduser()
    if path.suffix == ".gguf" and path.is_file():
        return ModelConfig(name=path.stem, id=path.stem, gguf={"path": str(path)})
    if path.is_dir():
        return ModelConfig(name=path.name, id=path.name, path=str(path))
    if name.count("/") == 1 and not name.startswith((".", "~", "/")):
        return ModelConfig(name=name.replace("/", "--"), id=name)
    hint = did_you_mean(name, sorted(known))
    raise ConfigError(
        f"unknown model '{name}'{hint}\n"
        "give a name of `authbench list models`, a hub id (org/model), or a path to a folder or .gguf file"
    )
