"""Between authbench's requests and vLLM's: checked jobs and sampling parameters out, answers back."""

from __future__ import annotations

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from authbench.engines.encoding import PromptEncoder
from authbench.engines.vllm import installed
from authbench.engines.vllm.settings import Order
from authbench.runtime.engine import Job
from authbench.runtime.messages import FinishReason, Response, Sample

_FINISH: dict[str, FinishReason] = {"stop": "stop", "length": "length"}

#: Most alternatives per token that vLLM gives without being told otherwise (`max_logprobs`).
_TOP_LOGPROBS = 20

#: Prompts whose lengths lie within this factor count as equally long, so that shared prefixes come together.
_LENGTH_STEP = 1.25


class RequestError(ValueError):
    """A request that cannot be asked; the message is for the job's `Completion.error`."""


def is_refusal(error: object) -> bool:
    """Whether it is vLLM's complaint about one request alone, and not the death of its engine."""
    client_error = getattr(sys.modules.get("vllm.exceptions"), "VLLMClientError", ValueError)
    return isinstance(error, (client_error, ValueError, TypeError, NotImplementedError))


@dataclass(frozen=True, slots=True)
class Prepared:
    """A job ready for the engine.

    Attributes:
        job: what was asked.
        tokens: token ids of the prompt, with the target's behind them for a job that scores one.
        labels: the token of each label, empty where none are wanted.
        target: how many of the tokens are the target's.
    """

    job: Job
    tokens: list[int]
    labels: tuple[int, ...] = ()
    target: int = 0


def prepare(job: Job, tokens: list[int], encoder: PromptEncoder, limit: int | None) -> Prepared:
    """Check a job against the model; `limit` is the most tokens of prompt and answer.

    Raises:
        RequestError: it does not fit the context, or a label is not one token.
    """
    request = job.request
    labels = tuple(_single_token(label, encoder) for label in request.labels)
    target: list[int] = []
    if request.score_target is not None:
        target = encoder.encode_text(request.score_target)
        if not target:
            raise RequestError("the target to be scored has no tokens")
    needed = len(tokens) + (len(target) + 1 if target else request.sampling.max_tokens)
    if limit is not None and needed > limit:
        raise RequestError(
            f"{needed} tokens of prompt and answer do not fit the context of {limit}; raise max_model_len"
        )
    return Prepared(job, tokens + target, labels, len(target))


def _single_token(label: str, encoder: PromptEncoder) -> int:
    tokens = encoder.encode_text(label)
    if len(tokens) != 1:
        raise RequestError(f"the label {label!r} is {len(tokens)} tokens of this model, not one")
    return tokens[0]


def waiting_place(order: Order, tokens: list[int], arrival: int) -> Any:
    """What orders the waiting jobs: smaller is sooner.

    Longest first, since a long prompt at the end would run alone; prompts of about the same length in the
    order of their tokens, so that those with a common prefix follow one another and find it in the cache.
    Measured to be faster than the order of arrival.
    """
    if order == "arrival":
        return arrival
    return (-math.ceil(math.log(max(len(tokens), 1), _LENGTH_STEP)), tokens)


def parameters(prepared: Prepared) -> Any:
    """vLLM's sampling parameters for a job: finished outputs only, and nothing that was not asked for."""
    from vllm.sampling_params import RequestOutputKind, SamplingParams, StructuredOutputsParams

    values = parameter_values(prepared)
    constraint = prepared.job.request.constraint
    if constraint is not None:
        value = list(constraint.value) if constraint.kind == "choice" else constraint.value
        values["structured_outputs"] = StructuredOutputsParams(**{constraint.kind: value})
    return SamplingParams(**values, output_kind=RequestOutputKind.FINAL_ONLY)


def parameter_values(prepared: Prepared) -> dict[str, Any]:
    """The parameters by name, as far as they are plain values.

    vLLM draws the answers of a request by its seed and the numbers that follow (`ParentRequest` in
    `vllm.v1.engine.parallel_sampling`), as `Sampling.seed_of` counts.
    """
    sampling = prepared.job.request.sampling
    values: dict[str, Any] = {
        "max_tokens": sampling.max_tokens,
        "temperature": sampling.temperature,
        "top_p": sampling.top_p,
        "n": sampling.n,
    }
    if prepared.job.seed is not None:
        values["seed"] = prepared.job.seed
    if sampling.stop:
        values["stop"] = list(sampling.stop)
    if prepared.target:
        # One token has to be generated; 0 alternatives gives the prompt's own tokens alone.
        values.update(max_tokens=1, prompt_logprobs=0, detokenize=False)
    if prepared.labels and "logprob_token_ids" in installed.sampling_parameters():
        values["logprob_token_ids"] = sorted(set(prepared.labels))
    elif prepared.labels:
        values["logprobs"] = _TOP_LOGPROBS
    return values


def to_response(prepared: Prepared, output: Any, seconds: float) -> Response | str:
    """The response in a finished output of vLLM, or what went wrong with it."""
    error = getattr(output, "error", None)
    if error is not None:
        return f"vLLM: {getattr(error, 'message', error)}"
    completions = sorted(output.outputs, key=lambda completion: completion.index)
    for completion in completions:
        if not prepared.target and completion.finish_reason not in _FINISH:
            return f"vLLM ended the request with '{completion.finish_reason}'"
    prompt = output.prompt_token_ids or prepared.tokens
    return Response(
        tuple(_sample(prepared, output, completion) for completion in completions),
        prompt_tokens=len(prompt) - prepared.target,
        cached_tokens=max(int(output.num_cached_tokens or 0), 0),
        seconds=seconds,
    )


def _sample(prepared: Prepared, output: Any, completion: Any) -> Sample:
    if prepared.target:
        return Sample("", "stop", target_logprob=_target_logprob(prepared, output.prompt_logprobs))
    first = completion.logprobs[0] if completion.logprobs else {}
    labels = (float(first[token].logprob) if token in first else -math.inf for token in prepared.labels)
    return Sample(
        text=completion.text,
        finish_reason=_FINISH[completion.finish_reason],
        output_tokens=len(completion.token_ids),
        label_logprobs=tuple(labels) if prepared.labels else None,
    )


def _target_logprob(prepared: Prepared, rows: Sequence[Any]) -> float:
    """Sum over the target's tokens; the rows of `prompt_logprobs` end with theirs."""
    tokens = prepared.tokens[-prepared.target :]
    return float(sum(row[token].logprob for row, token in zip(rows[-prepared.target :], tokens, strict=True)))
