"""Confidence of a black-box model: the Maximum Semantic Cluster Proportion, MSCP (LCR, section 3.1).

K answers are sampled, clustered by meaning with the same model, and C = size of the largest cluster / K.
The query's confidence is taken without a document, a document's with it as context.
"""

from __future__ import annotations

from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import log
from typing import Any, Literal

from authbench.errors import ConfigError, DataError
from authbench.lcr.clustering import (
    Asking,
    Centroid,
    Clusterer,
    Embed,
    Enough,
    Greedy,
    Pairwise,
    components,
    largest,
    never,
    semantic_entropy,
)
from authbench.lcr.entailment import entails, read_entailment
from authbench.lcr.prompts import LcrPrompts
from authbench.runtime.messages import Outcome, Parsed, Procedure, Request, Response, Sample, Sampling

Measure = Literal["mscp", "entropy"]


@dataclass(frozen=True, slots=True)
class ConfidenceSettings:
    """How a confidence is measured. The defaults are LCR's where they are known, see docs/lcr.md.

    Attributes:
        samples: K.
        temperature: of the samples; above 0 if there is more than one.
        top_p: nucleus mass of the samples; the paper does not state it.
        max_tokens: most tokens of a sample; the paper does not state it.
        clustering: `greedy` with the first member as representative, `pairwise` with connected
            components, or `centroid`: greedy, the member nearest to the mean embedding as representative.
    """

    samples: int = 10
    temperature: float = 1.0
    top_p: float = 1.0
    max_tokens: int = 64
    clustering: Literal["greedy", "pairwise", "centroid"] = "greedy"

    def __post_init__(self) -> None:
        if self.samples < 1:
            raise ConfigError(f"confidence.samples {self.samples}: at least one sample is needed")
        if self.samples > 1 and self.temperature <= 0:
            raise ConfigError("confidence.temperature must be above 0: greedy answers are all the same")

    def sampling(self, n: int) -> Sampling:
        """The sampling of the first `n` answers."""
        return Sampling(self.max_tokens, self.temperature, self.top_p, n)


def mscp(
    question: str,
    document: str | None,
    settings: ConfidenceSettings,
    prompts: LcrPrompts,
    *,
    decided: Enough | None = None,
    embed: Embed | None = None,
) -> Procedure[Outcome]:
    """Sample answers and cluster them by meaning.

    Args:
        question: the query's text.
        document: its text as context, or None for the query's own confidence.
        settings: see `ConfidenceSettings`.
        prompts: see `LcrPrompts`.
        decided: if given, sampling and clustering stop once it says so. It is told the least and the most
            that the largest cluster of all K samples can have, and must be true where the two are equal.
            Needs greedy clustering.
        embed: embeddings of answers, one row each; for `centroid` only.

    The outcome's values, which `confidence_of` reads: `k`; `largest`, size of the largest cluster, or where
    work ended early the least that it can be; `labels`, the cluster of each sample (None where clustering
    ended before it had one); `links`, for `pairwise`, places of samples with one meaning; `entailment_calls`;
    `n_unclear`, entailment answers without one of the three words (they count as neutral); `n_empty` and
    `n_truncated` samples. The samples themselves are the value of the first answer.
    """
    if decided is not None and settings.clustering != "greedy":
        raise ConfigError(f"adaptive confidence needs greedy clustering, not {settings.clustering}")
    k = settings.samples
    clusterer = _clusterer(settings, embed)
    answers: list[Parsed] = []
    judged: list[Parsed] = []
    samples: list[Sample] = []
    bounds = (1, k)
    while len(samples) < k and not (decided and decided(*bounds)):
        drawn = len(samples)
        total = k if decided is None else drawn + _fewest(decided, bounds[0] if drawn else 0, k - drawn)
        (response,) = yield [prompts.answer(question, document, settings.sampling(total))]
        answers.append(_read_samples(response))
        samples += response.samples[drawn:total]
        left = k - total
        asking = clusterer.add([s.text for s in samples[drawn:]], _of_all(decided, left))
        yield from _ask(asking, question, prompts, answers, judged)
        bounds = clusterer.bounds[0], clusterer.bounds[1] + left
    values = {
        "k": k,
        "largest": bounds[0],
        "labels": clusterer.labels(),
        **({"links": clusterer.links()} if isinstance(clusterer, Pairwise) else {}),
        "entailment_calls": len(judged),
        "n_unclear": sum(not answer.valid for answer in judged),
        "n_empty": sum(not text for text in clusterer.samples),
        "n_truncated": sum(sample.finish_reason == "length" for sample in samples),
    }
    return Outcome(tuple(answers), values)


