"""Semantic clusters of sampled answers by entailment in both directions (LCR, section 3.1).

A clusterer is fed samples as they come. It knows no model: `add` is a generator that yields pairs
`(premise, hypothesis)`, is sent for each whether the one entails the other, and ends when every sample has
a cluster. Three rules save calls without changing a partition:

- equal answers (after stripping white space) share a cluster and need no call;
- a pair of answers is given up at the first "no": the other direction is not asked;
- what is asked in one round is everything that is certain to be needed, so rounds are few and large.

An empty answer agrees with nothing, not even with another empty one: it is a cluster of its own.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Sequence

import numpy as np
import numpy.typing as npt

Pair = tuple[str, str]

#: Yields pairs, is sent one answer for each, ends when it has nothing more to ask.
Asking = Generator[list[Pair], Sequence[bool], None]

#: Told the least and the most that the largest cluster can have in the end; True stops the clustering.
Enough = Callable[[int, int], bool]

Embed = Callable[[Sequence[str]], npt.NDArray[np.float64]]


def never(low: int, high: int) -> bool:
    """The `Enough` that clusters to the end."""
    return False


class Clusterer(ABC):
    """Base class.

    Attributes:
        samples: what has been added, white space stripped.
        bounds: least and most that the largest cluster of these samples can have; they differ only while
            clustering goes on, or where it was ended early.
    """

    def __init__(self) -> None:
        self.samples: list[str] = []
        self.bounds = (0, 0)
        self._cluster: dict[str, int] = {}

    @abstractmethod
    def add(self, samples: Sequence[str], enough: Enough = never) -> Asking:
        """Cluster further samples, after those that were added before.

        `enough` is asked whenever it may stop the work, with bounds on the largest cluster of the samples
        added so far.
        """

    def labels(self) -> list[int | None]:
        """Cluster of each sample, counted from 0 by first appearance; None where it is not settled."""
        numbers: dict[object, int] = {}
        labels: list[int | None] = []
        for place, text in enumerate(self.samples):
            if text and text not in self._cluster:
                labels.append(None)
                continue
            name: object = ("cluster", self._cluster[text]) if text else ("empty", place)
            labels.append(numbers.setdefault(name, len(numbers)))
        return labels

    def _finish(self) -> None:
        size = largest(self.labels())
        self.bounds = (size, size)

    def _take(self, samples: Sequence[str]) -> list[str]:
        """Note the samples; the answers among them that are new, each once, in order."""
        known = set(self.samples)
        stripped = [sample.strip() for sample in samples]
        self.samples.extend(stripped)
        return [text for text in dict.fromkeys(stripped) if text and text not in known]


class Greedy(Clusterer):
    """The paper's greedy clustering: a sample joins the first cluster whose first member it matches.

    The partition is that of going through the samples one by one. What is asked at once is one leader
    against all samples that no earlier leader took, first in one direction, then, for those that said
    yes, in the other. The first that is left becomes the next leader.
    """

    def __init__(self) -> None:
        super().__init__()
        self._leaders: list[str] = []

    def add(self, samples: Sequence[str], enough: Enough = never) -> Asking:
        """See `Clusterer.add`."""
        pending = self._take(samples)
        level = 0
        while pending:
            self.bounds = self._bounds(pending, level)
            if enough(*self.bounds):
                return
            if level == len(self._leaders):
                self._cluster[pending[0]] = level
                self._leaders.append(pending.pop(0))
            if pending:
                leader = self._leaders[level]
                said = yield [(text, leader) for text in pending]
                likely = [text for text, yes in zip(pending, said, strict=True) if yes]
                back = (yield [(leader, text) for text in likely]) if likely else []
                self._cluster |= {text: level for text, yes in zip(likely, back, strict=True) if yes}
                pending = [text for text in pending if text not in self._cluster]
            level += 1
        self._finish()

    def _bounds(self, pending: Sequence[str], level: int) -> tuple[int, int]:
        """Least and most of the largest cluster: leaders below `level` can take no pending sample."""
        counts = Counter(self.samples)
        sizes = [0] * len(self._leaders)
        for text, cluster in self._cluster.items():
            sizes[cluster] += counts[text]
        open_samples = sum(counts[text] for text in pending)
        lone = 1 if counts[""] else 0
        low = max([lone, *sizes, *(counts[text] for text in pending)])
        high = max([lone, *sizes[:level], max(sizes[level:], default=0) + open_samples])
        return low, high


class Pairwise(Clusterer):
    """Every two different answers compared; clusters are the connected components.

    Two rounds in all, the fewest there can be, and up to K(K-1) calls. Where entailment is not transitive
    it need not agree with `Greedy`. Work is never ended early, since a late link can join two clusters.
    """

    def __init__(self) -> None:
        super().__init__()
        self._texts: list[str] = []
        self._links: list[Pair] = []

    def add(self, samples: Sequence[str], enough: Enough = never) -> Asking:
        """See `Clusterer.add`."""
        pairs = []
        for text in self._take(samples):
            pairs += [(text, earlier) for earlier in self._texts]
            self._texts.append(text)
        said = (yield pairs) if pairs else []
        likely = [pair for pair, yes in zip(pairs, said, strict=True) if yes]
        back = (yield [(b, a) for a, b in likely]) if likely else []
        self._links += [pair for pair, yes in zip(likely, back, strict=True) if yes]
        self._finish()

    def labels(self) -> list[int | None]:
        """See `Clusterer.labels`."""
        return list(components(len(self.samples), self.links()))

    def links(self) -> list[tuple[int, int]]:
        """Places of samples with one meaning: equal answers, and first ones that entail each other."""
        first: dict[str, int] = {}
        links = []
        for place, text in enumerate(self.samples):
            if text and first.setdefault(text, place) != place:
                links.append((first[text], place))
        return links + [(first[earlier], first[text]) for text, earlier in self._links]


class Centroid(Clusterer):
    """Greedy clustering whose representative is the member nearest to the cluster's mean embedding.

    The representative changes as a cluster grows, so samples are taken one by one: many small rounds.
    """

    def __init__(self, embed: Embed) -> None:
        super().__init__()
        self._embed = embed
        self._vectors: dict[str, npt.NDArray[np.float64]] = {}
        self._members: list[list[str]] = []

    def add(self, samples: Sequence[str], enough: Enough = never) -> Asking:
        """See `Clusterer.add`; `enough` is not asked."""
        new = self._take(samples)
        if new:
            self._vectors.update(zip(new, np.asarray(self._embed(new), dtype=np.float64), strict=True))
        for text in (sample.strip() for sample in samples):
            if not text:
                continue
            if text not in self._cluster:
                self._cluster[text] = yield from self._find(text)
            self._members[self._cluster[text]].append(text)
        self._finish()

    def _find(self, text: str) -> Generator[list[Pair], Sequence[bool], int]:
        for cluster, members in enumerate(self._members):
            representative = self._nearest(members)
            if (yield [(text, representative)])[0] and (yield [(representative, text)])[0]:
                return cluster
        self._members.append([])
        return len(self._members) - 1

    def _nearest(self, members: Sequence[str]) -> str:
        unit = np.stack([v / (np.linalg.norm(v) or 1.0) for v in (self._vectors[m] for m in members)])
        return members[int(np.argmax(np.round(unit @ unit.mean(axis=0), 12)))]


def components(count: int, links: Sequence[tuple[int, int]]) -> list[int]:
    """Connected component of each of `count` places, numbered from 0 by first appearance."""
    root = list(range(count))
    for a, b in links:
        low, high = sorted((root[a], root[b]))
        root = [low if number == high else number for number in root]
    numbers: dict[int, int] = {}
    return [numbers.setdefault(number, len(numbers)) for number in root]


def largest(labels: Sequence[int | None]) -> int:
    """Size of the largest cluster; samples without a label count for nothing."""
    return max(Counter(label for label in labels if label is not None).values(), default=0)


def semantic_entropy(labels: Sequence[int | None]) -> float:
    """Entropy in nats of the shares of the clusters (Farquhar et al. 2024, the discrete form).

    Between 0 and ln(number of samples). Raises `ValueError` if a sample has no cluster.
    """
    if any(label is None for label in labels):
        raise ValueError("the clustering was ended early: there is no entropy")
    total = len(labels)
    return -sum(size / total * math.log(size / total) for size in Counter(labels).values()) + 0.0
