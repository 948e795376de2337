"""Values, predicates and SQL's three-valued logic: what stands inside `x[...]` and in `x.v >= 40`.

Each node is a frozen dataclass with `text()`, its catena text, fully parenthesised. A truth is
True, False or None (unknown). Predicates of one row and comparisons of bound events share their
nodes and differ only in their leaves (`Attribute` of the row; `VariableAttribute` and `Aggregate`
of bound events), so evaluation takes a function that gives the value of a leaf.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

Value: TypeAlias = Any  # bool, int, float, str, or None for null
Truth: TypeAlias = bool | None
Row: TypeAlias = Mapping[str, Value]


# ---------------------------------------------------------------------------------------------
# Expressions: what has a value


@dataclass(frozen=True)
class Literal:
    """A constant."""

    value: bool | int | float | str

    def text(self) -> str:
        if isinstance(self.value, bool):
            return "TRUE" if self.value else "FALSE"
        if isinstance(self.value, str):
            return "'" + self.value.replace("'", "''") + "'"
        return repr(self.value)


@dataclass(frozen=True)
class Attribute:
    """An attribute of the row at hand: `v`."""

    name: str

    def text(self) -> str:
        return self.name


@dataclass(frozen=True)
class VariableAttribute:
    """An attribute of an event bound to a variable: `x.v`, or with prev, first or last around x."""

    variable: str
    name: str
    binding: str = "current"

    def text(self) -> str:
        event = self.variable if self.binding == "current" else f"{self.binding}({self.variable})"
        return f"{event}.{self.name}"


@dataclass(frozen=True)
class Aggregate:
    """`sum(x.v)`, also avg, min, max, count; `count(x)` when there is no name."""

    function: str
    variable: str
    name: str | None = None

    def text(self) -> str:
        of = self.variable if self.name is None else f"{self.variable}.{self.name}"
        return f"{self.function}({of})"


@dataclass(frozen=True)
class Arithmetic:
    """`left op right` with one of + - * / %."""

    op: str
    left: Expression
    right: Expression

    def text(self) -> str:
        return f"({self.left.text()} {self.op} {self.right.text()})"


Leaf: TypeAlias = Attribute | VariableAttribute | Aggregate
Expression: TypeAlias = Literal | Leaf | Arithmetic
LeafValue: TypeAlias = Callable[[Leaf], Value]


def in_64_bits(value: Value) -> Value:
    """The value; null for an integer that does not fit 64 bits."""
    fits = not isinstance(value, int) or -(2**63) <= value < 2**63
    return value if fits else None


def divide(left: float, right: float) -> float | None:
    """Division of floats; by zero it is null, as in SQL."""
    return None if right == 0 else left / right


def remainder(left: float, right: float) -> float | None:
    """The remainder with the sign of `left`, as in C and SQL; by zero it is null."""
    if right == 0:
        return None
    size = abs(left) % abs(right)
    return -size if left < 0 else size


ARITHMETIC: dict[str, Callable[[Any, Any], Value]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": divide,
    "%": remainder,
}


def value_of(expression: Expression, leaf_value: LeafValue) -> Value:
    """The value of an expression; null as soon as an operand is null."""
    match expression:
        case Literal(value):
            return value
        case Arithmetic(op, left, right):
            values = value_of(left, leaf_value), value_of(right, leaf_value)
            return None if None in values else in_64_bits(ARITHMETIC[op](*values))
        case _:
            return leaf_value(expression)


# ---------------------------------------------------------------------------------------------
# Predicates: what has a truth


@dataclass(frozen=True)
class Comparison:
    """`left op right` with one of = != < <= > >=; also a condition when its leaves are `x.v`."""

    left: Expression
    op: str
    right: Expression

    def text(self) -> str:
        return f"{self.left.text()} {self.op} {self.right.text()}"


@dataclass(frozen=True)
class InSet:
    """`operand [NOT] IN {a, b}`."""

    operand: Expression
    values: tuple[int | float | str, ...]
    negated: bool = False

    def text(self) -> str:
        members = ", ".join(Literal(value).text() for value in self.values)
        return f"{self.operand.text()} {'NOT ' if self.negated else ''}IN {{{members}}}"


@dataclass(frozen=True)
class InRange:
    """low <= operand <= high, spelled as `form` says: RANGE, DOTS (`{a..b}`) or BETWEEN."""

    operand: Expression
    low: Expression
    high: Expression
    form: str = "RANGE"

    def text(self) -> str:
        operand, low, high = self.operand.text(), self.low.text(), self.high.text()
        return {
            "RANGE": f"{operand} IN RANGE({low}, {high})",
            "DOTS": f"{operand} IN {{{low}..{high}}}",
            "BETWEEN": f"({operand} BETWEEN {low} AND {high})",
        }[self.form]


@dataclass(frozen=True)
class Like:
    """`operand LIKE 'pattern'`: % is any string, _ any character, the whole string must match."""

    operand: Expression
    pattern: str

    def text(self) -> str:
        return f"{self.operand.text()} LIKE {Literal(self.pattern).text()}"


@dataclass(frozen=True)
class IsNull:
    """`operand IS [NOT] NULL`: never unknown."""

    operand: Expression
    negated: bool = False

    def text(self) -> str:
        return f"{self.operand.text()} IS {'NOT ' if self.negated else ''}NULL"


@dataclass(frozen=True)
class Both:
    """`left AND right`, of predicates or of conditions."""

    left: Any
    right: Any

    def text(self) -> str:
        return f"({self.left.text()} AND {self.right.text()})"


@dataclass(frozen=True)
class Either:
    """`left OR right`, of predicates or of conditions."""

    left: Any
    right: Any

    def text(self) -> str:
        return f"({self.left.text()} OR {self.right.text()})"


@dataclass(frozen=True)
class Negation:
    """`NOT operand`, of a predicate or of a condition."""

    operand: Any

    def text(self) -> str:
        return f"NOT ({self.operand.text()})"


Predicate: TypeAlias = Comparison | InSet | InRange | Like | IsNull | Both | Either | Negation


def truth_not(truth: Truth) -> Truth:
    """NOT: unknown stays unknown."""
    return None if truth is None else not truth


def truth_and(left: Truth, right: Truth) -> Truth:
    """AND: false wins over unknown."""
    if left is False or right is False:
        return False
    return None if left is None or right is None else True


def truth_or(left: Truth, right: Truth) -> Truth:
    """OR: true wins over unknown."""
    return truth_not(truth_and(truth_not(left), truth_not(right)))


COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "=": operator.eq,
    "!=": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}


def compare(op: str, left: Value, right: Value) -> Truth:
    """One comparison: unknown when a side is null; floats as in IEEE 754."""
    return None if left is None or right is None else COMPARISONS[op](left, right)


def like(string: str, pattern: str) -> bool:
    """Whether the whole string matches SQL's wildcards."""
    wildcards = {"%": ".*", "_": "."}
    parts = [wildcards.get(character, re.escape(character)) for character in pattern]
    return re.fullmatch("".join(parts), string, re.DOTALL) is not None


