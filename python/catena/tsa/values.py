"""Values of rows: attributes, constants, and what is computed from them.

A value is an immutable tree that knows names and no relation; a relation checks it when it is used,
`type_of` says what it yields. `_` makes attributes: `_.time`, `_.s.time` for "s.time", `_["s.min"]`
where a name is also a method. `and`, `or`, `not` are written `&`, `|`, `~`, as in ibis.
"""

from __future__ import annotations

import datetime
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, TypeAlias

from catena.errors import CatenaError, nearest

Kind: TypeAlias = Literal[
    "boolean", "int64", "float64", "string", "datetime", "time", "timestamp"
]  # fmt: skip
KINDS: tuple[Kind, ...] = (
    "boolean", "int64", "float64", "string", "datetime", "time", "timestamp",
)  # fmt: skip
TEMPORAL: frozenset[Kind] = frozenset(["time", "timestamp"])
"""Whole numbers that are times, and points in time (microseconds): what temporal terms speak of."""
PLAIN: Mapping[Kind, Kind] = {"time": "int64", "timestamp": "datetime"}
"""What is left when a time is no timestamp of its row any more, as after an aggregation."""

COMPARISONS = ("<", "<=", "=", ">=", ">", "!=")
Constant: TypeAlias = bool | int | float | str | datetime.datetime | datetime.timedelta | None


class Value:
    """Something that a row has a value of."""

    def __add__(self, other: object) -> Value:
        return Call("+", (self, value_of(other)))

    def __radd__(self, other: object) -> Value:
        return Call("+", (value_of(other), self))

    def __sub__(self, other: object) -> Value:
        return Call("-", (self, value_of(other)))

    def __rsub__(self, other: object) -> Value:
        return Call("-", (value_of(other), self))

    def __mul__(self, other: object) -> Value:
        return Call("*", (self, value_of(other)))

    def __rmul__(self, other: object) -> Value:
        return Call("*", (value_of(other), self))

    def __truediv__(self, other: object) -> Value:
        return Call("/", (self, value_of(other)))

    def __rtruediv__(self, other: object) -> Value:
        return Call("/", (value_of(other), self))

    def __lt__(self, other: object) -> Value:
        return Call("<", (self, value_of(other)))

    def __le__(self, other: object) -> Value:
        return Call("<=", (self, value_of(other)))

    def __gt__(self, other: object) -> Value:
        return Call(">", (self, value_of(other)))

    def __ge__(self, other: object) -> Value:
        return Call(">=", (self, value_of(other)))

    def __eq__(self, other: object) -> Value:  # type: ignore[override]
        return Call("=", (self, value_of(other)))

    def __ne__(self, other: object) -> Value:  # type: ignore[override]
        return Call("!=", (self, value_of(other)))

    __hash__ = object.__hash__

    def __and__(self, other: object) -> Value:
        return Call("and", (self, value_of(other)))

    def __or__(self, other: object) -> Value:
        return Call("or", (self, value_of(other)))

    def __invert__(self) -> Value:
        return Call("not", (self,))

    def __bool__(self) -> bool:
        raise CatenaError(
            f"'{self}' has a truth value per row, not one",
            hint="write & for and, | for or, ~ for not; conditions may also stand side by side",
        )

    def between(self, first: object, last: object) -> Value:
        """Whether it lies between two values, both included."""
        return (self >= first) & (self <= last)

    def is_null(self) -> Value:
        """Whether there is no value."""
        return Call("is null", (self,))

    def floor(self, width: object) -> Value:
        """The last multiple of a width that is not after this time."""
        return Call("floor", (self, value_of(width)))

    def ceil(self, width: object) -> Value:
        """The first multiple of a width that is not before this time: tumbling windows."""
        return Call("ceil", (self, value_of(width)))

    def min(self) -> Aggregate:
        """The least value of a group."""
        return Aggregate("min", self)

    def max(self) -> Aggregate:
        """The greatest value of a group."""
        return Aggregate("max", self)

    def sum(self) -> Aggregate:
        """The sum of a group."""
        return Aggregate("sum", self)

    def mean(self) -> Aggregate:
        """The mean of a group."""
        return Aggregate("mean", self)

    def count(self) -> Aggregate:
        """How many rows of a group have a value."""
        return Aggregate("count", self)


