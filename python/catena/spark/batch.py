"""A query over a DataFrame: one shuffle by key and one pass through Python.

    select the query's columns -> repartition by key -> mapInArrow: order, evaluate all keys

A task gets the rows of many keys and evaluates them as one stream in the order of time, which the
engine divides by key itself, so a hundred thousand small keys cost about what ten large ones cost.
Nothing is ordered by Spark unless asked.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, Final, Literal

from catena.algebra import Algebra
from catena.errors import CatenaError
from catena.queries import Query
from catena.query import ast
from catena.spark.machines import (
    Machine,
    PartsTask,
    QueryMachine,
    algebra_machine,
    query_machine,
)
from catena.spark.requirements import check_batch, check_frame
from catena.spark.types import arrow_schema, declared

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame
    from pyspark.sql.types import StructType

Sort = Literal["native", "spark"]
Names = str | Sequence[str] | None

BYTES_MAX: Final = 512 * 1024 * 1024
"""Bytes of rows that a task sorts in memory before it begins to write sorted runs to disk."""


def match(
    df: DataFrame,
    query: Query,
    by: Names = None,
    order_by: Names = None,
    *,
    rows: bool = False,
    sort: Sort = "native",
    bytes_max: int = BYTES_MAX,
) -> DataFrame:
    """The matches of a query in a DataFrame, one row each.

    `by`: the columns whose values tell the parts apart that are evaluated each as a stream of its
    own; by default the query's PARTITION BY. Rows with a null there belong to no part. `order_by`:
    the columns that order the rows of a part; by default the query's time column. Rows that are
    equal in all of them come in no particular order, so name enough columns.

    Columns: the keys, `start` and `end` (positions: a row's number among the rows of its key, from
    0), `start_time` and `end_time` if the query has a time column, and the items of SELECT: arrays
    of positions, values of measures. `rows=True` adds for every variable `x` a column `x_rows`, an
    array of structs with all columns of the matched rows.

    A task orders its rows itself; past `bytes_max` it does so by way of disk. `sort="spark"` lets
    Spark order them instead, which keeps few rows in the memory of Python.

    >>> matches = catena.spark.match(events, query)                    # doctest: +SKIP
    >>> matches = events.transform(catena.spark.match, query)          # doctest: +SKIP
    """
    check_batch()
    check_frame(df, is_stream=False)
    check_query(query)
    keys = names_of("by", by)
    machine = query_machine(query, keys, df.columns if rows else ())
    return _evaluated(df, machine, keys, order_by, sort, bytes_max)


def detect(
    df: DataFrame,
    algebra: Algebra,
    by: Names = None,
    order_by: Names = None,
    *,
    sort: Sort = "native",
    bytes_max: int = BYTES_MAX,
) -> DataFrame:
    """The occurrences of an event expression in a DataFrame, one row each.

    The arguments are those of `match`; `by` defaults to the keys that the algebra was made with.
    Columns: the keys, `start_time`, `end_time` and, if the algebra carries values, for every
    primitive an array of the positions of its rows.

    >>> found = catena.spark.detect(events, catena.Algebra("A ; B", time="ts"), by="id")
    ...                                                               # doctest: +SKIP
    """
    check_batch()
    check_frame(df, is_stream=False)
    if not isinstance(algebra, Algebra):
        raise CatenaError(
            f"the algebra is a {type(algebra).__name__}",
            hint="pass catena.Algebra('A ; B', time='...')",
        )
    keys = names_of("by", by)
    return _evaluated(df, algebra_machine(algebra, keys), keys, order_by, sort, bytes_max)


def _evaluated(
    df: DataFrame,
    machine: Machine,
    by: tuple[str, ...] | None,
    order_by: Names,
    sort: Sort,
    bytes_max: int,
) -> DataFrame:
    """What a machine finds: the pass that `match` and `detect` share."""
    order = order_of(machine, order_by)
    if sort not in ("native", "spark"):
        raise CatenaError(f"sort is {sort!r}", hint="use 'native' or 'spark'")
    if type(bytes_max) is not int or bytes_max < 1:
        raise CatenaError(f"bytes_max is {bytes_max!r}", hint="use a number of bytes from 1 on")
    spark_schema, schema, columns = _prepared(df.schema, machine, order)
    parts = _divided(df, machine, by, columns)
    if sort == "spark":
        parts = parts.sortWithinPartitions(*plain_names(columns, order))
    task = PartsTask(machine, columns, order, schema, bytes_max if sort == "native" else None)
    return parts.mapInArrow(_function(task), spark_schema)


def schema(query: Query, df: DataFrame, by: Names = None, *, rows: bool = False) -> StructType:
    """The schema of the matches that `match` or a grouped function finds in a DataFrame."""
    check_query(query)
    machine = query_machine(query, names_of("by", by), df.columns if rows else ())
    return _prepared(df.schema, machine, ())[0]


def check_query(query: object) -> None:
    """Raises CatenaError unless it is a query."""
    if not isinstance(query, Query):
        raise CatenaError(
            f"the query is a {type(query).__name__}",
            hint="pass catena.Query('SELECT ...', time='...')",
        )


def names_of(role: str, given: Names) -> tuple[str, ...] | None:
    """Names of columns given as one or several; None if none were given."""
    if given is None:
        return None
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise CatenaError(f"{role} is {given!r}", hint=f"{role} takes names of columns")
    return tuple(dict.fromkeys(names))


def order_of(machine: Machine, order_by: Names) -> tuple[str, ...]:
    """The columns that order the rows of a part; those the query measures by come first."""
    given = names_of("order_by", order_by)
    clocks = machine.plan.order_columns
    order = tuple(dict.fromkeys([*clocks, *(given or ())]))
    if not order:
        raise CatenaError(
            "the rows of a DataFrame have no order, and the query names no time column",
            hint="pass order_by='...', or time='...' to catena.Query",
        )
    return order


def column(name: str) -> Column:
    """A column by its name, whatever characters that has."""
    from pyspark.sql import functions

    quoted = name.replace("`", "``")
    return functions.col(f"`{quoted}`")


def plain_names(columns: Sequence[str], chosen: Sequence[str]) -> list[str]:
    """The names that some of the columns have on their way to Python: PySpark takes a name with a
    dot, which it does not quote there, for a field of a struct."""
    plain = {
        name: name if name.isidentifier() else f"__catena_{i}" for i, name in enumerate(columns)
    }
    return [plain[name] for name in chosen]


def _prepared(
    df_schema: StructType, machine: Machine, order: Sequence[str]
) -> tuple[StructType, pa.Schema, tuple[str, ...]]:
    """The schema of the matches, for Spark and for workers, and the columns that workers need."""
    columns = tuple(dict.fromkeys([*machine.columns, *order]))
    given = arrow_schema(df_schema, columns)
    return *declared(machine.empty(given).schema), columns


def _divided(
    df: DataFrame, machine: Machine, by: Sequence[str] | None, columns: Sequence[str]
) -> DataFrame:
    """The columns of the DataFrame, under plain names, with all rows of a key in one partition."""
    consumes_all = (
        isinstance(machine, QueryMachine) and machine.plan.query.consume is ast.Consume.ANY
    )
    keys = machine.keys if by is None and not consumes_all else tuple(by or ())
    names = zip(columns, plain_names(columns, columns), strict=True)
    chosen = df.select(*(column(name).alias(plain) for name, plain in names))
    for name in plain_names(columns, machine.keys):
        chosen = chosen.where(column(name).isNotNull())
    if keys:
        return chosen.repartition(*plain_names(columns, keys))
    if by is None:
        reason = "CONSUME BY ANY spans all parts" if consumes_all else "there is no key"
        warnings.warn(
            f"{reason}, so all {chosen.count():,} rows are evaluated in one task; "
            "PARTITION BY or by='...' divides them, and by=() says that one task is meant",
            stacklevel=4,
        )
    return chosen.repartition(1)


def _function(
    task: PartsTask,
) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The task as a function, which is what Spark takes."""

    def evaluate(batches: Iterator[Any]) -> Iterator[Any]:
        return task(batches)

    return evaluate
