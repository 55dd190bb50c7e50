"""Settings of the engine `vllm`: a few of authbench's own, and any argument of vLLM's engine by its name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from types import NoneType
from typing import Any, ClassVar, Literal, Self

from pydantic import Field

from authbench.engines.models import ModelFiles
from authbench.engines.settings import EngineSettings
from authbench.engines.vllm import installed
from authbench.errors import ConfigError, EngineError, did_you_mean

Order = Literal["longest", "arrival"]

#: Engine arguments that change what a model answers: they are part of its identity.
_ANSWER_CHANGING = (
    "kv_cache_dtype",
    "hf_overrides",
    "load_format",
    "logits_processors",
    "override_generation_config",
    "quantization_config",
    "rope_parameters",
    "tokenizer",
    "tokenizer_mode",
    "tokenizer_revision",
)

#: Engine arguments that authbench decides, and where to say it instead.
_DECIDED = {
    "model": "the model, or engine.path",
    "revision": "the model's revision",
    "enable_lora": "engine.lora",
    "max_lora_rank": "engine.lora",
}

#: Declared types that can be checked without importing vLLM.
_PLAIN: dict[str, type] = {"int": int, "float": float, "bool": bool, "str": str, "None": NoneType}


class Settings(EngineSettings):
    """Settings of the engine `vllm`.

    Attributes:
        path: a Hugging Face folder to load instead of the hub's model.
        chat_template: a file with another chat template, or `none` for a base model.
        process: where the engine runs: in this process (`inner`), in one of its own (`own`), or `auto`:
            `inner` without a GPU, where it was measured to be faster, vLLM's own choice with one.
        order: of what is waiting: `longest` first, with shared prefixes together, or `arrival`.
        lora: folder of a LoRA adapter.
        batch_invariant: answers that do not depend on what else is in the batch, at a price in speed.
        arguments: what was given of vLLM's engine arguments, by vLLM's names.
    """

    engine: ClassVar[str] = "vllm"

    path: str | None = None
    chat_template: str | None = None
    process: Literal["auto", "inner", "own"] = "auto"
    order: Order = "longest"
    lora: str | None = None
    batch_invariant: bool = False
    arguments: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> Self:
        """Sort settings into authbench's own and vLLM's, and check them. None stands for what is not set.

        Raises:
            ConfigError: an unknown setting, with the nearest known one, or a value of a wrong type.
        """
        own = cls.model_fields.keys() - {"arguments"}
        given = {key: value for key, value in settings.items() if value is not None}
        arguments = {key: given.pop(key) for key in given.keys() - own}
        theirs = installed.engine_arguments()
        for key, value in sorted(arguments.items()):
            if key in _DECIDED:
                raise ConfigError(f"engine vllm: set {_DECIDED[key]} instead of {key}")
            if theirs and key not in theirs:
                raise ConfigError(
                    f"engine vllm: neither authbench nor vLLM {installed.version()} has a setting '{key}'"
                    + did_you_mean(key, sorted(own | theirs.keys()))
                )
            _check_type(key, value, theirs.get(key, ""))
        return super().parse({**given, "arguments": arguments})

    @property
    def copies(self) -> int:
        """Number of whole copies of the model."""
        return int(self.arguments.get("data_parallel_size", 1))

    def engine_arguments(self, files: ModelFiles) -> dict[str, Any]:
        """Keyword arguments for vLLM's `EngineArgs`.

        What is not said is left to vLLM: sequences, batched tokens and CUDA graphs are its defaults.
        """
        arguments: dict[str, Any] = {"model": files.source, **self.arguments}
        if not files.local:
            arguments["revision"] = files.revision
        if self.lora:
            arguments.update(enable_lora=True, max_lora_rank=_lora_rank(self.lora))
        wanted = {"disable_log_stats": True, "use_tqdm_on_load": False}
        if "vision_config" in files.config:  # pictures are never sent: no memory for them
            wanted["language_model_only"] = True
        return {k: v for k, v in wanted.items() if k in installed.engine_arguments()} | arguments

    def precision(self, files: ModelFiles) -> str:
        """What decides an answer besides model and revision: type or quantisation, and altering arguments."""
        given = self.arguments
        dtype = given.get("dtype", "auto")
        parts = [str(given.get("quantization") or (files.precision if dtype == "auto" else dtype))]
        parts += [
            f"{key}={json.dumps(given[key], sort_keys=True, default=str)}"
            for key in _ANSWER_CHANGING
            if key in given
        ]
        return " ".join([*parts, "batch-invariant"] if self.batch_invariant else parts)

    def revision(self, files: ModelFiles) -> str:
        """The model's revision, with a hash of the adapter where there is one."""
        return f"{files.revision}+lora-{_lora_hash(self.lora)}" if self.lora else files.revision


def _check_type(key: str, value: object, declared: str) -> None:
    """Compare a value with what vLLM declares where these are plain types; else vLLM itself will."""
    names = declared.split(" | ")
    kinds = {_PLAIN.get(name) for name in names}
    if None not in kinds and type(value) not in kinds and not (type(value) is int and float in kinds):
        wanted = " or ".join(name for name in names if name != "None")
        raise ConfigError(f"engine vllm: {key} is {value!r}, and must be of vLLM's type {wanted}")


def _lora_config(folder: str) -> dict[str, Any]:
    path = Path(folder).expanduser() / "adapter_config.json"
    try:
        return dict(json.loads(path.read_text(encoding="utf-8")))
    except (OSError, ValueError) as error:
        raise EngineError(f"engine.lora: {folder} is no LoRA adapter ({path.name} cannot be read)") from error


def _lora_rank(folder: str) -> int:
    """The smallest rank that vLLM knows which holds the adapter's."""
    rank = int(_lora_config(folder).get("r", 16))
    return next((size for size in (8, 16, 32, 64, 128, 256, 320, 512) if size >= rank), rank)


def _lora_hash(folder: str) -> str:
    _lora_config(folder)
    digest = hashlib.sha256()
    for path in sorted(Path(folder).expanduser().glob("adapter_*")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:12]
