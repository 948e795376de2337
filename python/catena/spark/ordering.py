"""The rows of a task in order, whatever order and however many come.

Spark's shuffle brings the rows of a key to one task in no order. Sorting them there costs less than
letting Spark do it: the columns are in Arrow's memory already and times are sorted by radix
(cpp/columns/row_order.h). The rows of a task are gathered and sorted at once. If they pass a limit
of bytes, what has been gathered is sorted and written to disk as a run, and in the end the runs are
merged: a slice of every run up to a common value of the first column is sorted like rows that just
came. Rows that are equal in all columns keep the order in which they came.

Cost: linear in the rows; memory twice the limit.
"""

from __future__ import annotations

import os
import tempfile
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from catena import _core
from catena.columns import BATCH_ROWS
from catena.errors import CatenaDataError

_NO_ORDER: Final = "leave such rows out, or order by another column"


def in_order(
    batches: Iterable[pa.RecordBatch], columns: Sequence[str], bytes_max: int
) -> Iterator[pa.RecordBatch]:
    """The rows of the batches, which have one schema, in ascending order of these columns."""
    gathered: list[pa.RecordBatch] = []
    gathered_bytes = 0
    with tempfile.TemporaryDirectory(prefix="catena-", dir=_scratch()) as folder:
        runs = _Runs(Path(folder), columns)
        for batch in batches:
            gathered.append(batch)
            gathered_bytes += batch.nbytes
            if gathered_bytes > bytes_max:
                runs.write(ordered(pa.Table.from_batches(gathered), columns))
                gathered, gathered_bytes = [], 0
        rest = ordered(pa.Table.from_batches(gathered), columns) if gathered else None
        tables: Iterable[pa.Table] = [] if rest is None else [rest]
        if runs.count:
            tables = runs.merged(rest, bytes_max)
        for table in tables:
            yield from table.to_batches(max_chunksize=BATCH_ROWS)


def ordered(table: pa.Table, columns: Sequence[str]) -> pa.Table:
    """The rows of a table in ascending order of these columns, in one chunk."""
    table = table.combine_chunks()
    if table.num_rows < 2 or not columns:
        return table
    codes = [_sortable(table.column(name), name, i > 0) for i, name in enumerate(columns)]
    batch = pa.RecordBatch.from_arrays(codes, names=list(columns))
    try:
        order = _core.ordered_rows(batch.__arrow_c_array__())
    except _core.CoreError as error:  # The row that it tells is one of this task only.
        raise CatenaDataError(error.args[1], hint=_NO_ORDER) from None
    return table.take(pa.array(order)) if len(order) else table


def _sortable(column: pa.ChunkedArray, name: str, may_be_null: bool) -> pa.Array:
    """A column that the core can sort by, in the order of the given one, nulls first."""
    types, type = pa.types, column.type
    if types.is_boolean(type):
        column = column.cast(pa.uint8())
    is_number = types.is_integer(column.type) or types.is_floating(type)
    is_time = types.is_timestamp(type) or types.is_date(type) or types.is_duration(type)
    if not (is_number or is_time) or (may_be_null and column.null_count):
        column = _ranks(column, name, may_be_null)
    return pa.concat_arrays(column.chunks) if column.num_chunks != 1 else column.chunk(0)


def _ranks(column: pa.ChunkedArray, name: str, may_be_null: bool) -> pa.ChunkedArray:
    """Numbers in the order of values of any kind that has one."""
    if column.null_count and not may_be_null:
        raise CatenaDataError(f"column {name!r} orders the rows and is null", hint=_NO_ORDER)
    try:
        ranks = pc.rank(column, tiebreaker="dense")
    except (pa.ArrowNotImplementedError, pa.ArrowTypeError):
        raise CatenaDataError(
            f"column {name!r} has type {column.type}, which cannot order the rows",
            hint="use a timestamp, a date, a number or a string",
        ) from None
    is_null = pa.chunked_array([column.is_null().combine_chunks()])
    return pc.if_else(is_null, pa.scalar(0, ranks.type), pa.chunked_array([ranks]))


def _scratch() -> str | None:
    """Where Spark wants temporary files, if it says so."""
    folders = os.environ.get("SPARK_LOCAL_DIRS", "").split(",")
    return folders[0] if folders[0] and Path(folders[0]).is_dir() else None


class _Runs:
    """Sorted tables on disk."""

    def __init__(self, folder: Path, columns: Sequence[str]) -> None:
        self._folder = folder
        self._columns = columns
        self.count = 0

    def write(self, table: pa.Table) -> None:
        """Adds a run."""
        path = self._folder / f"{self.count}.arrow"
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
        self.count += 1

    def merged(self, last: pa.Table | None, bytes_max: int) -> Iterator[pa.Table]:
        """The rows of all runs and of a last one, in order, in tables of about the limit's size."""
        runs = [self._open(number) for number in range(self.count)]
        if last is not None:
            runs.append(last)
        row_bytes = max(1, max(run.nbytes // max(1, run.num_rows) for run in runs))
        step = max(1, bytes_max // row_bytes // len(runs))
        firsts = [0] * len(runs)
        while any(first < run.num_rows for first, run in zip(firsts, runs, strict=True)):
            slices = self._next(runs, firsts, step)
            yield ordered(pa.concat_tables(slices), self._columns)

    def _next(self, runs: list[pa.Table], firsts: list[int], step: int) -> list[pa.Table]:
        """The next rows of every run up to a value that is next for one of them; moves `firsts`."""
        keys = [_Values(run.column(self._columns[0])) for run in runs]
        open_runs = [i for i, run in enumerate(runs) if firsts[i] < run.num_rows]
        bound = min(keys[i][min(firsts[i] + step, runs[i].num_rows) - 1] for i in open_runs)
        slices = []
        for i in open_runs:
            end = bisect_right(keys[i], bound, lo=firsts[i])
            slices.append(runs[i].slice(firsts[i], end - firsts[i]))
            firsts[i] = end
        return slices

    def _open(self, number: int) -> pa.Table:
        with pa.memory_map(str(self._folder / f"{number}.arrow")) as source:
            return pa.ipc.open_file(source).read_all()


class _Values(Sequence[Any]):
    """A column as a sequence of values that can be compared."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        self._column = column

    def __len__(self) -> int:
        return len(self._column)

    def __getitem__(self, row: Any) -> Any:
        scalar = self._column[row]
        return scalar.value if hasattr(scalar, "value") else scalar.as_py()


def sort_order(values: pa.Array) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The rows in ascending order of one column of integers, rows that are equal as they stand."""
    batch = pa.RecordBatch.from_arrays([values], names=[""])
    order = _core.ordered_rows(batch.__arrow_c_array__())
    return order if len(order) else np.arange(len(values))
