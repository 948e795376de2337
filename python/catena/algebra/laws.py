"""The laws 1 to 38 of the event algebra (Theorems 21, 22, 23 and 25) as rewrite rules.

A law is two patterns that mean the same for all interpretations. In a pattern, A, B and C stand for
any expressions, [1] and [2] for any lengths of time, and [3] for the smaller of those two. A rule
is a law read in one direction; where a direction would have to invent something, or could go on for
ever, there is no rule (A is `A | A`, but nobody wants to know).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from catena.algebra.expressions import (
    Binary,
    Empty,
    Expression,
    Primitive,
    Restriction,
    subexpressions,
)
from catena.algebra.text import parse
from catena.query.ast import Bound


@dataclass(frozen=True)
class Law:
    """`left` and `right` mean the same; if `of_primitives`, only where A is a primitive."""

    number: int
    left: Expression
    right: Expression
    of_primitives: bool = False


@dataclass(frozen=True)
class Rule:
    """A law in one direction."""

    law: Law
    pattern: Expression
    result: Expression


_TEXTS: Final = {
    1: ("A | A", "A"),
    2: ("A | B", "B | A"),
    3: ("A + B", "B + A"),
    4: ("A | (B | C)", "(A | B) | C"),
    5: ("A + (B + C)", "(A + B) + C"),
    6: ("A ; (B ; C)", "(A ; B) ; C"),
    7: ("(A | B) + C", "(A + C) | (B + C)"),
    8: ("A + (B | C)", "(A + B) | (A + C)"),
    9: ("(A | B) ; C", "(A ; C) | (B ; C)"),
    10: ("A ; (B | C)", "(A ; B) | (A ; C)"),
    11: ("(A | B) - C", "(A - C) | (B - C)"),
    12: ("(A + B) - C", "((A - C) + B) - C"),
    13: ("(A + B) - C", "(A + (B - C)) - C"),
    14: ("(A - B) - C", "A - (B | C)"),
    15: ("(A - B) - B", "A - B"),
    16: ("(A - B) - C", "(A - C) - B"),
    17: ("(A ; B) - C", "((A - C) ; B) - C"),
    18: ("(A ; B) - C", "(A ; (B - C)) - C"),
    19: ("(A | B)[1]", "A[1] | B[1]"),
    20: ("(A + B)[1]", "(A[1] + B)[1]"),
    21: ("(A + B)[1]", "(A + B[1])[1]"),
    22: ("(A - B)[1]", "A[1] - B"),
    23: ("(A - B)[1]", "(A - B[1])[1]"),
    24: ("(A ; B)[1]", "(A[1] ; B)[1]"),
    25: ("(A ; B)[1]", "(A ; B[1])[1]"),
    26: ("A[1]", "A"),
    27: ("A[1][2]", "A[3]"),
    28: ("A[1][2]", "A[2][1]"),
    29: ("0 | A", "A"),
    30: ("A | 0", "A"),
    31: ("0 + A", "0"),
    32: ("A + 0", "0"),
    33: ("A - A", "0"),
    34: ("0 - A", "0"),
    35: ("A - 0", "A"),
    36: ("0 ; A", "0"),
    37: ("A ; 0", "0"),
    38: ("0[1]", "0"),
}

LAWS: Final = tuple(
    Law(number, parse(left), parse(right), of_primitives=number == 26)
    for number, (left, right) in _TEXTS.items()
)

_FIRST, _SECOND, _SMALLER = (part.limit for part in (parse("A[1]"), parse("A[2]"), parse("A[3]"))
                             if isinstance(part, Restriction))  # fmt: skip


def _names(pattern: Expression) -> set[object]:
    """What a pattern leaves open."""
    parts = list(subexpressions(pattern))
    names: set[object] = {part.name for part in parts if isinstance(part, Primitive)}
    return names | {part.limit for part in parts if isinstance(part, Restriction)}


def _rules() -> Iterator[Rule]:
    for law in LAWS:
        yield Rule(law, law.left, law.right)
        invents = _names(law.left) - _names(law.right)
        if not invents and not isinstance(law.right, Primitive):
            yield Rule(law, law.right, law.left)


RULES: Final = tuple(_rules())


def apply(rule: Rule, expression: Expression) -> Expression | None:
    """The expression rewritten by the rule, at its root; None if the rule does not apply."""
    found = _Found({}, {})
    if not found.match(rule.pattern, expression):
        return None
    if rule.law.of_primitives and not isinstance(found.parts["A"], Primitive):
        return None
    return found.fill(rule.result)


def shorter(one: Bound, other: Bound) -> Bound | None:
    """The smaller of two lengths; None if they cannot be compared without knowing the data."""
    if (one.unit is None) != (other.unit is None):
        return None
    lengths = [
        bound.amount * (1 if bound.unit is None else bound.unit.nanoseconds)
        for bound in (one, other)
    ]
    return one if lengths[0] <= lengths[1] else other


@dataclass
class _Found:
    """What the open parts of a pattern stand for."""

    parts: dict[str, Expression]
    limits: dict[Bound, Bound]

    def match(self, pattern: Expression, expression: Expression) -> bool:
        match pattern:
            case Primitive():
                return self.parts.setdefault(pattern.name, expression) == expression
            case Empty():
                return isinstance(expression, Empty)
            case Restriction():
                return (
                    isinstance(expression, Restriction)
                    and self._match_limit(pattern.limit, expression.limit)
                    and self.match(pattern.operand, expression.operand)
                )
            case Binary():
                return (
                    type(expression) is type(pattern)
                    and isinstance(expression, Binary)
                    and self.match(pattern.left, expression.left)
                    and self.match(pattern.right, expression.right)
                )
        raise AssertionError(pattern)

    def _match_limit(self, pattern: Bound, limit: Bound) -> bool:
        return self.limits.setdefault(pattern, limit) == limit

    def fill(self, result: Expression) -> Expression | None:
        match result:
            case Primitive():
                return self.parts[result.name]
            case Restriction():
                limit = self._limit(result.limit)
                operand = self.fill(result.operand)
                return None if limit is None or operand is None else Restriction(operand, limit)
            case Binary():
                left, right = self.fill(result.left), self.fill(result.right)
                return None if left is None or right is None else type(result)(left, right)
        return Empty()

    def _limit(self, name: Bound) -> Bound | None:
        if name == _SMALLER:
            return shorter(self.limits[_FIRST], self.limits[_SECOND])
        return self.limits[name]
