"""Measures: values per match, computed column by column from positions.

A variable's positions come as the offsets and values of a list column. Taking an attribute at all
positions gives one flat array, and an aggregate is a reduction over its segments: no Python runs
per match. Aggregates skip nulls as SQL's do; of no values the sum, like the others, is null, and
the count is 0. Sums of integers are exact or an error.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catena.errors import CatenaDataError
from catena.query import ast
from catena.query.format import format_expression


@dataclass(frozen=True, slots=True)
class PositionLists:
    """The positions of one variable in every match: those of match i are
    positions[offsets[i]:offsets[i + 1]], in increasing order."""

    offsets: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        return np.diff(self.offsets)


Take = Callable[[str, npt.NDArray[np.int64]], pa.Array]
"""The values of a column at positions of the stream."""


def measure(
    expression: ast.Expression, lists: dict[str, PositionLists], take: Take, match_count: int
) -> pa.Array:
    """The expression's value for every match."""
    match expression:
        case ast.Literal():
            return pa.array([expression.value] * match_count)
        case ast.Negate():
            return pc.negate(measure(expression.operand, lists, take, match_count))
        case ast.Arithmetic():
            left = measure(expression.left, lists, take, match_count)
            right = measure(expression.right, lists, take, match_count)
            return _arithmetic(expression, left, right)
        case ast.VariableAttribute():
            return _edge(lists[expression.variable], expression.attribute, take, first=True)
        case ast.Aggregate():
            return _aggregate(expression, lists[expression.variable], take)
        case _:
            raise AssertionError(f"{format_expression(expression)} is no measure")


def _arithmetic(expression: ast.Arithmetic, left: pa.Array, right: pa.Array) -> pa.Array:
    if pa.types.is_null(left.type) or pa.types.is_null(right.type):
        return pa.nulls(len(left), pa.float64())
    try:
        match expression.op:
            case "+":
                return pc.add_checked(left, right)
            case "-":
                return pc.subtract_checked(left, right)
            case "*":
                return pc.multiply_checked(left, right)
            case "/":
                return pc.divide(left.cast(pa.float64()), _nonzero(right.cast(pa.float64())))
            case "%":
                return _remainder(left, _nonzero(right))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        text = format_expression(expression)
        raise CatenaDataError(f"{text} cannot be computed: {error}") from error


def _nonzero(array: pa.Array) -> pa.Array:
    """Division by zero gives null, as in a predicate."""
    zero = pa.scalar(0, array.type)
    return pc.if_else(pc.equal(array, zero), pa.scalar(None, array.type), array)


def _remainder(left: pa.Array, right: pa.Array) -> pa.Array:
    quotient = pc.trunc(pc.divide(left.cast(pa.float64()), right.cast(pa.float64())))
    if pa.types.is_integer(left.type) and pa.types.is_integer(right.type):
        whole = pc.divide_checked(left, right)  # Integer division cuts towards zero.
        return pc.subtract_checked(left, pc.multiply_checked(whole, right))
    return pc.subtract(left, pc.multiply(quotient, right))


def _edge(lists: PositionLists, attribute: str, take: Take, *, first: bool) -> pa.Array:
    """The attribute at the first or last position of each match; null where there is none."""
    present = lists.lengths > 0
    at = lists.offsets[:-1] if first else lists.offsets[1:] - 1
    values = take(attribute, lists.positions[at[present]])
    return _spread(values, present)


def _spread(values: pa.Array, present: npt.NDArray[np.bool_]) -> pa.Array:
    """One value for every place that is present, nulls for the others."""
    if present.all():
        return values
    indices = np.cumsum(present) - 1
    return values.take(pa.array(indices, mask=~present))


def _aggregate(expression: ast.Aggregate, lists: PositionLists, take: Take) -> pa.Array:
    if expression.attribute is None:
        return pa.array(lists.lengths.astype(np.int64))
    if expression.function in ("first", "last"):
        first = expression.function == "first"
        return _edge(lists, expression.attribute, take, first=first)
    values = take(expression.attribute, lists.positions)
    return _reduce(expression, values, lists)


def _reduce(expression: ast.Aggregate, values: pa.Array, lists: PositionLists) -> pa.Array:
    """Aggregates the values of each segment with pyarrow's grouped aggregation."""
    count = len(lists.offsets) - 1
    segment = np.repeat(np.arange(count, dtype=np.int32), lists.lengths)
    name = {"avg": "mean"}.get(expression.function, expression.function)
    try:
        table = pa.table({"segment": segment, "value": _summable(values, name)})
        grouped = table.group_by("segment", use_threads=False).aggregate([("value", name)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        text = format_expression(expression)
        raise CatenaDataError(
            f"{text} cannot be computed over a column of type {values.type}"
        ) from error
    found = grouped.column(f"value_{name}").combine_chunks()
    present = lists.lengths > 0
    if name == "count":
        return pc.fill_null(_spread(found, present), 0)
    if name == "sum" and pa.types.is_decimal(found.type):
        found = _as_int64(found, expression)
    return _spread(found, present)


def _summable(values: pa.Array, name: str) -> pa.Array:
    """Integers are summed as decimals, so that an overflow is seen."""
    if name == "sum" and pa.types.is_integer(values.type):
        return values.cast(pa.decimal128(20, 0)).cast(pa.decimal128(38, 0))
    if pa.types.is_dictionary(values.type):
        return values.dictionary_decode()
    if pa.types.is_null(values.type):
        return values.cast(pa.float64())
    return values


def _as_int64(sums: pa.Array, expression: ast.Aggregate) -> pa.Array:
    try:
        return sums.cast(pa.int64())
    except pa.ArrowInvalid as error:
        text = format_expression(expression)
        raise CatenaDataError(f"{text} does not fit 64 bits") from error


def attribute_lists(lists: PositionLists, attribute: str, take: Take) -> pa.Array:
    """The attribute at every position of each match, as a list column."""
    values: Any = take(attribute, lists.positions)
    return pa.ListArray.from_arrays(pa.array(lists.offsets), values)
