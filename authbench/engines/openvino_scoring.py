"""Log-probabilities of given texts, for the engine `openvino`."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from authbench.engines import openvino_runtime as runtime
from authbench.engines.gguf import GgufInfo
from authbench.engines.openvino_settings import OpenVinoSettings
from authbench.errors import EngineError


class Scorer:
    """A second pipeline that echoes prompts with their log-probabilities, one prompt at a time.

    One at a time, since the library reads the wrong rows where echoing and other requests meet in one
    step; without a prefix cache, since what comes out of it has no log-probabilities.
    """

    def __init__(self, path: Path, info: GgufInfo, tokenizer: Any, settings: OpenVinoSettings) -> None:
        self._pipeline: Any = runtime.load_echo_pipeline(path, info, tokenizer, settings)
        self._next_id = 0

    def logprob(self, ids: Sequence[int], target: Sequence[int]) -> float:
        """The sum over the target's tokens after the prompt, in nats."""
        self._next_id += 1
        config = runtime.echoed(self._pipeline.get_config())
        try:
            handle = self._pipeline.add_request(self._next_id, runtime.tensor([*ids, *target]), config)
            while self._pipeline.has_non_finished_requests():
                self._pipeline.step()
            output = handle.read_all()[0]
        except runtime.ERRORS as error:
            raise EngineError(f"OpenVINO failed: {runtime.explain(error)}") from error
        # One for each prompt token (the first has none and counts as 1), and one for the token made.
        logprobs = output.generated_log_probs
        if len(logprobs) != len(ids) + len(target) + 1:
            raise EngineError(
                f"OpenVINO gave {len(logprobs)} log-probabilities for {len(ids) + len(target)} tokens"
            )
        return min(0.0, float(sum(logprobs[len(ids) : len(ids) + len(target)])))

    def close(self) -> None:
        """Drop the weights."""
        self._pipeline = None
