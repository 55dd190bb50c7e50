"""Engines of `openai` on the server of `fault_server`, loaded, and closed at the end."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from fault_server import FaultServer

from authbench.engines.openai import OpenAIEngine
from authbench.runtime.engine import ModelConfig

#: Makes an engine with these settings and loads it.
Make = Callable[..., OpenAIEngine]


def engine_for(server: FaultServer, of: ModelConfig | None = None, **settings: Any) -> OpenAIEngine:
    """An engine that talks to this server, not loaded."""
    options = {"base_url": server.url, "timeout": 20.0, **settings}
    return OpenAIEngine(of or ModelConfig("test", "test/model"), options)


class OnServer:
    """Fixtures of tests that talk to a server; no key or address comes from the environment."""

    @pytest.fixture
    def server(self, monkeypatch: pytest.MonkeyPatch) -> Iterator[FaultServer]:
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
        made = FaultServer()
        yield made
        made.stop()

    @pytest.fixture
    def make(self, server: FaultServer) -> Iterator[Make]:
        """Makes engines that are loaded, what that asked forgotten, and closes them at the end."""
        made: list[OpenAIEngine] = []

        def loaded(**settings: Any) -> OpenAIEngine:
            engine = engine_for(server, **settings)
            made.append(engine)
            engine.load()
            server.requests.clear()
            return engine

        yield loaded
        for engine in made:
            engine.close()
