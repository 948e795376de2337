"""Event expressions: the operators of the algebra as objects that compose with Python's.

    event("B") | event("P")     disjunction        event("P") + event("T")    conjunction
    event("A") - event("B")     negation           event("A") >> event("B")   sequence
    expression.within(2)        temporal restriction, also "2 s" or a timedelta

Python binds `+` and `-` tighter than `>>`, and the algebra's text the other way round: in Python
write parentheses around sequences.

Invariant: expressions are immutable and hashable, equal if they are written alike; `span` is where
one stands in a text and takes no part in that. Every expression knows its hash, so a look-up does
not walk the tree.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from dataclasses import dataclass, field, fields
from fractions import Fraction
from typing import Any, ClassVar, Final

from catena.errors import CatenaError, CatenaLimitError
from catena.query.ast import NOWHERE, Bound, Span, Unit


@dataclass(frozen=True, eq=False)
class Expression:
    """An event expression.

    >>> from catena.algebra import event
    >>> print((event("B") >> event("B")).within(2) - (event("P") | event("T")))
    (B ; B)[2] - (P | T)
    """

    span: Span = field(default=NOWHERE, repr=False, kw_only=True)
    _hash: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "_hash", hash((type(self).__name__, *self._parts())))

    def _parts(self) -> tuple[Any, ...]:
        """What makes the expression what it is."""
        return tuple(getattr(self, f.name) for f in fields(self) if f.name not in _NO_PARTS)

    @property
    def operands(self) -> tuple[Expression, ...]:
        """The expressions that this one is made of."""
        return tuple(part for part in self._parts() if isinstance(part, Expression))

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        if type(self) is not type(other):
            return NotImplemented
        assert isinstance(other, Expression)
        return self._hash == other._hash and self._parts() == other._parts()

    def __or__(self, other: object) -> Disjunction:
        return Disjunction(self, other) if isinstance(other, Expression) else NotImplemented

    def __add__(self, other: object) -> Conjunction:
        return Conjunction(self, other) if isinstance(other, Expression) else NotImplemented

    def __sub__(self, other: object) -> Negation:
        return Negation(self, other) if isinstance(other, Expression) else NotImplemented

    def __rshift__(self, other: object) -> Sequence:
        return Sequence(self, other) if isinstance(other, Expression) else NotImplemented

    def within(self, length: Length) -> Restriction:
        """The occurrences that take at most this long.

        >>> from catena.algebra import event
        >>> print((event("A") >> event("B")).within("1.5 s"))
        (A ; B)[1.5 s]
        """
        return Restriction(self, bound_of(length))

    def __str__(self) -> str:
        from catena.algebra.text import format

        return format(self)


Length = int | float | Fraction | str | datetime.timedelta | Bound
"""How long an occurrence may take: a number in the time column's unit, or a duration."""

_NO_PARTS = ("span", "_hash")


@dataclass(frozen=True, eq=False)
class Primitive(Expression):
    """An event type, or a name that has been given a predicate."""

    name: str


@dataclass(frozen=True, eq=False)
class Empty(Expression):
    """`0`, the event that never occurs (Definition 24)."""


@dataclass(frozen=True, eq=False)
class Binary(Expression):
    """An operator with two sides."""

    symbol: ClassVar[str]

    left: Expression
    right: Expression


class Disjunction(Binary):
    """`A | B`: either of them occurs."""

    symbol = "|"


class Conjunction(Binary):
    """`A + B`: both have occurred, in any order."""

    symbol = "+"


class Negation(Binary):
    """`A - B`: an occurrence of A during which there is none of B."""

    symbol = "-"


class Sequence(Binary):
    """`A ; B`: an occurrence of A, then one of B that starts after the first has ended."""

    symbol = ";"


@dataclass(frozen=True, eq=False)
class Restriction(Expression):
    """`A[tau]`: an occurrence of A that takes at most tau."""

    operand: Expression
    limit: Bound


def event(name: str) -> Primitive:
    """A primitive event, to compose expressions from.

    >>> from catena.algebra import event
    >>> print(event("A") + event("B"))
    A + B
    """
    if not isinstance(name, str) or not name:
        raise CatenaError(f"an event's name is {name!r}", hint="give the name of an event type")
    return Primitive(name)


def bound_of(length: Length) -> Bound:
    """A length of time in any of its forms."""
    match length:
        case Bound():
            return length
        case str():
            from catena.algebra.text import parse_bound

            return parse_bound(length)
        case datetime.timedelta():
            microseconds = round(length / datetime.timedelta(microseconds=1))
            bound = _smallest(Fraction(microseconds))
        case bool():
            raise _bad_length(length)
        case int() | float() | Fraction():
            bound = Bound(_amount(length))
        case _:
            raise _bad_length(length)
    if bound.amount < 0:
        raise _bad_length(length)
    return bound


def _amount(length: int | float | Fraction) -> Fraction:
    """The number as it is written in decimal digits."""
    try:
        amount = Fraction(str(length))
    except ValueError:
        raise _bad_length(length) from None
    rest = amount.denominator
    for prime in (2, 5):
        while rest % prime == 0:
            rest //= prime
    if rest != 1:
        raise CatenaError(f"{length} has no end in decimal digits", hint="round it")
    return amount


def _smallest(microseconds: Fraction) -> Bound:
    seconds = microseconds / 1_000_000
    return Bound(seconds, Unit.S)


def _bad_length(length: object) -> CatenaError:
    return CatenaError(
        f"the length of a restriction is {length!r}",
        hint="give a number that is not negative, or a duration such as '2 s'",
    )


SUBEXPRESSIONS_MAX: Final = 10_000
"""The subexpressions that an expression may have."""


def checked(expression: Expression) -> Expression:
    """The expression, if it is small enough to work with; raises CatenaLimitError otherwise."""
    for count, _ in enumerate(subexpressions(expression), 1):
        if count > SUBEXPRESSIONS_MAX:
            raise CatenaLimitError(
                f"the expression has more than {SUBEXPRESSIONS_MAX:,} subexpressions",
                hint="this limit is fixed; define one primitive by a predicate for several events",
            ).with_amounts(count, SUBEXPRESSIONS_MAX)
    return expression


def subexpressions(expression: Expression) -> Iterator[Expression]:
    """All subexpressions in postorder, the expression itself last; without recursion."""
    stack: list[tuple[Expression, bool]] = [(expression, False)]
    while stack:
        part, is_done = stack.pop()
        if is_done or not part.operands:
            yield part
            continue
        stack.append((part, True))
        stack.extend((operand, False) for operand in reversed(part.operands))


def primitives(expression: Expression) -> tuple[str, ...]:
    """The names of the primitives, in order of appearance."""
    found = (part.name for part in subexpressions(expression) if isinstance(part, Primitive))
    return tuple(dict.fromkeys(found))
