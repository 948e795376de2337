"""Figures with their noise, and whether they meet a target. Knows nothing of what was measured.

A figure is measured several times, in turns with what it is compared with; it is the median of what
the rounds gave, and its noise half of the distance between the quartiles. Three kinds of targets:

    ratio     of two times of one run: missed if the figure misses the limit by more than its noise
    exact     the same on every machine, as bytes: missed if the figure misses the limit
    absolute  of this machine: met or not, and never a failure
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeAlias

Kind: TypeAlias = Literal["ratio", "exact", "absolute"]
Clock: TypeAlias = Callable[[], float]

SECONDS_MIN = 0.02
"""Short works are repeated within a round until they have taken so long; the shortest counts."""


@dataclass(frozen=True)
class Figure:
    """A measured value, and how far the rounds were apart."""

    value: float
    noise: float = 0.0


@dataclass(frozen=True)
class Line:
    """A target and what was measured for it; no figure, and the reason, if that was impossible."""

    target: str
    what: str
    kind: Kind
    limit: float
    is_ceiling: bool
    figure: Figure | None
    unit: str = ""
    reason: str = ""

    @property
    def is_met(self) -> bool:
        return self.figure is not None and self._is_kept(self.figure.value)

    @property
    def fails(self) -> bool:
        """Whether the gate stays shut for it."""
        if self.kind == "absolute":
            return False
        if self.figure is None:
            return True
        kept = self.figure.value - self.figure.noise * (1 if self.is_ceiling else -1)
        return not self._is_kept(kept if self.kind == "ratio" else self.figure.value)

    @property
    def verdict(self) -> str:
        if self.figure is None:
            return f"not measured: {self.reason}"
        if self.is_met:
            return "met"
        return "MISSED" if self.fails or self.kind == "absolute" else "missed within the noise"

    def _is_kept(self, value: float) -> bool:
        return value <= self.limit if self.is_ceiling else value >= self.limit


def ceiling(kind: Kind, target: str, what: str, limit: float, figure: Figure | None,
            unit: str = "", reason: str = "") -> Line:  # fmt: skip
    """At most the limit."""
    return Line(target, what, kind, limit, True, figure, unit, reason)


def floor(kind: Kind, target: str, what: str, limit: float, figure: Figure | None,
          unit: str = "", reason: str = "") -> Line:  # fmt: skip
    """At least the limit."""
    return Line(target, what, kind, limit, False, figure, unit, reason)


def figure_of(values: Sequence[float]) -> Figure:
    """The median, and half of the distance between the quartiles."""
    if len(values) < 2:
        return Figure(values[0])
    low, _, high = statistics.quantiles(values, n=4, method="inclusive")
    return Figure(statistics.median(values), (high - low) / 2)


def seconds_of(work: Callable[[], object], clock: Clock = time.process_time) -> float:
    """The shortest of some runs of a short work, the time of one of a long work."""
    best, total = float("inf"), 0.0
    while True:
        started = clock()
        work()
        took = max(clock() - started, 1e-9)
        best, total = min(best, took), total + took
        if total >= SECONDS_MIN:
            return best


def rounds_of(
    works: Sequence[Callable[[], object]], rounds: int, clock: Clock = time.process_time
) -> list[list[float]]:
    """For each of the works its seconds in each round; they take turns."""
    times: list[list[float]] = [[] for _ in works]
    for _ in range(rounds):
        for own, work in zip(times, works, strict=True):
            own.append(seconds_of(work, clock))
    return times


def ratio(above: Sequence[float], below: Sequence[float]) -> Figure:
    """How many times as long, round by round."""
    return figure_of([a / b for a, b in zip(above, below, strict=True)])


def rate(count: float, seconds: Sequence[float]) -> Figure:
    """So many in a second, round by round."""
    return figure_of([count / s for s in seconds])
