"""What a model is: a Hugging Face folder or an id on the hub, where its files lie and what they say.

Reads small files only, and neither `transformers` nor `vllm`: prompts can be rendered and keyed on a
machine that never loads the weights. `encoding` has the tokenizer, `gguf` what a GGUF file says.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from authbench.engines.chat import ChatTemplate
from authbench.engines.hub import from_hub, in_hub_cache
from authbench.errors import EngineError
from authbench.paths import cache_dir
from authbench.runtime.engine import ModelConfig

#: The files of a model that are small: all that rendering and counting need.
SMALL_FILES = ("*.json", "*.jinja", "tokenizer.model", "merges.txt", "vocab.txt")

#: Names under which a model's configuration holds its longest sequence, the first found counts.
_CONTEXT_KEYS = ("max_position_embeddings", "n_positions", "max_seq_len", "seq_length", "max_sequence_length")

#: Bytes of a weights file that its hash covers: this many pieces of this many bytes, spread evenly.
_PIECES, _PIECE = 256, 16384


@dataclass(frozen=True)
class ModelFiles:
    """Where a model's files are.

    Attributes:
        source: what an engine is to load: a folder, or a hub id with `revision`.
        folder: holds the small files (`SMALL_FILES`), and the weights too if `local`.
        revision: hub commit, or a hash of the content of a local folder.
        local: True for a folder on disk, False for a snapshot in the hub's cache.
    """

    source: str
    folder: Path
    revision: str
    local: bool

    @cached_property
    def config(self) -> Mapping[str, Any]:
        """The model's `config.json`."""
        return _read_json(self.folder / "config.json")

    @cached_property
    def tokenizer_config(self) -> Mapping[str, Any]:
        """The model's `tokenizer_config.json`; empty where there is none."""
        path = self.folder / "tokenizer_config.json"
        return _read_json(path) if path.is_file() else {}

    @property
    def context_length(self) -> int | None:
        """Most tokens of a sequence, or None where the configuration does not say."""
        for config in (self.config, self.config.get("text_config") or {}):
            for key in _CONTEXT_KEYS:
                if isinstance(config.get(key), int):
                    return int(config[key])
        return None

    @property
    def precision(self) -> str:
        """The quantisation of the weights where they are quantised, else their type (`bfloat16`)."""
        quantization = self.config.get("quantization_config")
        if isinstance(quantization, Mapping) and quantization.get("quant_method"):
            bits = quantization.get("bits") or quantization.get("w_bit")
            return str(quantization["quant_method"]) + (f"-{bits}bit" if bits else "")
        for config in (self.config, self.config.get("text_config") or {}):
            for key in ("dtype", "torch_dtype"):
                if config.get(key):
                    return str(config[key]).removeprefix("torch.")
        return "unknown"

    def chat_template(self, kwargs: Mapping[str, Any], override: str | None = None) -> ChatTemplate:
        """The model's chat template.

        Args:
            kwargs: arguments for the template (`enable_thinking`), each of which must have an effect.
            override: a file with another template, or `none` for a base model without one.

        Raises:
            EngineError: no template, or an argument that does nothing (`ChatTemplate.checked`).
        """
        source = _override(override) if override else self._template_source()
        if source is None and override != "none":
            raise EngineError(
                f"{self.source} has no chat template\n"
                "give one with --set engine.chat_template=FILE, or 'none' for a base model"
            )
        return ChatTemplate(
            template=source,
            kwargs=kwargs if source is not None else {},
            control_tokens=self._control_tokens(source or ""),
            bos_token=_token_text(self.tokenizer_config.get("bos_token")),
            eos_token=_token_text(self.tokenizer_config.get("eos_token")),
        ).checked(self.source)

    def _template_source(self) -> str | None:
        path = self.folder / "chat_template.jinja"
        if path.is_file():
            return path.read_text(encoding="utf-8")
        found = self.tokenizer_config.get("chat_template")
        if found is None and (self.folder / "chat_template.json").is_file():
            found = _read_json(self.folder / "chat_template.json").get("chat_template")
        if isinstance(found, list):  # several, by name
            found = {entry["name"]: entry["template"] for entry in found}.get("default")
        return found if isinstance(found, str) else None

    def _control_tokens(self, template: str) -> tuple[str, ...]:
        """Strings that the tokenizer turns into control tokens.

        Special tokens, and further added tokens that the template itself prints, such as `<think>`. Other
        added tokens are ordinary text (runs of spaces, HTML tags in Gemma's vocabulary).
        """
        path = self.folder / "tokenizer.json"
        if path.is_file():
            added = _read_json(path).get("added_tokens") or []
        else:
            added = list((self.tokenizer_config.get("added_tokens_decoder") or {}).values())
        return tuple(
            token["content"]
            for token in added
            if token.get("special") or token["content"].strip() in template
            if token["content"].strip()
        )


