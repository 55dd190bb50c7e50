"""OpenVINO GenAI as authbench uses it: tokenizer, pipelines, generation configurations, messages of errors.

The only module that touches the library; it is imported when something is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import openvino
import openvino_genai as genai

from authbench.engines.gguf import GgufInfo
from authbench.engines.openvino.settings import OpenVinoSettings
from authbench.errors import EngineError
from authbench.runtime.messages import Constraint, Sampling

#: What the library raises, from C++.
ERRORS = (RuntimeError, IndexError, ValueError, TypeError)

#: Its tokenizer cuts what is longer, and says nothing.
_LONGEST = 8192
_CHUNK = 2000
_BATCH = 256
_WORD_START = re.compile(r"(?<=[A-Za-z0-9.,;:!?]) (?=[A-Za-z])")

#: Room in a pipeline for the throw-away sequences of a lane.
_EXTRA_SEQUENCES, _EXTRA_TOKENS = 4, 64


class Model:
    """A GGUF file as the library reads it: tokenizer and pipelines.

    Making one takes seconds and reads no weights into memory. Raises `EngineError` if the library cannot
    read the file, with what the file holds.
    """

    def __init__(self, path: Path, info: GgufInfo, settings: OpenVinoSettings) -> None:
        self._path = path
        self._info = info
        self._settings = settings
        self._tokenizer = self._read(lambda: genai.Tokenizer(str(path)))

    def pipeline(self, *, prefixes: bool) -> Any:
        """A pipeline with weights, with or without a prefix cache."""
        config = genai.SchedulerConfig()
        config.cache_size = self._settings.cache_size
        config.max_num_seqs = self._settings.max_num_seqs + _EXTRA_SEQUENCES
        config.enable_prefix_caching = prefixes
        config.dynamic_split_fuse = self._settings.dynamic_split_fuse
        config.max_num_batched_tokens = self._settings.step_tokens(self._info.context_length) + _EXTRA_TOKENS
        return self._pipeline(config)

    def echo_pipeline(self) -> Any:
        """A pipeline for the log-probabilities of prompts.

        Without a prefix cache, since these have to be computed anew, and in small steps, since each token
        takes the vocabulary's size in memory.
        """
        config = genai.SchedulerConfig()
        config.cache_size = self._settings.cache_size
        config.max_num_batched_tokens = 256
        return self._pipeline(config)

    def _pipeline(self, config: Any) -> Any:
        return self._read(
            lambda: genai.ContinuousBatchingPipeline(
                str(self._path), self._tokenizer, config, "CPU", **self._settings.properties()
            )
        )

    def _read(self, make: Callable[[], Any]) -> Any:
        try:
            return make()
        except ERRORS as error:
            kinds = ", ".join(self._info.tensor_types)
            raise EngineError(
                f"OpenVINO GenAI {genai.__version__.split('-')[0]} cannot read {self._path} "
                f"({self._info.architecture}: {kinds}): {explain(error)}\n"
                "it reads llama, qwen2 and qwen3 models as F16, Q4_0, Q4_1, Q4_K, Q6_K or Q8_0"
            ) from error

    def decode(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """Texts of token ids, without control tokens."""
        texts: list[str] = self._tokenizer.decode([list(row) for row in rows])
        return texts

    def encode(self, texts: list[str], add_special_tokens: bool) -> list[list[int]]:
        """Token ids of each text, whatever its length."""
        found: list[list[int]] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            rows = self._encode(batch, add_special_tokens)
            found += [
                row if len(row) < _LONGEST else self._encode_long(text, add_special_tokens)
                for row, text in zip(rows, batch, strict=True)
            ]
        return found

    def _encode(self, texts: list[str], add_special_tokens: bool) -> list[list[int]]:
        encoded = self._tokenizer.encode(texts, add_special_tokens=add_special_tokens, max_length=_LONGEST)
        ids, mask = encoded.input_ids.data, encoded.attention_mask.data
        return [row[kept.astype(bool)].tolist() for row, kept in zip(ids, mask, strict=True)]

    def _encode_long(self, text: str, add_special_tokens: bool) -> list[int]:
        """In parts that begin with a space and a letter, where byte-level tokenizers cut anyway."""
        rest, ids = text, list[int]()
        while rest:
            starts = [found.start() for found in _WORD_START.finditer(rest, 1, _CHUNK)]
            end = len(rest) if len(rest) <= _CHUNK else starts[-1] if starts else _CHUNK
            ids += self._encode([rest[:end]], add_special_tokens and not ids)[0]
            rest = rest[end:]
        return ids


def explain(error: Exception) -> str:
    """The library's message in one line, without times and paths of its build machine."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [
        re.sub(r"^\[[\d:]+\] \S+?:\d+: ", "", line) for line in lines if not line.startswith("Check '")
    ]
    return (
        " ".join(telling or [re.sub(r" at \S+:\d+:.*", "", line) for line in lines]) or type(error).__name__
    )


