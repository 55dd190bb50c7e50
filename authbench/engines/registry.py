"""The engines by name. None is imported before it is used."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from authbench.engines.memory import find_gpus
from authbench.errors import ConfigError, EngineError, UnavailableError, did_you_mean
from authbench.runtime.engine import Engine, ModelConfig


@dataclass(frozen=True, slots=True)
class EngineSpec:
    """An engine before it is imported.

    Attributes:
        module: where its class is.
        cls: the class, made with (model, settings).
        needs: packages that must be importable.
        extra: the extra of authbench that brings them, or None.
        summary: what it is for.
        can: what not every engine can do, in the words of `Capabilities.lacking`: for lists and advice. An
            engine that is made decides by itself, `Engine.capabilities`, and a test holds the two together.
    """

    module: str
    cls: str
    needs: tuple[str, ...]
    extra: str | None
    summary: str
    can: tuple[str, ...] = ()


#: All that `EngineSpec.can` may hold.
ABILITIES = ("samples", "constraint", "label_logprobs", "prompt_logprobs")

ENGINES: dict[str, EngineSpec] = {
    "vllm": EngineSpec(
        "authbench.engines.vllm", "VllmEngine", ("vllm",), "vllm", "the papers' tables, in process", ABILITIES
    ),
    "openvino": EngineSpec(
        "authbench.engines.openvino",
        "OpenVinoEngine",
        ("openvino_genai", "gguf"),
        "openvino",
        "a GGUF model on the CPU",
        ABILITIES,
    ),
    "openai": EngineSpec(
        "authbench.engines.openai.engine",
        "OpenAIEngine",
        (),
        None,
        "any OpenAI-compatible server",
        ("samples", "constraint", "label_logprobs"),
    ),
    # What its inner engine can, which is vLLM unless another is named.
    "ray": EngineSpec(
        "authbench.engines.ray", "RayEngine", ("ray",), "ray", "many GPUs or machines", ABILITIES
    ),
    # It looks up whatever was recorded, and can do nothing that was not: no advice for a new run.
    "replay": EngineSpec("authbench.engines.replay", "ReplayEngine", (), None, "recorded answers"),
    "fake": EngineSpec(
        "authbench.engines.fake", "FakeEngine", (), None, "deterministic, for tests", ABILITIES
    ),
}


def installed(name: str) -> bool:
    """Whether the packages that an engine needs are there; nothing is imported."""
    return all(_importable(package) for package in ENGINES[name].needs)


def engines_that_can(ability: str, but: str = "") -> list[str]:
    """The engines that can do one of `ABILITIES`, other than `but`: what to name where that one cannot."""
    return [name for name, spec in ENGINES.items() if ability in spec.can and name != but]


def make_engine(name: str, model: ModelConfig, settings: Mapping[str, Any]) -> Engine:
    """An engine for a model; cheap, no weights are loaded.

    Raises:
        ConfigError: no such engine, or a setting that it does not know.
        UnavailableError: the engine is not installed.
        EngineError: the model's files are not there.
    """
    if name not in ENGINES:
        known = ", ".join(ENGINES)
        raise ConfigError(f"unknown engine '{name}'{did_you_mean(name, tuple(ENGINES))}; known: {known}")
    spec = ENGINES[name]
    if not installed(name):
        raise UnavailableError(
            f"the engine '{name}' is not installed: pip install 'authbench[{spec.extra}]'\n"
            "or use another with --engine; `authbench list engines` shows what is here"
        )
    engine: Engine = getattr(import_module(spec.module), spec.cls)(model, settings)
    return engine


def default_engine() -> str:
    """The engine where none is named: vLLM if it imports and a GPU is there.

    Raises:
        EngineError: otherwise, with what to install or to use.
    """
    if installed("vllm") and find_gpus():
        return "vllm"
    why = "vLLM is not installed" if not installed("vllm") else "there is no GPU"
    raise EngineError(
        f"no engine is named and {why}\n"
        "use --engine vllm on a machine with a GPU (pip install 'authbench[vllm]'), "
        "--engine openai for a server, or --engine openvino for a small GGUF model on the CPU"
    )


def _importable(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except (ImportError, ValueError):
        return False
