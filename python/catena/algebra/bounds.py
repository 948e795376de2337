"""The static bounds of detection: what an expression can need at most, known before any event.

Memory is counted in the units of the paper's first experiment (section 4.4): a time takes one, an
instance two; with rows a primitive instance takes three, and one put together as much as its parts.
Time is counted in the steps of the second, for the worst tick: a comparison, a calculation or a
time assigned takes one, an instance assigned as many as it has units. The variables counted are
those that the detector has (cpp/algebra/event_expression.h). Sizes of sets follow Propositions 37
and 38, with S kept only where it is read.

Invariant: the bounds of an expression do not fall when those of a part rise, and an expression
that keeps S needs no less than one that does not; `simplify` relies on it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from catena.algebra.expressions import (
    Binary,
    Conjunction,
    Disjunction,
    Empty,
    Expression,
    Negation,
    Primitive,
    Restriction,
    Sequence,
)

TIME_UNITS: Final = 1
INSTANCE_UNITS: Final = 2
PRIMITIVE_UNITS: Final = 3
"""Of a primitive instance with its row: time, name and row."""


class MemoryBound(int):
    """The bytes that detection takes for one part, at most and in fact: all of it is taken before
    the first event. Beside that: the `instances` and `times` that it can hold, and `units`, the
    size by the paper's measure.

    >>> import catena
    >>> bound = catena.Algebra("(B ; B)[2] - (P | T)").memory_bound()
    >>> int(bound), bound.instances, bound.times, bound.units
    (128, 1, 1, 19)
    """

    instances: int
    times: int
    units: int

    def __new__(cls, bytes: int, *, instances: int, times: int, units: int) -> MemoryBound:
        """A number of bytes, and what is in them."""
        bound = super().__new__(cls, bytes)
        bound.instances, bound.times, bound.units = instances, times, units
        return bound

    def __repr__(self) -> str:
        return (
            f"MemoryBound({int(self)}, instances={self.instances}, times={self.times}, "
            f"units={self.units})"
        )


@dataclass(frozen=True, slots=True)
class Shape:
    """What an expression needs at most, without and with rows."""

    starts: int
    """The members of S, if it is kept."""
    size: int
    """The units of an instance with its rows."""
    widest: int
    """The instances that the largest Q holds."""
    memory: int
    memory_with_rows: int
    words: int
    """The words of the operators' variables in the detector: the bytes, by eight."""
    words_with_rows: int
    steps: int
    steps_with_rows: int
    count: int
    """Subexpressions."""

    def units(self, with_rows: bool) -> int:
        return self.memory_with_rows if with_rows else self.memory

    def time(self, with_rows: bool) -> int:
        return self.steps_with_rows if with_rows else self.steps

    @property
    def cost(self) -> tuple[int, ...]:
        """To compare expressions by: memory, then operators, then time."""
        return (
            self.words + self.words_with_rows,
            self.memory + self.memory_with_rows,
            self.count,
            self.steps + self.steps_with_rows,
        )

    def exceeds(self, other: Shape) -> bool:
        """True if some expression would need more with this part than with the other."""
        mine, others = self._measures(), other._measures()
        return any(one > another for one, another in zip(mine, others, strict=True))

    def _measures(self) -> tuple[int, ...]:
        return (
            *(self.starts, self.size, self.widest),
            *(self.words, self.words_with_rows, self.memory, self.memory_with_rows),
        )


@dataclass(frozen=True, slots=True)
class _Part:
    """The bounds of an operator's operand in one framework."""

    size: int
    starts: int