def confidence_of(values: Mapping[str, Any], measure: Measure = "mscp", k: int | None = None) -> Fraction:
    """The confidence that an outcome of `mscp` comes to, in [0, 1], exact.

    Args:
        values: of the outcome.
        measure: `mscp`, C; or the paper's ablation `entropy`, 1 - semantic entropy / ln K, rounded to nine
            digits, which makes it exactly 1 for one cluster and 0 for K clusters.
        k: of the first `k` samples only, as if no more had been drawn; None for all.

    Raises `DataError` if fewer samples were drawn and clustered, or for the entropy of a single one.
    """
    if measure == "mscp" and k is None:
        return Fraction(values["largest"], values["k"])
    drawn: int = values["k"] if k is None else k
    if measure == "entropy" and drawn < 2:
        raise DataError("confidences of this run: entropy needs at least two samples")
    labels = _labels_at(values, drawn)
    if measure == "mscp":
        return Fraction(largest(labels), drawn)
    return Fraction(str(round(1 - semantic_entropy(labels) / log(drawn), 9)))


def _labels_at(values: Mapping[str, Any], k: int) -> list[int]:
    """Clusters of the first `k` samples. Greedy clusters of the first samples are not changed by later ones;
    connected components are, and are worked out anew."""
    labels = values["labels"][:k]
    if k < 1 or len(labels) < k or None in labels:
        raise DataError(
            f"confidences of this run: {k} clustered samples are needed, "
            f"{len(labels) - labels.count(None)} are there"
        )
    if values.get("links") is not None:
        return components(k, [(a, b) for a, b in values["links"] if max(a, b) < k])
    return list(labels)


def _ask(
    asking: Asking, question: str, prompts: LcrPrompts, answers: list[Parsed], judged: list[Parsed]
) -> Generator[Sequence[Request], Sequence[Response], None]:
    """Put a clusterer's pairs to the model."""
    said: list[bool] | None = None
    while True:
        try:
            pairs = next(asking) if said is None else asking.send(said)
        except StopIteration:
            return
        responses = yield [prompts.entailment(question, premise, other) for premise, other in pairs]
        read = [read_entailment(response) for response in responses]
        answers += read
        judged += read
        said = [entails(answer) for answer in read]


def _fewest(decided: Enough, size: int, left: int) -> int:
    """The fewest further samples after which `decided` may be true, if all goes the shortest way.

    `size` is the largest cluster so far, `left` the samples that could still be drawn.
    """
    for more in range(1, left):
        after = range(max(size, 1), size + more + 1)
        if any(decided(largest_then, largest_then + left - more) for largest_then in after):
            return more
    return left


def _of_all(decided: Enough | None, left: int) -> Enough:
    """Bounds over the samples drawn become bounds over all: any cluster may gain those that are left."""
    return never if decided is None else lambda low, high: decided(low, high + left)


def _clusterer(settings: ConfidenceSettings, embed: Embed | None) -> Clusterer:
    if settings.clustering == "greedy":
        return Greedy()
    if settings.clustering == "pairwise":
        return Pairwise()
    if embed is None:
        raise ConfigError("confidence.clustering: centroid needs an embedding model")
    return Centroid(embed)


def _read_samples(response: Response) -> Parsed:
    """One status for a set of samples: bad only if none of them can be used."""
    samples = response.samples
    if all(sample.finish_reason == "refused" for sample in samples):
        return Parsed("refused")
    if not any(sample.text.strip() for sample in samples):
        return Parsed("empty")
    return Parsed("ok", [sample.text.strip() for sample in samples])
