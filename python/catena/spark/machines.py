"""What workers run: a query or an event expression at work on the rows of many keys.

A machine is what the driver makes and sends to other processes; a run is a machine at work in one
task. Batch, grouped functions, SQL and streaming all push batches of ordered rows into a run and
hand on the batches of matches that it gives.

Positions. Rows of a DataFrame have none, so a row's position is its number among the rows of its
key, in order, counted from 0: the position that it has if the key's rows are a stream of their own.
A worker numbers the rows (cpp/columns/part_numbers.h), the number is kept like an attribute, and
matches show it in place of the position in the worker's own stream.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from typing import Any, Final, TypeAlias

import pyarrow as pa

from catena import _core
from catena.algebra import Algebra, Instances
from catena.algebra.plan import AlgebraPlan
from catena.algebra.running import Detected, Running
from catena.compile.outputs import AttributeOutput, EdgeOutput, Output, PositionsOutput, RowsOutput
from catena.compile.plan import Plan, ReadsColumns
from catena.engine import Engine, Limits, OnLate, Piece
from catena.errors import CatenaError
from catena.layout import Layout, layout_of
from catena.match_table import MatchTable
from catena.queries import Query
from catena.query import ast
from catena.records import unique_names
from catena.spark.ordering import in_order
from catena.spark.types import fitted

NUMBER: Final = "__catena_number"
"""The column that holds a row's number among the rows of its key."""


@dataclass(frozen=True)
class QueryMachine:
    """A query by keys, which shows these outputs."""

    plan: Plan
    limits: Limits
    outputs: tuple[Output, ...]
    names: tuple[str, ...]

    @property
    def keys(self) -> tuple[str, ...]:
        return self.plan.keys

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The columns that batches must have; they may have more."""
        return tuple(name for name in self.plan.columns if name != NUMBER)

    @property
    def table(self) -> MatchTable:
        return MatchTable(self.plan, self.outputs, self.names)

    def start(self, *, on_late: OnLate = "error") -> QueryRun:
        """A run that has read nothing."""
        return QueryRun(self, Engine(self.plan, self.limits, on_late))

    def empty(self, schema: pa.Schema) -> pa.RecordBatch:
        """No matches, in the types that rows of this schema give.

        Raises CatenaError if the query does not go with the types.
        """
        fields = [schema.field(name) for name in self.columns]
        batch = pa.RecordBatch.from_pylist([], schema=pa.schema(fields))
        engine = Engine(self.plan, self.limits, "error")
        return self.table.empty(engine.push(with_numbers(batch, self.plan, pa.array([], "int64"))))


class QueryRun:
    """A machine at work."""

    def __init__(self, machine: QueryMachine, engine: Engine) -> None:
        self.machine = machine
        self.engine = engine
        self._numbering = Numbering(machine.plan)

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Reads rows, numbering them by key; gives the matches that they end."""
        plan = self.machine.plan
        numbers = self._numbering.number(with_numbers(batch, plan, None))
        return self.push_numbered(with_numbers(batch, plan, numbers))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The matches that the end of the rows brings: none."""
        return iter(())

    def push_numbered(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Reads rows that have their numbers, or need none."""
        return self.machine.table.read(self.replay(batch))

    def replay(self, batch: pa.RecordBatch) -> Piece:
        """Reads such rows without making their matches."""
        return self.engine.push(batch.select(list(self.machine.plan.columns)))


class Numbering:
    """Numbers the rows of each key."""

    def __init__(self, plan: ReadsColumns) -> None:
        self._plan = plan
        self._layout: Layout | None = None

    def number(self, batch: pa.RecordBatch) -> pa.Array:
        """The numbers of rows; batches have one schema and the plan's columns."""
        if self._layout is None:
            self._layout = layout_of(self._plan, batch.schema, {})
            # What divides the rows beyond their keys, equalities in the pattern, is not counted by.
            keys = self._layout.keys[: len(self._plan.keys)]
            self._numbers = _core.PartNumbers(list(keys))
            self._row_count = 0
        readable = self._layout.read(batch, self._row_count)
        self._row_count += batch.num_rows
        return pa.array(self._numbers.number(readable.__arrow_c_array__()))


def with_numbers(batch: pa.RecordBatch, plan: Plan, numbers: pa.Array | None) -> pa.RecordBatch:
    """The plan's columns of a batch and, where the plan wants it, that of the numbers."""
    if numbers is None:
        numbers = pa.nulls(batch.num_rows, pa.int64())
    arrays = [numbers if name == NUMBER else batch.column(name) for name in plan.columns]
    return pa.RecordBatch.from_arrays(arrays, names=list(plan.columns))


def query_machine(
    query: Query,
    by: Sequence[str] | None = None,
    row_columns: Sequence[str] = (),
    *,
    hidden_key: str | None = None,
) -> QueryMachine:
    """The machine of a query that is evaluated by keys, which come beside its own.

    With `row_columns`, matches also show the rows of each variable, as structs of these columns.
    With a `hidden_key`, which is one more key that matches do not show, positions are those of the
    run's own stream: rows are not numbered.
    """
    plan = query.plan
    keys = tuple(dict.fromkeys([*(by or ()), *plan.keys]))
    consume = plan.query.consume
    if consume is ast.Consume.ANY and by:
        if set(by) != set(keys):
            raise CatenaError(
                f"CONSUME BY ANY over {plan.keys} within {tuple(by)} is not supported",
                hint="give by= all attributes of PARTITION BY, or none",
            )
        consume = ast.Consume.PARTITION
    outputs = _outputs(plan, keys, row_columns, NUMBER if hidden_key is None else None)
    names = tuple(unique_names((output.name for output in outputs), str.lower))
    if hidden_key is not None:
        keys = (*keys, hidden_key)
    asked = replace(plan.query, partition=(keys,) if keys else (), consume=consume)
    return QueryMachine(replace(plan, query=asked, outputs=outputs), query._limits, outputs, names)


