from __future__ import annotations

import pytest

from authbench.engines.memory import fit
from authbench.experiment.models import load_model
from authbench.runtime.engine import ModelConfig


def test_qwen3_8b_on_a_24_gb_card() -> None:
    # 24e9 * 0.9 - 3e9 = 18.6e9; weights 2 * 8,190,735,360 = 16.38e9; the rest over 147,456 bytes a token.
    found = fit(load_model("qwen3-8b"), 24e9)
    assert found is not None and found.weights == 2 * 8_190_735_360
    # 2,218,529,280 / 147,456 = 15,045 tokens is below the least useful cache, so two cards are needed.
    assert found.gpus == 2
    assert found.tokens == int((2 * 18.6e9 - 2 * 8_190_735_360) / 147_456)


@pytest.mark.parametrize(("name", "gpus"), [("qwen3-8b", 1), ("qwen3-14b", 1), ("qwen3-32b", 2)])
def test_the_papers_models_on_80_gb_cards(name: str, gpus: int) -> None:
    # Qwen3-32B: 65.5 GB of weights leave 72 - 3 - 65.5 = 3.5 GB, 13,300 tokens: too few on one card.
    found = fit(load_model(name), 80e9)
    assert found is not None and found.gpus == gpus


def test_unknown_size() -> None:
    assert fit(ModelConfig(name="x", id="x"), 80e9) is None
