"""Settings of the vllm engine: what a configuration may say, checked, as arguments of vLLM's own engine."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Literal, get_args

from authbench.engines import vllm_installed
from authbench.engines.models import ModelFiles
from authbench.errors import ConfigError, EngineError, did_you_mean

Process = Literal["auto", "inner", "own"]
Order = Literal["longest", "arrival"]

#: Engine arguments that are settings of their own as well: they are what people change.
PASSED = (
    "max_model_len",
    "tensor_parallel_size",
    "pipeline_parallel_size",
    "data_parallel_size",
    "quantization",
    "dtype",
    "gpu_memory_utilization",
    "max_num_seqs",
    "max_num_batched_tokens",
)

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

#: Engine arguments that this engine decides itself, and where to say it instead.
_OWN = {
    "model": "the model, or engine.path",
    "revision": "the model's revision",
    "enable_lora": "engine.lora",
    "max_lora_rank": "engine.lora",
}


@dataclass(frozen=True, slots=True)
class VllmOptions:
    """Settings of the vllm engine.

    Attributes:
        path: a Hugging Face folder to load instead of the hub's model.
        chat_template: a file with another chat template, or `none` for a base model.
        process: where the engine runs: in this process (`inner`), in one of its own, or `auto`: `inner`
            without a GPU, where it was measured to be faster, vLLM's own choice with one.
        order: of what is waiting: `longest` first, with shared prefixes together, or `arrival`.
        lora: folder of a LoRA adapter.
        batch_invariant: answers that do not depend on what else is in the batch, at a price in speed.
        kv_cache_gib: memory of the KV cache without a GPU (vLLM's `VLLM_CPU_KVCACHE_SPACE`).
        engine_args: any further argument of vLLM's engine, by its own name.
        passed: the settings of `PASSED` that were given.
    """

    path: str | None = None
    chat_template: str | None = None
    process: Process = "auto"
    order: Order = "longest"
    lora: str | None = None
    batch_invariant: bool = False
    kv_cache_gib: int = 4
    engine_args: Mapping[str, Any] = field(default_factory=dict)
    passed: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def parse(cls, settings: Mapping[str, Any]) -> VllmOptions:
        """Check settings.

        Raises:
            ConfigError: an unknown setting or engine argument, with the nearest known one, or a value
                that cannot be.
        """
        own = [f.name for f in fields(cls) if f.name != "passed"]
        values: dict[str, Any] = {"passed": {}}
        for key, value in settings.items():
            if key in own:
                values[key] = value
            elif key in PASSED:
                if value is not None:
                    values["passed"][key] = value
            else:
                raise ConfigError(_unknown(key, [*own, *PASSED]))
        options = cls(**values)
        options._check()
        return options

    def _check(self) -> None:
        for name, allowed in (("process", get_args(Process)), ("order", get_args(Order))):
            value = getattr(self, name)
            if value not in allowed:
                raise ConfigError(f"engine.{name}: {value!r} is none of {', '.join(allowed)}")
        for name in (
            "max_model_len",
            "tensor_parallel_size",
            "pipeline_parallel_size",
            "data_parallel_size",
            "max_num_seqs",
            "max_num_batched_tokens",
        ):
            if name in self.passed:
                _positive(name, self.passed[name])
        _positive("kv_cache_gib", self.kv_cache_gib)
        if not isinstance(self.engine_args, Mapping):
            raise ConfigError("engine.engine_args: must be a mapping of vLLM's engine arguments")
        known = vllm_installed.engine_arguments()
        for key in self.engine_args:
            if key in _OWN:
                raise ConfigError(f"engine.engine_args.{key}: set {_OWN[key]} instead")
            if known and key not in known:
                raise ConfigError(
                    f"engine.engine_args.{key}: vLLM {vllm_installed.version()} has no such engine argument"
                    + did_you_mean(key, sorted(known))
                )

    @property
    def data_parallel_size(self) -> int:
        """Number of whole copies of the model."""
        return int(self.passed.get("data_parallel_size", self.engine_args.get("data_parallel_size", 1)))

    def arguments(self, files: ModelFiles) -> dict[str, Any]:
        """Keyword arguments for vLLM's `EngineArgs`.

        What is not said is left to vLLM: sequences, batched tokens and CUDA graphs are its defaults.
        """
        arguments: dict[str, Any] = {"model": files.source, **self.passed, **self.engine_args}
        if not files.local:
            arguments["revision"] = files.revision
        if self.lora:
            arguments.update(enable_lora=True, max_lora_rank=_lora_rank(self.lora))
        known = vllm_installed.engine_arguments()
        for name, value in (("disable_log_stats", True), ("use_tqdm_on_load", False)):
            if name in known:
                arguments.setdefault(name, value)
        # Pictures are never sent: without this, models that see reserve memory for them.
        if "language_model_only" in known and "vision_config" in files.config:
            arguments.setdefault("language_model_only", True)
        return arguments

    def precision(self, files: ModelFiles) -> str:
        """What decides an answer besides model and revision: type or quantisation, and altering options."""
        quantization = self.passed.get("quantization", self.engine_args.get("quantization"))
        dtype = self.passed.get("dtype", self.engine_args.get("dtype", "auto"))
        parts = [str(quantization) if quantization else (files.precision if dtype == "auto" else str(dtype))]
        parts += [
            f"{key}={json.dumps(self.engine_args[key], sort_keys=True, default=str)}"
            for key in _ANSWER_CHANGING
            if key in self.engine_args
        ]
        if self.batch_invariant:
            parts.append("batch-invariant")
        return " ".join(parts)

    def revision(self, files: ModelFiles) -> str:
        """The model's revision, with the adapter's content where there is one."""
        if not self.lora:
            return files.revision
        return f"{files.revision}+lora-{_lora_hash(self.lora)}"


def _unknown(key: str, known: list[str]) -> str:
    text = f"engine.{key}: the vllm engine has no such setting" + did_you_mean(key, known)
    if key in vllm_installed.engine_arguments():
        return f"{text}\nit is an argument of vLLM's engine: engine.engine_args.{key}"
    return text


def _positive(name: str, value: object) -> None:
    if not isinstance(value, int) or isinstance(value, bool) or value < 1:
        raise ConfigError(f"engine.{name}: must be a whole number above 0, not {value!r}")


def _lora_config(folder: str) -> dict[str, Any]:
    path = Path(folder).expanduser() / "adapter_config.json"
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise EngineError(f"engine.lora: {folder} is no LoRA adapter ({path.name} cannot be read)") from error
    return dict(config)


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
