"""Engines by name: what is made, what is refused, what stays unimported."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from authbench.engines import registry
from authbench.errors import ConfigError, EngineError
from authbench.runtime.engine import Capabilities, Engine, ModelConfig
from authbench.runtime.messages import Constraint, Request, Sampling

MODEL = ModelConfig("fake", "fake")


def test_every_engine_of_the_design_is_there() -> None:
    assert set(registry.ENGINES) == {"vllm", "openvino", "openai", "ray", "replay", "fake"}
    assert all(spec.summary for spec in registry.ENGINES.values())


@pytest.mark.parametrize("name", registry.ENGINES)
def test_the_class_that_is_named_exists(name: str) -> None:
    """Read from the source, since its library may not be installed here."""
    spec = registry.ENGINES[name]
    place = Path(__file__).parents[2].joinpath(*spec.module.split("."))
    source = (place / "engine.py" if place.is_dir() else place.with_suffix(".py")).read_text()
    assert f"\nclass {spec.cls}(" in source
    assert f'    name = "{name}"' in source


@pytest.mark.parametrize("name", [name for name in registry.ENGINES if name != "replay"])
def test_what_is_said_of_an_engine_is_what_it_says_itself(name: str) -> None:
    """No weights, servers or libraries are needed to ask. `replay` claims everything and is never advised."""
    spec = registry.ENGINES[name]
    cls = getattr(import_module(spec.module), spec.cls)
    settings = {"base_url": "http://localhost:1/v1"} if name == "openai" else {}
    # OpenVINO's looks for its model's file when it is made; what it can do does not depend on that.
    engine = cls.__new__(cls) if name == "openvino" else cls(MODEL, settings)
    can = engine.capabilities
    assert [ability for ability in registry.ABILITIES if ability in spec.can] == list(spec.can)
    assert ("samples" in spec.can) == can.samples
    assert ("constraint" in spec.can) == (can.constraints == {"json", "regex", "choice"})
    assert ("label_logprobs" in spec.can) == can.label_logprobs
    assert ("prompt_logprobs" in spec.can) == can.prompt_logprobs


def test_advice_leaves_out_the_engine_that_cannot() -> None:
    assert registry.engines_that_can("prompt_logprobs", but="vllm") == ["openvino", "ray", "fake"]
    asked = [
        Request((), Sampling(1, n=2)),
        Request((), Sampling(1), constraint=Constraint("json", "{}")),
        Request((), Sampling(1), labels=("A",)),
        Request((), Sampling(1), score_target="A"),
    ]
    lacking = [Capabilities(samples=False).lacking(request) for request in asked]
    assert [(words or "").split()[0] for words in lacking] == list(registry.ABILITIES)


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
        "heavy = {'vllm', 'ray', 'openvino', 'openvino_genai', 'gguf', 'numpy', 'torch', 'jinja2', 'httpx', "
        "'httpx2', 'openai'}; "
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
