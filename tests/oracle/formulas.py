"""Formulas, conditions and queries of SPEC sections 2 and 3 as frozen dataclasses.

Every node has `text()`, its catena text. An operand that is not a single word or already closed by
brackets is put in parentheses, so the text never leans on precedence. The meaning is elsewhere:
of predicates in `predicates`, of formulas in `semantics`, of queries in `query`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from typing import TypeAlias

from .predicates import (
    Aggregate,
    Both,
    Comparison,
    Either,
    InRange,
    InSet,
    IsNull,
    Like,
    Negation,
    Predicate,
    VariableAttribute,
)

Number: TypeAlias = int | float

# ---------------------------------------------------------------------------------------------
# Conditions: what stands after FILTER


@dataclass(frozen=True)
class Holds:
    """`x[P]`: every position marked x satisfies P."""

    variable: str
    predicate: Predicate

    def text(self) -> str:
        return f"{self.variable}[{self.predicate.text()}]"


# A `Comparison` among conditions compares terms: its leaves are `VariableAttribute`, `Aggregate`.
Leaf: TypeAlias = Comparison | InSet | InRange | Like | IsNull
Condition: TypeAlias = Holds | Leaf | Both | Either | Negation


# ---------------------------------------------------------------------------------------------
# Intervals and windows


def bound_text(bound: Number, unit: str | None) -> str:
    """A bound as it is written: `5` or `5 seconds`."""
    return f"{bound!r} {unit}" if unit else repr(bound)


@dataclass(frozen=True)
class Interval:
    """`[<= 1]`, `[> 2]`, `[= 3]` or `[1, 2)`: a missing end is None, one of the two is given."""

    low: Number | None = None
    high: Number | None = None
    low_open: bool = False
    high_open: bool = False
    unit: str | None = None

    def text(self) -> str:
        if self.low is None:
            assert self.high is not None, "an interval needs an end"
            return f"[{'<' if self.high_open else '<='} {bound_text(self.high, self.unit)}]"
        if self.high is None:
            return f"[{'>' if self.low_open else '>='} {bound_text(self.low, self.unit)}]"
        low, high = bound_text(self.low, self.unit), bound_text(self.high, self.unit)
        if self.low == self.high and not (self.low_open or self.high_open):
            return f"[= {low}]"
        return f"{'(' if self.low_open else '['}{low}, {high}{')' if self.high_open else ']'}"


@dataclass(frozen=True)
class Events:
    """The window `n EVENTS`: n rows."""

    count: int

    def text(self) -> str:
        return f"{self.count} EVENTS"


@dataclass(frozen=True)
class Duration:
    """The window `5` (in the unit of a numeric time column) or `5 seconds`."""

    length: Number
    unit: str | None = None

    def text(self) -> str:
        return bound_text(self.length, self.unit)


@dataclass(frozen=True)
class AttributeSpan:
    """The window `n [attr]`: a numeric attribute as the clock."""

    length: Number
    attribute: str

    def text(self) -> str:
        return f"{self.length!r} [{self.attribute}]"


Window: TypeAlias = Events | Duration | AttributeSpan


# ---------------------------------------------------------------------------------------------
# Formulas


@dataclass(frozen=True)
class Type:
    """`R`: one row of the type, marked with the type's name."""

    name: str

    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class StreamType:
    """`S > R`: one row of the type and the stream, marked with the type's name."""

    stream: str
    name: str

    def text(self) -> str:
        return f"{self.stream} > {self.name}"


@dataclass(frozen=True)
class AnyType:
    """`ANY`: one row of whatever type, marked `ANY`."""

    name = "ANY"

    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class As:
    """`phi AS x`."""

    body: Formula
    variable: str

    def text(self) -> str:
        return f"{operand(self.body)} AS {self.variable}"


@dataclass(frozen=True)
class Filter:
    """`phi FILTER condition`."""

    body: Formula
    condition: Condition

    def text(self) -> str:
        return f"{operand(self.body)} FILTER {self.condition.text()}"


