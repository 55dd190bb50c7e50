"""What a run of the task lcr measures: which confidences are read, and which thresholds are searched for.

Made from a run's configuration, as `run.json` has it, so that cells, `authbench tune` and pages measure
alike.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from authbench.lcr.confidence import Measure
from authbench.lcr.grid import Grid, grid
from authbench.lcr.rerank import Rule, Thresholds
from authbench.lcr.surface import Floats, Problem, Query, Surface, problem, surface
from authbench.lcr.tuning import best
from authbench.measures.ndcg import Gain, metric_name

Method = Literal["lcr", "car"]


@dataclass(frozen=True, slots=True)
class Reading:
    """One way to read the confidences of a run: a row of the table beside the base ranking.

    Attributes:
        method: `lcr`, pairs of thresholds, or `car`, CAR's margins.
        measure: of confidence.
        k: of the first `k` samples; None for all.
    """

    method: Method
    measure: Measure
    k: int | None

    @property
    def name(self) -> str:
        """The column `method` of `cells.json`: `lcr`, `car`, `lcr-entropy`."""
        return self.method if self.measure == "mscp" else f"{self.method}-{self.measure}"


@dataclass(frozen=True, slots=True, eq=False)
class Found:
    """Every rule of a grid on a base ranking, and the place (gate, pair) of the rule that the cells have."""

    surface: Surface
    gate: int
    pair: int

    @property
    def rule(self) -> Rule:
        """The rule."""
        return self.surface.grid.rule(self.gate, self.pair)

    @property
    def values(self) -> Floats:
        """(Q,) NDCG under the rule."""
        return self.surface.values(self.gate, self.pair)


@dataclass(frozen=True, slots=True)
class Search:
    """How NDCG is measured and thresholds are searched for.

    Attributes:
        depth: documents that are reranked.
        cutoff, gain: of NDCG.
        step: of the grid of thresholds.
        folds: of the cross-validation.
        seed: of folds, shuffles and resampling.
        shuffles: of the control.
        fixed: the rule that is used instead of the best of the grid, or None.
        readings: the rows of the table, in order.
        adaptive: whether only those confidences were taken that the fixed rule needs.
    """

    depth: int
    cutoff: int
    gain: Gain
    step: float
    folds: int
    seed: int
    shuffles: int
    fixed: Thresholds | None
    readings: tuple[Reading, ...]
    adaptive: bool

    @classmethod
    def of(cls, config: Mapping[str, Any]) -> Search:
        """From the resolved configuration of a run (`config` of its `run.json`)."""
        thresholds, confidence = config["thresholds"], config["confidence"]
        fixed = thresholds["fixed"]
        ways = [(measure, None) for measure in confidence["measures"]]
        ways += [("mscp", k) for k in confidence["at"]]
        return cls(
            depth=config["dataset"]["depth"],
            cutoff=config["cutoff"],
            gain=config["gain"],
            step=thresholds["step"],
            folds=thresholds["folds"],
            seed=thresholds["seed"],
            shuffles=thresholds["shuffles"],
            fixed=fixed and Thresholds.of(fixed["query"], fixed["upper"], fixed["lower"]),
            readings=tuple(Reading(method, *way) for method in thresholds["methods"] for way in ways),
            adaptive=confidence["adaptive"],
        )

    @property
    def metric(self) -> str:
        """The column `metric` of `cells.json`."""
        return metric_name(self.cutoff, self.gain)

    def problem(self, queries: Sequence[Query]) -> Problem:
        """The queries as arrays, ready for the search; see `authbench.lcr.surface.problem`."""
        return problem(queries, depth=self.depth, cutoff=self.cutoff, gain=self.gain)

    def grid(self, method: Method = "lcr") -> Grid:
        """The rules that are tried."""
        return grid(self.step, method=method)

    def find(self, queries: Sequence[Query], method: Method = "lcr") -> Found:
        """The rule of the cells: the fixed one, or the best of the grid on these very queries.

        Raises `DataError` if there are no queries.
        """
        given = self.problem(queries)
        if self.fixed is not None and method == "lcr":
            rule = self.fixed
            return Found(surface(given, Grid((rule.query,), ((rule.upper, rule.lower),))), 0, 0)
        found = surface(given, self.grid(method))
        return Found(found, *best(found.sums()))
