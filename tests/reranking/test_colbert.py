from __future__ import annotations

from pathlib import Path

import pytest

from authbench.errors import ConfigError, EngineError
from authbench.reranking import colbert
from authbench.reranking.colbert import ColbertScorer

sentence_transformers = pytest.importorskip("sentence_transformers", minversion="6")

PAIRS = [
    ("how long do fleas live", "fleas live weeks"),
    ("how long do fleas live", "paris capital of france"),
    ("paris", "paris capital of france"),
    ("paris", "dogs"),
]


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory: pytest.TempPathFactory) -> str:
    from tinymodels import colbert as tiny

    return str(tiny(tmp_path_factory.mktemp("colbert")))


def test_scores_are_max_sim(checkpoint: str) -> None:
    scores = ColbertScorer(checkpoint, device="cpu").score(PAIRS)
    model = sentence_transformers.MultiVectorEncoder(checkpoint, device="cpu")
    for (query, document), score in zip(PAIRS, scores, strict=True):
        one = model.encode_query([query], show_progress_bar=False)[0]
        other = model.encode_document([document], show_progress_bar=False)[0]
        # By hand: for each token of the query its best product with a token of the document, summed.
        assert score == pytest.approx((one @ other.T).max(dim=1).values.sum().item(), abs=1e-4)


def test_blocks_do_not_change_scores(checkpoint: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = ColbertScorer(checkpoint, device="cpu").score(PAIRS)
    monkeypatch.setattr(colbert, "_BLOCK", 3)
    assert ColbertScorer(checkpoint, device="cpu", batch_size=1).score(PAIRS) == pytest.approx(
        whole, abs=1e-5
    )
    assert ColbertScorer(checkpoint, device="cpu").score([]) == []


def test_an_encoder_without_a_trained_projection_is_refused(tmp_path: Path) -> None:
    from tinymodels import bare_bert

    with pytest.raises(EngineError, match="is no ColBERT: its token projection would be random"):
        ColbertScorer(str(bare_bert(tmp_path)), device="cpu").score(PAIRS)


def test_an_old_library_is_refused(monkeypatch: pytest.MonkeyPatch, checkpoint: str) -> None:
    monkeypatch.delattr(sentence_transformers, "MultiVectorEncoder")
    with pytest.raises(ConfigError, match="needs sentence-transformers 6"):
        ColbertScorer(checkpoint).score(PAIRS)