@dataclass(frozen=True)
class Or:
    """`phi OR psi`."""

    left: Formula
    right: Formula

    def text(self) -> str:
        return f"{operand(self.left)} OR {operand(self.right)}"


@dataclass(frozen=True)
class And:
    """`phi AND psi`."""

    left: Formula
    right: Formula

    def text(self) -> str:
        return f"{operand(self.left)} AND {operand(self.right)}"


@dataclass(frozen=True)
class Sequence:
    """`phi ; [I] psi`."""

    left: Formula
    right: Formula
    interval: Interval | None = None

    def text(self) -> str:
        return f"{operand(self.left)} ;{suffix(self.interval)} {operand(self.right)}"


@dataclass(frozen=True)
class Adjacent:
    """`phi : [I] psi`."""

    left: Formula
    right: Formula
    interval: Interval | None = None

    def text(self) -> str:
        return f"{operand(self.left)} :{suffix(self.interval)} {operand(self.right)}"


@dataclass(frozen=True)
class SequenceNot:
    """`phi ; NOT (chi) ; [I] psi`."""

    left: Formula
    absent: Formula
    right: Formula
    interval: Interval | None = None

    def text(self) -> str:
        left, right = operand(self.left), operand(self.right)
        return f"{left} ; NOT ({self.absent.text()}) ;{suffix(self.interval)} {right}"


@dataclass(frozen=True)
class Arrow:
    """`phi -> psi`."""

    left: Formula
    right: Formula

    def text(self) -> str:
        return f"{operand(self.left)} -> {operand(self.right)}"


@dataclass(frozen=True)
class Plus:
    """`phi + [I]`."""

    body: Formula
    interval: Interval | None = None

    def text(self) -> str:
        return f"{operand(self.body)} +{suffix(self.interval)}"


@dataclass(frozen=True)
class AdjacentPlus:
    """`phi :+ [I]`."""

    body: Formula
    interval: Interval | None = None

    def text(self) -> str:
        return f"{operand(self.body)} :+{suffix(self.interval)}"


@dataclass(frozen=True)
class Unless:
    """`phi UNLESS chi`."""

    body: Formula
    absent: Formula

    def text(self) -> str:
        return f"{operand(self.body)} UNLESS {operand(self.absent)}"


@dataclass(frozen=True)
class Project:
    """`PROJECT[x, y](phi)`."""

    variables: tuple[str, ...]
    body: Formula

    def text(self) -> str:
        return f"PROJECT[{', '.join(self.variables)}]({self.body.text()})"


@dataclass(frozen=True)
class Within:
    """`(phi WITHIN w)`: a window or an interval."""

    body: Formula
    window: Window | Interval

    def text(self) -> str:
        return f"({operand(self.body)} WITHIN {self.window.text()})"


@dataclass(frozen=True)
class Select:
    """`NEXT(phi)`, and the same with LAST, MAX, STRICT, ALL."""

    strategy: str
    body: Formula

    def text(self) -> str:
        return f"{self.strategy}({self.body.text()})"


Formula: TypeAlias = (
    Type
    | StreamType
    | AnyType
    | As
    | Filter
    | Or
    | And
    | Sequence
    | Adjacent
    | SequenceNot
    | Arrow
    | Plus
    | AdjacentPlus
    | Unless
    | Project
    | Within
    | Select
)
ATOMS = (Type, StreamType, AnyType)
CLOSED = (*ATOMS, Project, Within, Select)


def operand(formula: Formula) -> str:
    """The text of a formula where it stands as an operand."""
    return formula.text() if isinstance(formula, CLOSED) else f"({formula.text()})"


def suffix(interval: Interval | None) -> str:
    """The text of an optional interval behind an operator."""
    return "" if interval is None else interval.text()


# ---------------------------------------------------------------------------------------------
# Queries


