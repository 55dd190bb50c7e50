"""Settings of engines: what `engine:` in a configuration may say, and how a wrong one is told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from authbench.errors import ConfigError, did_you_mean


class EngineSettings(BaseModel):
    """Base class of an engine's settings: one field a setting, typed as strictly as pydantic can."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)

    #: The engine's name, for messages.
    engine: ClassVar[str]

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Self:
        """Settings out of YAML. Raises `ConfigError` of one line naming the setting that is wrong."""
        try:
            return cls.model_validate(dict(settings))
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            known = tuple(cls.model_fields)
            raise ConfigError(f"engine {cls.engine}: {_complaint(first, known)}") from None


#: Parts of a complaint's place that name a type of a union, not a setting.
_UNION_MEMBERS = frozenset({"int", "float", "dict[any,any]"})


def _complaint(error: ErrorDetails, known: tuple[str, ...]) -> str:
    kind, value, context = error["type"], error["input"], error.get("ctx", {})
    place = error["loc"][:-2] if error["loc"][-1:] == ("[key]",) else error["loc"]
    name = ".".join(str(part) for part in place if part not in _UNION_MEMBERS)
    if kind == "extra_forbidden":
        return f"unknown setting '{name}'" + (did_you_mean(name, known) or f"; known: {', '.join(known)}")
    if kind == "literal_error":
        choices = [word.strip("' ") for word in context["expected"].replace(" or ", ", ").split(",")]
        return f"{name} '{value}' is not one of {', '.join(choices)}{did_you_mean(str(value), choices)}"
    if kind == "value_error":
        return str(context["error"])
    wanted = error["msg"].removeprefix("Input should be ")
    if kind in ("greater_than_equal", "less_than_equal"):
        wanted = f"{context['ge']} or more" if "ge" in context else f"{context['le']} or less"
    return f"{name} is {value!r}, and must be {wanted}"
