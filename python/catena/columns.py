"""Columns of every kind as Arrow batches that hold just those a query needs.

What exports Arrow (pyarrow, polars, DuckDB, pandas, ...) is taken without copying where the layout
allows; pandas frames and mappings of arrays become columns. Columns that the query does not name
are never looked at.

Invariant: every batch has exactly the wanted columns, in order, and there is at least one batch, so
that the types of an empty table are known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from typing import Any, Final

import numpy as np
import pyarrow as pa

from catena.errors import CatenaDataError, nearest

BATCH_ROWS: Final = 65_536
"""Rows evaluated between two looks at the results."""

_UNREADABLE: Final = (pa.ArrowException, TypeError, ValueError, OverflowError)
"""What pyarrow raises for values that it cannot convert."""


def is_table(events: object) -> bool:
    """True for what is columns already: tables, batches and arrays of Arrow, pandas, polars, ..."""
    return isinstance(events, pa.RecordBatchReader | pa.ChunkedArray) or (
        hasattr(events, "__arrow_c_stream__")
        or hasattr(events, "__arrow_c_array__")
        or _is_pandas_frame(events)
    )


def is_array(value: object) -> bool:
    """True for what can be a column: many values in order, and no text."""
    if isinstance(value, str | bytes | bytearray | Mapping | Set | np.generic | pa.Scalar):
        return False
    if isinstance(value, np.ndarray):
        return value.ndim > 0
    exports = ("__arrow_c_array__", "__arrow_c_stream__", "__array__")
    return isinstance(value, Sequence) or any(hasattr(value, name) for name in exports)


def read_table(events: Any, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The batches of a table.

    Raises CatenaDataError if a column is missing, naming those there are.
    """
    if _is_pandas_frame(events):
        return _batches_of(_pandas_table(events, columns), columns)
    try:
        return _batches_of(_arrow_batches(events), columns)
    except pa.ArrowException as error:
        raise _unreadable(error) from error


def read_arrays(events: Mapping[str, Any], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The batches of a mapping of arrays."""
    names = list(events)
    for name, value in events.items():
        if not is_array(value):
            raise CatenaDataError(
                f"column {name!r} is a {type(value).__name__}, not an array of values",
                hint="give an array for every column, or single values for one event",
            )
    for name in columns:
        if name not in events:
            raise missing_column(name, names)
    wanted = columns or names[:1]  # A table needs a column to have a number of rows.
    arrays = {name: _array(events[name], name) for name in wanted}
    try:
        table = pa.table(arrays)
    except pa.ArrowInvalid as error:
        raise _unreadable(error) from error
    return _batches_of(table, columns)


def missing_column(name: str, names: Sequence[str]) -> CatenaDataError:
    """The error for a column that the data does not have."""
    close = nearest(name, names)
    return CatenaDataError(
        f"there is no column {name!r}; the columns are {', '.join(map(repr, names)) or 'none'}",
        hint=f"did you mean {close!r}?" if close else None,
    )


def without_columns(row_count: int) -> pa.RecordBatch:
    """A batch of rows for a query that reads none of their columns."""
    return pa.RecordBatch.from_arrays([pa.nulls(row_count)], names=[""]).select([])


def unreadable_column(name: str, error: Exception) -> CatenaDataError:
    """The error for a column whose values have no type in common, or none that Arrow knows."""
    return CatenaDataError(
        f"column {name!r} cannot be read: {' '.join(str(error).split())}",
        hint="give all values of the column one type",
    )


def _unreadable(error: Exception) -> CatenaDataError:
    return CatenaDataError(f"the columns cannot be read: {' '.join(str(error).split())}")


def _is_pandas_frame(events: object) -> bool:
    is_pandas = type(events).__module__.partition(".")[0] == "pandas"
    return is_pandas and hasattr(events, "columns")


def _arrow_batches(events: Any) -> pa.RecordBatchReader | pa.Table | pa.RecordBatch:
    if isinstance(events, pa.RecordBatchReader | pa.Table | pa.RecordBatch):
        return events
    if isinstance(events, pa.Array | pa.ChunkedArray) or not hasattr(events, "__arrow_c_stream__"):
        return _table_of_structs(events)
    try:
        return pa.RecordBatchReader.from_stream(events)
    except pa.ArrowInvalid:
        return _table_of_structs(events)


def _table_of_structs(events: Any) -> pa.Table:
    """The table of an array whose elements are rows."""
    is_one = hasattr(events, "__arrow_c_array__")
    chunks = [pa.array(events)] if is_one else pa.chunked_array(events).chunks
    for chunk in chunks:
        if not pa.types.is_struct(chunk.type):
            raise CatenaDataError(
                f"an array of {chunk.type} is one column, not a table",
                hint="pass a mapping of column names to arrays",
            )
        if chunk.null_count:
            raise CatenaDataError("an array of events has nulls in place of events")
    return pa.Table.from_batches([pa.RecordBatch.from_struct_array(chunk) for chunk in chunks])


def _pandas_table(frame: Any, columns: Sequence[str]) -> pa.Table | pa.RecordBatch:
    if not columns:
        return without_columns(len(frame))
    places = _places(list(frame.columns), columns)
    arrays = [_array(frame.iloc[:, i], name) for i, name in zip(places, columns, strict=True)]
    return pa.table(arrays, names=list(columns))


def _array(values: Any, name: str) -> pa.Array | pa.ChunkedArray:
    try:
        if hasattr(values, "__arrow_c_stream__") and not hasattr(values, "__array__"):
            return pa.chunked_array(values)
        return pa.array(values)
    except _UNREADABLE as error:
        raise unreadable_column(name, error) from error


def _places(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    for name in columns:
        if names.count(name) != 1:
            if name in names:
                raise CatenaDataError(f"the data has {names.count(name)} columns named {name!r}")
            raise missing_column(name, [str(name) for name in names])
    return [names.index(name) for name in columns]


def _batches_of(
    table: pa.RecordBatchReader | pa.Table | pa.RecordBatch, columns: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    places = _places(table.schema.names, columns)
    batches = [table] if isinstance(table, pa.RecordBatch) else _read(table)
    is_empty = True
    for batch in batches:
        is_empty = False
        yield from _sliced(batch.select(places))
    if is_empty:
        yield pa.RecordBatch.from_pylist([], schema=pa.schema([table.field(i) for i in places]))


def _read(table: pa.RecordBatchReader | pa.Table) -> Iterable[pa.RecordBatch]:
    try:
        yield from table.to_reader() if isinstance(table, pa.Table) else table
    except pa.ArrowException as error:
        raise _unreadable(error) from error


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= BATCH_ROWS:
        yield batch
        return
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)
