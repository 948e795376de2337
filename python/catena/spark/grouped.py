"""Queries as functions for those who write their own pipelines: grouped functions and a count.

All run the machine that `match` runs; the rows of a group are one stream, which is ordered here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, Final

import pyarrow as pa

from catena.columns import read_table
from catena.errors import CatenaDataError
from catena.queries import Query
from catena.spark.batch import Names, check_query, names_of, order_of
from catena.spark.machines import QueryMachine, query_machine
from catena.spark.ordering import ordered
from catena.spark.requirements import check_batch, check_packages
from catena.spark.types import declared, fitted

if TYPE_CHECKING:
    import pandas

_COUNT_MAX: Final = 2**63 - 1


def arrow_udf(
    query: Query, by: Names = None, order_by: Names = None
) -> Callable[[pa.Table], pa.Table]:
    """A function for `applyInArrow`: the matches in the rows of a group.

    Its schema is that of `catena.spark.schema(query, df, by)`; `by` names key columns to show.

    >>> df.groupBy("id").applyInArrow(                                # doctest: +SKIP
    ...     catena.spark.arrow_udf(query), catena.spark.schema(query, df)
    ... )
    """
    check_batch()
    check_query(query)
    machine = query_machine(query, names_of("by", by))
    order = order_of(machine, order_by)

    def find(group: pa.Table) -> pa.Table:
        return _matches(machine, order, group)

    return find


def pandas_udf(
    query: Query, by: Names = None, order_by: Names = None
) -> Callable[[pandas.DataFrame], pandas.DataFrame]:
    """A function for `applyInPandas`: the matches in the rows of a group; see `arrow_udf`.

    >>> df.groupBy("id").applyInPandas(                               # doctest: +SKIP
    ...     catena.spark.pandas_udf(query), catena.spark.schema(query, df)
    ... )
    """
    check_packages("pandas")
    find_in_table = arrow_udf(query, by, order_by)

    def find(group: pandas.DataFrame) -> pandas.DataFrame:
        frame: pandas.DataFrame = find_in_table(pa.Table.from_pandas(group)).to_pandas()
        return frame

    return find


def count_udf(query: Query) -> Any:
    """A scalar pandas UDF: the number of matches in an array of structs, the events in order.

    >>> df.select(catena.spark.count_udf(query)("events"))            # doctest: +SKIP
    """
    check_packages("pyspark", "pyarrow", "pandas")
    check_query(query)
    import pandas
    from pyspark.sql.pandas import functions

    def count(arrays: pandas.Series) -> pandas.Series:
        counts = [None if events is None else _count(query, events) for events in arrays]
        return pandas.Series(counts, dtype="Int64")

    count.__annotations__ = {"arrays": pandas.Series, "return": pandas.Series}
    make: Any = functions.pandas_udf
    return make(count, "bigint")


def _matches(machine: QueryMachine, order: tuple[str, ...], group: pa.Table) -> pa.Table:
    """The matches in the rows of a group, which need not be in order."""
    wanted = tuple(dict.fromkeys([*machine.columns, *order]))
    batches = list(read_table(group, wanted))
    run = machine.start()
    rows = ordered(pa.Table.from_batches(batches), order)
    found = [batch for rows_in_order in rows.to_batches() for batch in run.push(rows_in_order)]
    if not found:
        found = [machine.empty(batches[0].schema)]
    schema = declared(found[0].schema, is_large=_is_large(group.schema))[1]
    return pa.Table.from_batches([fitted(batch, schema) for batch in found])


def _is_large(schema: pa.Schema) -> bool:
    """True if the session hands over texts with large offsets, and wants them back so."""
    large = (pa.types.is_large_string, pa.types.is_large_binary)
    return any(is_large(type) for type in schema.types for is_large in large)


def _count(query: Query, events: Iterable[Any]) -> int:
    rows = [event.asDict() if hasattr(event, "asDict") else event for event in events]
    number = query.count(rows)
    if number > _COUNT_MAX:
        raise CatenaDataError(
            f"there are {number:,} matches, more than a bigint holds",
            hint="give the query a window or a strategy that reports fewer",
        )
    return number
