"""A query over a streaming DataFrame: packed rows to buckets, buckets with state, matches unpacked.

    withWatermark -> mapInArrow: pack by bucket -> transformWithStateInPandas -> mapInArrow: unpack

Spark hands rows to a stateful function one by one as pandas values. Here a row that crosses this
border is a packed batch: all rows of a bucket that stood together, as Arrow's bytes, and so are the
matches on their way back. So rows keep their exact types, and a micro-batch costs by the bucket and
not by the row. What happens in a bucket is in buckets.py.

Late rows are found there and not by Spark, which drops them without a word: once rows are packed,
Spark does not see their times.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final, Literal

import pyarrow as pa

from catena.errors import CatenaError
from catena.queries import Query
from catena.query import ast
from catena.spark.batch import Names, check_query, column, names_of, order_of
from catena.spark.buckets import (
    ARRIVAL,
    BUCKET,
    SLOTS_PER_DELAY,
    BucketTask,
    divided,
    packed,
    unpacked,
)
from catena.spark.machines import QueryMachine, query_machine
from catena.spark.requirements import check_frame, check_streaming
from catena.spark.types import arrow_schema, declared, fitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

BUCKETS: Final = 64
"""Buckets by default: enough for as many tasks, few enough that each is worth a call."""

_DELAY: Final = "spark.watermarkDelayMs"
"""What Spark notes about a column that has a watermark."""

SLOT_US_MIN: Final = 1_000
"""The shortest slot of time that waiting rows are put away in."""

LATE: Final = "is_late"
"""The column that flags late rows, where they are asked for."""


def match_stream(
    df: DataFrame,
    query: Query,
    time: str | None = None,
    watermark: str | None = None,
    by: Names = None,
    order_by: Names = None,
    *,
    rows: bool = False,
    buckets: int = BUCKETS,
    late: Literal["count", "flag"] = "count",
) -> DataFrame:
    """The matches of a query in a streaming DataFrame, each when the watermark passes its end.

    `time`: the timestamp column, by default the query's. `watermark`: how late rows may come, such
    as "10 seconds"; None if the DataFrame has a watermark on that column already. `by`, `order_by`
    and `rows` are those of `match`.

    The columns are those of `match`, but positions number the rows of a bucket in the order in
    which they are evaluated: they tell rows apart and tell their order, and go on after a restart.

    `buckets`: into how many the keys are divided; more of them for very many keys. A checkpoint
    keeps the number it was begun with. `late`: rows that come after the watermark has passed them
    are counted (see `stream_state`); with "flag" they also appear in the output, with their key and
    their time as start and end, and `is_late` true.

    >>> matches = catena.spark.match_stream(                          # doctest: +SKIP
    ...     events, query, watermark="10 seconds"
    ... )
    """
    check_query(query)
    check_frame(df, is_stream=True)
    check_streaming(df.sparkSession)
    time = _time_column(df, query, time)
    if type(buckets) is not int or not 1 <= buckets <= 65_536:
        raise CatenaError(f"buckets is {buckets!r}", hint="use a whole number from 1 to 65,536")
    if late not in ("count", "flag"):
        raise CatenaError(f"late is {late!r}", hint="use 'count' or 'flag'")
    keys = names_of("by", by)
    row_columns = df.columns if rows else ()
    machine = query_machine(query, keys, row_columns, hidden_key=BUCKET)
    order = tuple(dict.fromkeys([time, *order_of(machine, order_by or time)]))
    source, delay_us = _with_watermark(df, time, watermark)
    slot_us = max(SLOT_US_MIN, delay_us // SLOTS_PER_DELAY)
    task, spark_schema = _task(df, machine, time, order, _buckets(machine, keys, buckets), slot_us)
    divided_rows = _packed_rows(source, task)
    return _evaluated(divided_rows, task, spark_schema, late == "flag")


def _time_column(df: DataFrame, query: Query, time: str | None) -> str:
    own = query.plan.settings.time
    if time is not None and own is not None and time != own:
        raise CatenaError(
            f"time is {time!r}, but the query's time column is {own!r}", hint="give both one name"
        )
    name = time or own
    if name is None:
        raise CatenaError(
            "a stream needs a time column", hint="pass time='...', the name of a timestamp column"
        )
    type = arrow_schema(df.schema, [name]).field(0).type
    kind = df.schema[name].dataType.simpleString()
    if not pa.types.is_timestamp(type):
        raise CatenaError(
            f"column {name!r} is {kind}, and a watermark needs a timestamp",
            hint=f"make one, for instance with timestamp_seconds({name})",
        )
    if type.tz is None:
        raise CatenaError(
            f"column {name!r} is {kind}, and a watermark needs a timestamp with a zone",
            hint=f"make one, for instance with CAST({name} AS TIMESTAMP)",
        )
    return name


def _with_watermark(df: DataFrame, time: str, watermark: str | None) -> tuple[DataFrame, int]:
    """The DataFrame with a watermark on its time column, and its delay in microseconds."""
    from pyspark.errors import PySparkException

    if watermark is not None:
        try:
            df = df.withWatermark(time, watermark)
            delay_ms = df.schema[time].metadata.get(_DELAY)
        except PySparkException as error:
            raise CatenaError(
                f"watermark is {watermark!r}: {error}", hint="write a delay such as '10 seconds'"
            ) from None
    else:
        delay_ms = df.schema[time].metadata.get(_DELAY)
    if delay_ms is None:
        raise CatenaError(
            f"there is no watermark on column {time!r}, so no row would ever be evaluated",
            hint="pass watermark='10 seconds', or call withWatermark last of all",
        )
    return df, int(delay_ms) * 1000


def _buckets(machine: QueryMachine, by: tuple[str, ...] | None, buckets: int) -> int:
    """The number of buckets: one if all rows must be evaluated together."""
    consumes_all = machine.plan.query.consume is ast.Consume.ANY
    if len(machine.keys) > 1 and not consumes_all:  # One of them is the bucket itself.
        return buckets
    if by is None:
        reason = "CONSUME BY ANY spans all parts" if consumes_all else "there is no key"
        warnings.warn(
            f"{reason}, so all rows of the stream are evaluated in one task; "
            "PARTITION BY or by='...' divides them, and by=() says that one task is meant",
            stacklevel=3,
        )
    return 1


def _task(
    df: DataFrame,
    machine: QueryMachine,
    time: str,
    order: tuple[str, ...],
    buckets: int,
    slot_us: int,
) -> tuple[BucketTask, Any]:
    wanted = [name for name in dict.fromkeys([*machine.columns, *order]) if name != BUCKET]
    rows = arrow_schema(df.schema, wanted)
    rows = rows.append(pa.field(BUCKET, pa.int32())).append(pa.field(ARRIVAL, pa.int64()))
    spark_schema, schema = declared(machine.empty(rows).schema)
    task = BucketTask(machine, time, (*order, ARRIVAL), rows, schema, buckets, slot_us)
    return task, spark_schema


def _packed_rows(df: DataFrame, task: BucketTask) -> DataFrame:
    """A row for every batch of rows of one bucket: the bucket's number and the packed rows."""
    from pyspark.sql import functions

    keys = [name for name in task.machine.keys if name != BUCKET]
    chosen = df
    for name in keys:
        chosen = chosen.where(column(name).isNotNull())
    number = functions.lit(0)
    if task.buckets > 1:
        hashed = functions.xxhash64(*(column(name) for name in keys))
        number = functions.pmod(hashed, functions.lit(task.buckets))
    names = [name for name in task.rows.names if name not in (BUCKET, ARRIVAL)]
    with_bucket = chosen.select(
        *(column(name).alias(f"__catena_{i}") for i, name in enumerate(names)),
        number.cast("int").alias(BUCKET),
        functions.lit(None).cast("long").alias(ARRIVAL),
    )
    return with_bucket.mapInArrow(_packer(task), "bucket int, rows binary")