@dataclass(frozen=True, eq=False, repr=False)
class Attribute(Value):
    """An attribute, by its name."""

    name: str

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("_"):
            raise AttributeError(name)
        return Attribute(f"{self.name}.{name}")

    def __getitem__(self, name: str) -> Attribute:
        return Attribute(f"{self.name}.{name}")

    def __str__(self) -> str:
        return self.name

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class Given(Value):
    """A constant."""

    value: Constant

    def __str__(self) -> str:
        if isinstance(self.value, datetime.timedelta):
            return f"{self.value.total_seconds():g}sec"
        return repr(self.value)

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class Call(Value):
    """An operator or function over values."""

    function: str
    arguments: tuple[Value, ...]

    def __str__(self) -> str:
        first, *rest = self.arguments
        if self.function in ("least", "greatest", "floor", "ceil"):
            return f"{self.function}({', '.join(map(str, self.arguments))})"
        if not rest:
            return f"{first} is null" if self.function == "is null" else f"¬({first})"
        sign = {"<=": "≤", ">=": "≥", "!=": "≠", "and": "∧", "or": "∨"}.get(
            self.function, self.function
        )
        return f" {sign} ".join(
            f"({each})" if isinstance(each, Call) and len(each.arguments) > 1 else str(each)
            for each in self.arguments
        )

    __repr__ = __str__


@dataclass(frozen=True, eq=False, repr=False)
class Aggregate:
    """A value of a group: min, max, sum, mean or count; of all rows if it has no argument."""

    function: Literal["min", "max", "sum", "mean", "count"]
    argument: Value | None

    def __str__(self) -> str:
        return f"{self.function}({'*' if self.argument is None else self.argument})"

    __repr__ = __str__


class _Attributes:
    """`_.time`: the attribute of that name, of whichever relation it is used on."""

    def __getattr__(self, name: str) -> Attribute:
        if name.startswith("_"):
            raise AttributeError(name)
        return Attribute(name)

    def __getitem__(self, name: str) -> Attribute:
        return Attribute(name)


_ = _Attributes()


def value_of(given: object) -> Value:
    """A value as it is, anything else as a constant."""
    if isinstance(given, Value):
        return given
    if given is None or isinstance(
        given, bool | int | float | str | datetime.datetime | datetime.timedelta
    ):
        return Given(given)
    raise CatenaError(
        f"{given!r} is no value of a row",
        hint="a number, a text, a truth value, a datetime, a timedelta, or an attribute: _.name",
    )


def least(*values: object) -> Value:
    """The least of several values of one row: the temporal term min."""
    return Call("least", tuple(value_of(each) for each in values))


def greatest(*values: object) -> Value:
    """The greatest of several values of one row: the temporal term max."""
    return Call("greatest", tuple(value_of(each) for each in values))


def count() -> Aggregate:
    """How many rows a group has."""
    return Aggregate("count", None)


_OF_CONSTANTS: tuple[tuple[type, Kind], ...] = (
    (bool, "boolean"), (int, "int64"), (float, "float64"), (str, "string"),
    (datetime.datetime, "datetime"),
)  # fmt: skip


def _kind_of_constant(value: Constant) -> Kind | None:
    return next((kind for type_, kind in _OF_CONSTANTS if isinstance(value, type_)), None)


def type_of(value: Value, attributes: Mapping[str, Kind]) -> Kind:
    """What kind of value it is; raises if it means nothing over these attributes."""
    match value:
        case Attribute(name):
            return _kind_of_attribute(name, attributes)
        case Given(constant):
            return _kind_of_constant(constant) or "string"
        case Call(function, arguments):
            kinds = [type_of(each, attributes) for each in arguments]
            return _kind_of_call(value, function, arguments, kinds)
    raise AssertionError(f"{value!r} is no value")


def _kind_of_attribute(name: str, attributes: Mapping[str, Kind]) -> Kind:
    if name not in attributes:
        close = nearest(name, attributes)
        meant = f"did you mean '{close}'? " if close else ""
        known = ", ".join(attributes)
        raise CatenaError(f"there is no attribute '{name}'", hint=f"{meant}attributes: {known}")
    return attributes[name]


