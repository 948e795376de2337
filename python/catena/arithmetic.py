"""Arithmetic over columns of measures, with the rules of predicates: `/` is division of floats, a
zero divides to null, strings and booleans are no numbers.

Integers of any width are calculated in 64 bits, and what does not fit is an error. Values of uint64
that int64 does not hold are calculated in decimals, and the result is uint64, or int64 if it has
negative numbers. Decimals are calculated as floats. The difference of two times is a duration, and
durations can be added to times and to each other.
"""

from __future__ import annotations

from typing import Final, Literal, TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catena.layout import nearest_floats
from catena.query import ast
from catena.unify import is_text_or_coded

Kind: TypeAlias = Literal[
    "number", "time", "time with zone", "duration", "string", "boolean", "null", "value"
]

_ANY_INTEGER: Final = pa.decimal256(20, 0)
_CHECKED: Final = {
    "+": pc.add_checked,
    "-": pc.subtract_checked,
    "*": pc.multiply_checked,
}
_FLOATS: Final = {"+": pc.add, "-": pc.subtract, "*": pc.multiply}
_TIMES: Final = ("time", "time with zone")


class OutOfRange(Exception):
    """A result does not fit what its argument says."""


def kind_of(type: pa.DataType) -> Kind:
    """What a type's values are to arithmetic."""
    types = pa.types
    if types.is_integer(type) or types.is_floating(type) or types.is_decimal(type):
        return "number"
    if types.is_timestamp(type) or types.is_date(type):
        return "time with zone" if types.is_timestamp(type) and type.tz else "time"
    if types.is_duration(type):
        return "duration"
    if is_text_or_coded(type):
        return "string"
    if types.is_boolean(type):
        return "boolean"
    return "null" if types.is_null(type) else "value"


def is_defined(op: ast.ArithmeticOp, left: Kind, right: Kind) -> bool:
    """Whether two kinds of values go together."""
    if "null" in (left, right):
        return True
    if left in _TIMES:
        return (op in "+-" and right == "duration") or (op == "-" and left == right)
    if right in _TIMES:
        return op == "+" and left == "duration"
    return left == right == "number" or (left == right == "duration" and op in "+-")


def negated(values: pa.Array) -> pa.Array:
    """The values with their signs changed: numbers, or nulls."""
    if not pa.types.is_integer(values.type):
        return values if pa.types.is_null(values.type) else pc.negate(as_floats(values))
    return _integers("-", pa.repeat(pa.scalar(0, pa.int64()), len(values)), values)


def calculated(op: ast.ArithmeticOp, left: pa.Array, right: pa.Array) -> pa.Array:
    """`left op right` for kinds that go together; raises OutOfRange if a result does not fit."""
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return pa.nulls(len(left))
    if kind_of(left.type) != "number":
        return _checked(op, left, right)
    if pa.types.is_integer(left.type) and pa.types.is_integer(right.type) and op != "/":
        return _remainders(left, right) if op == "%" else _integers(op, left, right)
    floats = as_floats(left), as_floats(right)
    if op == "/":
        return pc.divide(floats[0], _nonzero(floats[1]))
    return _float_remainders(*floats) if op == "%" else _FLOATS[op](*floats)


def as_floats(values: pa.Array) -> pa.Array:
    """Numbers as float64, rounded where need be."""
    if pa.types.is_decimal(values.type):
        return nearest_floats(values)[0]
    return values.cast(pa.float64(), safe=False)


def _as_integers(values: pa.Array) -> pa.Array:
    """Whole decimals in 64 bits: without a sign if that holds them, else with one."""
    for type in (pa.uint64(), pa.int64()):
        try:
            return values.cast(type)
        except pa.ArrowInvalid:
            continue
    raise OutOfRange("64 bits")


def _integers(op: ast.ArithmeticOp, left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.uint64() in (left.type, right.type):
        left, right = left.cast(_ANY_INTEGER), right.cast(_ANY_INTEGER)
        return _as_integers(_checked(op, left, right))
    return _checked(op, left.cast(pa.int64()), right.cast(pa.int64()))


def _checked(op: ast.ArithmeticOp, left: pa.Array, right: pa.Array) -> pa.Array:
    try:
        return _CHECKED[op](left, right)
    except pa.ArrowInvalid:
        raise OutOfRange("64 bits") from None


def _nonzero(values: pa.Array) -> pa.Array:
    zero = pa.scalar(0, values.type)
    return pc.if_else(pc.equal(values, zero), pa.scalar(None, values.type), values)


def _float_remainders(left: pa.Array, right: pa.Array) -> pa.Array:
    right = _nonzero(right)
    is_null = pc.or_(left.is_null(), right.is_null()).to_numpy(zero_copy_only=False)
    values = [pc.fill_null(side, 1.0).to_numpy() for side in (left, right)]
    with np.errstate(invalid="ignore"):
        return pa.array(np.fmod(*values), mask=is_null)


def _remainders(left: pa.Array, right: pa.Array) -> pa.Array:
    """Remainders with the sign of the dividend, by magnitudes, which always fit uint64."""
    right = _nonzero(right)
    is_null = pc.or_(left.is_null(), right.is_null()).to_numpy(zero_copy_only=False)
    (dividend, is_negative), (divisor, _) = _magnitudes(left), _magnitudes(right)
    rest = dividend % divisor
    if not is_negative.any():
        unsigned = pa.array(rest, mask=is_null)
        return unsigned if left.type == pa.uint64() else unsigned.cast(pa.int64())
    # What is negative came from an int64, so all dividends did, and remainders are no larger.
    signed = rest.view(np.int64)
    return pa.array(np.where(is_negative, -signed, signed), mask=is_null)


def _magnitudes(
    values: pa.Array,
) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.bool_]]:
    """The numbers without their signs, with 1 in place of null, and which are negative."""
    known = pc.fill_null(values, pa.scalar(1, values.type))
    if values.type == pa.uint64():
        numbers = known.to_numpy()
        return numbers, np.zeros(len(numbers), dtype=bool)
    signed = known.cast(pa.int64()).to_numpy()
    return np.abs(signed).view(np.uint64), signed < 0
