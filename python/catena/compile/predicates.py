"""Predicates meet columns: guards and conditions become one typed program for the engine.

A query names attributes; what they are is known when the first batch comes. Binding gives every
expression a type, converts where SQL would, and refuses what cannot be compared, pointing into the
query. Equal subexpressions become one node, so `type = 'T'` in ten guards is computed once per row.

Types: bool, int, float and string; timestamps, dates and durations are ints with a unit. Comparing
ints with floats goes through float64. Values that int64 may not hold (uint64 columns, times in
different units) are computed in 128 bits.

What a register holds has the type of what it is set to; times in registers are in nanoseconds, so
that they outlast a change of the column's unit between batches.
"""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias, cast, get_args

import pyarrow as pa

from catena import _core
from catena.compile.cea import Guard
from catena.compile.registers import Held
from catena.errors import CatenaDataError, CatenaError, error_at
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


@dataclass(frozen=True, slots=True)
class Conditions:
    """What is asked of registers: what these hold, conditions over them, what they are set to."""

    registers: Sequence[Held] = ()
    conditions: Sequence[ast.Expression] = ()
    updates: Sequence[tuple[int, ast.Expression]] = ()
    """Each with a register that is set to it."""


def value_from(kind: str, is_wide: bool, zone: str | None, is_zoned: bool, **_: object) -> Value:
    """What is known of a register, as a snapshot has it."""
    if kind not in get_args(Kind):
        raise ValueError(f"there is no kind of value {kind!r}")
    return Value(0, cast(Kind, kind), bool(is_wide), 1, zone, bool(is_zoned))


def bind_program(
    guards: Sequence[Guard],
    asked: Conditions,
    schema: pa.Schema,
    text: str,
    known: Sequence[Value] = (),
) -> tuple[_core.Program, tuple[Value, ...]]:
    """The program that tells for each row which guards it satisfies, and what conditions and
    updates of registers are; and what is known of the registers by now, given what was `known`."""
    builder = _ProgramBuilder(schema)
    for guard in guards:
        builder.add_guard(guard, text)
    builder.text = text
    registers = builder.take_registers(asked.registers, known)
    for condition in asked.conditions:
        builder.add_condition(condition)
    for number, value in asked.updates:
        builder.add_update(number, value)
    builder.program.validate()
    return builder.program, registers


def bind_predicates(predicates: Sequence[tuple[Guard, str]], schema: pa.Schema) -> _core.Program:
    """The program for guards that stand in texts of their own."""
    builder = _ProgramBuilder(schema)
    for guard, text in predicates:
        builder.add_guard(guard, text)
    builder.program.validate()
    return builder.program


