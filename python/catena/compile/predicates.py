"""Predicates meet columns: guards become one typed program for the engine.

A query names attributes; what they are is known when the first batch comes. Binding gives every
expression a type, converts where SQL would, and refuses what cannot be compared, pointing into the
query. Equal subexpressions become one node, so `type = 'T'` in ten guards is computed once per row.

Types: bool, int, float and string; timestamps, dates and durations are ints with a unit. Comparing
ints with floats goes through float64. Values that int64 may not hold (uint64 columns, times in
different units) are computed in 128 bits.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

import pyarrow as pa

from catena import _core
from catena.compile.cea import Guard
from catena.errors import CatenaError, error_at
from catena.query import ast
from catena.query.format import format_expression
from catena.unify import is_text

Kind: TypeAlias = Literal["bool", "int", "float", "string", "timestamp", "date", "duration", "null"]

_NANOSECONDS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_DAY_NANOSECONDS: Final = 86_400_000_000_000
_INT64: Final = range(-(2**63), 2**63)
_ORDER: Final = (ast.CompareOp.LT, ast.CompareOp.LE, ast.CompareOp.GT, ast.CompareOp.GE)


@dataclass(frozen=True, slots=True)
class Value:
    """A node of the program with what is known of it."""

    node: int
    kind: Kind
    is_wide: bool = False
    tick_ns: int = 1
    zone: str | None = None
    is_zoned: bool = False
    literal: ast.Literal | None = None

    @property
    def storage(self) -> str:
        if self.kind in ("bool", "null"):
            return "bool"
        if self.kind in ("float", "string"):
            return self.kind
        return "wide" if self.is_wide else "int"

    @property
    def is_temporal(self) -> bool:
        return self.kind in ("timestamp", "date", "duration")


def bind_guards(guards: Sequence[Guard], schema: pa.Schema, text: str) -> _core.Program:
    """The program that tells for each row which guards it satisfies."""
    builder = _ProgramBuilder(schema, text)
    for guard in guards:
        builder.add_guard(guard)
    builder.program.validate()
    return builder.program


class _ProgramBuilder:
    def __init__(self, schema: pa.Schema, text: str) -> None:
        self.program = _core.Program()
        self._schema = schema
        self._text = text
        self._nodes: dict[tuple[object, ...], int] = {}

    def add_guard(self, guard: Guard) -> None:
        nodes = [self._truth(part).node for part in sorted(guard, key=format_expression)]
        whole = nodes[0]
        for node in nodes[1:]:
            whole = self._node("and", "bool", whole, node)
        self.program.add_guard(whole)

    # Nodes

    def _node(self, op: str, type: str, left: int = 0, right: int = 0, value: object = None) -> int:
        shown = tuple(value) if isinstance(value, list) else value
        key = (op, type, left, right, shown.__class__, str(shown) if shown != shown else shown)
        if key not in self._nodes:
            self._nodes[key] = self.program.add(op, type, left, right, value)
        return self._nodes[key]

    def _error(self, node: ast.Node, message: str, hint: str | None = None) -> CatenaError:
        return error_at(self._text, node.span, message, hint=hint)

    def _bool(self, op: str, left: int, right: int = 0) -> Value:
        return Value(self._node(op, "bool", left, right), "bool")

    def _unknown(self) -> Value:
        return Value(self._node("literal", "bool"), "bool")

    # Expressions

    def _truth(self, expression: ast.Expression) -> Value:
        value = self._value(expression)
        if value.kind == "null":
            return self._unknown()
        if value.kind != "bool":
            raise self._error(
                expression,
                f"{format_expression(expression)} is a {_shown(value)}, not a condition",
                hint="compare it with something",
            )
        return value

    def _value(self, expression: ast.Expression) -> Value:
        match expression:
            case ast.Literal():
                return self._literal(expression)
            case ast.Attribute():
                return self._attribute(expression)
            case ast.Arithmetic():
                return self._arithmetic(expression)
            case ast.Negate():
                value = self._number(expression.operand)
                if value.kind == "null":
                    return value
                node = self._node("negate", value.storage, value.node)
                return replace(value, node=node, literal=None)
            case ast.Comparison():
                return self._comparison(
                    expression.op,
                    self._value(expression.left),
                    self._value(expression.right),
                    expression,
                )
            case ast.InSet():
                return self._negated_if(expression.negated, self._in_set(expression))
            case ast.InRange():
                return self._negated_if(expression.negated, self._in_range(expression))
            case ast.Like():
                return self._negated_if(expression.negated, self._like(expression))
            case ast.IsNull():
                value = self._value(expression.operand)
                return self._negated_if(expression.negated, self._bool("is_null", value.node))
            case ast.IsTrue():
                value = self._truth(expression.operand)
                return self._negated_if(expression.negated, self._bool("is_true", value.node))
            case ast.LogicalNot():
                return self._bool("not", self._truth(expression.operand).node)
            case ast.LogicalAnd() | ast.LogicalOr():
                op = "and" if isinstance(expression, ast.LogicalAnd) else "or"
                left, right = self._truth(expression.left), self._truth(expression.right)
                return self._bool(op, left.node, right.node)
            case _:
                raise self._error(
                    expression, f"{format_expression(expression)} cannot stand in a predicate"
                )

    def _negated_if(self, negated: bool, value: Value) -> Value:
        return self._bool("not", value.node) if negated else value

    def _literal(self, literal: ast.Literal) -> Value:
        value = literal.value
        if value is None:
            return Value(self._node("literal", "bool"), "null", literal=literal)
        if isinstance(value, bool):
            return Value(self._node("literal", "bool", value=value), "bool", literal=literal)
        if isinstance(value, int):
            wide = value not in _INT64
            node = self._node("literal", "wide" if wide else "int", value=value)
            return Value(node, "int", is_wide=wide, literal=literal)
        if isinstance(value, float):
            return Value(self._node("literal", "float", value=value), "float", literal=literal)
        return Value(self._node("literal", "string", value=value), "string", literal=literal)

    def _attribute(self, attribute: ast.Attribute) -> Value:
        index = self._schema.get_field_index(attribute.name)
        type = self._schema.field(index).type
        if pa.types.is_null(type):
            return Value(self._node("literal", "bool"), "null")
        value = _column_value(type)
        if value is None:
            raise self._error(
                attribute,
                f"column {attribute.name!r} has type {type}, which predicates cannot read",
                hint="use a boolean, integer, float, string, timestamp, date or duration column",
            )
        return replace(value, node=self._node("column", value.storage, value=index))

    def _number(self, expression: ast.Expression) -> Value:
        value = self._value(expression)
        if value.kind not in ("int", "float", "null"):
            raise self._error(
                expression,
                f"arithmetic needs numbers, and {format_expression(expression)} "
                f"is a {_shown(value)}",
            )
        return value

    def _arithmetic(self, expression: ast.Arithmetic) -> Value:
        left, right = self._number(expression.left), self._number(expression.right)
        if "null" in (left.kind, right.kind):
            return Value(self._unknown().node, "null")
        if expression.op == "/":
            left, right = self._to_float(left), self._to_float(right)
        left, right = self._same_storage(left, right)
        node = self._node(expression.op, left.storage, left.node, right.node)
        return Value(node, left.kind, is_wide=left.is_wide)

    # Comparisons

    def _comparison(self, op: ast.CompareOp, left: Value, right: Value, where: ast.Node) -> Value:
        left, right = self._adapt(left, right, where), self._adapt(right, left, where)
        if "null" in (left.kind, right.kind):
            return self._unknown()
        if not _comparable(left, right):
            raise self._error(
                where,
                f"cannot compare a {_shown(left)} with a {_shown(right)}",
                hint=_comparison_hint(left, right),
            )
        if left.kind == "bool" and op in _ORDER:
            raise self._error(where, "booleans can only be compared by = and !=")
        left, right = self._same_tick(left, right)
        left, right = self._same_storage(left, right)
        return self._bool(op.value, left.node, right.node)

    def _adapt(self, value: Value, other: Value, where: ast.Node) -> Value:
        """A literal read in the sense of what it is compared with."""
        literal = value.literal
        if literal is None or not other.is_temporal:
            return value
        if isinstance(literal.value, str) and other.kind in ("timestamp", "date"):
            nanoseconds = self._parse_time(literal, other)
            ticks, rest = divmod(nanoseconds, other.tick_ns)
            if rest:  # Finer than the column's unit: both are compared in nanoseconds.
                return self._ticks(nanoseconds, replace(other, literal=None, tick_ns=1))
            return self._ticks(ticks, replace(other, literal=None))
        if isinstance(literal.value, int) and other.kind == "duration":
            return self._ticks(literal.value, replace(other, literal=None))
        return value

    def _ticks(self, ticks: int, like: Value) -> Value:
        wide = ticks not in _INT64
        node = self._node("literal", "wide" if wide else "int", value=ticks)
        return replace(like, node=node, is_wide=wide)

    def _zone(self, literal: ast.Literal, name: str | None) -> datetime.tzinfo:
        """The zone that times without an offset are in."""
        try:
            zone = datetime.UTC if name is None else pa.lib.string_to_tzinfo(name)
        except (KeyError, ValueError, OSError):
            raise self._error(
                literal,
                f"the column's time zone {name!r} is not known",
                hint="write the time with an offset such as +01:00, or cast the column to a "
                "known zone",
            ) from None
        assert isinstance(zone, datetime.tzinfo)
        return zone

    def _parse_time(self, literal: ast.Literal, like: Value) -> int:
        """The nanoseconds since 1970 of a time in the sense of a column's."""
        text = str(literal.value)
        try:
            moment, digits = _parse_moment(text)
        except ValueError:
            raise self._error(
                literal,
                f"{text!r} is not a date or time",
                hint="write '2026-01-31', '2026-01-31 12:30:00.5' or with an offset such as +01:00",
            ) from None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=self._zone(literal, like.zone))
        elif not like.is_zoned:
            raise self._error(
                literal,
                "a time with an offset cannot be compared with a column without time zone",
                hint="leave the offset out, or give the column a time zone",
            )
        elapsed = moment - datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
        return (elapsed.days * 86_400 + elapsed.seconds) * _NANOSECONDS["s"] + digits

    def _in_set(self, expression: ast.InSet) -> Value:
        operand = self._value(expression.operand)
        if operand.kind == "null" or not expression.values:
            return self._unknown() if expression.values else self._false()
        if operand.kind in ("bool", "date", "timestamp", "duration"):
            return self._any_equal(operand, expression)
        members = [self._value(literal) for literal in expression.values]
        for member, literal in zip(members, expression.values, strict=True):
            if not _comparable(operand, member):
                raise self._error(
                    literal,
                    f"cannot compare a {_shown(operand)} with a {_shown(member)}",
                    hint=_comparison_hint(operand, member),
                )
        values: list[object] = [literal.value for literal in expression.values]
        if operand.kind == "int" and any(m.kind == "float" for m in members):
            operand = self._to_float(operand)
        elif any(m.is_wide for m in members):
            operand = self._to_wide(operand)
        if operand.kind == "float":
            values = [float(v) for v in values]  # type: ignore[arg-type]
        node = self._node("in", "bool", operand.node, value=values)
        return Value(node, "bool")

    def _false(self) -> Value:
        return Value(self._node("literal", "bool", value=False), "bool")

    def _any_equal(self, operand: Value, expression: ast.InSet) -> Value:
        result = self._false()
        for literal in expression.values:
            equal = self._comparison(ast.CompareOp.EQ, operand, self._value(literal), literal)
            result = self._bool("or", result.node, equal.node)
        return result

    def _in_range(self, expression: ast.InRange) -> Value:
        operand = self._value(expression.operand)
        ends = ((ast.CompareOp.GE, expression.low), (ast.CompareOp.LE, expression.high))
        parts = [
            self._comparison(op, operand, self._value(end), end)
            for op, end in ends
            if end is not None
        ]
        result = parts[0]
        for part in parts[1:]:
            result = self._bool("and", result.node, part.node)
        return result

    def _like(self, expression: ast.Like) -> Value:
        operand = self._value(expression.operand)
        if operand.kind == "null":
            return self._unknown()
        if operand.kind != "string":
            raise self._error(
                expression,
                f"LIKE needs a string, and {format_expression(expression.operand)} "
                f"is a {_shown(operand)}",
            )
        return Value(self._node("like", "bool", operand.node, value=expression.pattern), "bool")

    # Conversions

    def _to_float(self, value: Value) -> Value:
        if value.kind == "float":
            return value
        if value.literal is not None:
            number = float(value.literal.value)  # type: ignore[arg-type]
            return Value(self._node("literal", "float", value=number), "float")
        return Value(self._node("to_float", "float", value.node), "float")

    def _to_wide(self, value: Value) -> Value:
        if value.storage != "int":
            return value
        return replace(value, node=self._node("to_wide", "wide", value.node), is_wide=True)

    def _same_storage(self, left: Value, right: Value) -> tuple[Value, Value]:
        if "float" in (left.kind, right.kind):
            return self._to_float(left), self._to_float(right)
        if left.is_wide or right.is_wide:
            return self._to_wide(left), self._to_wide(right)
        return left, right

    def _same_tick(self, left: Value, right: Value) -> tuple[Value, Value]:
        if not left.is_temporal or left.tick_ns == right.tick_ns:
            return left, right
        finer = min(left.tick_ns, right.tick_ns)
        return self._rescaled(left, finer), self._rescaled(right, finer)

    def _rescaled(self, value: Value, tick_ns: int) -> Value:
        factor = value.tick_ns // tick_ns
        value = self._to_wide(value)
        if factor == 1:
            return value
        by = self._node("literal", "wide", value=factor)
        node = self._node("*", "wide", value.node, by)
        return replace(value, node=node, tick_ns=tick_ns)


