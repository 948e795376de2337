"""Columns of one stream whose types differ from batch to batch, made to agree.

Events that come one by one show a type late: nulls before values, whole numbers before fractions.
Libraries and files lay out the same strings as strings, large strings, views or dictionaries. Two
batches agree in the smallest type that holds the values of both; what no type holds exactly is an
error that names the column.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial, reduce
from typing import Final

import pyarrow as pa

from catena.errors import CatenaDataError

_ANY_INTEGER: Final = pa.decimal128(20, 0)
"""Holds every int64 and every uint64."""


def is_text(type: pa.DataType) -> bool:
    """True for strings of every layout but dictionaries."""
    types = pa.types
    return bool(types.is_string(type) or types.is_large_string(type) or types.is_string_view(type))


def is_text_or_coded(type: pa.DataType) -> bool:
    """True for strings of every layout."""
    return is_text(type.value_type) if pa.types.is_dictionary(type) else is_text(type)


def agreed(batches: Sequence[pa.RecordBatch]) -> Sequence[pa.RecordBatch]:
    """The batches, which have the same names in one order, with columns of common types."""
    schema = batches[0].schema
    if all(batch.schema.equals(schema) for batch in batches[1:]):
        return batches
    columns = [
        _in_one_type(field.name, [batch.column(i) for batch in batches])
        for i, field in enumerate(schema)
    ]
    return [
        pa.RecordBatch.from_arrays(list(arrays), names=schema.names)
        for arrays in zip(*columns, strict=True)
    ]


def _in_one_type(name: str, arrays: list[pa.Array]) -> list[pa.Array]:
    type = reduce(partial(_common_type, name), (array.type for array in arrays))
    if type.equals(_ANY_INTEGER) and all(pa.types.is_integer(array.type) for array in arrays):
        try:
            return [array.cast(pa.uint64()) for array in arrays]
        except pa.ArrowInvalid:
            pass  # There are negative numbers too.
    return [_cast(array, name, type) for array in arrays]


def _common_type(name: str, one: pa.DataType, other: pa.DataType) -> pa.DataType:
    if one.equals(other) or pa.types.is_null(other):
        return one
    if is_text_or_coded(one) and is_text_or_coded(other):
        is_large = any(pa.types.is_large_string(_values(type)) for type in (one, other))
        return pa.large_string() if is_large else pa.string()
    if pa.uint64() in (one, other) and any(map(pa.types.is_signed_integer, (one, other))):
        return _ANY_INTEGER
    fields = [pa.schema([pa.field(name, type)]) for type in (one, other)]
    try:
        return pa.unify_schemas(fields, promote_options="permissive").field(0).type
    except (pa.ArrowTypeError, pa.ArrowInvalid):
        raise _changed(name, one, other) from None


def _values(type: pa.DataType) -> pa.DataType:
    return type.value_type if pa.types.is_dictionary(type) else type


def _cast(array: pa.Array, name: str, type: pa.DataType) -> pa.Array:
    try:
        return array.cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        raise _changed(name, array.type, type) from None


def _changed(name: str, one: pa.DataType, other: pa.DataType) -> CatenaDataError:
    return CatenaDataError(
        f"the type of column {name!r} changed between {one} and {other}",
        hint="give all batches of a stream the same types",
    )
