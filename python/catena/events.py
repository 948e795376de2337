"""Input of every shape as Arrow batches: tables, mappings of arrays, one event, events one by one.

Events that come one by one, as mappings, are gathered into batches without Python code per event
(`_rows.pyx`). Invariant: every batch has exactly the columns that the query needs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias

import pyarrow as pa

from catena import _rows
from catena.columns import (
    is_array,
    is_table,
    missing_column,
    read_arrays,
    read_table,
    unreadable_column,
    without_columns,
)
from catena.errors import CatenaDataError

Events: TypeAlias = Any
"""Anything that exports Arrow, a pandas DataFrame, a mapping of arrays, an iterable of mappings or
of Arrow batches."""

GATHER_ROWS: Final = 4_096
"""Mappings gathered into one batch."""


def read_batches(
    events: Events, columns: Sequence[str], type_column: str
) -> Iterator[pa.RecordBatch]:
    """The events as batches with just these columns.

    Raises CatenaDataError if a column is missing, naming those there are.
    """
    if isinstance(events, Mapping):
        if _is_one_event(events, type_column):
            yield _gather([events], columns, 0)
        else:
            yield from read_arrays(events, columns)
    elif is_table(events):
        yield from read_table(events, columns)
    elif isinstance(events, Iterable) and not isinstance(events, str | bytes):
        yield from _batches_of_iterable(events, columns)
    else:
        raise CatenaDataError(
            f"events of type {type(events).__name__} cannot be read",
            hint="pass an Arrow, pandas or polars table, a mapping of columns, or an iterable of "
            "mappings",
        )


def can_be_read_again(events: Events) -> bool:
    """False for what is used up by reading it once: readers, generators and the like."""
    if isinstance(events, pa.RecordBatchReader | Iterator):
        return False
    if isinstance(events, Mapping | list | tuple) or is_table(events):
        return True
    return not isinstance(events, Iterable) or iter(events) is not iter(events)


def _is_one_event(events: Mapping[str, Any], type_column: str) -> bool:
    """True for a mapping of attributes to values; false for one of columns to arrays.

    An attribute's value may be a list, so the type decides, which is text and never a list.
    """
    if type_column in events:
        return not is_array(events[type_column])
    return not all(is_array(value) for value in events.values()) or not events


def _batches_of_iterable(events: Iterable[Any], columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Batches of an iterable whose items are mappings, each of them one event, or tables.

    A column that occurs in no event at all is a mistake; in some events it may be missing. A list
    is searched before anything is read, other iterables as they go.
    """
    iterator = iter(events)
    unseen = list(columns)
    if isinstance(events, list | tuple):
        missing = _rows.unseen(events, unseen)
        if missing:
            raise missing_column(missing[0], _rows.names(events))
        unseen = []
    number, names, stop = 0, list[str](), None
    while stop != ():
        rows, stop = _rows.take_mappings(iterator, GATHER_ROWS)
        if rows and unseen:
            unseen = _rows.unseen(rows, unseen)
            names = _rows.names(rows)
        if unseen and names and stop == ():
            raise missing_column(unseen[0], names)
        if rows:
            yield _gather(rows, columns, number)
            number += len(rows)
        if stop:
            yield from _read_item(stop[0], columns, number)
            unseen = []  # A table has all columns, or has been refused.


def _read_item(item: object, columns: Sequence[str], number: int) -> Iterator[pa.RecordBatch]:
    if not is_table(item):
        raise CatenaDataError(
            f"event {number} is a {type(item).__name__}, not a mapping of names to values"
        )
    return read_table(item, columns)


def _gather(
    rows: Sequence[Mapping[str, Any]], columns: Sequence[str], number: int
) -> pa.RecordBatch:
    """A batch of events, the first of which has this number."""
    try:
        values = _rows.gather(rows, list(columns))
    except ValueError as error:
        raise CatenaDataError(
            f"event {number + error.args[0]} has no attributes", hint="for no events, pass []"
        ) from None
    if not columns:
        return without_columns(len(rows))
    arrays = [_array(column, name) for column, name in zip(values, columns, strict=True)]
    return pa.RecordBatch.from_arrays(arrays, names=list(columns))


def _array(values: list[Any], name: str) -> pa.Array:
    try:
        return pa.array(values)
    except OverflowError:
        pass  # Integers of 64 bits without a sign are taken for such only if one says so.
    except (pa.ArrowException, TypeError, ValueError) as error:
        raise unreadable_column(name, error) from error
    try:
        return pa.array(values, pa.uint64())
    except (pa.ArrowException, TypeError, ValueError, OverflowError) as error:
        raise unreadable_column(name, error) from error
