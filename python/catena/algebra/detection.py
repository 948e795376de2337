"""Algebra and Detector: what a user of the event algebra holds."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import pyarrow as pa

from catena.algebra.bounds import Bounds, MemoryBound
from catena.algebra.explain import explain
from catena.algebra.expressions import Expression, Length
from catena.algebra.instances import Instances
from catena.algebra.plan import AlgebraPlan, compile_expression
from catena.algebra.running import Detected, Running
from catena.algebra.simplify import simplify
from catena.compile.plan import Settings
from catena.engine import Limits, OnLate
from catena.errors import CatenaError
from catena.events import Events
from catena.inputs import (
    batches_at_hand,
    bytes_of,
    checked_limits,
    column_name,
    each_time,
    unit_named,
)


class Algebra:
    """An event expression, parsed, checked and compiled; reusable and immutable.

    `text` is an expression or its text. `time` and `type` name the columns that hold a row's time
    and type; without a time column every row is a tick of its own, and its time is its position.
    `define` gives names a predicate; all other names are event types. With `values` instances also
    carry their rows. `by` names the columns of the key: each key is a stream of its own. A numeric
    time column has no unit; `time_unit` gives it one.

    >>> import catena
    >>> a = catena.Algebra("(B ; B)[2] - (P | T)", time="ts")
    >>> rows = {"ts": [1, 2, 3, 4, 5], "type": ["B", "B", "P", "B", "B"]}
    >>> [(m.start_time, m.end_time) for m in a.run(rows)]
    [(1, 2), (4, 5)]
    """

    def __init__(
        self,
        text: str | Expression,
        *,
        time: str | None = None,
        type: str = "type",
        define: Mapping[str, str] | None = None,
        values: bool = False,
        by: str | Iterable[str] = (),
        time_unit: str | None = None,
        limits: Limits | None = None,
    ) -> None:
        settings = Settings(
            type=column_name("type", type),
            time=None if time is None else column_name("time", time),
            time_unit=unit_named(time_unit),
        )
        if not isinstance(values, bool):
            raise CatenaError(f"values is {values!r}", hint="pass True to get the rows, or False")
        self._define = define
        self._plan = compile_expression(
            text,
            settings,
            define=define,
            with_rows=values,
            by=by,
            limits=checked_limits(limits),
        )

    @property
    def text(self) -> str:
        """The expression as it was given."""
        return self._plan.text

    @property
    def expression(self) -> Expression:
        """The expression."""
        return self._plan.expression

    @property
    def plan(self) -> AlgebraPlan:
        """The compiled expression."""
        return self._plan

    def run(self, events: Events, *, on_late: OnLate = "error") -> Instances:
        """The instances in a whole stream, detected while they are read.

        `events`: anything that `Query.run` takes. `on_late`: what to do with a row whose time goes
        back, "error" or "drop".
        """

        def pieces(batches: Iterable[pa.RecordBatch]) -> Iterator[Detected]:
            running = Running(self._plan, on_late)
            yield from map(running.push, batches)
            yield running.finish()

        return Instances(self._plan, each_time(events, self._plan, pieces))

    def count(self, events: Events, *, on_late: OnLate = "error") -> int:
        """The number of instances in a whole stream."""
        return self.run(events, on_late=on_late).count()

    def stream(self, *, on_late: OnLate = "error") -> Detector:
        """A detector to push events into as they come."""
        return Detector(Running(self._plan, on_late), self._plan)

    def restore(
        self, snapshot: bytes | bytearray | memoryview, *, on_late: OnLate = "error"
    ) -> Detector:
        """A detector that goes on where the one that gave the snapshot was."""
        running = Running(self._plan, on_late)
        running.restore(bytes_of(snapshot))
        return Detector(running, self._plan)

    def memory_bound(self) -> MemoryBound:
        """What detection takes for one part, in bytes, and the instances and times it can hold."""
        core = self._plan.core
        return MemoryBound(
            core.bytes_max,
            instances=core.instance_count_max,
            times=core.time_count_max,
            units=Bounds().of(self.expression).units(self._plan.with_rows),
        )

    def time_bound(self) -> int:
        """The steps that a tick takes at most: comparisons, and times and instances assigned."""
        return Bounds().of(self.expression).time(self._plan.with_rows)

    def simplify(self) -> Algebra:
        """An algebra that detects the same starts and ends, and needs no more memory.

        >>> import catena
        >>> catena.Algebra("(A[3] ; (B ; C)[5])[4] - (D - D)").simplify().text
        '(A ; B ; C)[4]'
        """
        return self._with(simplify(self.expression))

    def explain(self) -> str:
        """What the expression means to the detector, and what it guarantees."""
        return explain(self._plan, self.memory_bound(), self.time_bound())

    def _with(self, expression: Expression) -> Algebra:
        """An algebra of another expression and the same settings."""
        settings = self._plan.settings
        return Algebra(
            expression,
            time=settings.time,
            type=settings.type,
            define=self._define,
            values=self._plan.with_rows,
            by=self._plan.keys,
            time_unit=None if settings.time_unit is None else settings.time_unit.value,
            limits=self._plan.limits,
        )

    def _operand(self, other: object) -> Expression | None:
        """The other side of an operator; of algebras that agree on everything else."""
        if isinstance(other, Expression):
            return other
        if not isinstance(other, Algebra):
            return None
        if self._rest() != other._rest():
            raise CatenaError(
                "algebras with different settings cannot be put together",
                hint="give both the same time, type, define, values and by",
            )
        return other.expression

    def _rest(self) -> tuple[object, ...]:
        plan = self._plan
        return (plan.settings, plan.defined, plan.with_rows, plan.keys, plan.limits)

    def __or__(self, other: object) -> Algebra:
        operand = self._operand(other)
        return NotImplemented if operand is None else self._with(self.expression | operand)

    def __add__(self, other: object) -> Algebra:
        operand = self._operand(other)
        return NotImplemented if operand is None else self._with(self.expression + operand)

    def __sub__(self, other: object) -> Algebra:
        operand = self._operand(other)
        return NotImplemented if operand is None else self._with(self.expression - operand)

    def __rshift__(self, other: object) -> Algebra:
        operand = self._operand(other)
        return NotImplemented if operand is None else self._with(self.expression >> operand)

    def within(self, length: Length) -> Algebra:
        """An algebra of the occurrences that take at most this long."""
        return self._with(self.expression.within(length))

    def __repr__(self) -> str:
        return f"Algebra({self.text!r})"

    def _repr_html_(self) -> str:
        import html

        return f"<pre>{html.escape(self.explain())}</pre>"


class Detector:
    """An algebra at work: push events, get the instances of the ticks that they complete.

    Rows of one time are one tick, and more of them may come. So the instances of a tick are given
    when a row of a later time has been pushed, or by `finish`.

    >>> import catena
    >>> d = catena.Algebra("A ; B", time="ts").stream()
    >>> list(d.push({"ts": 1, "type": "A"})), list(d.push({"ts": 3, "type": "B"}))
    ([], [])
    >>> list(d.push({"ts": 4, "type": "B"}))
    [Instance(start_time=1, end_time=3)]
    >>> list(d.finish())
    [Instance(start_time=1, end_time=4)]
    """

    def __init__(self, running: Running, plan: AlgebraPlan) -> None:
        self._running = running
        self._plan = plan

    def push(self, events: Events) -> Instances:
        """Reads events (a batch in any form that `Algebra.run` takes, or one mapping).

        Bad events raise a CatenaError. The rows of the batches before the bad one are read then, as
        `position` tells, and the instances that they complete are the error's `matches`.
        """
        pieces: list[Detected] = []
        try:
            for batch in batches_at_hand(events, self._plan):
                pieces.append(self._running.push(batch))
        except CatenaError as error:
            error.matches = Instances(self._plan, lambda: iter(pieces))
            raise
        return Instances(self._plan, lambda: iter(pieces))

    def finish(self) -> Instances:
        """Completes the tick at hand: no more rows of its time will come.

        The stream may go on with rows of later times.
        """
        piece = self._running.finish()
        return Instances(self._plan, lambda: iter([piece]))

    def snapshot(self) -> bytes:
        """The state as bytes, for `Algebra.restore` here or in another process."""
        return self._running.snapshot()

    @property
    def position(self) -> int:
        """The number of rows read: the position of the next one."""
        return self._running.position

    @property
    def late_count(self) -> int:
        """The rows left out because their time went back (`on_late="drop"`)."""
        return self._running.late_count

    def stats(self) -> dict[str, int]:
        """Counts of what the detector holds and does: rows read, operators visited, parts,
        instances and times stored, bytes."""
        return self._running.stats()
