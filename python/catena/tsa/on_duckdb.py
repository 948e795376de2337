"""The embedded engine: buffers are tables of a DuckDB connection.

A buffer is cut by writing what is kept anew, and only when it has doubled or a quarter of it can
go, so that cutting costs a constant per row that came. Results do not depend on it: increments
limit what they read.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catena.tsa import rows as tables
from catena.tsa.increments import Increment, Thresholds
from catena.tsa.lowering import Statement, buffer_name, increment_statement
from catena.tsa.relations import Stream
from catena.tsa.sqltext import formula_sql
from catena.tsa.temporal import TICKS
from catena.tsa.values import TEMPORAL, Kind

_COLUMNS: Mapping[Kind, str] = {
    "boolean": "BOOLEAN",
    "int64": "BIGINT",
    "float64": "DOUBLE",
    "string": "VARCHAR",
    "datetime": "BIGINT",
    "time": "BIGINT",
    "timestamp": "BIGINT",
}

PUSHED: Final = "tsa_pushed"
CUT_SHARE = 4
"""A buffer is written anew when one row in so many can go, or when it has doubled."""
CUT_ROWS_MIN = 65_536
"""A buffer of fewer rows is left alone."""


class DuckDB:
    """Evaluates increments on a DuckDB connection; in memory if none is given.

    Rows in flight are Arrow tables.
    """

    def __init__(self, connection: duckdb.DuckDBPyConnection | None = None) -> None:
        self._connection = connection if connection is not None else duckdb.connect()
        self._held: dict[str, int] = {}
        self._left: dict[str, int] = {}
        self._cut_after: dict[str, Mapping[str, int]] = {}

    def open(self, stream: Stream) -> None:
        columns = ", ".join(f'"{name}" {_COLUMNS[kind]}' for name, kind in stream.kinds.items())
        name = buffer_name(stream)
        self._execute(f'CREATE OR REPLACE TEMP TABLE "{name}" ({columns})')
        self._held[stream.name] = self._left[stream.name] = 0

    def read(self, stream: Stream, rows: Any) -> pa.Table:
        return tables.inside(stream, rows)

    def append(self, stream: Stream, rows: pa.Table) -> None:
        if rows.num_rows:
            name = buffer_name(stream)
            self._execute(f'INSERT INTO "{name}" SELECT * FROM {PUSHED}', rows)
            self._held[stream.name] += rows.num_rows

    def cut(self, stream: Stream, after: Mapping[str, int]) -> None:
        held, left = self._held[stream.name], self._left[stream.name]
        if held < CUT_ROWS_MIN or self._cut_after.get(stream.name) == after:
            return
        self._cut_after[stream.name] = after
        name = buffer_name(stream)
        kept = " AND ".join(f'"{attribute}" > {tick}' for attribute, tick in after.items())
        if held < 2 * left:
            [(count,)] = self._execute(f'SELECT count(*) FROM "{name}" WHERE {kept}')
            if (held - count) * CUT_SHARE < held:
                return
        [(count,)] = self._execute(
            f'CREATE OR REPLACE TEMP TABLE "{name}" AS SELECT * FROM "{name}" WHERE {kept}'
        )
        self._held[stream.name] = self._left[stream.name] = count

    def _execute(self, text: str, tsa_pushed: pa.Table | None = None) -> list[tuple[int, ...]]:
        """Executes a statement, in which the Arrow table has its name here (`PUSHED`).

        All of the result is fetched, so that none is left open.
        """
        return self._connection.execute(text).fetchall()

    def prepare(self, increment: Increment) -> tuple[Statement, pa.Schema]:
        schema = tables.arrow_schema(increment.stream.kinds)
        return increment_statement(increment, "duckdb"), schema

    def evaluate(self, prepared: tuple[Statement, pa.Schema], thresholds: Thresholds) -> pa.Table:
        """Through numpy: for the few rows of most increments DuckDB's own way takes longer."""
        statement, schema = prepared
        text = statement.with_limits(thresholds)
        found: dict[str, Any] = self._connection.execute(text).fetchnumpy()
        arrays = [
            pa.array(np.ma.getdata(found[each.name]), each.type,
                     mask=np.ma.getmaskarray(found[each.name]))
            for each in schema
        ]  # fmt: skip
        return pa.Table.from_arrays(arrays, schema=schema)

    def violations(self, stream: Stream, rows: pa.Table) -> int:
        [ticks] = {TICKS[kind] for kind in stream.kinds.values() if kind in TEMPORAL}
        holds = formula_sql(stream.relations, ticks, '"')
        text = f"SELECT count(*) FROM {PUSHED} WHERE NOT ({holds})"
        [(count,)] = self._execute(text, rows)
        return count

    def least(self, rows: pa.Table, name: str) -> int | None:
        return tables.least(rows, name)

    def up_to(self, rows: pa.Table, ends: Iterable[tuple[str, int]]) -> pa.Table:
        return rows.filter(tables.is_up_to(rows, ends))

    def split(self, rows: pa.Table, ends: Iterable[tuple[str, int]]) -> tuple[int, pa.Table]:
        ends = list(ends)
        if all((first := tables.least(rows, name)) is None or first > end for name, end in ends):
            return 0, rows
        kept = rows.filter(pc.invert(tables.is_up_to(rows, ends)))
        return rows.num_rows - kept.num_rows, kept

    def joined(self, stream: Stream, rows: list[pa.Table]) -> pa.Table:
        return pa.concat_tables([tables.no_rows(stream.kinds), *rows])

    def arrow(self, rows: pa.Table) -> pa.Table:
        return rows

    def rows(self, stream: Stream, table: pa.Table) -> pa.Table:
        return table

    def result(self, stream: Stream, rows: pa.Table) -> pa.Table:
        return tables.outside(stream.kinds, rows)

    def count(self, stream: Stream) -> int:
        return self._held[stream.name]
