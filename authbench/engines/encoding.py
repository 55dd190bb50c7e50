"""Prompts as token ids, in batches, by a model's tokenizer."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from authbench.errors import EngineError, UnavailableError
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


def load_tokenizer(folder: Path) -> Any:
    """The tokenizer of a model's folder, by `transformers`.

    Raises:
        UnavailableError: `transformers` is not installed.
        EngineError: a folder whose tokenizer it cannot read.
    """
    # Else it says at every start that there is no PyTorch, which a tokenizer does not need.
    os.environ.setdefault("TRANSFORMERS_NO_ADVISORY_WARNINGS", "1")
    try:
        from transformers import AutoTokenizer
    except ImportError as error:
        raise UnavailableError(
            f"reading the tokenizer in {folder} needs transformers: pip install 'authbench[tokenizers]'"
        ) from error
    try:
        return AutoTokenizer.from_pretrained(str(folder))
    except Exception as error:  # the tokenizers library raises no other
        said = " ".join(str(error).split())[:300]
        raise EngineError(f"the tokenizer in {folder} cannot be loaded: {said}") from error


def batch_encoder(tokenizer: Any) -> EncodeBatch:
    """A batch encoder out of a tokenizer of `transformers`, on all cores where it can be."""
    if not tokenizer.is_fast:
        return lambda texts, special: tokenizer(texts, add_special_tokens=special)["input_ids"]
    backend = tokenizer.backend_tokenizer
    # A file may hold the settings of its training: nothing may be cut or filled up here.
    backend.no_truncation()
    backend.no_padding()

    def encode(texts: list[str], add_special_tokens: bool) -> list[list[int]]:
        found = backend.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in found]

    return encode