@dataclass(frozen=True)
class Query:
    """`SELECT [strategy] items [FROM ...] WHERE formula ...`; items are "*", "NONE" or names."""

    formula: Formula
    strategy: str = "ALL"
    items: str | tuple[str, ...] = "*"
    sources: tuple[str, ...] = ()
    partition: tuple[tuple[str, ...], ...] = ()
    window: Window | None = None
    consume: str | None = None
    limit: int | None = None

    def text(self) -> str:
        items = self.items if isinstance(self.items, str) else ", ".join(self.items)
        keys = ", ".join(f"[{', '.join(key)}]" for key in self.partition)
        clauses = [
            "SELECT",
            "" if self.strategy == "ALL" else self.strategy,
            items,
            f"FROM {', '.join(self.sources)}" if self.sources else "",
            f"WHERE {self.formula.text()}",
            f"PARTITION BY {keys}" if keys else "",
            f"WITHIN {self.window.text()}" if self.window else "",
            f"CONSUME BY {self.consume}" if self.consume else "",
            f"LIMIT {self.limit}" if self.limit is not None else "",
        ]
        return " ".join(clause for clause in clauses if clause)


# ---------------------------------------------------------------------------------------------
# What a formula mentions


def children(formula: Formula) -> tuple[Formula, ...]:
    """The direct subformulas, negated ones included."""
    match formula:
        case Type() | StreamType() | AnyType():
            return ()
        case Unless(body, absent):
            return (body, absent)
        case SequenceNot(left, absent, right):
            return (left, absent, right)
        case Or() | And() | Sequence() | Adjacent() | Arrow():
            return (formula.left, formula.right)
        case _:
            return (formula.body,)


def subformulas(formula: Formula) -> Iterator[Formula]:
    """The formula and everything inside it."""
    yield formula
    for child in children(formula):
        yield from subformulas(child)


@lru_cache(maxsize=10_000)
def term_variables(formula: Formula) -> frozenset[str]:
    """The variables that term comparisons inside the formula read."""
    conditions = [node.condition for node in subformulas(formula) if isinstance(node, Filter)]
    return frozenset(name for condition in conditions for name in _read_by(condition))


def _read_by(node: object) -> Iterator[str]:
    """The variables of the terms inside a condition; `x[P]` reads marks, not terms."""
    if isinstance(node, VariableAttribute | Aggregate):
        yield node.variable
    for field in ("left", "right", "operand", "low", "high"):
        if hasattr(node, field):
            yield from _read_by(getattr(node, field))


def bound_variables(formula: Formula) -> frozenset[str]:
    """The variables that can be marked in a complex event of the formula."""
    match formula:
        case Type() | StreamType() | AnyType():
            return frozenset({formula.name})
        case As(body, variable):
            below = bound_variables(body)
            return below | {variable} if below else below  # AS marks what is marked already.
        case Project(variables, body):
            return bound_variables(body) & frozenset(variables)
        case Unless(body, _):
            return bound_variables(body)
        case SequenceNot(left, _, right):
            return bound_variables(left) | bound_variables(right)
        case _:
            return frozenset().union(*map(bound_variables, children(formula)))


def bound_before_end(formula: Formula) -> frozenset[str]:
    """The variables that can be marked at a row before the last one of a complex event."""
    match formula:
        case Type() | StreamType() | AnyType():
            return frozenset()
        case As(body, variable):
            below = bound_before_end(body)
            return below | {variable} if below else below
        case Project(variables, body):
            return bound_before_end(body) & frozenset(variables)
        case Plus(body) | AdjacentPlus(body):
            return bound_variables(body)
        case Sequence() | Adjacent() | Arrow() | SequenceNot():
            return bound_variables(formula.left) | bound_before_end(formula.right)
        case Or() | And():
            return bound_before_end(formula.left) | bound_before_end(formula.right)
        case _:
            return bound_before_end(formula.body)


def star_variables(formula: Formula) -> frozenset[str]:
    """What `SELECT *` reports: AS variables, and types that stand somewhere without AS behind."""
    if isinstance(formula, ATOMS):
        return frozenset({formula.name})
    if isinstance(formula, As):
        inside = frozenset() if isinstance(formula.body, ATOMS) else star_variables(formula.body)
        return inside | {formula.variable}
    return frozenset().union(*map(star_variables, children(formula)))
