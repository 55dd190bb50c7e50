"""The thresholds that are tried: LCR's pairs of bin thresholds or CAR's margins, each with a gate."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from authbench.errors import ConfigError
from authbench.lcr.rerank import Margin, Rule, Thresholds, exact


@dataclass(frozen=True, slots=True)
class Grid:
    """The values that are tried; see `grid`."""

    gates: tuple[Fraction, ...]
    bins: tuple[tuple[Fraction, Fraction], ...] | tuple[Fraction, ...]

    def rule(self, gate: int, pair: int) -> Rule:
        """The rule at a place of the grid."""
        chosen = self.bins[pair]
        if isinstance(chosen, tuple):
            return Thresholds(self.gates[gate], *chosen)
        return Margin(self.gates[gate], chosen)


def grid(step: float | str = 0.1, *, method: str = "lcr") -> Grid:
    """All values from 0 to 1 in steps, and for the gate one step more, at which every query is reranked.

    `method` is `lcr`, pairs of T_upper and T_lower with T_lower <= T_upper, or `car`, margins. What
    intervenes less comes first: low gates, then high T_upper, then low T_lower; ties go to the first.
    Raises `ConfigError` for a step that does not divide 1.
    """
    size = exact(step)
    if size <= 0 or (1 / size).denominator != 1:
        raise ConfigError(f"thresholds.step {step} must divide 1: 0.1, 0.05, 0.25, ...")
    values = [size * number for number in range(int(1 / size) + 1)]
    gates = (*values, 1 + size)
    if method == "car":
        return Grid(gates, tuple(reversed(values)))
    if method != "lcr":
        raise ConfigError(f"tuning method '{method}' is not one of lcr, car")
    return Grid(gates, tuple((up, low) for up in reversed(values) for low in values if low <= up))
