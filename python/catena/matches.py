"""Matches: what a query found, read lazily, as objects or as columns."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import pyarrow as pa

from catena import _core
from catena.aggregates import PositionLists
from catena.compile.outputs import AttributeOutput, MeasureOutput, PositionsOutput
from catena.compile.plan import Plan
from catena.engine import Piece
from catena.measures import Measures, attribute_lists
from catena.rowstore import RowStore
from catena.unify import agreed

if TYPE_CHECKING:
    import pandas
    import polars

FIRST_READ: Final = 256
"""Matches made at once at first; each further read makes four times as many, up to the limit. The
core ends a read early when the matches are long."""

READ_MAX: Final = 65_536

SHOWN_ROWS: Final = 10
"""Matches shown by a notebook."""


class Match:
    """One match: where it starts and ends, and the items of SELECT.

    >>> import catena
    >>> q = catena.Query("SELECT x, y WHERE A AS x ; B AS y")
    >>> [m] = q.run([{"type": "A"}, {"type": "C"}, {"type": "B"}])
    >>> m.start, m.end, m["x"], m["y"]
    (0, 2, (0,), (2,))
    """

    __slots__ = ("_columns", "_has_time", "_row")

    def __init__(self, columns: Mapping[str, list[Any]], row: int, has_time: bool) -> None:
        self._columns = columns
        self._row = row
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

    def __getitem__(self, name: str) -> Any:
        """An item by its name: a tuple of positions for a variable, a value for a measure."""
        if name not in self._columns:
            raise KeyError(f"{name!r}; a match has {', '.join(map(repr, self._columns))}")
        value = self._columns[name][self._row]
        return tuple(value) if isinstance(value, list) else value

    def get(self, name: str, default: Any = None) -> Any:
        """An item by its name, or the default if there is none of that name."""
        return self[name] if name in self._columns else default

    def keys(self) -> tuple[str, ...]:
        """The names of all items, `start` and `end` included."""
        return tuple(self._columns)

    def to_dict(self) -> dict[str, Any]:
        """All items by name."""
        return {name: self[name] for name in self._columns}

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Match) and self.to_dict() == other.to_dict()

    def __hash__(self) -> int:
        return hash((self.start, self.end))

    def __repr__(self) -> str:
        items = ", ".join(f"{name}={value!r}" for name, value in self.to_dict().items())
        return f"Match({items})"


class Matches:
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
            columns = {name: _to_list(batch.column(name)) for name in batch.schema.names}
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
        table = _MatchTable(self._plan)
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
        return pa.Table.from_batches(agreed(list(self.batches()))).combine_chunks()

    def to_pandas(self) -> pandas.DataFrame:
        """All matches as a pandas DataFrame."""
        frame: pandas.DataFrame = self.to_arrow().to_pandas()
        return frame

    def to_polars(self) -> polars.DataFrame:
        """All matches as a polars DataFrame."""
        import polars

        frame = polars.from_arrow(self.to_arrow())
        assert isinstance(frame, polars.DataFrame)
        return frame

    def __repr__(self) -> str:
        return f"<Matches of {self._plan.text!r}>"

    def _repr_html_(self) -> str:
        """The first matches as a table, for notebooks."""
        shown = []
        for match in self:
            shown.append(match)
            if len(shown) > SHOWN_ROWS:
                break
        names = _MatchTable(self._plan).names
        head = "".join(f"<th>{html.escape(name)}</th>" for name in names)
        rows = "".join(
            "<tr>" + "".join(f"<td>{html.escape(str(m[name]))}</td>" for name in names) + "</tr>"
            for m in shown[:SHOWN_ROWS]
        )
        more = "<p>… and more</p>" if len(shown) > SHOWN_ROWS else ""
        return f"<table><thead><tr>{head}</tr></thead><tbody>{rows}</tbody></table>{more}"


def _to_list(array: pa.Array) -> list[Any]:
    try:
        values: list[Any] = array.to_pylist()
    except ValueError:  # Nanoseconds that datetime cannot hold, where pandas is not installed.
        values = list(array.to_numpy(zero_copy_only=False))
    return values


class _MatchTable:
    """Turns positions into the columns that a query shows."""

    def __init__(self, plan: Plan) -> None:
        self._plan = plan

    @cached_property
    def names(self) -> list[str]:
        """The names of the columns; one that is taken already gets a number behind it."""
        time = ["start_time", "end_time"] if self._plan.settings.time else []
        wanted = ["start", "end", *time, *self._plan.keys, *(o.name for o in self._plan.outputs)]
        names: list[str] = []
        for name in wanted:
            number, free = 2, name
            while free in names:
                free, number = f"{name}_{number}", number + 1
            names.append(free)
        return names

    def read(self, piece: Piece) -> Iterator[pa.RecordBatch]:
        """The matches of a piece, in batches of growing size."""
        if piece.results.is_empty:
            return
        reader = piece.results.reader(self._plan.limit)
        size = FIRST_READ
        while True:
            columns = reader.read(size)
            if len(columns[0]) == 0:
                return
            yield self._batch(columns, piece.rows)
            size = min(4 * size, READ_MAX)

    def empty(self, piece: Piece | None) -> pa.RecordBatch:
        """No matches, with the columns' names and, as far as rows have shown them, their types."""
        nothing = np.empty(0, np.int64)
        lists = [(np.zeros(1, np.int32), nothing) for _ in self._plan.variables]
        rows = RowStore(self._plan.kept_columns) if piece is None else piece.rows
        return self._batch((nothing, nothing, lists), rows)

    def _batch(self, columns: _core.MatchColumns, rows: RowStore) -> pa.RecordBatch:
        starts, ends, variables = columns
        lists = {
            name: PositionLists(*pair)
            for name, pair in zip(self._plan.variables, variables, strict=True)
        }
        arrays = [pa.array(starts), pa.array(ends)]
        time = self._plan.settings.time
        if time:
            arrays += [rows.take(time, starts), rows.take(time, ends)]
        arrays += [rows.take(key, ends) for key in self._plan.keys]
        measures = Measures(self._plan.text, lists, rows.take, len(starts))
        for output in self._plan.outputs:
            match output:
                case PositionsOutput():
                    found = lists[output.variable]
                    arrays.append(pa.ListArray.from_arrays(found.offsets, found.positions))
                case AttributeOutput():
                    found = lists[output.variable]
                    arrays.append(attribute_lists(found, output.attribute, rows.take))
                case MeasureOutput():
                    arrays.append(measures.value(output.expression))
        return pa.RecordBatch.from_arrays(arrays, names=self.names)
