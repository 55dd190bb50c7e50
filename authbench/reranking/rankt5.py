"""RankT5: an encoder-decoder fine-tuned with a ranking loss, through transformers (Zhuang et al. 2023).

The score is the logit of one reserved token at the first step of the decoder.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from authbench.errors import EngineError
from authbench.retrieval.checkpoints import load, locate, require

#: LCR names no checkpoint. The authors' own are T5X files; this is a conversion of their base model.
CHECKPOINT = "Soyoung97/RankT5-base"

#: The token whose logit RankT5 was trained to rank by.
SCORE_TOKEN = "<extra_id_10>"


class RankT5Scorer:
    """A `PairScorer`. The weights are loaded at the first call of `score`.

    Args:
        checkpoint: hub id, folder or `package:NAME/FOLDER` of a T5 encoder-decoder.
        revision: of a hub checkpoint.
        max_length: most tokens of a pair; the end of the document is cut.
        batch_size: pairs read at once.
        device: `cpu`, `cuda`, ...; None for CUDA if there is one, else the CPU.
        score_token: of the vocabulary.
    """

    def __init__(
        self,
        checkpoint: str = CHECKPOINT,
        *,
        revision: str | None = None,
        max_length: int = 512,
        batch_size: int = 32,
        device: str | None = None,
        score_token: str = SCORE_TOKEN,
    ) -> None:
        self.checkpoint = checkpoint
        self._revision = revision
        self._max_length = max_length
        self._batch_size = batch_size
        self._device = device
        self._score_token = score_token
        self._model: Any = None
        self._tokenizer: Any = None

    def score(self, pairs: Sequence[tuple[str, str]]) -> list[float]:
        """The score token's logit for each pair.

        Raises `ConfigError` where transformers is missing, `EngineError` where the checkpoint cannot be
        loaded or lacks the score token.
        """
        if self._model is None:
            self._load()
        texts = [f"Query: {query} Document: {document}" for query, document in pairs]
        longest_first = sorted(range(len(texts)), key=lambda place: -len(texts[place]))
        scores = [0.0] * len(texts)
        for start in range(0, len(texts), self._batch_size):
            places = longest_first[start : start + self._batch_size]
            for place, value in zip(places, self._batch([texts[p] for p in places]), strict=True):
                scores[place] = value
        return scores

    def _batch(self, texts: list[str]) -> list[float]:
        torch = require("torch")
        inputs = self._tokenizer(
            texts, padding=True, truncation=True, max_length=self._max_length, return_tensors="pt"
        ).to(self._model.device)
        first = torch.full(
            (len(texts), 1), self._model.config.decoder_start_token_id, device=self._model.device
        )
        token = self._tokenizer.convert_tokens_to_ids(self._score_token)
        with torch.inference_mode():
            logits = self._model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=first,
            ).logits
        return [float(value) for value in logits[:, 0, token].float().cpu()]

    def _load(self) -> None:
        library = require("transformers")
        torch = require("torch")
        place = locate(self.checkpoint)
        tokenizer = load(
            self.checkpoint, lambda: library.AutoTokenizer.from_pretrained(place, revision=self._revision)
        )
        model = load(
            self.checkpoint,
            lambda: library.T5ForConditionalGeneration.from_pretrained(place, revision=self._revision),
        )
        if tokenizer.convert_tokens_to_ids(self._score_token) in (None, tokenizer.unk_token_id):
            raise EngineError(f"checkpoint '{self.checkpoint}' has no token {self._score_token}")
        device = self._device or ("cuda" if torch.cuda.is_available() else "cpu")
        self._tokenizer, self._model = tokenizer, model.to(device).eval()
