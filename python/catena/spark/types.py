"""Types of Spark and Arrow side by side, and the check of what is handed back to Spark.

Spark takes batches by position and Arrow type and fails unreadably if they differ from the schema
that was declared, so every batch goes through `fitted` first. Spark has no unsigned integers and no
times finer than microseconds: what a query shows of these is widened, and refused where a value
does not fit.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from catena.columns import missing_column
from catena.errors import CatenaDataError, CatenaError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from pyspark.sql.types import DataType, StructType

ZONE = "UTC"
"""The zone in which instants are handed over; how Spark shows them is the session's matter."""


def arrow_schema(schema: StructType, columns: Sequence[str]) -> pa.Schema:
    """The Arrow types of columns of a DataFrame, as a worker will see them.

    Raises CatenaDataError for a column that is missing, that is there twice, or of a type that
    Spark does not hand over.
    """
    from pyspark.errors import PySparkException

    names = list(schema.fieldNames())
    fields = []
    for name in columns:
        if names.count(name) != 1:
            if name in names:
                raise CatenaDataError(f"the data has {names.count(name)} columns named {name!r}")
            raise missing_column(name, names)
        try:
            fields.append(pa.field(name, _arrow_type(schema[name].dataType)))
        except PySparkException as error:
            raise CatenaDataError(
                f"column {name!r} has type {schema[name].dataType.simpleString()}, which Spark "
                f"does not hand to Python: {error}",
                hint="leave the column out, or cast it",
            ) from error
    return pa.schema(fields)


def _arrow_type(type: DataType, is_large: bool = False) -> pa.DataType:
    """The Arrow type of one of Spark's; releases of PySpark 4 ask for the zone by different names.

    `is_large`: texts have offsets of 64 bits.
    """
    from pyspark.sql.pandas import types

    convert: Any = types.to_arrow_type
    asks_for_zone = "timezone" in inspect.signature(convert).parameters
    zone = {"timezone": ZONE} if asks_for_zone else {"timestamp_utc": True}
    return convert(type, prefers_large_types=is_large, **zone)


def declared(schema: pa.Schema, *, is_large: bool = False) -> tuple[StructType, pa.Schema]:
    """What Spark is told that batches of these columns are, and what they must then be.

    `is_large`: texts with offsets of 64 bits, which a session can ask for.
    """
    from pyspark.sql.pandas.types import from_arrow_type
    from pyspark.sql.types import StructField, StructType

    fields = [StructField(f.name, from_arrow_type(_sparks_own(f.type))) for f in schema]
    arrow = [pa.field(f.name, _arrow_type(f.dataType, is_large)) for f in fields]
    return StructType(fields), pa.schema(arrow)


def _sparks_own(type: pa.DataType) -> pa.DataType:
    """The nearest type that Spark has."""
    types = pa.types
    if types.is_unsigned_integer(type):
        return pa.decimal128(20, 0) if type.bit_width == 64 else pa.int64()
    if types.is_timestamp(type):
        return pa.timestamp("us", type.tz)
    if types.is_duration(type):
        return pa.duration("us")
    if types.is_null(type):
        return pa.string()
    if types.is_float16(type):
        return pa.float32()
    if types.is_dictionary(type):
        return _sparks_own(type.value_type)
    if types.is_list(type):
        return pa.list_(_sparks_own(type.value_type))
    if types.is_struct(type):
        return pa.struct([pa.field(f.name, _sparks_own(f.type)) for f in type])
    return type


_DECLARE: Final = "declare catena.spark.schema(query, df)"


def fitted(batch: pa.RecordBatch, schema: pa.Schema, *, hint: str = _DECLARE) -> pa.RecordBatch:
    """The batch as just this schema; CatenaError says which column does not fit and why."""
    if batch.schema.equals(schema):
        return batch
    if batch.num_columns != len(schema):
        raise CatenaError(
            f"the declared schema has {len(schema)} columns ({', '.join(schema.names)}), but "
            f"the matches have {batch.num_columns} ({', '.join(batch.schema.names)})",
            hint=hint,
        )
    arrays = [_cast(batch.column(i), field, hint) for i, field in enumerate(schema)]
    return pa.RecordBatch.from_arrays(arrays, schema=schema)


def _cast(array: pa.Array, field: pa.Field, hint: str) -> pa.Array:
    try:
        return array.cast(field.type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise CatenaDataError(
            f"column {field.name!r} was declared as {field.type} and is {array.type}: {error}",
            hint=hint,
        ) from error
