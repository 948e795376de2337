"""Rows as engines hold them: Arrow tables whose times are whole numbers of ticks.

A `timestamp` or `datetime` is a number of microseconds since 1970 inside (naive ones are taken as
UTC), so both engines compute with integers only, exactly and alike. `inside` checks what a user
gives: attributes, types, no nulls among the times; `outside` undoes it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from catena.errors import CatenaDataError
from catena.events import read_batches
from catena.tsa.relations import Stream
from catena.tsa.values import TEMPORAL, Kind

MOMENT = pa.timestamp("us")
_TYPES: Mapping[Kind, pa.DataType] = {
    "boolean": pa.bool_(),
    "int64": pa.int64(),
    "float64": pa.float64(),
    "string": pa.string(),
    "datetime": pa.int64(),
    "time": pa.int64(),
    "timestamp": pa.int64(),
}


def arrow_schema(kinds: Mapping[str, Kind]) -> pa.Schema:
    """The columns that engines hold."""
    return pa.schema([(name, _TYPES[kind]) for name, kind in kinds.items()])


def no_rows(kinds: Mapping[str, Kind]) -> pa.Table:
    """An empty table."""
    return arrow_schema(kinds).empty_table()


def inside(stream: Stream, rows: Any) -> pa.Table:
    """What a user pushes, as an engine holds it."""
    if isinstance(rows, list | tuple) and not rows:
        return no_rows(stream.kinds)
    try:
        batches = list(read_batches(rows, list(stream.kinds), ""))
    except CatenaDataError as error:
        raise CatenaDataError(f"{stream.name}: {error.message}", hint=error.hint) from None
    table = pa.Table.from_batches(batches) if batches else no_rows(stream.kinds)
    columns = [_converted(stream, name, table.column(name)) for name in stream.kinds]
    return pa.table(columns, schema=arrow_schema(stream.kinds))


def _converted(stream: Stream, name: str, column: pa.ChunkedArray) -> pa.ChunkedArray:
    kind = stream.kinds[name]
    if kind in TEMPORAL and column.null_count:
        row = pc.index(pc.is_null(column), True).as_py()
        raise CatenaDataError(f"{stream.name}: the time '{name}' is null", row=row)
    try:
        if pa.types.is_timestamp(column.type) and kind in ("timestamp", "datetime"):
            column = column.cast(pa.timestamp("us", column.type.tz))
        elif pa.types.is_date(column.type) and kind in ("timestamp", "datetime"):
            column = column.cast(MOMENT)
        elif kind in ("timestamp", "datetime") and not pa.types.is_null(column.type):
            raise pa.ArrowTypeError("no point in time")
        return column.cast(_TYPES[kind])
    except pa.ArrowException as error:
        raise CatenaDataError(
            f"{stream.name}: '{name}' is of type {column.type}, not {kind}",
            hint=str(error).splitlines()[0],
        ) from None


def outside(kinds: Mapping[str, Kind], table: pa.Table) -> pa.Table:
    """What a user gets: points in time as such, in UTC."""
    columns = [
        table.column(name).cast(MOMENT) if kind in ("timestamp", "datetime") else table.column(name)
        for name, kind in kinds.items()
    ]
    return pa.table(columns, names=list(kinds))


def least(table: pa.Table, name: str) -> int | None:
    """The least value of a column; None if there are no rows."""
    value = pc.min(table.column(name)).as_py()
    return None if value is None else int(value)


def is_up_to(table: pa.Table, ends: Iterable[tuple[str, int]]) -> pa.ChunkedArray:
    """For each row, whether some attribute is up to its tick."""
    masks = [pc.less_equal(table.column(name), end) for name, end in ends]
    return reduce(pc.or_, masks)