def _kind_of_call(
    value: Value, function: str, arguments: tuple[Value, ...], kinds: list[Kind]
) -> Kind:
    if function in ("and", "or", "not"):
        _require(all(kind == "boolean" for kind in kinds), value, "takes conditions")
        return "boolean"
    if function == "is null":
        return "boolean"
    if function in ("floor", "ceil"):
        _require(kinds[0] in TEMPORAL, value, "takes a time and a width")
        _require(isinstance(arguments[1], Given), value, "takes a constant width")
        return kinds[0]
    spans = [_is_span(each) for each in arguments]
    if any(spans) or (function == "-" and _are_times(kinds)):
        return _kind_with_spans(value, function, kinds, spans)
    if function in COMPARISONS:
        _require(_are_comparable(arguments, kinds), value, "compares different kinds of values")
        return "boolean"
    if function in ("least", "greatest"):
        _require(_are_comparable(arguments, kinds), value, "compares different kinds of values")
        return max(kinds, key=KINDS.index) if len(set(kinds)) > 1 else kinds[0]
    return _kind_of_sum(value, function, kinds)


def _are_times(kinds: list[Kind]) -> bool:
    """Whether they are times of one kind, whose difference is a number of ticks."""
    return set(kinds) == {"time"} or set(kinds) <= {"timestamp", "datetime"}


def _is_span(value: Value) -> bool:
    """Whether it is a stretch of time: a timedelta, or a difference of points in time."""
    return isinstance(value, Given) and isinstance(value.value, datetime.timedelta)


def _kind_with_spans(value: Value, function: str, kinds: list[Kind], spans: list[bool]) -> Kind:
    """Points in time with timedeltas, and differences of times, which are whole numbers."""
    if function == "-" and not any(spans):
        return "int64"
    if function in COMPARISONS and all(
        span or kind == "int64" for span, kind in zip(spans, kinds, strict=True)
    ):
        return "boolean"
    _require(
        function in ("+", "-") and kinds[0] in ("timestamp", "datetime") and spans[1],
        value,
        "adds a timedelta to what is no point in time",
    )
    return kinds[0]


def _are_comparable(arguments: tuple[Value, ...], kinds: list[Kind]) -> bool:
    numbers = {"int64", "float64", "time"}
    moments = {"datetime", "timestamp"}
    known = {
        kind
        for each, kind in zip(arguments, kinds, strict=True)
        if not (isinstance(each, Given) and each.value is None)
    }
    return len(known) <= 1 or known <= numbers or known <= moments


def _kind_of_sum(value: Value, function: str, kinds: list[Kind]) -> Kind:
    _require(
        all(kind in ("int64", "float64", "time") for kind in kinds),
        value,
        "computes with no numbers",
    )
    if function == "/" or "float64" in kinds:
        return "float64"
    is_shift = function in ("+", "-") and kinds[0] == "time" and kinds[1] == "int64"
    is_shift = is_shift or (function == "+" and kinds == ["int64", "time"])
    return "time" if is_shift else "int64"


def _require(holds: bool, value: Value, problem: str) -> None:
    if not holds:
        raise CatenaError(f"'{value}' {problem}", hint=f"kinds of values: {', '.join(KINDS)}")


def kind_of_aggregate(aggregate: Aggregate, attributes: Mapping[str, Kind]) -> Kind:
    """What kind of value an aggregation yields; a time is none of its row any more."""
    if aggregate.argument is None:
        return "int64"
    kind = type_of(aggregate.argument, attributes)
    kind = PLAIN.get(kind, kind)
    if aggregate.function == "count":
        return "int64"
    if aggregate.function in ("min", "max"):
        return kind
    if kind not in ("int64", "float64"):
        raise CatenaError(f"'{aggregate}' is taken of no numbers", hint="use min, max or count")
    return "float64" if aggregate.function == "mean" else kind


def checked_kind(kind: str) -> Kind:
    """A kind that a user names; raises with the kinds there are."""
    if kind not in KINDS:
        raise CatenaError(f"'{kind}' is no kind of value", hint=f"one of {', '.join(KINDS)}")
    return kind