def _column_value(type: pa.DataType) -> Value | None:
    """What is known of a column by its type alone; None if predicates cannot read it."""
    types = pa.types
    if types.is_dictionary(type):
        return _column_value(type.value_type) if is_text(type.value_type) else None
    if is_text(type):
        return Value(0, "string")
    if types.is_boolean(type):
        return Value(0, "bool")
    if types.is_integer(type):
        return Value(0, "int", is_wide=type == pa.uint64())
    if types.is_float32(type) or types.is_float64(type):
        return Value(0, "float")
    if types.is_timestamp(type):
        zone = type.tz
        tick = _NANOSECONDS[type.unit]
        return Value(0, "timestamp", tick_ns=tick, zone=zone, is_zoned=zone is not None)
    if types.is_date32(type):
        return Value(0, "date", tick_ns=_DAY_NANOSECONDS)
    if types.is_date64(type):
        return Value(0, "date", tick_ns=_NANOSECONDS["ms"])
    if types.is_duration(type):
        return Value(0, "duration", tick_ns=_NANOSECONDS[type.unit])
    return None


def _comparable(left: Value, right: Value) -> bool:
    numbers = ("int", "float")
    if left.kind in numbers and right.kind in numbers:
        return True
    days = ("date", "timestamp")
    if left.kind in days and right.kind in days:
        return left.is_zoned == right.is_zoned or "date" == left.kind == right.kind
    return left.kind == right.kind


def _comparison_hint(left: Value, right: Value) -> str | None:
    kinds = {left.kind, right.kind}
    if kinds == {"string", "int"} or kinds == {"string", "float"}:
        return "numbers stand without quotes, strings in single quotes"
    if kinds <= {"date", "timestamp"}:
        return "one has a time zone and the other has none"
    return None


def _shown(value: Value) -> str:
    names = {"int": "number", "float": "number", "bool": "boolean", "null": "null"}
    return names.get(value.kind, value.kind)


def _parse_moment(text: str) -> tuple[datetime.datetime, int]:
    """A date or time in ISO form, in whole seconds, and the nanoseconds behind it.

    Digits past the microsecond, which datetime does not hold, are read by hand.
    """
    head, dot, tail = text.strip().partition(".")
    digits = tail[: len(tail) - len(tail.lstrip("0123456789"))]
    if len(digits) > 9 or (dot and not digits):
        raise ValueError(text)
    moment = datetime.datetime.fromisoformat(head + tail[len(digits) :])
    return moment, int(digits.ljust(9, "0") or 0)