def versions() -> dict[str, str]:
    """Of the library, and the processor it runs on."""
    return {
        "openvino": openvino.__version__,
        "openvino_genai": genai.__version__,
        "device": "CPU",
        "cpu": openvino.Core().get_property("CPU", "FULL_DEVICE_NAME"),
    }


def is_running(handle: Any) -> bool:
    """True until a request of a pipeline has ended, one way or another."""
    return bool(handle.get_status() == genai.GenerationStatus.RUNNING)


def was_cut(output: Any) -> bool:
    """True if an answer ran into `max_tokens`."""
    return bool(output.finish_reason == genai.GenerationFinishReason.LENGTH)


def tensor(ids: Sequence[int]) -> Any:
    """One prompt as the library takes it."""
    return openvino.Tensor(np.array([ids], dtype=np.int64))


def generation_config(base: Any, sampling: Sampling, constraint: Constraint | None, seed: int) -> Any:
    """How one request is decoded; `base` is the pipeline's own, for its end-of-text tokens."""
    config = genai.GenerationConfig()
    config.eos_token_id = base.eos_token_id
    config.stop_token_ids = base.stop_token_ids
    config.max_new_tokens = sampling.max_tokens
    if sampling.temperature > 0:
        config.do_sample = True
        config.temperature = sampling.temperature
        config.top_p = sampling.top_p
        config.num_return_sequences = sampling.n
        config.rng_seed = seed
    if sampling.stop:
        # The library cuts whole tokens and white space before them: the engine cuts the text itself.
        config.stop_strings = set(sampling.stop)
        config.include_stop_str_in_output = True
    if constraint is not None:
        config.structured_output_config = _structured_output(constraint)
    return config


def _structured_output(constraint: Constraint) -> Any:
    """A constraint for the library; choices are a regular expression."""
    value = constraint.value
    if constraint.kind == "choice":
        return genai.StructuredOutputConfig(regex="(" + "|".join(map(_literal, value)) + ")")
    text = value if isinstance(value, str) else value[0]
    if constraint.kind == "json":
        return genai.StructuredOutputConfig(json_schema=text)
    return genai.StructuredOutputConfig(regex=text)


def _literal(text: str) -> str:
    """A regular expression of the grammar library that matches this text only."""
    return re.sub(r"([\\^$.|?*+()\[\]{}/-])", r"\\\1", text)


def labels_config(base: Any, labels: Sequence[str]) -> Any:
    """Draws of one token out of those that begin a label, each with its log-probability.

    The library gives the log-probability under the model's own distribution, before constraint and
    temperature; so hot draws show each label's, at the price of one prompt.
    """
    # Nine draws a label: of ten labels drawn evenly, one is missing once in a thousand requests.
    draws = Sampling(max_tokens=1, temperature=1000.0, n=max(40, 9 * len(labels)))
    config = generation_config(base, draws, Constraint("choice", tuple(labels)), 1)
    config.logprobs = 1
    return config


def echoed(base: Any) -> Any:
    """The prompt's own log-probabilities."""
    config = generation_config(base, Sampling(max_tokens=1), None, 0)
    config.echo = True
    config.logprobs = 1
    return config


def filler(base: Any, tokens: int) -> Any:
    """So many tokens of anything."""
    config = generation_config(base, Sampling(max_tokens=tokens), None, 0)
    config.ignore_eos = True
    return config
