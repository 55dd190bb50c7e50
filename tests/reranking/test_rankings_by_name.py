from __future__ import annotations

from typing import get_args

import pytest

from authbench.errors import ConfigError
from authbench.reranking import colbert, crossencoder, rankt5
from authbench.reranking.registry import LLM_BASES, MODEL_BASES, BaseRanking, make_scorer


def test_every_base_is_asked_of_one_kind_of_model() -> None:
    assert sorted(get_args(BaseRanking)) == sorted(("retriever", *LLM_BASES, *MODEL_BASES))


@pytest.mark.parametrize(
    ("name", "checkpoint"),
    [
        ("cross-encoder", crossencoder.CHECKPOINT),
        ("colbert", colbert.CHECKPOINT),
        ("rankt5", rankt5.CHECKPOINT),
    ],
)
def test_checkpoints_have_defaults_and_are_settings(name: str, checkpoint: str) -> None:
    # Making one loads nothing, so this runs without torch.
    assert vars(make_scorer(name, batch_size=4))["checkpoint"] == checkpoint
    assert vars(make_scorer(name, "mine", device="cpu"))["checkpoint"] == "mine"


def test_unknown_names() -> None:
    with pytest.raises(ConfigError, match="did you mean 'colbert'"):
        make_scorer("colberts")
    with pytest.raises(ConfigError, match="is not one of"):
        make_scorer("yesno")
