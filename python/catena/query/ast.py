"""The abstract syntax of queries: frozen dataclasses, one per construct of the language.

Two trees meet here. A *formula* describes complex events (`Atom`, `Sequence`, `Iteration`, ...);
an *expression* describes values and truths (`Comparison`, `Attribute`, `Aggregate`, ...) and stands
inside FILTER, inside `variable[...]` and among the items of SELECT.

Invariants: nodes are immutable and hashable; `span` is where the node stands in the query's text
and takes no part in comparison, so `parse(format(q)) == q` compares meaning and shape, not layout.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from typing import Literal as OneOf
from typing import TypeAlias


@dataclass(frozen=True, slots=True)
class Span:
    """The half-open range of characters [start, end) of a node in the query's text."""

    start: int
    end: int


NOWHERE = Span(0, 0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Node:
    """What every node of either tree has: its place in the text."""

    span: Span = field(default=NOWHERE, compare=False, repr=False)


# ---------------------------------------------------------------------------------------------
# Expressions


class CompareOp(Enum):
    """The six comparisons, by their text."""

    EQ = "="
    NE = "!="
    LT = "<"
    LE = "<="
    GT = ">"
    GE = ">="


ArithmeticOp = OneOf["+", "-", "*", "/", "%"]
Binding = OneOf["current", "prev", "first", "last"]
AggregateFunction = OneOf["first", "last", "min", "max", "sum", "avg", "count"]
Remembered = OneOf["last", "prev", "first", "sum", "min", "max", "count", "size", "begun"]
Accumulation = OneOf["sum", "min", "max", "count"]
LiteralValue: TypeAlias = bool | int | float | str | None


@dataclass(frozen=True, slots=True)
class Literal(Node):
    """A constant: `40`, `2.5`, `'MSFT'`, `TRUE`, or NULL (which only error messages ever see)."""

    value: LiteralValue

    def __eq__(self, other: object) -> bool:
        """Equal values of one type: 1, 1.0 and TRUE are three literals."""
        if not isinstance(other, Literal):
            return NotImplemented
        return type(self.value) is type(other.value) and self.value == other.value

    def __hash__(self) -> int:
        return hash((type(self.value), self.value))


@dataclass(frozen=True, slots=True)
class Attribute(Node):
    """An attribute of the row at hand, inside `variable[...]`: `temp`."""

    name: str


@dataclass(frozen=True, slots=True)
class VariableAttribute(Node):
    """An attribute of a bound event: `x.temp`, `prev(x).temp`, `first(x).temp`, `last(x).temp`."""

    variable: str
    attribute: str
    binding: Binding = "current"


@dataclass(frozen=True, slots=True)
class Aggregate(Node):
    """`sum(x.temp)`, `count(x)`: over the events bound to a variable. `attribute` is None for
    count(x)."""

    function: AggregateFunction
    variable: str
    attribute: str | None


@dataclass(frozen=True, slots=True)
class Arithmetic(Node):
    """`left + right` and the other four operations."""

    op: ArithmeticOp
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class Negate(Node):
    """`- operand`, where the operand is not a literal number (those are folded by the parser)."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Comparison(Node):
    """`left op right`."""

    op: CompareOp
    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class InSet(Node):
    """`operand [NOT] IN {'a', 'b'}`."""

    operand: Expression
    values: tuple[Literal, ...]
    negated: bool = False


@dataclass(frozen=True, slots=True)
class InRange(Node):
    """`operand [NOT] IN RANGE(low, high)`, `BETWEEN low AND high`, `IN {low..high}`: both ends
    included.

    An end left out (`{..5}`, `{5..}`) is None.
    """

    operand: Expression
    low: Expression | None
    high: Expression | None
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Like(Node):
    """`operand [NOT] LIKE 'pattern'`: `%` any run of characters, `_` one, `\\` takes the next as it
    is."""

    operand: Expression
    pattern: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsNull(Node):
    """`operand IS [NOT] NULL`."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class IsTrue(Node):
    """`operand` is true, as a plain yes or no: neither unknown nor false passes; made by rewriting
    only."""

    operand: Expression
    negated: bool = False


@dataclass(frozen=True, slots=True)
class LogicalAnd(Node):
    """`left AND right` of conditions or predicates."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class LogicalOr(Node):
    """`left OR right` of conditions or predicates."""

    left: Expression
    right: Expression


@dataclass(frozen=True, slots=True)
class LogicalNot(Node):
    """`NOT operand`."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class VariablePredicate(Node):
    """`variable[predicate]`: every position marked with the variable satisfies the predicate."""

    variable: str
    predicate: Expression


@dataclass(frozen=True, slots=True)
class LastPredicate(Node):
    """The last position marked with the variable (None: with whatever) satisfies the predicate;
    `if_unbound` says whether it holds where no position is. Made by rewriting only."""

    variable: str | None
    predicate: Expression
    if_unbound: bool


# What runs remember (compile/tracks.py, compile/registers.py); all made by rewriting only.


@dataclass(frozen=True, slots=True)
class Recall(Node):
    """What a run knows of the events bound to a variable: `value`, an expression over one event, of
    the last, the one before it or the first of them, or put together over all; or how many they are
    (`size`). `with_row` says that the row at hand counts as the last of them."""

    variable: str
    what: Remembered
    value: Expression | None
    with_row: bool = False


@dataclass(frozen=True, slots=True)
class Register(Node):
    """What a run holds in a register."""

    number: int


@dataclass(frozen=True, slots=True)
class Unbound(Node):
    """What a register holds that has no event to tell of."""


@dataclass(frozen=True, slots=True)
class IsBound(Node):
    """Whether there is an event that `operand`, a Recall or a Register, tells of: a yes or no."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class IfBound(Node):
    """The operand, a register, where it is bound, else `otherwise`."""

    operand: Expression
    otherwise: Expression


@dataclass(frozen=True, slots=True)
class Accumulate(Node):
    """`operand`, put together over some events, with the value of one more."""

    function: Accumulation
    operand: Expression
    value: Expression


@dataclass(frozen=True, slots=True)
class Narrow(Node):
    """An exact sum as a number of 64 bits; null if it does not fit."""

    operand: Expression


@dataclass(frozen=True, slots=True)
class Begun(Node):
    """The matches of an absence that are open after the row: those of `before`, a register or none,
    taken on, and those that start on it, from the state `entry` of the absence, if any may; these
    read the registers `reads` of the run."""

    absence: int
    entry: int | None
    before: Expression
    reads: tuple[Expression, ...] = ()


@dataclass(frozen=True, slots=True)
class Ends(Node):
    """Whether one of the open matches of an absence ends on the row: a yes or no."""

    operand: Begun


Expression: TypeAlias = (
    Literal
    | Attribute
    | VariableAttribute
    | Aggregate
    | Arithmetic
    | Negate
    | Comparison
    | InSet
    | InRange
    | Like
    | IsNull
    | IsTrue
    | LogicalAnd
    | LogicalOr
    | LogicalNot
    | VariablePredicate
    | LastPredicate
    | Recall
    | Register
    | Unbound
    | IsBound
    | IfBound
    | Accumulate
    | Narrow
    | Begun
    | Ends
)


# ---------------------------------------------------------------------------------------------
# Time: bounds, intervals, windows


class Unit(Enum):
    """A unit of time, by its canonical text."""

    NS = "ns"
    US = "us"
    MS = "ms"
    S = "s"
    MIN = "min"
    H = "h"
    D = "d"

    @property
    def nanoseconds(self) -> int:
        return _NANOSECONDS[self]


_NANOSECONDS = {
    Unit.NS: 1,
    Unit.US: 1_000,
    Unit.MS: 1_000_000,
    Unit.S: 1_000_000_000,
    Unit.MIN: 60_000_000_000,
    Unit.H: 3_600_000_000_000,
    Unit.D: 86_400_000_000_000,
}


@dataclass(frozen=True, slots=True)
class Bound(Node):
    """An amount of time: an exact number, and a unit unless it is in the time column's own unit."""

    amount: Fraction
    unit: Unit | None = None


@dataclass(frozen=True, slots=True)
class Interval(Node):
    """A set of time differences between two bounds; a missing bound is unlimited."""

    low: Bound | None
    high: Bound | None
    low_open: bool = False
    high_open: bool = False


@dataclass(frozen=True, slots=True)
class EventsWindow(Node):
    """`n EVENTS`: at most n rows from start to end, both counted."""

    count: int


@dataclass(frozen=True, slots=True)
class TimeWindow(Node):
    """`5 seconds`, `5`: at most that much time from start to end."""

    bound: Bound


@dataclass(frozen=True, slots=True)
class AttributeWindow(Node):
    """`n [attr]`: at most n by a numeric attribute that serves as the clock."""

    amount: Fraction
    attribute: str


Window: TypeAlias = EventsWindow | TimeWindow | AttributeWindow


# ---------------------------------------------------------------------------------------------
# Formulas


class Strategy(Enum):
    """Selection strategies, by their text."""

    ALL = "ALL"
    ANY = "ANY"
    NEXT = "NEXT"
    LAST = "LAST"
    MAX = "MAX"
    STRICT = "STRICT"


@dataclass(frozen=True, slots=True)
class Atom(Node):
    """An event type, `T`, or one of a named stream, `S > T`. Marks the variable of the type's
    name."""

    type: str
    stream: str | None = None


@dataclass(frozen=True, slots=True)
class AnyEvent(Node):
    """`ANY`: every row, marked with the variable `ANY`."""


@dataclass(frozen=True, slots=True)
class As(Node):
    """`body AS variable`."""

    body: Formula
    variable: str


@dataclass(frozen=True, slots=True)
class Filter(Node):
    """`body FILTER condition`."""

    body: Formula
    condition: Expression


@dataclass(frozen=True, slots=True)
class Or(Node):
    """`left OR right`: union."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class And(Node):
    """`left AND right`: intersection, by equal start, end and marks."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Sequence(Node):
    """`left ; right`, or `left : right` when contiguous, with the interval of time between them."""

    left: Formula
    right: Formula
    contiguous: bool = False
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class AbsentBetween(Node):
    """`left ; NOT (absent) ; right`."""

    left: Formula
    absent: Formula
    right: Formula
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class FollowedBy(Node):
    """`left -> right`: skip till the next match of right."""

    left: Formula
    right: Formula


@dataclass(frozen=True, slots=True)
class Iteration(Node):
    """`body +`, or `body :+` when contiguous, with the interval of time between repetitions."""

    body: Formula
    contiguous: bool = False
    interval: Interval | None = None


@dataclass(frozen=True, slots=True)
class Unless(Node):
    """`body UNLESS absent`."""

    body: Formula
    absent: Formula


@dataclass(frozen=True, slots=True)
class Within(Node):
    """`(body WITHIN w)`, where w is a window or an interval."""

    body: Formula
    limit: Window | Interval


@dataclass(frozen=True, slots=True)
class Select(Node):
    """`NEXT (body)` and the other strategies as operators."""

    strategy: Strategy
    body: Formula


@dataclass(frozen=True, slots=True)
class Project(Node):
    """`PROJECT [x, y] (body)`."""

    variables: tuple[str, ...]
    body: Formula


@dataclass(frozen=True, slots=True)
class Nothing(Node):
    """The formula without complex events; made by rewriting only."""


Formula: TypeAlias = (
    Atom
    | AnyEvent
    | As
    | Filter
    | Or
    | And
    | Sequence
    | AbsentBetween
    | FollowedBy
    | Iteration
    | Unless
    | Within
    | Select
    | Project
    | Nothing
)


# ---------------------------------------------------------------------------------------------
# Queries


class Consume(Enum):
    """CONSUME BY, by its text."""

    ANY = "ANY"
    PARTITION = "PARTITION"
    NONE = "NONE"


@dataclass(frozen=True, slots=True)
class VariableItem(Node):
    """`x`, or `x[price, volume]`: the positions of a variable, and attributes at those
    positions."""

    variable: str
    attributes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MeasureItem(Node):
    """`avg(x.price) AS mean`: a value per match. `name` is None when the query gives none."""

    expression: Expression
    name: str | None = None


Item: TypeAlias = VariableItem | MeasureItem


@dataclass(frozen=True, slots=True)
class Query(Node):
    """A whole query. `items` is None for `*` and empty for NONE."""

    strategy: Strategy
    items: tuple[Item, ...] | None
    streams: tuple[str, ...]
    formula: Formula
    partition: tuple[tuple[str, ...], ...] = ()
    window: Window | None = None
    consume: Consume = Consume.NONE
    limit: int | None = None
