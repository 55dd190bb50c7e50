"""Prompts as token ids, in batches, by the fast tokenizer of a model's files."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from authbench.engines.hub import ModelFiles
from authbench.errors import EngineError
from authbench.runtime.engine import RenderedPrompt

#: Takes texts and whether special tokens are to be added; gives the ids of each.
EncodeBatch = Callable[[list[str], bool], list[list[int]]]


class PromptEncoder:
    """Turns rendered prompts into token ids.

    Chat templates print their special tokens, so none are added (no second BOS). A base model has no
    template: there the tokenizer adds what it adds to plain text.
    """

    def __init__(self, encode_batch: EncodeBatch, plain: bool = False) -> None:
        """`plain`: prompts come without a chat template."""
        self._encode_batch = encode_batch
        self._plain = plain

    def encode(self, prompts: Sequence[RenderedPrompt]) -> list[list[int]]:
        """Token ids of each prompt; pieces between cuts are encoded one by one and joined."""
        whole = [prompt.text for prompt in prompts if not prompt.cuts]
        encoded = iter(self._encode_batch(whole, self._plain) if whole else [])
        return [self._encode_pieces(prompt) if prompt.cuts else next(encoded) for prompt in prompts]

    def encode_text(self, text: str) -> list[int]:
        """Token ids of a text that follows a prompt: no special tokens."""
        return self._encode_batch([text], False)[0]

    def _encode_pieces(self, prompt: RenderedPrompt) -> list[int]:
        first, *rest = prompt.pieces()
        pieces = self._encode_batch([first], self._plain) + self._encode_batch(rest, False)
        return [token for piece in pieces for token in piece]


def load_encode_batch(files: ModelFiles) -> EncodeBatch | None:
    """The batch encoder of a model's `tokenizer.json`, or None where it has none.

    Raises:
        EngineError: a file that the tokenizers library cannot read.
    """
    path = files.folder / "tokenizer.json"
    if not path.is_file():
        return None
    try:
        from tokenizers import Tokenizer
    except ImportError:
        return None
    try:
        tokenizer = Tokenizer.from_file(str(path))
    except Exception as error:
        raise EngineError(f"{path} is no tokenizer: {error}") from error
    # A file may hold the settings of its training: nothing may be cut or filled up here.
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return fast_encode_batch(tokenizer)


def fast_encode_batch(tokenizer: Any) -> EncodeBatch:
    """A batch encoder out of a `tokenizers.Tokenizer`; it encodes on all cores, outside Python."""
    encode = getattr(tokenizer, "encode_batch_fast", None) or tokenizer.encode_batch

    def encode_batch(texts: list[str], add_special_tokens: bool) -> list[list[int]]:
        return [encoding.ids for encoding in encode(texts, add_special_tokens=add_special_tokens)]

    return encode_batch


def slow_encode_batch(tokenizer: Any) -> EncodeBatch:
    """A batch encoder out of a tokenizer of `transformers`, for models without a `tokenizer.json`."""

    def encode_batch(texts: list[str], add_special_tokens: bool) -> list[list[int]]:
        return [list(ids) for ids in tokenizer(texts, add_special_tokens=add_special_tokens)["input_ids"]]

    return encode_batch


def load_slow_encode_batch(files: ModelFiles) -> EncodeBatch:
    """The batch encoder of a model without a `tokenizer.json`: by `transformers`, else `EngineError`."""
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise EngineError(
            f"{files.source} has no tokenizer.json, and transformers is not installed to read what it has"
        ) from error
    try:
        return slow_encode_batch(AutoTokenizer.from_pretrained(str(files.folder)))
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise EngineError(
            f"{files.source}: the tokenizer cannot be loaded: {' '.join(str(error).split())[:300]}"
        ) from error
