"""What a condition or a value says about times: temporal terms and relation formulas.

`relations_of` is C_temp of Definition 12: atoms that compare no two times become ⊤, or ⊥ below a
negation, so that the condition is fulfilled as much as possible. Differences are understood:
`end - start >= c` is `end >= start + c`. Constants leave here in units of time lines: whole numbers
for `time`, seconds for `timestamp`, whose ticks are microseconds.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import cast

from catena.errors import CatenaError
from catena.tsa.formulas import (
    BOTTOM,
    NEGATED,
    TOP,
    Comparison,
    Formula,
    Operator,
    conjunction,
    disjunction,
)
from catena.tsa.terms import Ceil, Floor, Greatest, Least, Name, Shift, Term, exact
from catena.tsa.values import COMPARISONS, TEMPORAL, Attribute, Call, Given, Kind, Value

TICKS: Mapping[Kind, int] = {"time": 1, "timestamp": 1_000_000}
"""Ticks of a time line's unit."""
MICROSECOND = datetime.timedelta(microseconds=1)
_EPOCH = datetime.datetime(1970, 1, 1)


def ticks_of(value: object) -> int | None:
    """A constant as ticks: a whole number as it is, timedeltas and datetimes in microseconds."""
    if isinstance(value, datetime.timedelta):
        return value // MICROSECOND
    if isinstance(value, datetime.datetime):
        naive = value.astimezone(datetime.UTC).replace(tzinfo=None) if value.tzinfo else value
        return (naive - _EPOCH) // MICROSECOND
    return value if isinstance(value, int) and not isinstance(value, bool) else None


@dataclass(frozen=True)
class _Sum:
    """Terms that are added and taken away, and a constant in ticks; the kind of the terms."""

    plus: tuple[Term, ...]
    minus: tuple[Term, ...]
    ticks: int
    kind: Kind | None

    def __neg__(self) -> _Sum:
        return _Sum(self.minus, self.plus, -self.ticks, self.kind)

    def __add__(self, other: _Sum) -> _Sum:
        plus, minus = self.plus + other.plus, self.minus + other.minus
        return _Sum(plus, minus, self.ticks + other.ticks, self.kind or other.kind)

    @property
    def units(self) -> Fraction | int:
        return exact(Fraction(self.ticks, TICKS[self.kind or "time"]))


def _sum_of(value: Value, kinds: Mapping[str, Kind]) -> _Sum | None:
    """A value as a sum of terms; None if it is something else."""
    match value:
        case Attribute(name):
            kind = kinds[name]
            return _Sum((Name(name),), (), 0, kind) if kind in TEMPORAL else None
        case Given(constant):
            ticks = ticks_of(constant)
            is_span = not isinstance(constant, datetime.datetime)
            return _Sum((), (), ticks, None) if ticks is not None and is_span else None
        case Call("+" | "-" as sign, (first, second)):
            left, right = _sum_of(first, kinds), _sum_of(second, kinds)
            if left is None or right is None:
                return None
            return left + (right if sign == "+" else -right)
        case Call("least" | "greatest" | "floor" | "ceil"):
            found = _built_term(value, kinds)
            return _Sum((found[0],), (), 0, found[1]) if found else None
    return None


def _built_term(value: Call, kinds: Mapping[str, Kind]) -> tuple[Term, Kind] | None:
    if value.function in ("floor", "ceil"):
        inner = _term_and_kind(value.arguments[0], kinds)
        return inner and (_rounded(value, inner), inner[1])
    found = [_term_and_kind(each, kinds) for each in value.arguments]
    known = [each for each in found if each is not None]
    if len(known) < len(found) or not known:
        return None
    build = Least if value.function == "least" else Greatest
    return build(tuple(term for term, _ in known)), known[0][1]


def _rounded(value: Call, inner: tuple[Term, Kind]) -> Term:
    given = value.arguments[1]
    assert isinstance(given, Given)
    ticks = ticks_of(given.value)
    if ticks is None or ticks <= 0 or isinstance(given.value, datetime.datetime):
        raise CatenaError(
            f"'{value}': the width is no positive stretch of time",
            hint="a whole number for a time, a timedelta for a timestamp",
        )
    width = exact(Fraction(ticks, TICKS[inner[1]]))
    return (Floor if value.function == "floor" else Ceil)(width, inner[0])


def _term_and_kind(value: Value, kinds: Mapping[str, Kind]) -> tuple[Term, Kind] | None:
    found = _sum_of(value, kinds)
    if found is None or found.kind is None or len(found.plus) != 1 or found.minus:
        return None
    term = found.plus[0]
    return (Shift(term, found.units) if found.ticks else term), found.kind


def term_of(value: Value, kinds: Mapping[str, Kind]) -> Term | None:
    """The temporal term that a value is; None if it is none."""
    found = _term_and_kind(value, kinds)
    return found[0] if found else None


def relations_of(condition: Value, kinds: Mapping[str, Kind], *, negated: bool = False) -> Formula:
    """What a condition, or its negation, says about times: C_temp of Definition 12."""
    match condition:
        case Call("not", (inner,)):
            return relations_of(inner, kinds, negated=not negated)
        case Call("and" | "or" as function, parts):
            found = [relations_of(part, kinds, negated=negated) for part in parts]
            return conjunction(found) if (function == "and") != negated else disjunction(found)
        case Call(function, (first, second)) if function in COMPARISONS:
            left, right = _sum_of(first, kinds), _sum_of(second, kinds)
            if left is not None and right is not None:
                return _compared(left + -right, cast(Operator, function), negated)
        case Given(bool() as constant):
            return TOP if constant != negated else BOTTOM
    return TOP


def _compared(difference: _Sum, operator: Operator, negated: bool) -> Formula:
    if len(difference.plus) != 1 or len(difference.minus) != 1:
        return TOP
    operator = NEGATED[operator] if negated else operator
    [left], [right] = difference.plus, difference.minus
    return Comparison(
        left, operator, Shift(right, -difference.units) if difference.ticks else right
    )
