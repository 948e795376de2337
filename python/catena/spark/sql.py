"""Table functions for SQL: one for a query, with its own columns, and general ones.

    SELECT * FROM suspicious(TABLE(events) PARTITION BY id ORDER BY ts)
    SELECT * FROM catena_match(TABLE(events) PARTITION BY id ORDER BY (ts), 'SELECT ... WHERE ...')

They are Arrow table functions: whole batches come and go. Such a function cannot tell its columns
by its arguments, so a query's function is told when it is registered, and the general ones show
every query in one set of columns. Spark makes one instance for the rows of each key; the instance
gathers them, orders them by the time column (so ORDER BY settles ties only) and evaluates them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING, Any, Final, TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catena.algebra import Algebra
from catena.columns import missing_column
from catena.compile.outputs import AttributeOutput, EdgeOutput, MeasureOutput, Output
from catena.errors import CatenaError
from catena.queries import Query
from catena.spark.batch import check_query
from catena.spark.machines import (
    NUMBER,
    Machine,
    QueryMachine,
    algebra_machine,
    query_machine,
)
from catena.spark.ordering import ordered
from catena.spark.requirements import check_batch
from catena.spark.types import ZONE, arrow_schema, declared, fitted

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession
    from pyspark.sql.types import StructType

_TIME: Final = pa.timestamp("us", ZONE)
_REGISTER: Final = "register the function with events=, a table of the same types"

GENERAL: Final = pa.schema(
    [
        ("start", pa.int64()),
        ("end", pa.int64()),
        ("start_time", _TIME),
        ("end_time", _TIME),
        ("keys", pa.map_(pa.string(), pa.string())),
        ("positions", pa.map_(pa.string(), pa.list_(pa.int64()))),
        ("measures", pa.map_(pa.string(), pa.float64())),
        ("texts", pa.map_(pa.string(), pa.string())),
    ]
)
"""The columns in which `catena_match` shows any query. `measures` holds numbers (times as seconds
since 1970, booleans as 0 and 1), `texts` every measure as text."""


def register(
    spark: SparkSession,
    name: str | None = None,
    query: Query | None = None,
    events: DataFrame | StructType | str | None = None,
) -> None:
    """Makes table functions for SQL.

    With a name and a query: the function of that name, with the query's own columns. `events` (a
    DataFrame, a schema, or the name of a table) tells the types of the columns it will read, and
    so those that it gives; without it keys are strings, times timestamps and measures doubles.

    Without: the general functions `catena_match` and `catena_detect`, which take the text of a
    query or of an event expression as their second argument, and the name of the time column as a
    third (by default the only timestamp of the table).

    >>> catena.spark.register(spark, "suspicious", query)             # doctest: +SKIP
    >>> spark.sql(                                                    # doctest: +SKIP
    ...     "SELECT * FROM suspicious(TABLE(events) PARTITION BY id ORDER BY ts)"
    ... )
    """
    check_batch()
    if (name is None) != (query is None):
        raise CatenaError("a name and a query go together", hint="register(spark, 'name', query)")
    if name is None:
        _register(spark, "catena_match", _general_function(general_query), declared(GENERAL)[0])
        _register(spark, "catena_detect", _general_function(general_algebra), declared(GENERAL)[0])
        return
    if not isinstance(name, str) or not name.isidentifier():
        raise CatenaError(f"the function's name is {name!r}", hint="use letters, digits and _")
    check_query(query)
    assert query is not None
    machine = query_machine(query)
    if events is None:
        spark_schema, schema = declared(_default_schema(machine))
    else:
        given = arrow_schema(_schema_of(spark, events), machine.columns)
        spark_schema, schema = declared(machine.empty(given).schema)
    _register(spark, name, _query_function(machine, schema), spark_schema)


def _register(spark: SparkSession, name: str, function: type, schema: StructType) -> None:
    from pyspark.sql import functions

    if not hasattr(functions, "arrow_udtf"):
        raise CatenaError(
            "table functions need PySpark 4.1 or later", hint="pip install 'pyspark>=4.1'"
        )
    made: Any = functions.arrow_udtf(function, returnType=schema)
    spark.udtf.register(name, made)


def _schema_of(spark: SparkSession, events: DataFrame | StructType | str) -> StructType:
    from pyspark.sql.types import StructType

    if isinstance(events, str):
        return spark.table(events).schema
    return events if isinstance(events, StructType) else events.schema


def _default_schema(machine: QueryMachine) -> pa.Schema:
    """The types of a query's columns when nothing is known of the data."""

    def type_of(output: Output) -> pa.DataType:
        match output:
            case EdgeOutput(attribute=attribute):
                is_time = attribute == machine.plan.settings.time
                known = {NUMBER: pa.int64()}
                return known.get(attribute or NUMBER, _TIME if is_time else pa.string())
            case AttributeOutput(attribute=attribute):
                return pa.list_(pa.int64() if attribute == NUMBER else pa.string())
            case _:
                return pa.float64()

    types = [type_of(output) for output in machine.outputs]
    return pa.schema(list(zip(machine.names, types, strict=True)))


