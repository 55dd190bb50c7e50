"""From files and command line to a checked experiment: YAML, `extends`, `--set`, and errors with a line."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from reprlib import Repr
from typing import TYPE_CHECKING, Any

import yaml

from authbench.errors import ConfigError, did_you_mean
from authbench.paths import share_dir

if TYPE_CHECKING:
    from pydantic import BaseModel, ValidationError
    from pydantic_core import ErrorDetails

    from authbench.tasks.registry import AnyExperiment


@dataclass(frozen=True, slots=True)
class Experiment:
    """A checked configuration.

    Attributes:
        name: of the file, without suffix; the name of its results folder.
        path: the file it came from.
        settings: the checked values.
        passed: dotted keys that the command line gave.
    """

    name: str
    path: Path
    settings: AnyExperiment
    passed: tuple[str, ...] = ()

    def resolved(self) -> dict[str, Any]:
        """The whole configuration with all defaults, as plain JSON."""
        return self.settings.model_dump(mode="json")


def find_config(name: str) -> Path:
    """A configuration by path, or by the bare name of one that ships with authbench."""
    path = Path(name)
    if path.is_file():
        return path
    shipped = share_dir("configs")
    for candidate in (shipped / name, shipped / f"{name}.yaml", shipped.parent / name):
        if candidate.is_file():
            return candidate
    if path.is_dir():
        raise ConfigError(f"{name} is a folder, not a configuration; name its files, such as {path}/*.yaml")
    known = sorted(p.stem for p in shipped.glob("*.yaml"))
    hint = did_you_mean(path.stem, known)
    raise ConfigError(f"no configuration {name}{hint}\n`authbench list configs` shows those that ship")


def load_experiment(
    name: str,
    *,
    sets: Sequence[str] = (),
    models: Sequence[str] | None = None,
    engine: str | None = None,
) -> Experiment:
    """Read and check one configuration.

    Args:
        name: path, or bare name of a shipped configuration.
        sets: `key.path=value` with YAML values, applied last.
        models: replaces the configuration's models.
        engine: replaces the configuration's engine, with none of its settings.

    Raises:
        ConfigError: naming file, line and key.
    """
    from pydantic import ValidationError

    from authbench.tasks.registry import EXPERIMENT, TASKS

    path = find_config(name)
    values, lines = _read(path)
    passed = []
    if engine is not None:
        values["engine"] = {"name": engine}
        _passed(lines, ("engine",), f"--engine {engine}")
        passed.append("engine.name")
    if models is not None:
        values["models"] = list(models)
        passed.append(_passed(lines, ("models",), f"--models {','.join(models)}"))
    for text in sets:
        passed.append(_apply(values, lines, text))
    task = values.get("task")
    if not isinstance(task, str) or task not in TASKS:
        known = ", ".join(TASKS)
        hint = did_you_mean(str(task), tuple(TASKS)) if task else ""
        where = _where(path, lines, ("task",))
        raise ConfigError(f"{where}: task is {_shown(task)}; it must be one of {known}{hint}")
    try:
        settings = EXPERIMENT.validate_python(values)
    except ValidationError as error:
        raise ConfigError(_complaint(path, lines, error, TASKS[task])) from None
    return Experiment(path.stem, path, settings, tuple(passed))


def read_yaml(path: Path, model: type[BaseModel]) -> Any:
    """Read a YAML mapping and check it against a pydantic model. Raises `ConfigError`."""
    from pydantic import ValidationError

    values, lines = _read(path)
    try:
        return model.model_validate(values)
    except ValidationError as error:
        raise ConfigError(_complaint(path, lines, error, model)) from None


#: Where the value of a key comes from: `file:line`, or the option of the command line.
Lines = dict[tuple[str | int, ...], str]


def _read(path: Path, seen: tuple[Path, ...] = ()) -> tuple[dict[str, Any], Lines]:
    """A YAML mapping with what it extends, and the line of every key."""
    if path.resolve() in seen:
        raise ConfigError(f"{path}: `extends` goes in a circle ({' -> '.join(p.name for p in seen)})")
    values, node = _parse(path)
    if not isinstance(values, dict):
        kind = "empty" if values is None else f"a {type(values).__name__}"
        raise ConfigError(f"{path}: must be a mapping of keys to values, it is {kind}")
    lines: Lines = {}
    _note_lines(node, (), path, lines, set())
    parent = values.pop("extends", None)
    if parent is None:
        return values, lines
    if not isinstance(parent, str) or not (path.parent / parent).is_file():
        where = _where(path, lines, ("extends",))
        raise ConfigError(f"{where}: extends {_shown(parent)}, which is no file beside {path.name}")
    base, base_lines = _read(path.parent / parent, (*seen, path.resolve()))
    return _merge(base, values), {**base_lines, **lines}


def _parse(path: Path) -> tuple[Any, yaml.Node | None]:
    """What a YAML file says, and the nodes that know their lines."""
    try:
        text = path.read_text(encoding="utf-8-sig")
        return yaml.safe_load(text), yaml.compose(text, Loader=yaml.SafeLoader)
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: not UTF-8 text ({error.reason} at byte {error.start})") from None
    except OSError as error:
        raise ConfigError(f"{path} cannot be read: {error.strerror}") from None
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        line = f":{mark.line + 1}" if mark else ""
        raise ConfigError(f"{path}{line}: not valid YAML: {error.problem}") from None
    except yaml.reader.ReaderError as error:
        raise ConfigError(f"{path}: not text: {error.reason} at character {error.position}") from None
    except (ValueError, RecursionError) as error:  # such as the date 2024-13-45
        what = "nested too deeply" if isinstance(error, RecursionError) else str(error)
        raise ConfigError(f"{path}: not valid YAML: {what}") from None


def _note_lines(
    node: yaml.Node | None, at: tuple[str | int, ...], path: Path, lines: Lines, seen: set[int]
) -> None:
    """Note the line of each key. A node that aliases name again is noted once, as it may contain itself."""
    if node is None or id(node) in seen:
        return
    seen.add(id(node))
    if isinstance(node, yaml.MappingNode):
        for key, value in node.value:
            here = (*at, str(key.value))
            place = f"{path}:{key.start_mark.line + 1}"
            if here in lines:
                raise ConfigError(
                    f"{place}: the key '{key.value}' stands there twice, first at {lines[here]}"
                )
            lines[here] = place
            _note_lines(value, here, path, lines, seen)
    elif isinstance(node, yaml.SequenceNode):
        for index, value in enumerate(node.value):
            lines[(*at, index)] = f"{path}:{value.start_mark.line + 1}"
            _note_lines(value, (*at, index), path, lines, seen)


def _merge(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    merged = dict(base)
    for key, value in over.items():
        old = merged.get(key)
        merged[key] = _merge(old, value) if isinstance(old, dict) and isinstance(value, dict) else value
    return merged


def _passed(lines: Lines, at: tuple[str, ...], option: str) -> str:
    """Note that the command line gave a key, and so everything below it; gives the dotted key."""
    for below in [key for key in lines if key[: len(at)] == at]:
        del lines[below]
    lines[at] = option
    return ".".join(at)


def _apply(values: dict[str, Any], lines: Lines, text: str) -> str:
    """Apply one `--set key.path=value`; gives the dotted key."""
    key, equals, raw = text.partition("=")
    at = tuple(key.strip().split("."))
    if not equals or not all(at):
        raise ConfigError(f"--set {text}: write it as key=value, such as dataset.lists=50")
    try:
        value = yaml.safe_load(raw) if raw.strip() else raw
    except (yaml.YAMLError, ValueError, RecursionError):
        raise ConfigError(f"--set {text}: the value is not valid YAML; quote it") from None
    target = values
    for part in at[:-1]:
        inner = target.get(part)
        if isinstance(inner, str) and part == "engine":
            inner = {"name": inner}
        elif inner is None:
            inner = {}
        elif not isinstance(inner, dict):
            raise ConfigError(f"--set {text}: {part} is {_shown(inner)}, it has no keys below it")
        target[part] = inner = dict(inner)
        target = inner
    target[at[-1]] = value
    return _passed(lines, at, f"--set {text}")


def _where(path: Path, lines: Lines, at: tuple[str | int, ...]) -> str:
    """Where a key, or the nearest one above it that stands anywhere, comes from."""
    for end in range(len(at), 0, -1):
        if at[:end] in lines:
            return lines[at[:end]]
    return str(path)


def _shown(value: object) -> str:
    """A value as messages show it: short, however long or deep it is."""
    short = Repr()
    short.maxstring = short.maxother = 60
    short.maxlevel = 3
    return short.repr(value)


def _complaint(path: Path, lines: Lines, error: ValidationError, model: type[BaseModel]) -> str:
    """The first of pydantic's complaints in one line, and how many more there are."""
    from authbench.tasks.registry import TASKS

    complaints = _own_complaints(error)
    first = next((e for e in complaints if e["type"] == "extra_forbidden"), complaints[0])
    at = tuple(first["loc"])
    # Behind a discriminated union the location starts with the name of the task.
    if at and at[0] in TASKS:
        at = at[1:]
    dotted = ".".join(str(part) for part in at)
    where = _where(path, lines, at)
    more = f" (and {len(complaints) - 1} more)" if len(complaints) > 1 else ""
    if first["type"] == "extra_forbidden":
        known = _fields_at(model, at[:-1])
        hint = did_you_mean(str(at[-1]), known)
        return f"{where}: unknown key '{dotted}'{hint}; known here: {', '.join(known)}{more}"
    if first["type"] == "invalid_key":
        where = _where(path, lines, tuple(str(part) for part in at))
        return f"{where}: the key {_shown(first['input'])} is no text; quote it{more}"
    if first["type"] == "missing":
        return f"{where}: '{dotted}' is missing{more}"
    return f"{where}: {dotted} is {_shown(first['input'])}: {said(first)}{more}"


