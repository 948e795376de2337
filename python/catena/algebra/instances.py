"""Instances: what an event algebra detected, read as objects or as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from catena.algebra.expressions import Expression, Negation, primitives
from catena.algebra.plan import AlgebraPlan
from catena.algebra.running import Detected, times_as
from catena.records import Record, Records, to_values, unique_names
from catena.rowstore import RowStore


class Instance(Record):
    """One occurrence of the expression: when it starts and ends and, if asked for, its rows.

    >>> import catena
    >>> a = catena.Algebra("T ; B", time="ts", values=True)
    >>> [m] = a.run({"ts": [1, 4, 6], "type": ["T", "P", "B"]})
    >>> m.start_time, m.end_time, m.rows
    (1, 6, {'T': (0,), 'B': (2,)})
    """

    __slots__ = ("_names_of_rows",)

    def __init__(
        self, columns: Mapping[str, list[Any]], row: int, names_of_rows: Mapping[str, str]
    ) -> None:
        super().__init__(columns, row)
        self._names_of_rows = names_of_rows

    @property
    def start_time(self) -> Any:
        """The time of the earliest event that it is made of."""
        return self["start_time"]

    @property
    def end_time(self) -> Any:
        """The time of the latest event that it is made of: when it occurred."""
        return self["end_time"]

    @property
    def rows(self) -> dict[str, tuple[int, ...]]:
        """The positions of the rows that it is made of, by primitive (`values=True`)."""
        found = {name: self[column] for name, column in self._names_of_rows.items()}
        return {name: positions for name, positions in found.items() if positions}


class Instances(Records):
    """The instances of a run or a push, in order of their ends.

    Iterate for `Instance` objects, or take all at once as columns with `to_arrow`, `to_pandas` or
    `to_polars`.
    """

    def __init__(self, plan: AlgebraPlan, pieces: Callable[[], Iterator[Detected]]) -> None:
        self._plan = plan
        self._pieces = pieces

    def __iter__(self) -> Iterator[Instance]:
        names_of_rows = dict(zip(self._row_primitives, self._names[self._head :], strict=True))
        for batch in self.batches():
            columns = {name: to_values(batch.column(name)) for name in batch.schema.names}
            for row in range(batch.num_rows):
                yield Instance(columns, row, names_of_rows)

    def __bool__(self) -> bool:
        """True if there is an instance."""
        return any(len(piece.columns[0]) > 0 for piece in self._pieces())

    def count(self) -> int:
        """The number of instances."""
        return sum(len(piece.columns[0]) for piece in self._pieces())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The instances as Arrow batches; at least one, which may be empty."""
        last: Detected | None = None
        is_first = True
        for piece in self._pieces():
            last = piece
            if len(piece.columns[0]) > 0:
                is_first = False
                yield self._batch(piece)
        if is_first:
            yield self._empty(last)

    def to_arrow(self) -> pa.Table:
        """All instances as an Arrow table.

        Columns: `start_time` and `end_time`, the partition key, and with `values=True` for each
        primitive that can be part of an instance the list of its rows' positions.
        """
        return super().to_arrow()

    @cached_property
    def _row_primitives(self) -> tuple[str, ...]:
        """The primitives whose rows instances can have."""
        return _constituents(self._plan.expression) if self._plan.with_rows else ()

    @property
    def _head(self) -> int:
        """The columns before those of rows."""
        return 2 + len(self._plan.keys)

    @cached_property
    def _names(self) -> list[str]:
        return unique_names(["start_time", "end_time", *self._plan.keys, *self._row_primitives])

    def _empty(self, last: Detected | None) -> pa.RecordBatch:
        """No instances, with the columns' names and, as far as rows have shown them, types."""
        nothing = np.empty(0, np.int64)
        lists = [(np.zeros(1, np.int32), nothing) for _ in self._plan.primitives]
        columns = (nothing, nothing, nothing, lists)
        if last is None:
            return self._batch(Detected(columns, RowStore(self._plan.keys), pa.int64()))
        return self._batch(Detected(columns, last.rows, last.time_type))

    def _batch(self, piece: Detected) -> pa.RecordBatch:
        starts, ends, positions, lists = piece.columns
        arrays = [times_as(pa.array(times), piece.time_type) for times in (starts, ends)]
        arrays += [piece.rows.take(key, positions) for key in self._plan.keys]
        for name in self._row_primitives:
            offsets, rows = lists[self._plan.primitives.index(name)]
            arrays.append(pa.ListArray.from_arrays(offsets, rows))
        return pa.RecordBatch.from_arrays(arrays, names=self._names)

    def __repr__(self) -> str:
        return f"<Instances of {self._plan.text!r}>"


def _constituents(expression: Expression) -> tuple[str, ...]:
    """The primitives outside the right sides of negations, in order of appearance."""
    found: dict[str, None] = {}
    stack = [expression]
    while stack:
        part = stack.pop()
        if not part.operands:
            found.update(dict.fromkeys(primitives(part)))
        operands = part.operands[:1] if isinstance(part, Negation) else part.operands
        stack.extend(reversed(operands))
    return tuple(found)