def _outputs(
    plan: Plan, keys: Sequence[str], row_columns: Sequence[str], number: str | None
) -> tuple[Output, ...]:
    """The columns of matches: keys, edges, times, the items of SELECT, then rows."""
    time = plan.settings.time
    times = (EdgeOutput("start_time", "start", time), EdgeOutput("end_time", "end", time))
    shown = [o.variable for o in plan.outputs if isinstance(o, PositionsOutput)]
    return (
        *(EdgeOutput(key, "end", key) for key in keys),
        EdgeOutput("start", "start", number),
        EdgeOutput("end", "end", number),
        *(times if time else ()),
        *(_numbered(output, number) for output in plan.outputs),
        *(RowsOutput(f"{x}_rows", x, tuple(row_columns)) for x in shown if row_columns),
    )


def _numbered(output: Output, number: str | None) -> Output:
    if isinstance(output, PositionsOutput) and number is not None:
        return AttributeOutput(output.name, output.variable, number)
    return output


@dataclass(frozen=True)
class AlgebraMachine:
    """An event expression by keys; the instances' rows are shown by their numbers."""

    plan: AlgebraPlan

    def __reduce__(self) -> tuple[Any, ...]:
        """It goes to other processes without what has been worked out from its plan."""
        made_of = tuple(getattr(self.plan, field.name) for field in fields(self.plan))
        return _algebra_machine_of, made_of

    @property
    def keys(self) -> tuple[str, ...]:
        return self.plan.keys

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that batches must have; they may have more."""
        return self.plan.columns

    def start(self) -> AlgebraRun:
        """A run that has read nothing."""
        return AlgebraRun(self)

    def empty(self, schema: pa.Schema) -> pa.RecordBatch:
        """No instances, in the types that rows of this schema give."""
        wanted = [schema.field(name) for name in self.columns]
        batch = pa.RecordBatch.from_pylist([], schema=pa.schema(wanted))
        piece = Running(self.plan, "error").push(batch)
        [nothing] = Instances(self.plan, lambda: iter([piece])).batches()
        return _keys_first(nothing, self.keys)


def _algebra_machine_of(*made_of: Any) -> AlgebraMachine:
    return AlgebraMachine(AlgebraPlan(*made_of))


class AlgebraRun:
    """A detector at work."""

    def __init__(self, machine: AlgebraMachine) -> None:
        self._machine = machine
        self._running = Running(machine.plan, "error")
        self._numbering = Numbering(machine.plan)
        self._numbers: list[pa.Array] = []

    def push(self, batch: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
        """Reads rows, numbering them by key; gives the instances that they complete."""
        chosen = batch.select(list(self._machine.columns))
        if self._machine.plan.with_rows:
            self._numbers.append(self._numbering.number(chosen))
        return self._shown(self._running.push(chosen))

    def finish(self) -> Iterator[pa.RecordBatch]:
        """The instances of the last tick."""
        return self._shown(self._running.finish())

    def _shown(self, piece: Detected) -> Iterator[pa.RecordBatch]:
        instances = Instances(self._machine.plan, lambda: iter([piece]))
        if not instances:
            return
        for batch in instances.batches():
            arrays = [self._numbered(batch.column(i)) for i in range(batch.num_columns)]
            found = pa.RecordBatch.from_arrays(arrays, names=batch.schema.names)
            yield _keys_first(found, self._machine.keys)

    def _numbered(self, column: pa.Array) -> pa.Array:
        """A list of positions in this run as numbers within the key; other columns as they are."""
        if not pa.types.is_list(column.type):
            return column
        self._numbers = [pa.concat_arrays(self._numbers)]
        positions = column.flatten()
        return pa.ListArray.from_arrays(column.offsets, self._numbers[0].take(positions))


def _keys_first(batch: pa.RecordBatch, keys: Sequence[str]) -> pa.RecordBatch:
    """The columns in the order in which matches show them; the keys stand after the two times."""
    places = [*range(2, 2 + len(keys)), 0, 1, *range(2 + len(keys), batch.num_columns)]
    return batch.select(places)


def algebra_machine(algebra: Algebra, by: Sequence[str] | None) -> AlgebraMachine:
    """The machine of an expression that is detected by keys; None: by those it was made with."""
    keys = tuple(dict.fromkeys([*(by or ()), *algebra.plan.keys]))
    return AlgebraMachine(replace(algebra.plan, keys=keys))


Machine: TypeAlias = QueryMachine | AlgebraMachine


@dataclass(frozen=True)
class PartsTask:
    """All that a worker does with the rows of some keys: orders them and runs the machine."""

    machine: Machine
    columns: tuple[str, ...]
    """What the columns of the rows are called, whatever Spark calls them on the way."""
    order: tuple[str, ...]
    schema: pa.Schema
    bytes_max: int | None
    """Bytes of rows sorted in memory; None if the rows come in order."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        batches = (batch.rename_columns(self.columns) for batch in batches)
        if self.bytes_max is not None:
            batches = in_order(batches, self.order, self.bytes_max)
        run = self.machine.start()
        for batch in batches:
            for found in run.push(batch):
                yield fitted(found, self.schema)
        for found in run.finish():
            yield fitted(found, self.schema)
