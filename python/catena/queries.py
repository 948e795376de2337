"""Query and Stream: what a user holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING

from catena.compile.plan import Plan, Settings, compile_query
from catena.dot import AutomatonView
from catena.engine import Engine, Limits, OnLate, Piece
from catena.errors import CatenaError
from catena.events import Events
from catena.explain import explain
from catena.inputs import (
    batches_at_hand,
    bytes_of,
    checked_limits,
    column_name,
    each_time,
    unit_named,
)
from catena.matches import Matches

if TYPE_CHECKING:
    import pyarrow as pa


class Query:
    """A pattern query, parsed, checked and compiled; reusable and immutable.

    `time`, `type` and `stream` name the columns that hold a row's time, type and stream. A numeric
    time column has no unit of its own; `time_unit` gives it one, so that bounds may carry units.

    >>> import catena
    >>> q = catena.Query("SELECT x, y WHERE (T AS x ; H AS y) FILTER x[value > 40]")
    >>> rows = {"type": ["T", "H", "T", "H"], "value": [45, 20, 30, 25]}
    >>> [(m["x"], m["y"]) for m in q.run(rows)]
    [((0,), (1,)), ((0,), (3,))]
    """

    def __init__(
        self,
        text: str,
        *,
        time: str | None = None,
        type: str = "type",
        stream: str | None = None,
        time_unit: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        settings = Settings(
            type=column_name("type", type),
            time=None if time is None else column_name("time", time),
            stream=None if stream is None else column_name("stream", stream),
            time_unit=unit_named(time_unit),
        )
        self._limits = checked_limits(limits)
        self._plan = compile_query(text, settings)

    @property
    def text(self) -> str:
        """The query as it was given."""
        return self._plan.text

    @property
    def plan(self) -> Plan:
        """The compiled query."""
        return self._plan

    @property
    def automaton(self) -> AutomatonView:
        """The query's automaton, to look at: `to_dot()`, and a drawing in notebooks."""
        return AutomatonView(self._plan.automaton, self._plan.absences)

    def run(self, events: Events, *, on_late: OnLate = "error") -> Matches:
        """The matches in a whole stream, found while they are read.

        `events`: anything that exports Arrow (pyarrow, polars, DuckDB, ...), a pandas DataFrame, a
        mapping of column names to arrays, or an iterable of mappings. Iterating twice evaluates
        twice. `on_late`: what to do with a row whose time goes back, "error" or "drop".
        """

        def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Piece]:
            engine = Engine(self._plan, self._limits, on_late)
            return map(engine.push, batches)

        return Matches(self._plan, each_time(events, self._plan, pieces))

    def count(self, events: Events, *, on_late: OnLate = "error") -> int:
        """The number of matches in a whole stream, without making them.

        >>> import catena
        >>> catena.Query("SELECT * WHERE A+").count({"type": ["A"] * 100}) == 2**100 - 1
        True
        """
        return self.run(events, on_late=on_late).count()

    def stream(self, *, on_late: OnLate = "error") -> Stream:
        """A stream to push events into as they come."""
        return Stream(Engine(self._plan, self._limits, on_late), self._plan)

    def restore(
        self, snapshot: bytes | bytearray | memoryview, *, on_late: OnLate = "error"
    ) -> Stream:
        """A stream that goes on where the one that gave the snapshot was."""
        engine = Engine(self._plan, self._limits, on_late)
        engine.restore(bytes_of(snapshot))
        return Stream(engine, self._plan)

    def explain(self) -> str:
        """What the query means to the engine, and what it guarantees."""
        return explain(self._plan)

    def __repr__(self) -> str:
        return f"Query({self.text!r})"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.explain())}</pre>"


class Stream:
    """A query at work: push events, get the matches that they end.

    >>> import catena
    >>> s = catena.Query("SELECT x, y WHERE A AS x ; B AS y").stream()
    >>> list(s.push({"type": "A"}))
    []
    >>> list(s.push({"type": "B"}))
    [Match(start=0, end=1, x=(0,), y=(1,))]
    """

    def __init__(self, engine: Engine, plan: Plan) -> None:
        self._engine = engine
        self._plan = plan

    def push(self, events: Events) -> Matches:
        """Reads events (a batch in any form that `Query.run` takes, or one mapping).

        The matches can be read now or later, also after further pushes. Bad events raise a
        CatenaError. The rows of the batches before the bad one are read then, as `position` tells,
        and the matches that they end are the error's `matches`.
        """
        pieces: list[Piece] = []
        try:
            piece = self._engine.push_row(events) if type(events) is dict else None
            if piece is not None:
                pieces.append(piece)
                return Matches(self._plan, lambda: iter(pieces))
            for batch in batches_at_hand(events, self._plan):
                pieces.append(self._engine.push(batch))
        except CatenaError as error:
            error.matches = Matches(self._plan, lambda: iter(pieces))
            raise
        return Matches(self._plan, lambda: iter(pieces))

    def snapshot(self) -> bytes:
        """The state as bytes, for `Query.restore` here or in another process."""
        return self._engine.snapshot()

    @property
    def position(self) -> int:
        """The number of rows read: the position of the next one."""
        return self._engine.position

    @property
    def late_count(self) -> int:
        """The rows left out because their time went back (`on_late="drop"`)."""
        return self._engine.late_count

    def stats(self) -> dict[str, int]:
        """Counts of what the engine holds: rows read, nodes, bytes, parts, states, and valuations,
        the different values of clocks and registers by which open matches are told apart."""
        return self._engine.stats()
