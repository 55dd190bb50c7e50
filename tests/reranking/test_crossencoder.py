from __future__ import annotations

from pathlib import Path

import pytest

from authbench.errors import ConfigError, EngineError
from authbench.reranking.common import Candidate, rerank_all
from authbench.reranking.crossencoder import CrossEncoderScorer

pytest.importorskip("sentence_transformers")

PAIRS = [
    ("how long do fleas live", "fleas live weeks"),
    ("how long do fleas live", "paris capital of france"),
    ("paris", "the capital of france"),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tinymodels import cross_encoder

    return str(cross_encoder(tmp_path_factory.mktemp("cross")))


def test_scores_are_the_models_logits(checkpoint: str) -> None:
    import torch
    from transformers import AutoModelForSequenceClassification, AutoTokenizer

    scores = CrossEncoderScorer(checkpoint, device="cpu").score(PAIRS)
    tokenizer = AutoTokenizer.from_pretrained(checkpoint)
    model = AutoModelForSequenceClassification.from_pretrained(checkpoint).eval()
    for (query, document), score in zip(PAIRS, scores, strict=True):
        with torch.inference_mode():
            wanted = model(**tokenizer(query, document, return_tensors="pt")).logits.item()
        assert score == pytest.approx(wanted, abs=1e-5)


def test_batches_do_not_change_scores(checkpoint: str) -> None:
    one = CrossEncoderScorer(checkpoint, batch_size=1, device="cpu").score(PAIRS * 3)
    many = CrossEncoderScorer(checkpoint, batch_size=8, device="cpu").score(PAIRS * 3)
    assert one == pytest.approx(many, abs=1e-5)


def test_it_reranks(checkpoint: str) -> None:
    scorer = CrossEncoderScorer(checkpoint, device="cpu")
    found = [Candidate("x", "fleas live weeks"), Candidate("y", "paris capital of france")]
    made = rerank_all(scorer, {"q": PAIRS[0][0]}, {"q": found})["q"]
    wanted = sorted(zip(made.scores, ["x", "y"], strict=True), reverse=True)
    assert made.order == [name for _, name in wanted]
    assert made.scores == pytest.approx(scorer.score(PAIRS[:2]), abs=1e-5)


def test_checkpoints_that_will_not_do(tmp_path: Path) -> None:
    from tinymodels import cross_encoder

    with pytest.raises(EngineError, match="has 3 outputs; a reranker has one"):
        CrossEncoderScorer(str(cross_encoder(tmp_path, outputs=3)), device="cpu").score(PAIRS)
    with pytest.raises(ConfigError, match="no model in"):
        CrossEncoderScorer(str(tmp_path / "nowhere")).score(PAIRS)
