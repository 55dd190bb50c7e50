from __future__ import annotations

from pathlib import Path

import pytest

from authbench.errors import EngineError
from authbench.reranking.rankt5 import RankT5Scorer

pytest.importorskip("torch")
pytest.importorskip("transformers")

PAIRS = [
    ("how long do fleas live", "fleas live weeks"),
    ("how long do fleas live", "paris capital of france"),
    ("paris", "the capital"),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tinymodels import rank_t5

    return str(rank_t5(tmp_path_factory.mktemp("t5")))


def test_scores_are_the_score_tokens_first_logit(checkpoint: str) -> None:
    import torch
    from transformers import AutoTokenizer, T5ForConditionalGeneration

    scores = RankT5Scorer(checkpoint, device="cpu").score(PAIRS)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = T5ForConditionalGeneration.from_pretrained(checkpoint).eval()
    token = tokenizer.convert_tokens_to_ids("<extra_id_10>")
    for (query, document), score in zip(PAIRS, scores, strict=True):
        inputs = tokenizer(f"Query: {query} Document: {document}", return_tensors="pt")
        with torch.inference_mode():
            logits = model(
                input_ids=inputs["input_ids"],
                attention_mask=inputs["attention_mask"],
                decoder_input_ids=torch.tensor([[0]]),
            ).logits
        assert score == pytest.approx(logits[0, 0, token].item(), abs=1e-5)


def test_batches_do_not_change_scores(checkpoint: str) -> None:
    one = RankT5Scorer(checkpoint, batch_size=1, device="cpu").score(PAIRS)
    many = RankT5Scorer(checkpoint, batch_size=8, device="cpu").score(PAIRS)
    assert one == pytest.approx(many, abs=1e-5)


def test_a_checkpoint_without_the_score_token(tmp_path: Path) -> None:
    from tinymodels import rank_t5

    folder = str(rank_t5(tmp_path, score_token="<extra_id_3>"))
    with pytest.raises(EngineError, match="has no token <extra_id_10>"):
        RankT5Scorer(folder, device="cpu").score(PAIRS)
    assert len(RankT5Scorer(folder, device="cpu", score_token="<extra_id_3>").score(PAIRS)) == 3
