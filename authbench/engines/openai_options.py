"""Settings of the openai engine: which servers, how many requests at once, how long to wait."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any
from urllib.parse import urlsplit

from authbench.errors import ConfigError, EngineError, did_you_mean

#: Parameters of a request that this engine sets itself.
_RESERVED = frozenset(
    {"model", "messages", "max_tokens", "max_completion_tokens", "temperature", "top_p", "n", "seed", "stop",
     "stream", "logprobs", "top_logprobs", "response_format"}
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class OpenAIOptions:
    """Settings of the openai engine.

    Attributes:
        base_urls: of one server or several that serve the same model, each up to and with `/v1`.
        model: the model's name on the server; by default its hub id.
        api_key_env: name of the environment variable that holds the key. The key itself is never kept.
        concurrency: most requests in flight at one server.
        timeout: seconds for one request.
        max_wait: seconds to wait for a server that is gone or refuses all requests, before giving up.
        retries: further tries of a request that failed for a reason that may pass.
        extra_body: further fields of every request, for what a server adds to the protocol.
        revision: of the model on the server, where you know it.
        precision: of the model on the server, where you know it.
        context_length: most tokens of prompt and answer that the server takes, where you know it.
    """

    base_urls: tuple[str, ...]
    model: str | None = None
    api_key_env: str = "OPENAI_API_KEY"
    concurrency: int = 64
    timeout: float = 600.0
    max_wait: float = 120.0
    retries: int = 5
    extra_body: Mapping[str, Any] = field(default_factory=dict)
    revision: str = "unknown"
    precision: str = "unknown"
    context_length: int | None = None

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> OpenAIOptions:
        """Check settings; `base_url` or the variable `OPENAI_BASE_URL` names the server.

        Raises:
            ConfigError: an unknown setting, a value that cannot be, or a key where none may stand.
            EngineError: no server is named.
        """
        values = dict(settings)
        if "api_key" in values:
            raise ConfigError(
                "engine.api_key: keys are not kept in configurations\n"
                "put it into an environment variable and name that: engine.api_key_env=NAME"
            )
        urls = _as_list(values.pop("base_url", None)) + _as_list(values.pop("base_urls", None))
        known = [f.name for f in fields(cls)]
        for key in values:
            if key not in known:
                raise ConfigError(
                    f"engine.{key}: the openai engine has no such setting"
                    + did_you_mean(key, ["base_url", *known])
                )
        urls = urls or _as_list(os.environ.get("OPENAI_BASE_URL"))
        if not urls:
            raise EngineError(
                "the openai engine needs a server: --set engine.base_url=http://HOST:PORT/v1 "
                "or the environment variable OPENAI_BASE_URL"
            )
        options = cls(base_urls=tuple(_clean_url(url) for url in urls), **values)
        options._check()
        return options

    def _check(self) -> None:
        for name, least in (("concurrency", 1), ("retries", 0)):
            value = getattr(self, name)
            if not isinstance(value, int) or isinstance(value, bool) or value < least:
                raise ConfigError(f"engine.{name}: must be a whole number of at least {least}, not {value!r}")
        for name in ("timeout", "max_wait"):
            value = getattr(self, name)
            if not isinstance(value, (int, float)) or isinstance(value, bool) or value <= 0:
                raise ConfigError(f"engine.{name}: must be a number of seconds above 0, not {value!r}")
        if not isinstance(self.extra_body, Mapping):
            raise ConfigError("engine.extra_body: must be a mapping of fields of a request")
        taken = sorted(_RESERVED & set(self.extra_body))
        if taken:
            raise ConfigError(f"engine.extra_body.{taken[0]}: the experiment decides this field")

    @property
    def api_key(self) -> str | None:
        """The key out of the environment; None where there is none (local servers need none)."""
        return os.environ.get(self.api_key_env) or None

    def identity_precision(self) -> str:
        """Precision, with the further fields of a request: they may change answers."""
        if not self.extra_body:
            return self.precision
        return f"{self.precision} {json.dumps(dict(self.extra_body), sort_keys=True)}"


def _as_list(value: Any) -> list[str]:
    if value is None:
        return []
    if isinstance(value, str):
        return [part.strip() for part in value.split(",") if part.strip()]
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return list(value)
    raise ConfigError("engine.base_url: must be an address or a list of addresses")


def _clean_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ConfigError("engine.base_url: must begin with http:// or https:// and name a host")
    if parts.username or parts.password:
        raise ConfigError(
            "engine.base_url: must hold no user name or password\n"
            "put a key into the environment variable that engine.api_key_env names"
        )
    return url.rstrip("/").removesuffix("/chat/completions")
