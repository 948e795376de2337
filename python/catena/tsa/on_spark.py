"""The same increments on Spark: buffers are DataFrames, statements are in Spark's dialect.

A buffer and each increment's result are cut off from what they were computed of (local
checkpoints), so plans do not grow with the stream. What is cut from a buffer goes when rows are
next added, in the same job. The time that it takes to start Spark's jobs is what an increment
costs at least: push in bulk.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from functools import reduce
from typing import TYPE_CHECKING, Any, cast

import pyarrow as pa
from pyspark.sql import functions as F

from catena.errors import CatenaDataError
from catena.tsa import rows as tables
from catena.tsa.increments import Increment, Thresholds
from catena.tsa.lowering import Statement, buffer_name, increment_statement
from catena.tsa.relations import Stream
from catena.tsa.sqltext import formula_sql
from catena.tsa.temporal import TICKS
from catena.tsa.values import TEMPORAL, Kind

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame, SparkSession

_TYPES: Mapping[Kind, str] = {
    "boolean": "boolean",
    "int64": "bigint",
    "float64": "double",
    "string": "string",
    "datetime": "bigint",
    "time": "bigint",
    "timestamp": "bigint",
}
MOMENTS: tuple[Kind, Kind] = ("timestamp", "datetime")


def column(name: str) -> Column:
    """A column by its whole name, dots and all."""
    return F.col(f"`{name}`")


def _up_to(ends: Iterable[tuple[str, int]]) -> Column:
    return reduce(lambda a, b: a | b, [column(name) <= end for name, end in ends])


class Spark:
    """Evaluates increments in a Spark session. Rows in flight are DataFrames."""

    def __init__(self, session: SparkSession) -> None:
        self._session = session
        self._buffers: dict[str, DataFrame] = {}
        self._kept: dict[str, Column] = {}

    def open(self, stream: Stream) -> None:
        self._kept.pop(stream.name, None)
        columns = ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in stream.kinds.items())
        self._hold(stream, self._session.createDataFrame([], columns))

    def _hold(self, stream: Stream, rows: DataFrame) -> None:
        self._buffers[stream.name] = rows
        rows.createOrReplaceTempView(buffer_name(stream))

    def read(self, stream: Stream, rows: Any) -> DataFrame:
        if not hasattr(rows, "sparkSession"):
            return self.rows(stream, tables.inside(stream, rows))
        missing = [name for name in stream.kinds if name not in rows.columns]
        if missing:
            raise CatenaDataError(
                f"{stream.name}: there is no column '{missing[0]}'",
                hint=f"columns: {', '.join(rows.columns)}",
            )
        given = dict(rows.dtypes)
        inside = [_inside(stream, name, given[name]) for name in stream.kinds]
        return cast("DataFrame", rows.select(*inside))

    def append(self, stream: Stream, rows: DataFrame) -> None:
        held = self.buffer(stream)
        self._kept.pop(stream.name, None)
        self._hold(stream, held.unionAll(rows.select(*map(column, stream.kinds))).localCheckpoint())

    def cut(self, stream: Stream, after: Mapping[str, int]) -> None:
        parts = [column(name) > tick for name, tick in after.items()]
        self._kept[stream.name] = reduce(lambda a, b: a & b, parts)

    def prepare(self, increment: Increment) -> Statement:
        return increment_statement(increment, "pyspark")

    def evaluate(self, prepared: Statement, thresholds: Thresholds) -> DataFrame:
        return self._session.sql(prepared.with_limits(thresholds)).localCheckpoint()

    def violations(self, stream: Stream, rows: DataFrame) -> int:
        [ticks] = {TICKS[kind] for kind in stream.kinds.values() if kind in TEMPORAL}
        return rows.filter(f"NOT ({formula_sql(stream.relations, ticks, '`')})").count()

    def least(self, rows: DataFrame, name: str) -> int | None:
        found = rows.agg(F.min(column(name))).first()
        assert found is not None
        return cast("int | None", found[0])

    def up_to(self, rows: DataFrame, ends: Iterable[tuple[str, int]]) -> DataFrame:
        return rows.filter(_up_to(ends))

    def split(self, rows: DataFrame, ends: Iterable[tuple[str, int]]) -> tuple[int, DataFrame]:
        late = _up_to(ends)
        return rows.filter(late).count(), rows.filter(~late)

    def joined(self, stream: Stream, rows: list[DataFrame]) -> DataFrame:
        return reduce(lambda a, b: a.unionAll(b), [self.rows(stream, None), *rows])

    def arrow(self, rows: DataFrame) -> pa.Table:
        return rows.toArrow()

    def rows(self, stream: Stream, table: pa.Table | None) -> DataFrame:
        columns = ", ".join(f"`{name}` {_TYPES[kind]}" for name, kind in stream.kinds.items())
        if table is None or not table.num_rows:
            return self._session.createDataFrame([], columns)
        return self._session.createDataFrame(table.to_pylist(), columns)

    def result(self, stream: Stream, rows: DataFrame) -> DataFrame:
        outside = [
            F.timestamp_micros(column(name)).alias(name) if kind in MOMENTS else column(name)
            for name, kind in stream.kinds.items()
        ]
        return rows.select(*outside)

    def count(self, stream: Stream) -> int:
        return self.buffer(stream).count()

    def buffer(self, stream: Stream) -> DataFrame:
        """What is held of a stream and still needed."""
        held = self._buffers[stream.name]
        kept = self._kept.get(stream.name)
        return held if kept is None else held.filter(kept)


def _inside(stream: Stream, name: str, given: str) -> Column:
    kind = stream.kinds[name]
    if kind not in MOMENTS:
        return column(name).cast(_TYPES[kind]).alias(name)
    if given != "timestamp":
        raise CatenaDataError(
            f"{stream.name}: '{name}' is of type {given}, not timestamp",
            hint="cast it to timestamp",
        )
    return F.unix_micros(column(name)).alias(name)
