"""What an engine is: the interface between the scheduler and whatever runs the model.

An engine object is cheap to make. It can render prompts and say what it is without loading weights;
`load` does that, and is called by the scheduler before the first `submit` only. So a run whose answers
are all known never loads a model.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from authbench.runtime.messages import Request, Response


@dataclass(frozen=True, slots=True)
class Capabilities:
    """What an engine can do beyond one greedy answer to a chat."""

    samples: bool = True  #: several sampled answers to one request
    constraints: frozenset[str] = frozenset()  #: kinds of `Constraint` it honours
    label_logprobs: bool = False  #: `Request.labels`
    prompt_logprobs: bool = False  #: `Request.score_target`

    def lacking(self, request: Request) -> str | None:
        """The name of the first capability the request needs and this engine lacks, or None."""
        if request.sampling.n > 1 and not self.samples:
            return "samples"
        if request.constraint is not None and request.constraint.kind not in self.constraints:
            return f"constraint {request.constraint.kind}"
        if request.labels and not self.label_logprobs:
            return "label_logprobs"
        if request.score_target is not None and not self.prompt_logprobs:
            return "prompt_logprobs"
        return None


@dataclass(frozen=True, slots=True)
class ModelIdentity:
    """What decides an answer besides the prompt and the sampling: part of every key of the store.

    Attributes:
        model: hub id or the name of a file's model.
        revision: commit or content hash; "unknown" where a server does not say.
        precision: such as `bfloat16`, `Q4_1`, `awq`, or "unknown".
        family: the engine's name: `vllm`, `openvino`, `openai`, `fake`. An engine that hands work to
            an inner one (`ray`) gives the inner one's, and so shares its answers.
    """

    model: str
    revision: str
    precision: str
    family: str


@dataclass(frozen=True, slots=True)
class RenderedPrompt:
    """A prompt as the model sees it.

    Attributes:
        text: the chat template filled in.
        cuts: ascending offsets into `text`. The pieces between them are tokenised one by one and joined:
            a cut lies inside every control-token string that stands in data, so that it is encoded as
            text. Nearly always empty, and then the whole text is tokenised at once.
    """

    text: str
    cuts: tuple[int, ...] = ()

    def pieces(self) -> list[str]:
        """The text cut at `cuts`; joined they are the text again."""
        edges = [0, *self.cuts, len(self.text)]
        return [self.text[a:b] for a, b in pairwise(edges)]


@dataclass(frozen=True, slots=True)
class Job:
    """One unit of work for an engine.

    Attributes:
        number: the scheduler's.
        request: what to answer.
        prompt: as the engine rendered it.
        first: number of the first sample that is wanted: those before it are known. An engine that draws
            by a seed draws by `seed`, or a request for more samples would repeat its first ones.
    """

    number: int
    request: Request
    prompt: RenderedPrompt
    first: int = 0

    @property
    def seed(self) -> int | None:
        """The seed of the first sample that is wanted, None where the request has none."""
        return self.request.sampling.seed_of(self.first)


@dataclass(frozen=True, slots=True)
class Completion:
    """A finished job: a response, or an error that concerns this job alone."""

    number: int
    response: Response | None = None
    error: str | None = None


class Engine(ABC):
    """Base class of the engines. Not thread-safe: one scheduler owns it.

    The scheduler calls `load` once, then `submit` at any time, also while it iterates over
    `completions`. Errors of single jobs come as `Completion.error`; an engine that is dead raises
    `EngineError`, and whatever had been yielded before is kept.
    """

    #: The name in configurations and in `ModelIdentity.family`.
    name: str = ""

    @property
    @abstractmethod
    def identity(self) -> ModelIdentity:
        """Which model this is. Must not load weights."""

    @property
    @abstractmethod
    def capabilities(self) -> Capabilities:
        """What can be asked. Must not load weights."""

    @abstractmethod
    def render(self, request: Request) -> RenderedPrompt:
        """Fill in the chat template. Must not load weights."""

    @abstractmethod
    def submit(self, jobs: Sequence[Job]) -> None:
        """Take on work; returns at once. Job numbers are never used twice."""

    @abstractmethod
    def completions(self) -> Iterator[Completion]:
        """Yield jobs as they finish, in any order; end when nothing is in flight.

        `submit` and `cancel` may be called between two yields.
        """

    def expect(self, longest: Callable[[], int]) -> None:
        """Be told, before `load`, how to find the plan's longest request: tokens of prompt and answer.

        An engine that makes room for no more than that calls it when it loads, and others never do:
        counting takes seconds for a plan with long texts. Without a plan (prompts that come in one by one)
        nobody calls this.
        """

    def load(self) -> None:
        """Load weights or connect. Raises `EngineError` with the way out."""

    def cancel(self, numbers: Sequence[int]) -> None:
        """Drop jobs that are not wanted any more; no completion follows for those dropped.

        An engine that cannot may let them finish: the scheduler ignores completions it does not wait for.
        """

    def count_tokens(self, prompts: Sequence[RenderedPrompt]) -> list[int] | None:
        """Exact token counts without loading weights, or None where there is no tokenizer at hand."""
        return None

    @property
    def context_length(self) -> int | None:
        """Most tokens of prompt and answer together, or None where unknown."""
        return None

    @property
    def rendering(self) -> Mapping[str, Any]:
        """JSON-able facts from which prompts can be rendered again with no model on the machine.

        `{"template": str | None, "kwargs": {...}, "control_tokens": [...], ...}`, see
        `authbench.engines.chat.ChatTemplate`.
        """
        return {}

    def info(self) -> Mapping[str, Any]:
        """JSON-able facts for `run.json`: versions, device, arguments, cache hit rate. After the run."""
        return {}

    def close(self) -> None:
        """Free what `load` took. Safe to call twice, or without `load`."""


@dataclass(frozen=True, slots=True)
class ModelConfig:
    """A model as `configs/models/NAME.yaml` describes it, resolved; engines are made from it.

    Attributes:
        name: the short name used on the command line and as a folder name (`qwen3-8b`).
        id: hub id (`Qwen/Qwen3-8B`).
        revision: hub commit or None for the newest.
        paper_name: the name in the papers' tables (`Qwen3-8B`), or None.
        context_length: from the model's own configuration; None where unknown.
        chat_template_kwargs: arguments for the chat template (`enable_thinking: false`).
        gguf: where a GGUF of it lies: `{"path": ...}` or `{"package": ..., "file": ...}`, or None.
        path: a local Hugging Face folder used instead of the hub, or None.
        engine: settings per engine: `{"vllm": {"tensor_parallel_size": 2}}`.
        parameters: number of parameters, for memory estimates; None where unknown.
        kv_bytes_per_token: bytes of keys and values a token takes in 16-bit precision, likewise.
        tiny: True for a model whose numbers prove machinery only; said wherever they show.
    """

    name: str
    id: str
    revision: str | None = None
    paper_name: str | None = None
    context_length: int | None = None
    chat_template_kwargs: Mapping[str, Any] = field(default_factory=dict)
    gguf: Mapping[str, str] | None = None
    path: str | None = None
    engine: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    parameters: int | None = None
    kv_bytes_per_token: int | None = None
    tiny: bool = False