class _Gathered:
    """The rows of one key, gathered batch by batch."""

    def __init__(self) -> None:
        self._batches: list[pa.RecordBatch] = []

    def add(self, batch: pa.RecordBatch) -> None:
        self._batches.append(batch)

    def matches(self, machine: Machine) -> Iterator[pa.RecordBatch]:
        """What the machine finds in them."""
        if not self._batches:
            return
        rows = pa.Table.from_batches(self._batches)
        order = machine.plan.order_columns
        for name in (*machine.columns, *order):
            if name not in rows.schema.names:
                raise missing_column(name, rows.schema.names)
        rows = ordered(rows, order)
        run = machine.start()
        for batch in rows.to_batches():
            yield from run.push(batch)
        yield from run.finish()


def _query_function(machine: QueryMachine, schema: pa.Schema) -> type:
    class Matches:
        """The table function of a query."""

        def __init__(self) -> None:
            self._rows = _Gathered()

        def eval(self, table: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
            self._rows.add(table)
            return iter(())

        def terminate(self) -> Iterator[pa.RecordBatch]:
            for batch in self._rows.matches(machine):
                yield fitted(batch, schema, hint=_REGISTER)

    return Matches


MakeMachine: TypeAlias = Callable[[str, str | None], Machine]


def _general_function(make: MakeMachine) -> type:
    class Found:
        """The table function of a query or an expression that is given as text."""

        def __init__(self) -> None:
            self._rows = _Gathered()
            self._machine: Machine | None = None

        def eval(self, table: Any, query: Any, time: Any = None) -> Iterator[pa.RecordBatch]:
            if self._machine is None:
                self._machine = general_machine(make, query, time, table.schema)
            self._rows.add(table)
            return iter(())

        def terminate(self) -> Iterator[pa.RecordBatch]:
            if self._machine is not None:
                for batch in self._rows.matches(self._machine):
                    yield general_batch(self._machine, batch)

    return Found


@cache
def general_query(text: str, time: str | None) -> Machine:
    """The machine of a query's text; a worker compiles it once."""
    return query_machine(Query(text, time=time))


@cache
def general_algebra(text: str, time: str | None) -> Machine:
    """The machine of an event expression's text."""
    return algebra_machine(Algebra(text, time=time, values=True), None)


def general_machine(make: MakeMachine, query: Any, time: Any, schema: pa.Schema) -> Machine:
    """The machine of a text; its time column, if not given, is the only timestamp."""
    text, name = _argument(query), _argument(time)
    if text is None:
        raise CatenaError("the query is null", hint="write its text as the second argument")
    if name is None:
        stamps = [f.name for f in schema if pa.types.is_timestamp(f.type)]
        name = stamps[0] if len(stamps) == 1 else None
    return make(text, name)


def _argument(value: Any) -> str | None:
    """A scalar argument, which comes as a column of equal values."""
    if isinstance(value, pa.Array | pa.ChunkedArray):
        value = value[0].as_py() if len(value) else None
    return None if value is None else str(value)


def general_batch(machine: Machine, batch: pa.RecordBatch) -> pa.RecordBatch:
    """Matches or instances in the columns of GENERAL."""
    names = list(batch.schema.names)
    times = [name for name in ("start_time", "end_time") if name in names]
    keys = names[: len(machine.keys)]
    if isinstance(machine, QueryMachine):
        kinds = dict(zip(machine.names, machine.outputs, strict=True))
        numbered = [n for n, o in kinds.items() if getattr(o, "attribute", None) == NUMBER]
        positions = [name for name in numbered if name not in ("start", "end")]
        lists = [n for n, o in kinds.items() if isinstance(o, AttributeOutput)]
        texts = [name for name in lists if name not in positions]
        measures = [n for n, o in kinds.items() if isinstance(o, MeasureOutput)]
        edges = [batch.column("start"), batch.column("end")]
    else:
        positions = names[len(keys) + 2 :]
        measures, texts = [], []
        edges = _edges([batch.column(name).to_pylist() for name in positions], batch.num_rows)
    stamped = {name: _stamps(batch.column(name)) for name in times}
    nothing = pa.nulls(batch.num_rows, _TIME)
    columns = [
        *edges,
        stamped.get("start_time", nothing),
        stamped.get("end_time", nothing),
        _map(batch, keys, pa.string()),
        _map(batch, positions, pa.list_(pa.int64())),
        _map(batch, [*measures, *times], pa.float64()),
        _map(batch, [*measures, *texts], pa.string()),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=GENERAL)


def _edges(lists: list[list[list[int]]], count: int) -> list[pa.Array]:
    """The first and the last of the positions of each instance."""
    positions = [[p for column in lists for p in column[row]] for row in range(count)]
    found = ([edge(p, default=None) for p in positions] for edge in (min, max))
    return [pa.array(values, pa.int64()) for values in found]


def _stamps(column: pa.Array) -> pa.Array:
    if not pa.types.is_timestamp(column.type):
        return pa.nulls(len(column), _TIME)
    return column.cast(pa.timestamp("us", column.type.tz)).cast(_TIME)


def _map(batch: pa.RecordBatch, names: list[str], type: pa.DataType) -> pa.Array:
    """A map from the names of columns to their values; those that cannot be of the type are left
    out."""
    columns = {name: _as(batch.column(name), type) for name in names}
    present = {name: values for name, values in columns.items() if values is not None}
    rows, width = batch.num_rows, len(present)
    offsets = pa.array(np.arange(rows + 1, dtype=np.int32) * width)
    keys = pa.array(list(present) * rows, pa.string())
    if not present:
        return pa.MapArray.from_arrays(offsets, keys, pa.array([], type))
    together = pa.concat_arrays(list(present.values()))
    places = np.arange(rows * width).reshape(width, rows).T.ravel()
    return pa.MapArray.from_arrays(offsets, keys, together.take(pa.array(places)))


def _as(column: pa.Array, type: pa.DataType) -> pa.Array | None:
    types, given = pa.types, column.type
    if types.is_floating(type):
        if types.is_timestamp(given) or types.is_duration(given):
            ticks = {"s": 1, "ms": 1e3, "us": 1e6, "ns": 1e9}[given.unit]
            return pc.divide(column.cast(pa.int64()).cast(pa.float64()), ticks)
        if not (types.is_integer(given) or types.is_floating(given) or types.is_boolean(given)):
            return column.cast(type) if types.is_decimal(given) else None
    if types.is_string(type) and types.is_list(given):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], type)
    try:
        return column.cast(type)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return pa.array([None if v is None else str(v) for v in column.to_pylist()], type)
