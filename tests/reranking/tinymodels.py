"""Tiny randomly initialised models of the classes that the rerankers use, saved as checkpoints."""

from __future__ import annotations

from pathlib import Path
from typing import Any

WORDS = (
    *("a", "the", "of", "how", "long", "do", "fleas", "live", "weeks", "cats", "dogs"),
    *("paris", "capital", "france", "query", "document", ":", "?"),
)


def fast_tokenizer(special: dict[str, str], extra: tuple[str, ...] = ()) -> Any:
    """A word-level tokenizer over `WORDS`."""
    from tokenizers import Tokenizer
    from tokenizers.models import WordLevel
    from tokenizers.normalizers import Lowercase
    from tokenizers.pre_tokenizers import Whitespace
    from transformers import PreTrainedTokenizerFast

    vocabulary = {word: number for number, word in enumerate([*special.values(), *extra, *WORDS])}
    made = Tokenizer(WordLevel(vocabulary, unk_token=special["unk_token"]))
    made.normalizer = Lowercase()
    made.pre_tokenizer = Whitespace()
    return PreTrainedTokenizerFast(
        tokenizer_object=made, model_max_length=64, **special, additional_special_tokens=list(extra)
    )


BERT_SPECIAL = {
    "pad_token": "[PAD]",
    "unk_token": "[UNK]",
    "cls_token": "[CLS]",
    "sep_token": "[SEP]",
    "mask_token": "[MASK]",
}


def _bert_config(tokenizer: Any, **options: Any) -> Any:
    from transformers import BertConfig

    return BertConfig(
        vocab_size=len(tokenizer),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=64,
        **options,
    )


def cross_encoder(folder: Path, outputs: int = 1) -> Path:
    """A BERT with a classification head."""
    import torch
    from transformers import BertForSequenceClassification

    torch.manual_seed(0)
    tokenizer = fast_tokenizer(BERT_SPECIAL)
    model = BertForSequenceClassification(_bert_config(tokenizer, num_labels=outputs))
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def bare_bert(folder: Path) -> Path:
    """A BERT that is no reranker."""
    import torch
    from transformers import BertModel

    torch.manual_seed(0)
    tokenizer = fast_tokenizer(BERT_SPECIAL)
    BertModel(_bert_config(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def colbert(folder: Path) -> Path:
    """A `MultiVectorEncoder`: a BERT, a projection of its tokens, a mask, unit length."""
    import torch
    from sentence_transformers import MultiVectorEncoder

    torch.manual_seed(0)
    made = MultiVectorEncoder(str(bare_bert(folder / "bert")), device="cpu")
    made.save_pretrained(str(folder / "colbert"))
    return folder / "colbert"


def rank_t5(folder: Path, score_token: str = "<extra_id_10>") -> Path:
    """A T5 encoder-decoder with the score token in its vocabulary."""
    import torch
    from transformers import T5Config, T5ForConditionalGeneration

    torch.manual_seed(0)
    special = {"pad_token": "<pad>", "unk_token": "<unk>", "eos_token": "</s>"}
    tokenizer = fast_tokenizer(special, (score_token,))
    config = T5Config(
        vocab_size=len(tokenizer),
        d_model=16,
        d_kv=8,
        d_ff=32,
        num_layers=2,
        num_heads=2,
        decoder_start_token_id=0,
        pad_token_id=0,
        eos_token_id=2,
    )
    T5ForConditionalGeneration(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
