"""How a plan meets the columns of a batch: typed predicates, time, window and keys.

Made once per layout of columns, and again when a later batch has another one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Final

import pyarrow as pa

from catena import _core
from catena.compile.cea import ClockKind
from catena.compile.plan import ClockBound, Plan, ReadsColumns
from catena.compile.predicates import Conditions, Value, bind_program
from catena.errors import CatenaDataError, CatenaError, error_at
from catena.query import ast
from catena.query.normalize import children
from catena.unify import is_text_or_coded

_TICKS_NS: Final = {"s": 1_000_000_000, "ms": 1_000_000, "us": 1_000, "ns": 1}
_UINT64_MAX: Final = 2**64 - 1
"""No two clocks of 64 bits differ by more."""
_INT64_MIN: Final = -(2**63)
_INT64_MAX: Final = 2**63 - 1


def bind(
    plan: Plan, schema: pa.Schema, keys: Sequence[int], known: Sequence[Value] = ()
) -> tuple[_core.Binding, tuple[Value, ...]]:
    """The binding of a plan to batches whose columns begin with this schema; `keys` are columns.

    Beside it what is known of the plan's registers by now, given what was `known` before.
    """
    _check_names(plan, schema)
    names = plan.order_columns
    guards = plan.guards
    asked = Conditions(plan.program_registers, plan.program_conditions, plan.program_updates)
    program, registers = bind_program(guards, asked, schema, plan.text, known)
    binding = _core.Binding(
        program=program,
        order=[_order_column(name, plan, schema) for name in names],
        clock=_clock(plan, names),
        time=names.index(plan.settings.time or "") if _uses_time(plan) else None,
        attributes=[names.index(name) for name in plan.attribute_clocks],
        window=_window(plan, schema),
        keys=keys,
        tie_count=len(plan.ties),
        row_guard=None if plan.row_guard is None else guards.index(plan.row_guard),
        intervals=[_interval(bound, plan, schema) for bound in plan.bounds],
    )
    return binding, registers


def _order_column(name: str, plan: Plan, schema: pa.Schema) -> tuple[int, bool, bool]:
    """Its place, whether it is floating, and whether it must not fall within each part only."""
    is_by_part = name != plan.settings.time and (bool(plan.keys) or plan.row_guard is not None)
    return schema.get_field_index(name), is_float_clock(schema, name), is_by_part


def _uses_time(plan: Plan) -> bool:
    return any(clock.kind is ClockKind.TIME for clock in plan.clocks)


def _interval(bound: ClockBound, plan: Plan, schema: pa.Schema) -> _core.Interval:
    """An interval in the ticks of its clock."""
    kind, column, interval = bound

    def ticks(end: ast.Bound | None) -> Fraction | None:
        if end is None or kind is not ClockKind.TIME:
            return None if end is None else end.amount
        return in_ticks(end, type, plan)

    type = pa.int64()
    if kind is ClockKind.TIME:
        type = schema.field(plan.settings.time).type
    elif column is not None:
        type = _number_type(column, interval.span, plan, schema)
    low, high = ticks(interval.low), ticks(interval.high)
    return _of_ticks(interval, low, high, pa.types.is_floating(type))


def _of_ticks(
    interval: ast.Interval, low: Fraction | None, high: Fraction | None, is_float: bool
) -> _core.Interval:
    if is_float:
        first = -math.inf if low is None else float(low)
        last = math.inf if high is None else float(high)
        return _core.Interval.of_floats(first, last, interval.low_open, interval.high_open)
    least, most = whole_bounds(interval, low, high)
    if least > _INT64_MAX or most < _INT64_MIN:
        return _core.Interval(1, 0)
    return _core.Interval(max(least, _INT64_MIN), min(most, _INT64_MAX))


def whole_bounds(
    interval: ast.Interval, low: Fraction | None, high: Fraction | None
) -> tuple[int, int]:
    """The least and the greatest whole number between the bounds; open ends leave them out."""
    least = _INT64_MIN if low is None else math.ceil(low)
    if interval.low_open and least == low:
        least += 1
    most = _INT64_MAX if high is None else math.floor(high)
    if interval.high_open and most == high:
        most -= 1
    return least, most


def is_float_clock(schema: pa.Schema, name: str) -> bool:
    """True if the column that orders the rows holds floats, false if integers or times."""
    type = schema.field(name).type
    types = pa.types
    if types.is_floating(type):
        return True
    if types.is_integer(type) or types.is_temporal(type) or types.is_null(type):
        return False
    raise CatenaDataError(
        f"column {name!r} has type {type}, which cannot order the rows",
        hint="use a timestamp, a date, a duration or a number",
    )


def _clock(plan: Plan, names: tuple[str, ...]) -> int | None:
    match plan.query.window:
        case ast.TimeWindow():
            return names.index(plan.settings.time or "")
        case ast.AttributeWindow(attribute=attribute):
            return names.index(attribute)
        case _:
            return None


def _check_names(plan: Plan, schema: pa.Schema) -> None:
    """The columns that hold the types and streams of rows must hold text."""
    settings = plan.settings
    atoms = [part for part in _parts(plan.normal_form) if isinstance(part, ast.Atom)]
    asks_for_stream = plan.row_guard is not None or any(atom.stream for atom in atoms)
    wanted = {"type": settings.type if atoms else None,
              "stream": settings.stream if asks_for_stream else None}  # fmt: skip
    for role, name in wanted.items():
        if name is not None:
            check_is_text(role, name, schema)


def check_is_text(role: str, name: str, schema: pa.Schema) -> None:
    """Raises CatenaDataError if the column, which nobody may read, holds anything but text."""
    index = schema.get_field_index(name)
    type = pa.null() if index < 0 else schema.field(index).type
    if not (is_text_or_coded(type) or pa.types.is_null(type)):
        raise CatenaDataError(
            f"column {name!r} holds the {role} of each row, which is text, but is {type}",
            hint=f"cast it to strings, or name another column with {role}='...'",
        )


def _parts(formula: ast.Formula) -> Iterator[ast.Formula]:
    yield formula
    for part in children(formula):
        yield from _parts(part)


def _window(plan: Plan, schema: pa.Schema) -> _core.Window:
    window = plan.query.window
    match window:
        case None:
            return _core.Window(_core.WindowKind.NONE)
        case ast.EventsWindow():
            return _core.Window(_core.WindowKind.EVENTS, window.count)
        case ast.AttributeWindow():
            type = _number_type(window.attribute, window.span, plan, schema)
            return _clock_window(window.amount, type)
        case ast.TimeWindow():
            type = schema.field(plan.settings.time or "").type
            amount = in_ticks(window.bound, type, plan)
            return _clock_window(amount, type)


def _number_type(name: str, span: ast.Span, plan: Plan, schema: pa.Schema) -> pa.DataType:
    """The type of an attribute that is a clock, which must be a number."""
    type = schema.field(name).type
    if not (pa.types.is_integer(type) or pa.types.is_floating(type) or pa.types.is_null(type)):
        raise error_at(
            plan.text, span,
            f"column {name!r} has type {type}, but the clock of a window must be a number",
            hint="pass time='...' and write a duration such as WITHIN 5 seconds",
        )  # fmt: skip
    return type


def _clock_window(amount: Fraction, type: pa.DataType) -> _core.Window:
    if pa.types.is_floating(type):
        return _core.Window(_core.WindowKind.FLOAT, 0, float(amount))
    whole = amount.numerator // amount.denominator  # Differences are whole: rounding down is exact.
    return _core.Window(_core.WindowKind.INT, min(whole, _UINT64_MAX))


def in_ticks(bound: ast.Bound, type: pa.DataType, plan: ReadsColumns) -> Fraction:
    """An amount of time in the unit of the time column."""
    if pa.types.is_temporal(type):
        if bound.unit is None:
            raise error_at(
                plan.text, bound.span,
                f"the time column has type {type}, so the bound needs a unit",
                hint=f"write for instance {bound.amount} seconds",
            )  # fmt: skip
        return bound.amount * bound.unit.nanoseconds / _tick_ns(type)
    if bound.unit is None:
        return bound.amount
    unit = plan.settings.time_unit
    if unit is None:
        raise _no_unit(bound, plan)
    return bound.amount * bound.unit.nanoseconds / unit.nanoseconds


def _no_unit(bound: ast.Bound, plan: ReadsColumns) -> CatenaError:
    return error_at(
        plan.text, bound.span,
        f"the time column {plan.settings.time!r} is a number, so its unit is not known",
        hint="write the bound without a unit, or pass time_unit='s' (or ms, us, ns, ...)",
    )  # fmt: skip


def _tick_ns(type: pa.DataType) -> int:
    if pa.types.is_date32(type):
        return ast.Unit.D.nanoseconds
    if pa.types.is_date64(type):
        return ast.Unit.MS.nanoseconds
    return _TICKS_NS[type.unit]