def _packer(task: BucketTask) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers, blobs = [], []
            for number, rows in divided(fitted(batch, task.rows), BUCKET):
                numbers.append(number)
                blobs.append(packed(rows))
            arrays = [pa.array(numbers, pa.int32()), pa.array(blobs, pa.binary())]
            yield pa.RecordBatch.from_arrays(arrays, names=["bucket", "rows"])

    return pack


def _evaluated(rows: DataFrame, task: BucketTask, spark_schema: Any, flags_late: bool) -> DataFrame:
    from pyspark.sql.types import BooleanType, StructField

    from catena.spark.processor import BucketProcessor

    found = rows.groupBy("bucket").transformWithStateInPandas(
        statefulProcessor=BucketProcessor(task, flags_late),
        outputStructType="matches binary, is_late boolean",
        outputMode="Append",
        timeMode="EventTime",
    )
    if flags_late:
        spark_schema = spark_schema.add(StructField(LATE, BooleanType()))
    return found.mapInArrow(_unpacker(task.schema, flags_late), spark_schema)


def _unpacker(schema: pa.Schema, flags_late: bool) -> Callable[[Iterator[Any]], Iterator[Any]]:
    def unpack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for blob, is_late in zip(batch.column(0), batch.column(1), strict=True):
                matches = unpacked(blob.as_py(), schema)
                if flags_late:
                    flags = pa.repeat(is_late, matches.num_rows)
                    matches = matches.append_column(LATE, flags)
                yield matches

    return unpack
