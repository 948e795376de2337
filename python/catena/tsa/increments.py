"""The increment of a stream: its queries, and the limits of each execution (Definition 27).

An increment expression is compiled once. What changes from one execution to the next are whole
numbers, the *thresholds*: for each time of each occurrence of an input the keep value (`low`) and
the reach (`high`), and for each progressing attribute of the output the progress before (`old`) and
after (`new`). Rows of an input take part if low < x ≤ high for all their times; results are those
that are up to some `new` and beyond every `old`.

All limits are ticks, the last one that a bound covers, so that strictness is settled here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

from catena.tsa.bounds import Bound
from catena.tsa.progress import NEVER, UNLIMITED, Function, Progress, least_of
from catena.tsa.queries import Query
from catena.tsa.relations import Stream
from catena.tsa.temporal import TICKS

FAR = 2**62
"""A tick beyond all others; minus that, before all others."""


@dataclass(frozen=True, slots=True)
class Slot:
    """The place of a limit: of an input's occurrence in a query, or of the output (query -1)."""

    side: Literal["low", "high", "old", "new"]
    attribute: str
    query: int = -1
    leaf: int = -1


Thresholds: TypeAlias = Mapping[Slot, int]


def tick(bound: Bound, stream: Stream, attribute: str) -> int:
    """The last tick of a stream's attribute that a bound covers, within what is far."""
    last = bound.last_tick(TICKS[stream.kinds[attribute]])
    if last is None:
        return FAR if bound.value > 0 else -FAR
    return max(-FAR, min(FAR, last))


@dataclass(frozen=True)
class Increment:
    """All queries that contribute to a stream, evaluated together, so that nothing comes twice."""

    stream: Stream
    queries: tuple[Query, ...]

    @cached_property
    def propagation(self) -> Mapping[str, Function]:
        """The progress that the stream makes, by stream bound identifier (Definition 26.3)."""
        return {
            self.stream.bound(name): least_of(query.propagation[name] for query in self.queries)
            for name in self.stream.progressing
        }

    @cached_property
    def limits(self) -> Mapping[Slot, tuple[Stream, Function]]:
        """Where inputs are limited, and by which function of the output's progress."""
        found: dict[Slot, tuple[Stream, Function]] = {}
        for i, query in enumerate(self.queries):
            for j, leaf in enumerate(query.relation.schema.leaves):
                for name, low in query.keep[j].items():
                    if low != NEVER:
                        found[Slot("low", name, i, j)] = leaf.stream, low
                for name, high in query.reach[j].items():
                    if high != UNLIMITED:
                        found[Slot("high", name, i, j)] = leaf.stream, high
        return found

    @cached_property
    def slots(self) -> tuple[Slot, ...]:
        """All limits, in a fixed order."""
        names = self.stream.progressing
        ends = [Slot(side, name) for name in names for side in ("old", "new")]
        return (*self.limits, *ends)

    def thresholds(self, old: Progress, new: Progress) -> dict[Slot, int]:
        """The limits of one execution, between two progresses of the output."""
        found = {
            slot: tick(function.at(old if slot.side == "low" else new), stream, slot.attribute)
            for slot, (stream, function) in self.limits.items()
        }
        for name in self.stream.progressing:
            bound = self.stream.bound(name)
            found[Slot("old", name)] = tick(old[bound], self.stream, name)
            found[Slot("new", name)] = tick(new[bound], self.stream, name)
        return found

    def keeps(self) -> list[tuple[Stream, str, Function]]:
        """For each time of each occurrence of an input: rows up to there are not needed again."""
        return [
            (leaf.stream, name, function)
            for query in self.queries
            for leaf, functions in zip(query.relation.schema.leaves, query.keep, strict=True)
            for name, function in functions.items()
        ]