class _ProgramBuilder:
    def __init__(self, schema: pa.Schema) -> None:
        self.program = _core.Program()
        self._schema = schema
        self.text = ""  # Of the guard at hand, for error messages.
        self._nodes: dict[tuple[object, ...], int] = {}
        self._registers: tuple[Value, ...] = ()

    def add_guard(self, guard: Guard, text: str) -> None:
        self.text = text
        nodes = [self._truth(part).node for part in sorted(guard, key=format_expression)]
        whole = nodes[0]
        for node in nodes[1:]:
            whole = self._node("and", "bool", whole, node)
        self.program.add_guard(whole)

    # What is asked of open matches of an absence is no part of the program: the engine follows
    # these (cpp/engine/absences.h). It has a place all the same, for the sake of the numbers.

    def add_condition(self, condition: ast.Expression) -> None:
        if isinstance(condition, ast.Ends):
            condition = ast.Literal(False)
        self.program.add_condition(self._truth(condition).node)

    def add_update(self, number: int, value: ast.Expression) -> None:
        if isinstance(value, ast.Begun):
            value = ast.Unbound()
        self.program.add_update(self._in_register(self._value(value), number).node)

    # Registers

    def take_registers(
        self, registers: Sequence[Held], known: Sequence[Value]
    ) -> tuple[Value, ...]:
        """Learns of what kind registers are; they may have been of another in earlier batches."""
        kinds = [self._held(register) for register in registers]
        if known:
            kinds = list(map(_joined, registers, known, kinds))
        self._registers = tuple(kinds)
        return self._registers

    def _held(self, register: Held) -> Value:
        if register.value is None or register.what == "count":
            return Value(0, "int")
        if register.what == "sum":
            value = self._number(register.value)
            return Value(0, value.kind, is_wide=value.kind == "int")
        value = self._value(register.value)
        if value.is_temporal:  # In nanoseconds, whatever the unit of a batch is.
            return replace(value, node=0, is_wide=True, tick_ns=1)
        return replace(value, node=0, literal=None)

    def _register(self, number: int) -> Value:
        held = self._registers[number]
        if held.kind == "null":
            return Value(self._unknown().node, "null")
        return replace(held, node=self._node("register", held.storage, value=number))

    def _in_register(self, value: Value, number: int) -> Value:
        """A value as the register keeps it."""
        held = self._registers[number]
        if value.kind == "null":
            return value
        if value.is_temporal:
            return self._rescaled(value, 1)
        if held.kind == "float":
            return self._to_float(value)
        return self._to_wide(value) if held.is_wide else value

    def _if_bound(self, expression: ast.IfBound) -> Value:
        number = _number_of(expression.operand)
        held = self._registers[number]
        otherwise = self._in_register(self._value(expression.otherwise), number)
        if held.kind == "null":
            return otherwise
        register = self._register(number).node
        return replace(held, node=self._node("if_bound", held.storage, register, otherwise.node))

    def _accumulate(self, expression: ast.Accumulate) -> Value:
        value = self._value(expression.value)
        if expression.function == "count":
            before = self._value(expression.operand)
            return Value(self._node("count", "int", before.node, value.node), "int")
        number = _number_of(expression.operand)
        held = self._registers[number]
        if held.kind == "null":
            return value
        added = self._in_register(value, number)
        register = self._register(number).node
        node = self._node(expression.function, held.storage, register, added.node)
        return replace(held, node=node)

    def _narrow(self, expression: ast.Narrow) -> Value:
        value = self._value(expression.operand)
        if value.kind != "int":
            return value
        wide = self._to_wide(value)
        return Value(self._node("narrow", "int", wide.node), "int")

    # Nodes

    def _node(self, op: str, type: str, left: int = 0, right: int = 0, value: object = None) -> int:
        shown = tuple(value) if isinstance(value, list) else value
        key = (op, type, left, right, shown.__class__, str(shown) if shown != shown else shown)
        if key not in self._nodes:
            self._nodes[key] = self.program.add(op, type, left, right, value)
        return self._nodes[key]

    def _error(self, node: ast.Node, message: str, hint: str | None = None) -> CatenaError:
        return error_at(self.text, node.span, message, hint=hint)

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
                return self._remembered(expression)

    def _remembered(self, expression: ast.Expression) -> Value:
        match expression:
            case ast.Register():
                return self._register(expression.number)
            case ast.Unbound():
                return Value(self._node("unbound", "bool"), "null")
            case ast.IsBound():
                number = _number_of(expression.operand)
                storage = self._registers[number].storage
                register = self._node("register", storage, value=number)
                return self._bool("is_bound", register)
            case ast.IfBound():
                return self._if_bound(expression)
            case ast.Accumulate():
                return self._accumulate(expression)
            case ast.Narrow():
                return self._narrow(expression)
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


def _number_of(register: ast.Expression) -> int:
    assert isinstance(register, ast.Register)
    return register.number


def _joined(register: Held, before: Value, now: Value) -> Value:
    """What a register is whose kind was one thing in earlier batches and is another now."""
    if now.kind == "null":
        return before
    if before.kind == "null" or replace(before, zone=now.zone) == now:
        return now
    if before.kind in ("int", "float") and now.kind in ("int", "float"):
        kind: Kind = "float" if "float" in (before.kind, now.kind) else "int"
        return Value(0, kind, is_wide=kind == "int" and (before.is_wide or now.is_wide))
    if before.is_temporal and _comparable(before, now):
        return now
    raise CatenaDataError(
        f"{register.text} was a {_shown(before)} in earlier rows and is a {_shown(now)} now",
        hint="give all batches of a stream the same types",
    )


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
