"""The values that open matches may still show: kept rows, by position.

A stream's rows are gone once read, but `avg(x.price)` wants prices of rows that came long ago. The
store keeps the columns that outputs need, batch by batch as they came (nothing is copied), from the
oldest row that an open match can show. It is immutable: `append` and `trim` give a new one, so
matches that are read late still see the rows as they were.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from catena.unify import agreed


@dataclass(frozen=True, slots=True)
class RowStore:
    """Consecutive batches of one schema, the first of which begins at position `start`."""

    columns: tuple[str, ...]
    start: int = 0
    batches: tuple[pa.RecordBatch, ...] = ()
    row_count: int = 0
    _cache: dict[str, pa.ChunkedArray] = field(default_factory=dict, compare=False, repr=False)

    def append(self, batch: pa.RecordBatch) -> RowStore:
        """The store with the next rows of the stream: a batch of the store's columns.

        Raises CatenaDataError if a column changed to a type that does not go with the one before.
        """
        if not self.columns:
            return self
        batches = (*self.batches, batch)
        if not batches[-1].schema.equals(batches[0].schema):
            batches = tuple(agreed(batches))
        return RowStore(self.columns, self.start, batches, self.row_count + batch.num_rows)

    def trim(self, oldest: int) -> RowStore:
        """The store without the rows before a position."""
        start, batches = self.start, list(self.batches)
        while batches and start + batches[0].num_rows <= oldest:
            start += batches.pop(0).num_rows
        if batches and start < oldest:
            batches[0] = batches[0].slice(oldest - start)
            start = oldest
        return RowStore(self.columns, start, tuple(batches), sum(b.num_rows for b in batches))

    def compacted(self) -> RowStore:
        """The store with small batches joined, so that look-ups do not get slower with the
        pushes."""
        if len(self.batches) < 2:
            return self
        table = pa.Table.from_batches(self.batches).combine_chunks()
        return RowStore(self.columns, self.start, tuple(table.to_batches()), self.row_count)

    def take(self, column: str, positions: npt.NDArray[np.int64]) -> pa.Array:
        """The values of a column at positions, which the store must hold."""
        if not self.batches:
            return pa.nulls(len(positions))
        if column not in self._cache:
            chunks = [batch.column(column) for batch in self.batches]
            self._cache[column] = pa.chunked_array(chunks)
        taken = self._cache[column].take(pa.array(positions - self.start))
        return taken.combine_chunks() if isinstance(taken, pa.ChunkedArray) else taken
