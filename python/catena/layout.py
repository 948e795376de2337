"""How batches of one schema reach the core and the store of rows: what is converted, and to what.

The core reads booleans, integers, float32 and float64, strings of every layout, timestamps, dates
and durations, and keys that are decimals. Some other types can be read faithfully, and are
converted here: decimals and float16 to floats, dictionaries of anything but strings to plain
columns, columns without a type (all null, or empty) to the type that they will have. What is left
is refused when a query names it. The store takes all types but those that Arrow cannot look up or
calculate with: string views and float16. Columns that need nothing are passed on without copying.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import pyarrow as pa

from catena import _core
from catena.compile.plan import ReadsColumns
from catena.errors import CatenaDataError
from catena.unify import is_text, is_text_or_coded

_ROW_FORMATS: Final = {pa.string(): "u", pa.int64(): "l", pa.float64(): "g", pa.bool_(): "b"}


@dataclass(frozen=True, slots=True)
class Layout:
    """`given` is how batches come, `schema` what the core gets, `keys` columns of the latter,
    `kept` what is stored; `order_types` are the types of the time columns, as far as known."""

    given: pa.Schema
    schema: pa.Schema
    keys: tuple[int, ...]
    sources: tuple[int, ...]
    """By column of `schema`, the column of `given` that it is made from."""
    kept: pa.Schema
    kept_sources: list[int]
    """The same for `kept`."""
    order_types: Mapping[str, pa.DataType]

    @property
    def columns(self) -> pa.Schema:
        """What the core gets, without the columns that are keys only."""
        return pa.schema(list(self.schema)[: len(self.given)])

    @property
    def row_formats(self) -> str:
        """The columns' types as letters of Arrow's C interface, if Python's own values are of just
        these; else nothing."""
        formats = [_ROW_FORMATS.get(field.type, "") for field in self.schema]
        return "".join(formats) if self.schema is self.given and all(formats) else ""

    def read(self, batch: pa.RecordBatch, position: int) -> pa.RecordBatch:
        """What the core gets of a batch whose first row has this position.

        Raises CatenaDataError, with the row, for a decimal that no float64 stands for.
        """
        if self.schema is self.given:
            return batch
        arrays = [
            _converted(batch.column(source), field, position)
            for source, field in zip(self.sources, self.schema, strict=True)
        ]
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)

    def stored(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        """What is stored of a batch."""
        chosen = batch.select(self.kept_sources)
        return chosen if chosen.schema.equals(self.kept) else chosen.cast(self.kept)


def layout_of(
    plan: ReadsColumns, given: pa.Schema, order_types: Mapping[str, pa.DataType]
) -> Layout:
    """The layout of batches of a schema; `order_types` are those of the time columns so far.

    Raises CatenaDataError if one of these changed, or a key is of a type that cannot be one.
    """
    order_types = _checked_order_types(plan, given, order_types)
    schema, sources, keys = _core_columns(plan, given, order_types)
    kept_sources = [given.get_field_index(name) for name in plan.kept_columns]
    kept = [given.field(i).with_type(_storable_type(given.field(i).type)) for i in kept_sources]
    return Layout(given, schema, keys, sources, pa.schema(kept), kept_sources, order_types)


def _checked_order_types(
    plan: ReadsColumns, given: pa.Schema, known: Mapping[str, pa.DataType]
) -> dict[str, pa.DataType]:
    """The types of the time columns, which must not change once they are known."""
    types = dict(known)
    for name in plan.order_columns:
        type = given.field(name).type
        if pa.types.is_null(type):
            continue
        if not types.setdefault(name, type).equals(type):
            raise CatenaDataError(
                f"the type of a time column changed: {name!r} was {types[name]} and is {type}",
                hint="give all batches of a stream the same time type",
            )
    return types


def _core_columns(
    plan: ReadsColumns, given: pa.Schema, order_types: Mapping[str, pa.DataType]
) -> tuple[pa.Schema, tuple[int, ...], tuple[int, ...]]:
    """What the core gets, from which columns each of it is made, and which of it are the keys."""
    fields = list(given)
    sources = list(range(len(fields)))
    for name in plan.read_columns:
        index = given.get_field_index(name)
        fields[index] = fields[index].with_type(_readable_type(fields[index].type))
    for name in plan.order_columns:
        index = given.get_field_index(name)
        if pa.types.is_null(fields[index].type):
            type = order_types.get(name) or _likely_type(plan, name)
            fields[index] = fields[index].with_type(type)
    keys = []
    for name in plan.part_keys:
        index = given.get_field_index(name)
        type = _key_type(name, given.field(index).type)
        if not type.equals(fields[index].type):  # The core reads it as a key in another way.
            fields.append(fields[index].with_type(type))
            sources.append(index)
            index = len(fields) - 1
        keys.append(index)
    schema = pa.schema(fields)
    return given if schema.equals(given) else schema, tuple(sources), tuple(keys)


def _storable_type(type: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_string_view(type):
        return pa.string()
    if types.is_float16(type):
        return pa.float32()
    if types.is_dictionary(type):
        if types.is_string_view(type.value_type):
            return pa.dictionary(type.index_type, pa.string())
        return type if is_text(type.value_type) else _storable_type(type.value_type)
    return type


def _readable_type(type: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_decimal(type):
        return pa.float64()
    if types.is_float16(type):
        return pa.float32()
    if types.is_dictionary(type) and not is_text(type.value_type):
        return _readable_type(type.value_type)
    if isinstance(type, pa.BaseExtensionType) and is_text(type.storage_type):
        return type.storage_type
    return type


def _key_type(name: str, type: pa.DataType) -> pa.DataType:
    types = pa.types
    if types.is_null(type):
        return pa.int64()
    if types.is_dictionary(type) and not is_text(type.value_type):
        return _key_type(name, type.value_type)
    if types.is_decimal(type):
        return type if types.is_decimal128(type) else pa.decimal128(38, type.scale)
    readable = _readable_type(type)
    is_time = types.is_date(type) or types.is_timestamp(type) or types.is_duration(type)
    is_number = types.is_boolean(type) or types.is_integer(type) or types.is_floating(type)
    if not (is_time or is_number or is_text_or_coded(readable)):
        raise CatenaDataError(
            f"column {name!r} has type {type}, which cannot be a key",
            hint="use a boolean, number, string, timestamp, date or duration column",
        )
    return readable


def _likely_type(plan: ReadsColumns, name: str) -> pa.DataType:
    """A type for a time column of which nothing but nulls has been seen."""
    is_time = name == plan.settings.time
    if is_time and plan.measures_by_units and plan.settings.time_unit is None:
        return pa.timestamp("ns")
    return pa.int64()


def _converted(array: pa.Array, field: pa.Field, position: int) -> pa.Array:
    if array.type.equals(field.type):
        return array
    if pa.types.is_dictionary(array.type):
        array = array.dictionary_decode()
    if isinstance(array, pa.ExtensionArray):
        array = array.storage
    if pa.types.is_decimal(array.type) and pa.types.is_floating(field.type):
        return _faithful_floats(array, field.name, position)
    try:
        return array.cast(field.type)
    except pa.ArrowInvalid as error:
        raise CatenaDataError(f"column {field.name!r} cannot be read: {error}") from error


def nearest_floats(decimals: pa.Array) -> tuple[pa.Array, int | None]:
    """The decimals as floats, and the first row where that is another number, if there is one."""
    if not pa.types.is_decimal128(decimals.type):
        decimals = decimals.cast(pa.decimal128(38, decimals.type.scale))
    batch = pa.RecordBatch.from_arrays([decimals], names=[""])
    values, row = _core.floats_of_decimals(batch.__arrow_c_array__())
    mask = decimals.is_null().to_numpy(zero_copy_only=False) if decimals.null_count else None
    return pa.array(values, mask=mask), row


def _faithful_floats(array: pa.Array, name: str, position: int) -> pa.Array:
    try:
        floats, row = nearest_floats(array)
    except pa.ArrowInvalid as error:
        raise CatenaDataError(f"column {name!r} cannot be read: {error}") from error
    if row is not None:
        raise CatenaDataError(
            f"column {name!r} is {array[row]}, which a float64 does not hold exactly",
            row=position + row,
            hint="cast the column to float64 to accept rounding, or to integers of a smaller unit",
        )
    return floats
