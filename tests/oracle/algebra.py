"""The oracle of the event algebra: Definitions 9, 10 and 13 of Carlson and Lisper, by brute force.

It shares no code with the package. An interpretation gives each primitive the set of its times. An
instance is a pair (start, end), or with values a set of (primitive, time) pairs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

Interpretation = Mapping[str, Iterable[int]]
Instance = Any


@dataclass(frozen=True)
class Event:
    """A primitive, by its name."""

    name: str


@dataclass(frozen=True)
class Never:
    """The empty event."""


@dataclass(frozen=True)
class Both:
    """An operator `|`, `+`, `-` or `;` between two expressions."""

    symbol: str
    left: Term
    right: Term


@dataclass(frozen=True)
class Within:
    """A temporal restriction."""

    operand: Term
    limit: int


Term = Event | Never | Both | Within


@dataclass(frozen=True)
class Framework:
    """Definition 3: how instances are made and when they start and end."""

    primitive: Callable[[str, int], Instance]
    together: Callable[[Instance, Instance], Instance]
    start: Callable[[Instance], int]
    end: Callable[[Instance], int]


TIMES = Framework(  # Example 4.
    primitive=lambda name, time: (time, time),
    together=lambda one, other: (min(one[0], other[0]), max(one[1], other[1])),
    start=lambda instance: instance[0],
    end=lambda instance: instance[1],
)

VALUES = Framework(  # Example 5.
    primitive=lambda name, time: frozenset({(name, time)}),
    together=lambda one, other: one | other,
    start=lambda instance: min(time for _, time in instance),
    end=lambda instance: max(time for _, time in instance),
)


def meaning(term: Term, world: Interpretation, framework: Framework) -> frozenset[Instance]:
    """Definition 10, by the functions of Definition 9."""
    start, end, together = framework.start, framework.end, framework.together
    match term:
        case Event():
            return frozenset(framework.primitive(term.name, t) for t in world.get(term.name, ()))
        case Never():
            return frozenset()
        case Within():
            inner = meaning(term.operand, world, framework)
            return frozenset(s for s in inner if end(s) - start(s) <= term.limit)
    left = meaning(term.left, world, framework)
    right = meaning(term.right, world, framework)
    match term.symbol:
        case "|":
            return left | right
        case "+":
            return frozenset(together(s, t) for s in left for t in right)
        case ";":
            return frozenset(together(s, t) for s in left for t in right if end(s) < start(t))
        case "-":
            return frozenset(
                s for s in left if not any(start(s) <= start(t) and end(t) <= end(s) for t in right)
            )
    raise AssertionError(term)


def why_not_rem(
    whole: Iterable[Instance], detected: Iterable[Instance], framework: Framework
) -> str:
    """What is wrong with a restriction of an event stream by Definition 13; empty if nothing is."""
    whole, detected = frozenset(whole), list(detected)
    start, end = framework.start, framework.end
    for instance in detected:
        if instance not in whole:
            return f"{instance} does not occur"
    ends = [end(instance) for instance in detected]
    if len(set(ends)) < len(ends):
        return f"two instances end at one time: {detected}"
    if ends != sorted(ends):
        return f"instances are out of order: {detected}"
    for instance in whole:
        if not any(end(d) == end(instance) and start(instance) <= start(d) for d in detected):
            return f"nothing stands for {instance}"
    return ""


def text_of(term: Term) -> str:
    """The expression with all parentheses."""
    match term:
        case Event():
            return term.name
        case Never():
            return "0"
        case Within():
            return f"({text_of(term.operand)})[{term.limit}]"
    return f"({text_of(term.left)}) {term.symbol} ({text_of(term.right)})"
