"""Matches: what a query found, read lazily, as objects or as columns."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pyarrow as pa

from catena.compile.plan import Plan
from catena.engine import Piece
from catena.match_table import match_table
from catena.records import Record, Records, to_values


class Match(Record):
    """One match: where it starts and ends, and the items of SELECT.

    >>> import catena
    >>> q = catena.Query("SELECT x, y WHERE A AS x ; B AS y")
    >>> [m] = q.run([{"type": "A"}, {"type": "C"}, {"type": "B"}])
    >>> m.start, m.end, m["x"], m["y"]
    (0, 2, (0,), (2,))
    """

    __slots__ = ("_has_time",)

    def __init__(self, columns: Mapping[str, list[Any]], row: int, has_time: bool) -> None:
        super().__init__(columns, row)
        self._has_time = has_time

    @property
    def start(self) -> int:
        """The position of the first row."""
        return int(self._columns["start"][self._row])

    @property
    def end(self) -> int:
        """The position of the row that ended the match."""
        return int(self._columns["end"][self._row])

    @property
    def start_time(self) -> Any:
        """The time of the first row; None if the query has no time column."""
        return self["start_time"] if self._has_time else None

    @property
    def end_time(self) -> Any:
        """The time of the last row; None if the query has no time column."""
        return self["end_time"] if self._has_time else None

    def __hash__(self) -> int:
        return hash((self.start, self.end))


class Matches(Records):
    """The matches of a run or a push, in order of their ends; nothing is made before it is asked
    for.

    Iterate for `Match` objects, or take all at once as columns with `to_arrow`, `to_pandas` or
    `to_polars`. `count` does not make the matches.
    """

    def __init__(self, plan: Plan, pieces: Callable[[], Iterator[Piece]]) -> None:
        self._plan = plan
        self._pieces = pieces

    def __iter__(self) -> Iterator[Match]:
        has_time = self._plan.settings.time is not None
        for batch in self.batches():
            columns = {name: to_values(batch.column(name)) for name in batch.schema.names}
            for row in range(batch.num_rows):
                yield Match(columns, row, has_time)

    def __bool__(self) -> bool:
        """True if there is a match."""
        return any(not piece.results.is_empty for piece in self._pieces())

    def count(self) -> int:
        """The number of matches, exactly, without making them."""
        return sum(piece.results.count(self._plan.limit) for piece in self._pieces())

    def batches(self) -> Iterator[pa.RecordBatch]:
        """The matches as Arrow batches; at least one, which may be empty."""
        table = match_table(self._plan)
        last: Piece | None = None
        is_first = True
        for piece in self._pieces():
            last = piece
            for batch in table.read(piece):
                is_first = False
                yield batch
        if is_first:
            yield table.empty(last)

    def to_arrow(self) -> pa.Table:
        """All matches as an Arrow table.

        Columns: `start` and `end` positions, `start_time` and `end_time` if there is a time column,
        the partition key, and the items: lists of positions for variables, values for measures.
        """
        return super().to_arrow()

    @property
    def _names(self) -> list[str]:
        return list(match_table(self._plan).names)

    def __repr__(self) -> str:
        return f"<Matches of {self._plan.text!r}>"