def find_model(model: ModelConfig, path: str | None = None) -> ModelFiles:
    """Find a model's files, and fetch the small ones from the hub where they are nowhere else.

    Looks at `path`, the model's own `path`, the hub's cache, the folder that `scripts/export_hf_folder.py`
    makes, and the hub, in this order.

    Raises:
        EngineError: a folder that is no model, or an id that can be had neither here nor from the hub.
    """
    folder = path or model.path
    if folder:
        return open_folder(Path(folder).expanduser())
    cached = in_hub_cache(model.id, "config.json", model.revision)
    if cached is not None:
        return ModelFiles(model.id, cached.parent, cached.parent.name, local=False)
    exported = cache_dir("models", f"{model.name}-hf")
    if model.gguf and (exported / "config.json").is_file():
        return open_folder(exported)
    way_out = "give a folder with --set engine.path=FOLDER, or fetch the model on a machine with a network"
    if model.gguf and model.gguf.get("package"):
        way_out = "make a folder from its GGUF: python scripts/export_hf_folder.py"
    revision = f" at revision {model.revision}" if model.revision else ""

    def fetch() -> str:
        from huggingface_hub import snapshot_download

        found: str = snapshot_download(model.id, revision=model.revision, allow_patterns=list(SMALL_FILES))
        return found

    snapshot = from_hub(fetch, model.id, f"model {model.id}{revision}", way_out)
    return ModelFiles(model.id, snapshot, snapshot.name, local=False)


def open_folder(folder: Path) -> ModelFiles:
    """A local Hugging Face folder; `EngineError` if it is none."""
    if not folder.is_dir():
        raise EngineError(f"no model folder {folder}")
    if not (folder / "config.json").is_file():
        raise EngineError(f"{folder} is no Hugging Face model: it has no config.json")
    if not any(_weights(folder)):
        raise EngineError(f"{folder} holds no weights (*.safetensors, *.bin)")
    return ModelFiles(str(folder), folder, content_hash(folder), local=True)


def content_hash(folder: Path) -> str:
    """A hash of a model folder: configuration and tokenizer whole, weights by evenly spread pieces.

    Pieces, because gigabytes take minutes to read; a fine-tuned model differs in nearly all of them.
    """
    digest = hashlib.sha256()
    for name in ("config.json", "generation_config.json", "tokenizer.json", "tokenizer.model"):
        if (folder / name).is_file():
            digest.update(name.encode() + b"\0" + (folder / name).read_bytes())
    for path in sorted(_weights(folder)):
        size = path.stat().st_size
        digest.update(f"{path.name}\0{size}\0".encode())
        with path.open("rb") as file:
            for offset in _spread(size):
                file.seek(offset)
                digest.update(file.read(_PIECE))
    return "content-" + digest.hexdigest()[:32]


def _spread(size: int) -> Iterator[int]:
    if size <= _PIECES * _PIECE:
        yield from range(0, size, _PIECE)
    else:
        yield from (index * (size - _PIECE) // (_PIECES - 1) for index in range(_PIECES))


def _weights(folder: Path) -> Iterator[Path]:
    for pattern in ("*.safetensors", "*.bin", "*.pt"):
        yield from folder.glob(pattern)


def _override(value: str) -> str | None:
    if value == "none":
        return None
    try:
        return Path(value).expanduser().read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise EngineError(f"chat_template: cannot read {value} ({type(error).__name__})") from error


def _token_text(token: Any) -> str:
    """A special token's text; configurations hold it plain or as a mapping."""
    if isinstance(token, Mapping):
        token = token.get("content")
    return token if isinstance(token, str) else ""


def _read_json(path: Path) -> dict[str, Any]:
    try:
        data = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise EngineError(f"{path.parent} has no {path.name}") from error
    except (OSError, ValueError) as error:
        raise EngineError(f"{path} cannot be read: {error}") from error
    if not isinstance(data, dict):
        raise EngineError(f"{path} holds no JSON object")
    return data