class Bounds:
    """Computes the bounds of expressions, those of a subexpression once."""

    def __init__(self) -> None:
        self._shapes: dict[tuple[Expression, bool], Shape] = {}

    def of(self, expression: Expression, keeps_starts: bool = False) -> Shape:
        """The bounds of an expression, whose S is kept or not."""
        key = (expression, keeps_starts)
        if key not in self._shapes:
            self._shapes[key] = self._shape(expression, keeps_starts)
        return self._shapes[key]

    def _shape(self, expression: Expression, keeps: bool) -> Shape:
        match expression:
            case Empty():
                return Shape(0, 0, 0, 0, 0, 0, 0, 0, 0, 1)
            case Primitive():
                return Shape(
                    starts=0,
                    size=PRIMITIVE_UNITS,
                    widest=0,
                    memory=INSTANCE_UNITS,
                    memory_with_rows=PRIMITIVE_UNITS,
                    words=0,
                    words_with_rows=0,
                    steps=1 + INSTANCE_UNITS,
                    steps_with_rows=1 + PRIMITIVE_UNITS,
                    count=1,
                )
            case Restriction():
                return self._operator(expression, [self.of(expression.operand, keeps)], keeps)
            case Binary():
                of_right = isinstance(expression, Sequence) or (
                    keeps and not isinstance(expression, Negation)
                )
                parts = [self.of(expression.left, keeps), self.of(expression.right, of_right)]
                return self._operator(expression, parts, keeps)
        raise AssertionError(expression)

    def _operator(self, expression: Expression, parts: list[Shape], keeps: bool) -> Shape:
        size = _size(expression, [part.size for part in parts])
        starts = _starts(expression, [part.starts for part in parts]) if keeps else 0
        plain = [_Part(INSTANCE_UNITS, part.starts) for part in parts]
        with_rows = [_Part(part.size, part.starts) for part in parts]
        stored = parts[1].starts if isinstance(expression, Sequence) else 0
        return Shape(
            starts=starts,
            size=size,
            widest=max(stored, *(part.widest for part in parts)),
            words=sum(p.words for p in parts) + _words(expression, plain, INSTANCE_UNITS, starts),
            words_with_rows=sum(p.words_with_rows for p in parts)
            + _words(expression, [_in_words(part) for part in with_rows], _row_words(size), starts),
            memory=sum(p.memory for p in parts)
            + _memory(expression, plain, INSTANCE_UNITS, starts),
            memory_with_rows=sum(p.memory_with_rows for p in parts)
            + _memory(expression, with_rows, size, starts),
            steps=sum(p.steps for p in parts) + _steps(expression, plain, INSTANCE_UNITS, starts),
            steps_with_rows=sum(p.steps_with_rows for p in parts)
            + _steps(expression, with_rows, size, starts),
            count=1 + sum(p.count for p in parts),
        )


def _size(expression: Expression, sizes: list[int]) -> int:
    match expression:
        case Conjunction() | Sequence():
            return sum(sizes)
        case Disjunction():
            return max(sizes)
    return sizes[0]


def _starts(expression: Expression, starts: list[int]) -> int:
    """How large S can get. In a sequence Q is as large as S of the right side."""
    match expression:
        case Disjunction():
            return sum(starts)
        case Conjunction():
            return sum(starts) + 2
        case Sequence():
            return sum(starts) + 1
    return starts[0]


def _memory(expression: Expression, parts: list[_Part], size: int, starts: int) -> int:
    """The units of an operator's own variables: what it remembers, its instance, S."""
    own = size + starts * TIME_UNITS
    match expression:
        case Conjunction():
            return own + parts[0].size + parts[1].size
        case Negation():
            return own + TIME_UNITS
        case Sequence():
            return own + parts[0].size * (1 + parts[1].starts)
    return own


def _row_words(units: int) -> int:
    """The words of an instance with rows: start, end, their number, and one for each."""
    return 3 + units // PRIMITIVE_UNITS


def _in_words(part: _Part) -> _Part:
    return _Part(_row_words(part.size), part.starts)


def _words(expression: Expression, parts: list[_Part], size: int, starts: int) -> int:
    """The words of an operator's own variables, as cpp/algebra/event_expression.h places them."""
    own = 1 + starts if starts else 0
    match expression:
        case Conjunction():
            return own + size + parts[0].size + parts[1].size
        case Negation():
            return own + 1
        case Sequence():
            stored = parts[1].starts
            return own + size + parts[0].size + (1 + stored * parts[0].size if stored else 0)
    return own


def _steps(expression: Expression, parts: list[_Part], size: int, starts: int) -> int:
    """The steps of an operator in a tick: comparisons, what it assigns, S."""
    own = size + starts * TIME_UNITS
    match expression:
        case Disjunction():
            return own + 1
        case Conjunction():
            return own + 2 + parts[0].size + parts[1].size + 5
        case Negation():
            return own + 2 + TIME_UNITS
        case Sequence():
            stored = parts[1].starts
            search = 2 * (stored + 1)
            merge = 2 * (stored + 1 + parts[1].starts) + stored * parts[0].size
            return own + search + (merge if stored else 0) + 1 + parts[0].size
    return own + 2