def truth_of(predicate: Predicate, leaf_value: LeafValue) -> Truth:
    """The truth of a predicate, given the values of its leaves."""

    def value(expression: Expression) -> Value:
        return value_of(expression, leaf_value)

    match predicate:
        case Comparison(left, op, right):
            return compare(op, value(left), value(right))
        case InSet(operand, members, negated):
            found = value(operand)
            truth = None if found is None else any(found == member for member in members)
            return truth_not(truth) if negated else truth
        case InRange(operand, low, high):
            found = value(operand)
            return truth_and(compare("<=", value(low), found), compare("<=", found, value(high)))
        case Like(operand, pattern):
            found = value(operand)
            return None if found is None else like(found, pattern)
        case IsNull(operand, negated):
            return (value(operand) is None) != negated
        case Both(left, right):
            return truth_and(truth_of(left, leaf_value), truth_of(right, leaf_value))
        case Either(left, right):
            return truth_or(truth_of(left, leaf_value), truth_of(right, leaf_value))
        case Negation(operand):
            return truth_not(truth_of(operand, leaf_value))
    raise TypeError(f"not a predicate: {predicate!r}")


def row_satisfies(predicate: Predicate, row: Row) -> bool:
    """Whether a row satisfies a predicate: unknown is not satisfied; a missing column is null."""
    return truth_of(predicate, lambda leaf: row.get(leaf.name)) is True
