"""An engine on lists of rows: increments as the oracle evaluates them, limits applied to leaves.

It lets the run-time part (progress, limits, steps of recursion, cuts) be tested without SQL, in
thousands of small cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import pyarrow as pa

from catena.tsa import rows as tables
from catena.tsa.increments import Increment, Slot, Thresholds
from catena.tsa.relations import Stream
from oracle import tsa as oracle

Rows = list[dict[str, Any]]


class ListEngine:
    """Buffers are lists; every cut is made at once."""

    def __init__(self) -> None:
        self.buffers: dict[str, Rows] = {}

    def open(self, stream: Stream) -> None:
        self.buffers[stream.name] = []

    def read(self, stream: Stream, rows: Any) -> Rows:
        return tables.inside(stream, rows).to_pylist()

    def append(self, stream: Stream, rows: Rows) -> None:
        self.buffers[stream.name] += rows

    def cut(self, stream: Stream, after: Mapping[str, int]) -> None:
        self.buffers[stream.name] = [
            row
            for row in self.buffers[stream.name]
            if all(row[name] > tick for name, tick in after.items())
        ]

    def prepare(self, increment: Increment) -> Increment:
        return increment

    def evaluate(self, prepared: Increment, thresholds: Thresholds) -> Rows:
        found: Rows = []
        for number, query in enumerate(prepared.queries):
            found += oracle.evaluate_with(
                query.relation,
                lambda leaf, stream, number=number: [
                    row
                    for row in self.buffers[stream.name]
                    if self._takes_part(row, number, leaf, thresholds)
                ],
            )
        names = prepared.stream.progressing
        return [
            row
            for row in oracle.distinct(found)
            if any(row[n] <= thresholds[Slot("new", n)] for n in names)
            and all(row[n] > thresholds[Slot("old", n)] for n in names)
        ]

    def _takes_part(self, row: dict[str, Any], query: int, leaf: int, limits: Thresholds) -> bool:
        return all(
            row[name] > limits.get(Slot("low", name, query, leaf), -(2**63))
            and row[name] <= limits.get(Slot("high", name, query, leaf), 2**63)
            for name in row
            if isinstance(row[name], int)
        )

    def violations(self, stream: Stream, rows: Rows) -> int:
        return 0

    def least(self, rows: Rows, name: str) -> int | None:
        return min((row[name] for row in rows), default=None)

    def up_to(self, rows: Rows, ends: Iterable[tuple[str, int]]) -> Rows:
        ends = list(ends)
        return [row for row in rows if any(row[name] <= end for name, end in ends)]

    def split(self, rows: Rows, ends: Iterable[tuple[str, int]]) -> tuple[int, Rows]:
        late = self.up_to(rows, ends)
        return len(late), [row for row in rows if row not in late]

    def joined(self, stream: Stream, rows: list[Rows]) -> Rows:
        return [row for part in rows for row in part]

    def arrow(self, rows: Rows) -> pa.Table:
        return pa.Table.from_pylist(rows)

    def rows(self, stream: Stream, table: pa.Table) -> Rows:
        return table.to_pylist()

    def result(self, stream: Stream, rows: Rows) -> pa.Table:
        return pa.Table.from_pylist(rows, schema=tables.arrow_schema(stream.kinds))

    def count(self, stream: Stream) -> int:
        return len(self.buffers[stream.name])
