"""Aggregates of values per match: count, sum, avg, min and max over segments of one flat array.

Nulls are skipped as in SQL; of no values the count is 0 and everything else null. Sums of integers,
decimals and durations are exact, or OutOfRange. A sum of uint64 is uint64, of other integers int64;
the average of durations is in microseconds, or in nanoseconds if they are.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from catena.arithmetic import OutOfRange, as_floats, kind_of
from catena.query import ast

_ANY_INTEGER_SUM: Final = pa.decimal128(38, 0)
_MICROSECONDS: Final = {"s": 1_000_000, "ms": 1_000, "us": 1}


class Undefined(Exception):
    """The values are of a type that has no such aggregate."""


@dataclass(frozen=True, slots=True)
class PositionLists:
    """The positions of one variable in every match: those of match i are
    positions[offsets[i]:offsets[i + 1]], in increasing order."""

    offsets: npt.NDArray[np.int32]
    positions: npt.NDArray[np.int64]

    @property
    def lengths(self) -> npt.NDArray[np.int32]:
        return np.diff(self.offsets)


def aggregated(function: ast.AggregateFunction, values: pa.Array, lists: PositionLists) -> pa.Array:
    """The aggregate of the values at the positions of each match."""
    kind = kind_of(values.type)
    if function == "count":
        return _counts(values, lists)
    if kind == "null":
        return pa.nulls(len(lists.lengths))
    if function in ("sum", "avg") and kind not in ("number", "duration"):
        raise Undefined
    if kind == "duration":
        return _of_durations(function, values, lists)
    match function:
        case "sum":
            return _sums(values, lists)
        case "avg":
            return _reduced("mean", as_floats(values), lists)
    if pa.types.is_dictionary(values.type):
        values = values.dictionary_decode()
    return _reduced(function, values, lists)


def spread(values: pa.Array, present: npt.NDArray[np.bool_]) -> pa.Array:
    """One value for every place that is present, nulls for the others."""
    if present.all():
        return values
    indices = np.cumsum(present) - 1
    return values.take(pa.array(indices, mask=~present))


def _counts(values: pa.Array, lists: PositionLists) -> pa.Array:
    is_valid = values.is_valid().to_numpy(zero_copy_only=False)
    before = np.concatenate([[0], np.cumsum(is_valid, dtype=np.int64)])
    return pa.array(before[lists.offsets[1:]] - before[lists.offsets[:-1]])


def _sums(values: pa.Array, lists: PositionLists) -> pa.Array:
    types = pa.types
    if types.is_integer(values.type):
        # Integers are summed as decimals, so that an overflow is seen.
        wide = values.cast(pa.decimal128(20, 0)).cast(_ANY_INTEGER_SUM)
        type = pa.uint64() if values.type == pa.uint64() else pa.int64()
        return _fitted(_reduced("sum", wide, lists), type, "64 bits")
    if types.is_decimal(values.type):
        scale = values.type.scale
        sums = _reduced("sum", values.cast(pa.decimal256(76, scale)), lists)
        is_wide = types.is_decimal256(values.type)
        return sums if is_wide else _fitted(sums, pa.decimal128(38, scale), "38 digits")
    return _reduced("sum", values, lists)


def _of_durations(
    function: ast.AggregateFunction, values: pa.Array, lists: PositionLists
) -> pa.Array:
    ticks = values.cast(pa.int64())
    if function != "avg":
        return aggregated(function, ticks, lists).cast(values.type)
    unit = values.type.unit
    means = pc.multiply(_reduced("mean", as_floats(ticks), lists), _MICROSECONDS.get(unit, 1))
    return pc.round(means).cast(pa.int64()).cast(pa.duration("ns" if unit == "ns" else "us"))


def _fitted(sums: pa.Array, type: pa.DataType, room: str) -> pa.Array:
    try:
        return sums.cast(type)
    except pa.ArrowInvalid:
        raise OutOfRange(room) from None


def _reduced(function: str, values: pa.Array, lists: PositionLists) -> pa.Array:
    """Reduces each segment with pyarrow's grouped aggregation."""
    segment = np.repeat(np.arange(len(lists.lengths), dtype=np.int32), lists.lengths)
    try:
        table = pa.table({"segment": segment, "value": values})
        grouped = table.group_by("segment", use_threads=False).aggregate([("value", function)])
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise Undefined from None
    return spread(grouped.column(f"value_{function}").combine_chunks(), lists.lengths > 0)
