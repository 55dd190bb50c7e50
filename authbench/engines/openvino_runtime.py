"""OpenVINO GenAI as authbench uses it: tokenizer, pipeline, generation configurations, messages of errors.

The only module that touches the library; it is imported when something is loaded.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from authbench.engines.encoding import EncodeBatch
from authbench.engines.gguf import GgufInfo
from authbench.engines.openvino_settings import OpenVinoSettings
from authbench.errors import EngineError
from authbench.runtime.messages import Constraint, Sampling

#: What the library raises, from C++.
ERRORS = (RuntimeError, IndexError, ValueError, TypeError)

#: Its tokenizer cuts what is longer, and says nothing.
_LONGEST = 8192
_CHUNK = 2000
_BATCH = 256
_WORD_START = re.compile(r"(?<=[A-Za-z0-9.,;:!?]) (?=[A-Za-z])")


def explain(error: Exception) -> str:
    """The library's message in one line, without times and paths of its build machine."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    telling = [
        re.sub(r"^\[[\d:]+\] \S+?:\d+: ", "", line) for line in lines if not line.startswith("Check '")
    ]
    return (
        " ".join(telling or [re.sub(r" at \S+:\d+:.*", "", line) for line in lines]) or type(error).__name__
    )


def cannot_read(path: Path, info: GgufInfo, error: Exception) -> EngineError:
    """An error that names the file and what it holds."""
    import openvino_genai

    version = openvino_genai.__version__.split("-")[0]
    kinds = ", ".join(info.tensor_types)
    return EngineError(
        f"OpenVINO GenAI {version} cannot read {path} ({info.architecture}: {kinds}): {explain(error)}\n"
        "it reads llama, qwen2 and qwen3 models as F16, Q4_0, Q4_1, Q4_K, Q6_K or Q8_0"
    )


def load_tokenizer(path: Path, info: GgufInfo) -> Any:
    """The tokenizer alone; takes seconds, reads no weights into memory."""
    import openvino_genai

    try:
        return openvino_genai.Tokenizer(str(path))
    except ERRORS as error:
        raise cannot_read(path, info, error) from error


def load_pipeline(
    path: Path, info: GgufInfo, tokenizer: Any, settings: OpenVinoSettings, *, prefixes: bool
) -> Any:
    """A pipeline with weights, with or without a prefix cache."""
    import openvino_genai

    config = openvino_genai.SchedulerConfig()
    config.cache_size = settings.cache_size
    config.max_num_seqs = settings.max_num_seqs + _EXTRA_SEQUENCES
    config.enable_prefix_caching = prefixes
    config.dynamic_split_fuse = settings.dynamic_split_fuse
    config.max_num_batched_tokens = settings.batched_tokens(info.context_length) + _EXTRA_TOKENS
    return _load(path, info, tokenizer, config, settings)


def load_echo_pipeline(path: Path, info: GgufInfo, tokenizer: Any, settings: OpenVinoSettings) -> Any:
    """A pipeline for the log-probabilities of prompts.

    Without a prefix cache, since these have to be computed anew, and in small steps, since each token
    takes the vocabulary's size in memory.
    """
    import openvino_genai

    config = openvino_genai.SchedulerConfig()
    config.cache_size = settings.cache_size
    config.max_num_batched_tokens = 256
    return _load(path, info, tokenizer, config, settings)


#: Room for the throw-away sequences of a lane.
_EXTRA_SEQUENCES, _EXTRA_TOKENS = 4, 64


def _load(path: Path, info: GgufInfo, tokenizer: Any, config: Any, settings: OpenVinoSettings) -> Any:
    import openvino_genai

    try:
        return openvino_genai.ContinuousBatchingPipeline(
            str(path), tokenizer, config, "CPU", **settings.properties()
        )
    except ERRORS as error:
        raise cannot_read(path, info, error) from error


def is_running(handle: Any) -> bool:
    """True until a request of a pipeline has ended, one way or another."""
    from openvino_genai import GenerationStatus

    return bool(handle.get_status() == GenerationStatus.RUNNING)


def was_cut(output: Any) -> bool:
    """True if an answer ran into `max_tokens`."""
    from openvino_genai import GenerationFinishReason

    return bool(output.finish_reason == GenerationFinishReason.LENGTH)


def encode_batch(tokenizer: Any) -> EncodeBatch:
    """Token ids of texts in batches; long texts are encoded in parts, see `_LONGEST`."""

    def encode(texts: list[str], add_special_tokens: bool) -> list[list[int]]:
        found: list[list[int]] = []
        for start in range(0, len(texts), _BATCH):
            batch = texts[start : start + _BATCH]
            rows = _encode(tokenizer, batch, add_special_tokens)
            found += [
                row if len(row) < _LONGEST else _encode_long(tokenizer, text, add_special_tokens)
                for row, text in zip(rows, batch, strict=True)
            ]
        return found

    return encode


def _encode(tokenizer: Any, texts: list[str], add_special_tokens: bool) -> list[list[int]]:
    encoded = tokenizer.encode(texts, add_special_tokens=add_special_tokens, max_length=_LONGEST)
    ids, mask = encoded.input_ids.data, encoded.attention_mask.data
    return [row[kept.astype(bool)].tolist() for row, kept in zip(ids, mask, strict=True)]


def _encode_long(tokenizer: Any, text: str, add_special_tokens: bool) -> list[int]:
    """In parts that begin with a space and a letter, where byte-level tokenizers cut anyway."""
    parts, start = [], 0
    while len(text) - start > _CHUNK:
        found = None
        for found in _WORD_START.finditer(text, start + 1, start + _CHUNK):  # noqa: B007 - the last one
            pass
        end = found.start() if found is not None else start + _CHUNK
        parts.append(text[start:end])
        start = end
    parts.append(text[start:])
    rows = _encode(tokenizer, parts[:1], add_special_tokens)
    if len(parts) > 1:
        rows += _encode(tokenizer, parts[1:], False)
    return [token for row in rows for token in row]


def tensor(ids: Sequence[int]) -> Any:
    """One prompt as the library takes it."""
    import numpy as np
    from openvino import Tensor

    return Tensor(np.array([ids], dtype=np.int64))


def generation_config(base: Any, sampling: Sampling, constraint: Constraint | None, seed: int) -> Any:
    """How one request is decoded; `base` is the pipeline's own, for its end-of-text tokens."""
    from openvino_genai import GenerationConfig

    config = GenerationConfig()
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
        config.structured_output_config = structured_output(constraint)
    return config


def structured_output(constraint: Constraint) -> Any:
    """A constraint for the library; choices are a regular expression."""
    from openvino_genai import StructuredOutputConfig

    if constraint.kind == "json":
        return StructuredOutputConfig(json_schema=_text(constraint))
    if constraint.kind == "regex":
        return StructuredOutputConfig(regex=_text(constraint))
    return StructuredOutputConfig(regex="(" + "|".join(map(literal, constraint.value)) + ")")


def literal(text: str) -> str:
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


def _text(constraint: Constraint) -> str:
    return constraint.value if isinstance(constraint.value, str) else constraint.value[0]
