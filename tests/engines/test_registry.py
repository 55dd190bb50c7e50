"""Engines by name: what is made, what is refused, what stays unimported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from authbench.engines import registry
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import Engine, ModelConfig

MODEL = ModelConfig("fake", "fake")


def test_every_engine_of_the_design_is_there() -> None:
    assert set(registry.ENGINES) == {"vllm", "openvino", "openai", "ray", "replay", "fake"}
    assert all(spec.summary for spec in registry.ENGINES.values())


@pytest.mark.parametrize("name", registry.ENGINES)
def test_the_class_that_is_named_exists(name: str) -> None:
    """Read from the source, since its library may not be installed here."""
    spec = registry.ENGINES[name]
    source = Path(__file__).parents[2].joinpath(*spec.module.split(".")).with_suffix(".py").read_text()
    assert f"\nclass {spec.cls}(" in source
    assert f'    name = "{name}"' in source


def test_an_engine_is_made_by_name() -> None:
    engine = registry.make_engine("fake", MODEL, {"seed": 3})
    assert isinstance(engine, Engine)
    assert engine.name == engine.identity.family == "fake"


def test_an_unknown_name_has_a_suggestion() -> None:
    with pytest.raises(
        ConfigError, match=r"unknown engine 'openvin' \(did you mean 'openvino'\?\); known: vllm"
    ):
        registry.make_engine("openvin", MODEL, {})


def test_an_engine_that_is_not_installed_says_which_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "find_spec", lambda name: None)
    for name in ("vllm", "openvino", "ray"):
        assert not registry.installed(name)
        with pytest.raises(
            EngineError, match=rf"'{name}' is not installed: pip install 'authbench\[{name}\]'"
        ):
            registry.make_engine(name, MODEL, {})
    assert registry.installed("fake") and registry.installed("replay") and registry.installed("openai")


def test_looking_imports_nothing_heavy() -> None:
    """In a process of its own: this one has imported much already."""
    script = (
        "import sys; from authbench.engines import registry; "
        "[registry.installed(name) for name in registry.ENGINES]; "
        "heavy = {'vllm', 'ray', 'openvino', 'openvino_genai', 'gguf', 'numpy', 'torch', 'jinja2', 'httpx'}; "
        "print(sorted(heavy & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_no_engine_named_is_vllm_on_a_gpu_and_advice_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "installed", lambda name: True)
    monkeypatch.setattr(registry, "find_gpus", lambda: [object()])
    assert registry.default_engine() == "vllm"
    monkeypatch.setattr(registry, "find_gpus", list)
    with pytest.raises(EngineError, match="there is no GPU"):
        registry.default_engine()
    monkeypatch.setattr(registry, "installed", lambda name: False)
    with pytest.raises(EngineError, match=r"vLLM is not installed\n.*--engine openvino"):
        registry.default_engine()
