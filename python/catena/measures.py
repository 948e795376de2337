"""Measures: values per match, computed column by column from positions.

A variable's positions come as the offsets and values of a list column. Taking an attribute at all
positions gives one flat array, and an aggregate is a reduction over its segments
(`aggregates.py`): no Python runs per match.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catena.aggregates import PositionLists, Undefined, aggregated, spread
from catena.arithmetic import OutOfRange, calculated, is_defined, kind_of, negated
from catena.errors import CatenaDataError, CatenaError, error_at
from catena.query import ast
from catena.query.format import format_expression

_INT64_MAX: Final = 2**63 - 1

Take = Callable[[str, npt.NDArray[np.int64]], pa.Array]
"""The values of a column at positions of the stream."""


@dataclass(frozen=True, slots=True)
class Measures:
    """Computes measures over some matches of a query with this text."""

    text: str
    lists: dict[str, PositionLists]
    take: Take
    match_count: int

    def value(self, expression: ast.Expression) -> pa.Array:
        """The expression's value for every match.

        Raises CatenaError with its place if the columns' types give it no meaning, CatenaDataError
        if a value does not fit 64 bits.
        """
        match expression:
            case ast.Literal():
                return pa.repeat(_scalar(expression.value), self.match_count)
            case ast.Negate():
                values = self._operand(expression.operand)
                if kind_of(values.type) not in ("number", "null"):
                    raise self._no_number(expression.operand, values.type)
                return self._in_range(expression, lambda: negated(values))
            case ast.Arithmetic():
                return self._arithmetic(expression)
            case ast.VariableAttribute():
                return self._edge(expression.variable, expression.attribute, first=True)
            case ast.Aggregate():
                return self._aggregate(expression)
            case _:
                raise AssertionError(f"{format_expression(expression)} is no measure")

    # Arithmetic

    def _arithmetic(self, expression: ast.Arithmetic) -> pa.Array:
        left, right = self._operand(expression.left), self._operand(expression.right)
        kinds = kind_of(left.type), kind_of(right.type)
        if not is_defined(expression.op, *kinds):
            raise error_at(
                self.text,
                expression.span,
                f"{format_expression(expression)} has no meaning: "
                f"a {kinds[0]} {expression.op} a {kinds[1]}",
                hint="times can be subtracted from each other, and durations added to times",
            )
        return self._in_range(expression, lambda: calculated(expression.op, left, right))

    def _operand(self, expression: ast.Expression) -> pa.Array:
        values = self.value(expression)
        if kind_of(values.type) in ("string", "boolean", "value"):
            raise self._no_number(expression, values.type)
        return values

    def _no_number(self, expression: ast.Expression, type: pa.DataType) -> CatenaError:
        return error_at(
            self.text,
            expression.span,
            f"arithmetic needs numbers, and {format_expression(expression)} is a {kind_of(type)}",
            hint=f"its column has type {type}",
        )

    def _in_range(self, expression: ast.Expression, compute: Callable[[], pa.Array]) -> pa.Array:
        try:
            return compute()
        except OutOfRange as error:
            raise CatenaDataError(
                f"{format_expression(expression)} does not fit {error}",
                hint="cast the column to float64 to calculate with rounding",
            ) from None

    # Aggregates

    def _edge(self, variable: str, attribute: str, *, first: bool) -> pa.Array:
        """The attribute at the first or last position of each match; null where there is none."""
        lists = self.lists[variable]
        present = lists.lengths > 0
        at = lists.offsets[:-1] if first else lists.offsets[1:] - 1
        return spread(self.take(attribute, lists.positions[at[present]]), present)

    def _aggregate(self, expression: ast.Aggregate) -> pa.Array:
        lists, function = self.lists[expression.variable], expression.function
        if expression.attribute is None:
            return pa.array(lists.lengths.astype(np.int64))
        if function in ("first", "last"):
            first = function == "first"
            return self._edge(expression.variable, expression.attribute, first=first)
        values = self.take(expression.attribute, lists.positions)
        try:
            return self._in_range(expression, lambda: aggregated(function, values, lists))
        except Undefined:
            name = f"{expression.variable}.{expression.attribute}"
            needs = "numbers or durations" if function in ("sum", "avg") else "values with an order"
            raise error_at(
                self.text,
                expression.span,
                f"{function} needs {needs}, and {name} is a {kind_of(values.type)}",
                hint=f"its column has type {values.type}",
            ) from None


def _scalar(value: ast.LiteralValue) -> pa.Scalar:
    is_large = isinstance(value, int) and value > _INT64_MAX
    return pa.scalar(value, pa.uint64() if is_large else None)


def attribute_lists(lists: PositionLists, attribute: str, take: Take) -> pa.Array:
    """The attribute at every position of each match, as a list column."""
    values: Any = take(attribute, lists.positions)
    return pa.ListArray.from_arrays(pa.array(lists.offsets), values)
