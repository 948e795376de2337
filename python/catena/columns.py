"""Input of every shape as Arrow batches that hold the columns a query needs.

What exports Arrow (pyarrow, polars, DuckDB, pandas, ...) is taken without copying where the layout
allows; mappings of arrays become columns; iterables of mappings (events one by one) are gathered
into batches. Columns that the query does not name are never looked at.

Invariant: every batch has exactly the wanted columns, in order. Types that the engine has no code
for but can read exactly (decimals that fit a float64, float16) are converted here; others are left
alone and refused when a predicate names them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from catena import _rows
from catena.errors import CatenaDataError, nearest

Events: TypeAlias = Any
"""Anything that exports Arrow, a pandas DataFrame, a mapping of arrays, an iterable of mappings or
of Arrow batches."""

BATCH_ROWS: Final = 65_536
"""Rows evaluated between two looks at the results."""

GATHER_ROWS: Final = 4_096
"""Mappings gathered into one batch."""


def is_one_event(events: Events) -> bool:
    """True for a mapping of attribute names to single values: one event."""
    if not isinstance(events, Mapping) or hasattr(events, "__arrow_c_stream__"):
        return False
    return not any(_is_array(value) for value in events.values())


def can_be_read_again(events: Events) -> bool:
    """False for what is used up by reading it once: readers, generators."""
    if isinstance(events, pa.RecordBatchReader):
        return False
    return not isinstance(events, Iterator)


def read_batches(events: Events, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """The events as batches with just these columns.

    Raises CatenaDataError if a column is missing, naming those there are.
    """
    if is_one_event(events):
        yield _gather([events], columns)
        return
    reader = _arrow_reader(events, columns)
    if reader is not None:
        positions = _positions(reader.schema.names, columns)
        for batch in reader:
            yield from _sliced(_prepared(batch, positions, columns))
    elif isinstance(events, Iterable) and not isinstance(events, str | bytes):
        yield from _batches_of_iterable(events, columns)
    else:
        raise CatenaDataError(
            f"events of type {type(events).__name__} cannot be read",
            hint="pass an Arrow, pandas or polars table, a mapping of columns, or an iterable of "
            "mappings",
        )


def _is_array(value: object) -> bool:
    return isinstance(value, list | tuple | pa.Array | pa.ChunkedArray) or (
        hasattr(value, "__len__") and not isinstance(value, str | bytes | Mapping)
    )


def _arrow_reader(events: Events, columns: Sequence[str]) -> pa.RecordBatchReader | None:
    """A reader over anything that is columns already; None for events one by one."""
    if isinstance(events, pa.RecordBatchReader):
        return events
    if isinstance(events, pa.Table):
        return events.to_reader()
    if type(events).__module__.split(".")[0] == "pandas":
        return _pandas_table(events, columns).to_reader()
    if hasattr(events, "__arrow_c_stream__"):
        return pa.RecordBatchReader.from_stream(events)
    if hasattr(events, "__arrow_c_array__"):
        return pa.Table.from_batches([pa.record_batch(events)]).to_reader()
    if isinstance(events, Mapping):
        return _table_of_mapping(events, columns).to_reader()
    return None


def _pandas_table(frame: Any, columns: Sequence[str]) -> pa.Table:
    wanted = [name for name in columns if name in frame.columns]
    missing = [name for name in columns if name not in frame.columns]
    if missing:
        raise _missing_column(missing[0], [str(name) for name in frame.columns])
    return pa.Table.from_pandas(frame[wanted], preserve_index=False)


def _table_of_mapping(events: Mapping[str, Any], columns: Sequence[str]) -> pa.Table:
    names = list(events)
    for name in columns:
        if name not in events:
            raise _missing_column(name, names)
    wanted = columns or names[:1]  # A table needs a column to have a number of rows.
    try:
        return pa.table({name: events[name] for name in wanted})
    except (pa.ArrowException, ValueError, TypeError) as error:
        raise CatenaDataError(f"the columns cannot be read: {error}") from error


def _positions(names: Sequence[str], columns: Sequence[str]) -> list[int]:
    for name in columns:
        if names.count(name) != 1:
            if name in names:
                raise CatenaDataError(f"the data has {names.count(name)} columns named {name!r}")
            raise _missing_column(name, names)
    return [names.index(name) for name in columns]


def _missing_column(name: str, names: Sequence[str]) -> CatenaDataError:
    close = nearest(name, names)
    return CatenaDataError(
        f"there is no column {name!r}; the columns are {', '.join(map(repr, names)) or 'none'}",
        hint=f"did you mean {close!r}?" if close else None,
    )


def _prepared(
    batch: pa.RecordBatch, positions: Sequence[int], columns: Sequence[str]
) -> pa.RecordBatch:
    if not positions:
        return batch.select([])
    arrays = [_readable(batch.column(i), name) for i, name in zip(positions, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _readable(array: pa.Array, name: str) -> pa.Array:
    """The array in a type the engine reads, if there is an exact one."""
    kind = array.type
    if pa.types.is_decimal(kind):
        return _decimal_as_float(array, name)
    if pa.types.is_float16(kind):
        return array.cast(pa.float32())
    if pa.types.is_dictionary(kind) and not _is_text(kind.value_type):
        return _readable(array.dictionary_decode(), name)
    if isinstance(array, pa.ExtensionArray):
        return _readable(array.storage, name)
    return array


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _decimal_as_float(array: pa.Array, name: str) -> pa.Array:
    floats = array.cast(pa.float64())
    wide = array.cast(pa.decimal256(76, max(array.type.scale, 0)))
    try:
        exact = pc.equal(floats.cast(wide.type), wide)
    except pa.ArrowInvalid:
        exact = pa.array([False])
    if pc.all(exact, min_count=0).as_py() is False:
        raise CatenaDataError(
            f"column {name!r} has decimals that a float64 does not hold exactly",
            hint="cast the column to float64 to accept rounding, or to integers of a smaller unit",
        )
    return floats


def _sliced(batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    if batch.num_rows <= BATCH_ROWS:
        yield batch
        return
    for start in range(0, batch.num_rows, BATCH_ROWS):
        yield batch.slice(start, BATCH_ROWS)


def _batches_of_iterable(events: Iterable[Any], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Batches of an iterable of mappings, or of an iterable of anything that exports Arrow."""
    if isinstance(events, list | tuple):
        _check_known(events, columns)
    iterator = iter(events)
    for first in iterator:
        if hasattr(first, "__arrow_c_array__") or hasattr(first, "__arrow_c_stream__"):
            yield from read_batches(first, columns)
        else:
            yield _gather([first, *islice(iterator, GATHER_ROWS - 1)], columns)


def _check_known(events: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> None:
    """A name that occurs in no event at all is a mistake; in some events it may be missing."""
    if not events or not all(isinstance(event, Mapping) for event in events):
        return
    known = dict.fromkeys(name for event in events for name in event)
    for name in columns:
        if name not in known:
            raise _missing_column(name, list(known))


def _gather(rows: Sequence[Mapping[str, Any]], columns: Sequence[str]) -> pa.RecordBatch:
    try:
        values = _rows.gather(rows, list(columns))
    except TypeError as error:
        raise CatenaDataError(str(error)) from error
    arrays = [_array(column, name) for column, name in zip(values, columns, strict=True)]
    if not arrays:
        return pa.RecordBatch.from_struct_array(pa.array([{}] * len(rows), pa.struct([])))
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _array(values: list[Any], name: str) -> pa.Array:
    try:
        return _readable(pa.array(values), name)
    except (pa.ArrowException, OverflowError) as error:
        raise CatenaDataError(f"column {name!r} cannot be read: {error}") from error
