"""Settings of the openai engine: which servers, how many requests at once, how long to wait."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args
from urllib.parse import urlsplit

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from authbench.errors import ConfigError, EngineError, did_you_mean

#: Fields of a request that the experiment decides.
_RESERVED = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "seed", "stop",
     "stream", "logprobs", "top_logprobs", "response_format"}
)  # fmt: skip

_Omittable = Literal["temperature", "top_p", "seed", "stop", "chat_template_kwargs"]

#: Fields of a request that can be left to the server.
OMITTABLE: tuple[str, ...] = get_args(_Omittable)


def _words(value: Any) -> Any:
    """The words of a text with commas; anything else as it is."""
    return [word.strip() for word in value.split(",") if word.strip()] if isinstance(value, str) else value


class Settings(BaseModel):
    """Settings of the openai engine.

    Attributes:
        base_url: of one server or several that serve the same model, each up to and with `/v1`.
        model: the model's name on the server; by default its hub id.
        api_key_env: name of the environment variable that holds the key. The key itself is never kept.
        concurrency: most requests in flight at one server.
        timeout: seconds for one request.
        max_wait: seconds to wait for a server that is gone or refuses all requests, before giving up.
        retries: further tries of a request that failed for a reason that may pass.
        extra_body: further fields of every request, for what a server adds to the protocol.
        omit: fields that are not sent, for a server that refuses them.
        revision: of the model on the server, where you know it.
        precision: of the model on the server, where you know it.
        context_length: most tokens of prompt and answer that the server takes, where you know it.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    base_url: Annotated[tuple[str, ...], BeforeValidator(_words)] = ()
    model: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int = Field(64, ge=1)
    timeout: float = Field(600.0, gt=0)
    max_wait: float = Field(120.0, gt=0)
    retries: int = Field(5, ge=0)
    extra_body: dict[str, Any] = Field(default_factory=dict)
    omit: Annotated[tuple[_Omittable, ...], BeforeValidator(_words)] = ()
    revision: str = "unknown"
    precision: str = "unknown"
    context_length: int | None = Field(None, ge=1)

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Settings:
        """Check settings; `base_url` or the variable `OPENAI_BASE_URL` names the server.

        Raises:
            ConfigError: an unknown setting, a value that cannot be, or a key where none may stand.
            EngineError: no server is named.
        """
        if "api_key" in settings:
            raise ConfigError(
                "engine.api_key: keys are not kept in configurations\n"
                "put it into an environment variable and name that: engine.api_key_env=NAME"
            )
        try:
            made = cls.model_validate(dict(settings))
        except ValidationError as error:
            raise ConfigError(_complaint(error)) from None
        urls = made.base_url or _words(os.environ.get("OPENAI_BASE_URL", ""))
        if not urls:
            raise EngineError(
                "the openai engine needs a server: --set engine.base_url=http://HOST:PORT/v1 "
                "or the environment variable OPENAI_BASE_URL"
            )
        for name in sorted(_RESERVED & set(made.extra_body)):
            raise ConfigError(f"engine.extra_body.{name}: the experiment decides this field")
        return made.model_copy(update={"base_url": tuple(map(_clean_url, urls))})

    @property
    def api_key(self) -> str | None:
        """The key out of the environment; None where there is none (local servers need none).

        Raises:
            EngineError: what stands there cannot be sent.
        """
        key = os.environ.get(self.api_key_env, "").strip()
        if not (key.isascii() and key.isprintable()):
            raise EngineError(f"the environment variable {self.api_key_env} holds no key: not plain ASCII")
        return key or None

    def mask(self, text: str) -> str:
        """A text to be shown or kept, with the key replaced where it stands as a word of its own."""
        key = self.api_key
        return re.sub(rf"(?<!\w){re.escape(key)}(?!\w)", "***", text) if key else text

    def identity_precision(self) -> str:
        """Precision, with the fields that are added to each request or left out: they may change answers."""
        added = f" {json.dumps(self.extra_body, sort_keys=True)}" if self.extra_body else ""
        left_out = f" without {', '.join(sorted(set(self.omit)))}" if self.omit else ""
        return f"{self.precision}{added}{left_out}"


def advise_omit(*names: str) -> str:
    """The way out where a server refuses fields of a request."""
    return (
        "use another server, or leave it to this one, and the results say so: "
        f"--set engine.omit={','.join(names)}"
    )


def _complaint(error: ValidationError) -> str:
    first = error.errors(include_url=False)[0]
    name = ".".join(str(part) for part in first["loc"])
    if first["type"] == "extra_forbidden":
        return f"engine.{name}: the openai engine has no such setting" + did_you_mean(
            name, list(Settings.model_fields)
        )
    given = "" if name.startswith("base_url") else f", not {first['input']!r}"  # it may hold a password
    return f"engine.{name}: {first['msg'][0].lower()}{first['msg'][1:]}{given}"


def _clean_url(url: str) -> str:
    try:
        parts = urlsplit(url)
        valid = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        valid = False
    if not valid:
        raise ConfigError("engine.base_url: must begin with http:// or https:// and name a host")
    if parts.username or parts.password or parts.query:
        raise ConfigError(
            "engine.base_url: must hold no user name or password, and no query\n"
            "put a key into the environment variable that engine.api_key_env names"
        )
    return url.rstrip("/").removesuffix("/chat/completions")