def _own_complaints(error: ValidationError) -> list[ErrorDetails]:
    """Pydantic's complaints, less those that a list is too short because its wrong values were taken out."""
    complaints = error.errors(include_url=False)
    inside = {each["loc"][:end] for each in complaints for end in range(len(each["loc"]))}
    return [each for each in complaints if each["type"] != "too_short" or each["loc"] not in inside]


def said(complaint: ErrorDetails) -> str:
    """What is wrong with a value: pydantic's words where they say what a person needs, else our own."""
    kind, context = complaint["type"], complaint.get("ctx", {})
    if kind in ("model_type", "model_attributes_type", "dict_type", "mapping_type"):
        return "it must be a mapping of keys to values"
    if kind == "too_short":
        return f"at least {context['min_length']} is needed"
    if kind == "string_too_short":
        return "it must not be empty"
    if kind == "tuple_type":
        return "it must be a list"
    if kind == "value_error":
        return str(context["error"])
    message = complaint["msg"][:1].lower() + complaint["msg"][1:]
    if kind == "literal_error":
        words = str(context.get("expected", "")).replace(" or ", ", ").split(", ")
        message += did_you_mean(str(complaint["input"]), [word.strip("'") for word in words])
    return message


def _fields_at(model: type[BaseModel], at: tuple[str | int, ...]) -> list[str]:
    """The keys known at a place of a configuration."""
    from pydantic import BaseModel

    current: type[BaseModel] = model
    for part in at:
        field = current.model_fields.get(str(part))
        annotation = field.annotation if field else None
        if isinstance(annotation, type) and issubclass(annotation, BaseModel):
            current = annotation
        else:
            options = [a for a in getattr(annotation, "__args__", ()) if isinstance(a, type)]
            inner = next((a for a in options if issubclass(a, BaseModel)), None)
            if inner is None:
                return []
            current = inner
    return [name for name in current.model_fields if not name.startswith("_")]
