"""A bucket of a stream: the state of many keys, packed, and what happens to it in a micro-batch.

The keys of a stream are divided into buckets by their hash, and Spark keeps state by bucket. A
bucket's rows are evaluated by one engine, which divides them by key itself. Four things are kept:

    head      a little JSON: versions, counters, what is where in the rest
    snapshot  the engine's state at some time, with the states of all keys of the bucket
    log       the rows evaluated since then, in order
    waiting   the rows that the watermark has not passed yet, by slot of time

Why a log: with many keys and few events in a micro-batch, writing the snapshot anew would write
megabytes for a handful of rows. So the rows are appended, and replayed when the bucket is needed
next; the snapshot is written when the log has grown as large as it. What is written is then at most
about twice the events themselves, and what is replayed never more than what is restored anyway.

Why slots: under a long watermark delay most waiting rows are not due in most micro-batches. Rows
are put away in entries of neighbouring slots of time, and only the entries that the watermark
reaches are touched; what is left of these is put away anew, together, so that entries do not get
smaller and more.

Order: rows are evaluated when the watermark has passed their time, in the order of time; rows that
are equal in all ordering columns keep the order in which they came. A row that the watermark had
passed already when it came is late: it is counted and left out. When rows have been evaluated, the
engine is told that time has come to the watermark (a row of no key with that time), so what has
left the window is released also for keys that get no more rows.

Exactly once: all of it is a function of the state before, the rows of the micro-batch and the
watermark, and Spark commits state and offsets together, so a micro-batch that is run again gives
the same rows again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, field
from itertools import pairwise
from typing import Any, Final, Protocol

import numpy as np
import pyarrow as pa

from catena.compile.plan import Plan
from catena.errors import CatenaDataError, CatenaSnapshotError
from catena.query import ast
from catena.spark.machines import QueryMachine, QueryRun
from catena.spark.ordering import ordered, sort_order
from catena.spark.types import fitted

STATE_VERSION: Final = 1

LOG_BYTES_MIN: Final = 16 * 1024
"""A log shorter than this is never worth a snapshot."""

SLOTS_PER_DELAY: Final = 16
"""Slots that the rows waiting under the watermark's delay are put into."""

ENTRY_ROWS_MIN: Final = 512
"""Rows put away as one entry, of however many slots, before another is begun."""

ARRIVAL: Final = "__catena_arrival"
"""The column that holds the number of a row in the order in which the bucket's rows came."""

BUCKET: Final = "__catena_bucket"
"""The column that holds a row's bucket. It is a key of the engine that is null in no row but those
that tell the time."""


class Store(Protocol):
    """Where a bucket is kept: Spark's state, or a dictionary in tests."""

    def head(self) -> bytes | None: ...
    def put_head(self, head: bytes) -> None: ...
    def snapshot(self) -> bytes | None: ...
    def put_snapshot(self, snapshot: bytes) -> None: ...
    def log(self) -> list[bytes]: ...
    def append_log(self, entry: bytes) -> None: ...
    def clear_log(self) -> None: ...
    def waiting(self, name: str) -> bytes: ...
    def put_waiting(self, name: str, rows: bytes) -> None: ...
    def drop_waiting(self, name: str) -> None: ...


@dataclass(slots=True)
class Head:
    """What a bucket must know before it looks at the rest."""

    plan: str
    schema: str
    version: int = STATE_VERSION
    buckets: int = 1
    late_count: int = 0
    back_count: int = 0
    """Rows left out since the clock of an attribute window went back."""
    row_count: int = 0
    snapshot_bytes: int = 0
    log_bytes: int = 0
    entry_count: int = 0
    part_count: int = 0
    arrival_count: int = 0
    timer_ms: int | None = None
    waiting: dict[str, list[int]] = field(default_factory=dict)
    """By name of an entry its smallest time and its number of rows."""
    live_until: int | None = None
    """The time after which nothing in the snapshot is live; None if that is not known."""


@dataclass(frozen=True)
class BucketTask:
    """What the processor of a bucket needs to know; sent to workers."""

    machine: QueryMachine
    time: str
    order: tuple[str, ...]
    """The ordering columns, `time` first, ARRIVAL last."""
    rows: pa.Schema
    """The columns of the rows, with BUCKET and ARRIVAL."""
    schema: pa.Schema
    """The columns of the matches."""
    buckets: int
    slot_us: int

    @property
    def window_us(self) -> int | None:
        """The query's window, if it is one of time."""
        return window_us(self.machine.plan)


@dataclass(frozen=True)
class Advance:
    """What a micro-batch did to a bucket.

    The timers are the times, in milliseconds, by which the bucket wants to be looked at even if it
    gets no rows: the one so far, and the new one.
    """

    matches: list[pa.RecordBatch]
    late: pa.Table | None
    old_timer_ms: int | None
    timer_ms: int | None


class Bucket:
    """One bucket in one micro-batch."""

    def __init__(self, task: BucketTask, store: Store) -> None:
        self._task = task
        self._store = store
        self._head = _head_of(task, store.head())

    @property
    def late_count(self) -> int:
        return self._head.late_count

    def advance(self, batches: Sequence[pa.RecordBatch], watermark_ms: int) -> Advance:
        """Takes the rows of a micro-batch over, and evaluates what the watermark has passed."""
        watermark = watermark_ms * 1000 if watermark_ms > 0 else None
        given = pa.Table.from_batches(batches, self._task.rows)
        times = _times(given, self._task.time)
        late = None
        if watermark is not None and len(times) and (times <= watermark).any():
            is_late = times <= watermark
            late = given.filter(pa.array(is_late))
            given, times = given.filter(pa.array(~is_late)), times[~is_late]
            self._head.late_count += late.num_rows
        due, waiting = self._take_due(watermark)
        self._put_away(pa.concat_tables([waiting, self._numbered(given)]))
        matches = self._evaluate(due, watermark)
        timer_ms = self._head.timer_ms
        self._head.timer_ms = self._next_timer_ms()
        self._store.put_head(json.dumps(asdict(self._head)).encode())
        return Advance(matches, late, timer_ms, self._head.timer_ms)

    # Rows that wait

    def _numbered(self, rows: pa.Table) -> pa.Table:
        """The rows with their numbers in order of arrival."""
        first = self._head.arrival_count
        self._head.arrival_count += rows.num_rows
        numbers = pa.array(np.arange(first, first + rows.num_rows))
        return rows.set_column(rows.schema.get_field_index(ARRIVAL), ARRIVAL, numbers)

    def _take_due(self, watermark: int | None) -> tuple[pa.Table, pa.Table]:
        """The waiting rows that the watermark has passed, in order, and others that lay with them;
        none of them is kept any longer."""
        taken = [self._task.rows.empty_table()]
        for name, (first, _) in list(self._head.waiting.items()):
            if watermark is not None and first <= watermark:
                taken.append(self._unpack(self._store.waiting(name)))
                self._store.drop_waiting(name)
                del self._head.waiting[name]
        rows = pa.concat_tables(taken)
        is_due = _times(rows, self._task.time) <= (watermark or 0)
        due = ordered(rows.filter(pa.array(is_due)), self._task.order)
        return due, rows.filter(pa.array(~is_due))

    def _put_away(self, rows: pa.Table) -> None:
        """Keeps rows that are not due yet, by slot of time."""
        rows = ordered(rows, (self._task.time,))
        times = _times(rows, self._task.time)
        slots = times // self._task.slot_us
        first = 0
        while first < len(slots):
            last = min(first + ENTRY_ROWS_MIN, len(slots)) - 1
            end = int(np.searchsorted(slots, slots[last], side="right"))
            self._head.entry_count += 1
            name = f"{self._head.entry_count:012}"
            self._store.put_waiting(name, packed(rows.slice(first, end - first)))
            self._head.waiting[name] = [int(times[first]), end - first]
            first = end

    def _unpack(self, rows: bytes) -> pa.Table:
        return pa.Table.from_batches([unpacked(rows, self._task.rows)])

    # Evaluation

    def _evaluate(self, due: pa.Table, watermark: int | None) -> list[pa.RecordBatch]:
        """The matches that the due rows end."""
        until = self._head.live_until
        has_expired = until is not None and watermark is not None and watermark > until
        if watermark is None or not (due.num_rows or has_expired):
            return []
        run = self._run()
        rows = pa.concat_tables([due, self._clock_row(watermark)]).combine_chunks()
        batch = rows.to_batches()[0]
        matches = [fitted(found, self._task.schema) for found in run.push_numbered(batch)]
        self._head.row_count += due.num_rows
        self._head.back_count = run.engine.late_count
        self._head.live_until = self._live_until(due, watermark)
        has_window = self._task.window_us is not None
        self._save(run, batch, is_release=has_window and self._head.live_until is None)
        return matches

    def _live_until(self, due: pa.Table, watermark: int) -> int | None:
        """How long the rows just evaluated stay in the window; None if they have left it."""
        times = _times(due, self._task.time)
        if self._task.window_us is None or not len(times):
            return None
        until = int(times[-1]) + self._task.window_us
        return until if until >= watermark else None

    def _clock_row(self, watermark: int) -> pa.Table:
        """A row of no key that tells the time, if that is what the query measures by."""
        if self._task.machine.plan.settings.time != self._task.time:
            return self._task.rows.empty_table()
        now = pa.array([watermark], pa.int64()).cast(pa.timestamp("us"))
        arrays = [
            now.cast(f.type) if f.name == self._task.time else pa.nulls(1, f.type)
            for f in self._task.rows
        ]
        return pa.Table.from_arrays(arrays, schema=self._task.rows)

    def _run(self) -> QueryRun:
        """The engine as the bucket's last evaluation left it."""
        run = self._task.machine.start(on_late="drop")
        snapshot = self._store.snapshot()
        if snapshot is not None:
            run.engine.restore(snapshot)
        for entry in self._store.log():
            run.replay(unpacked(entry, self._task.rows))
        return run

    def _save(self, run: QueryRun, batch: pa.RecordBatch, is_release: bool) -> None:
        """Keeps the rows just evaluated, or the state they led to, whichever is less to write."""
        head = self._head
        entry = packed(batch)
        has_room = head.log_bytes + len(entry) <= max(LOG_BYTES_MIN, head.snapshot_bytes)
        if has_room and not is_release:
            self._store.append_log(entry)
            head.log_bytes += len(entry)
        else:
            snapshot = run.engine.snapshot()
            self._store.put_snapshot(snapshot)
            self._store.clear_log()
            head.snapshot_bytes, head.log_bytes = len(snapshot), 0
        head.part_count = run.engine.stats()["parts"]

    def _next_timer_ms(self) -> int | None:
        """When the watermark will have reached the first waiting row, or the end of the window."""
        times = [first for first, _ in self._head.waiting.values()]
        if self._head.live_until is not None:
            times.append(self._head.live_until + 1)
        return -(-min(times) // 1000) if times else None


def window_us(plan: Plan) -> int | None:
    """The query's window in microseconds, if it is one of time."""
    window = plan.query.window
    if not isinstance(window, ast.TimeWindow) or window.bound.unit is None:
        return None
    return int(window.bound.amount * window.bound.unit.nanoseconds // 1000)


def packed(rows: pa.Table | pa.RecordBatch) -> bytes:
    """Rows as bytes, without their schema."""
    if isinstance(rows, pa.Table):
        batches = rows.combine_chunks().to_batches()
        rows = batches[0] if batches else pa.RecordBatch.from_pylist([], schema=rows.schema)
    return bytes(rows.serialize())


def unpacked(rows: bytes, schema: pa.Schema) -> pa.RecordBatch:
    """The rows that were packed."""
    try:
        return pa.ipc.read_record_batch(pa.py_buffer(rows), schema)
    except (pa.ArrowException, OSError) as error:
        raise CatenaSnapshotError(f"rows in the state are damaged: {error}") from error


def divided(batch: pa.RecordBatch, bucket: str) -> Iterator[tuple[int, pa.RecordBatch]]:
    """The rows of each bucket, in the order in which they stand."""
    order = sort_order(batch.column(bucket))
    rows = batch.take(pa.array(order))
    numbers = rows.column(bucket).to_numpy()
    edges = [0, *(np.flatnonzero(np.diff(numbers)) + 1), len(numbers)] if len(numbers) else [0]
    for first, last in pairwise(edges):
        yield int(numbers[first]), rows.slice(first, last - first)


def _times(rows: pa.Table, name: str) -> np.ndarray[Any, np.dtype[np.int64]]:
    """The times of rows in microseconds."""
    column = rows.column(name)
    if column.null_count:
        raise CatenaDataError(
            f"column {name!r} orders the rows and is null", hint="leave such rows out"
        )
    times: np.ndarray[Any, np.dtype[np.int64]] = (
        column.cast(pa.timestamp("us")).cast(pa.int64()).to_numpy()
    )
    return times


def read_head(stored: bytes) -> Head:
    """The head of a bucket that was written by this release or one that it can read."""
    try:
        head = Head(**json.loads(stored))
    except (ValueError, TypeError) as error:
        version = _version_of(stored)
        if version is not None and version != STATE_VERSION:
            raise _unknown_version(version) from error
        raise CatenaSnapshotError(f"the state is damaged: {error}") from error
    if head.version != STATE_VERSION:
        raise _unknown_version(head.version)
    return head


def _version_of(stored: bytes) -> int | None:
    try:
        version = json.loads(stored)["version"]
    except (ValueError, TypeError, KeyError):
        return None
    return version if isinstance(version, int) else None


def _unknown_version(version: int) -> CatenaSnapshotError:
    return CatenaSnapshotError(
        f"the state has format version {version}; this release reads {STATE_VERSION}",
        hint="run the stream with the release that wrote the checkpoint, or start a new checkpoint",
    )


def _head_of(task: BucketTask, stored: bytes | None) -> Head:
    """The head of a bucket, which must belong to this query over these columns."""
    schema = task.rows.serialize().to_pybytes().hex()
    plan = task.machine.plan.hash
    if stored is None:
        return Head(plan, schema, buckets=task.buckets)
    head = read_head(stored)
    differs = None
    if head.plan != plan:
        differs = "another query, or with other settings"
    elif head.buckets != task.buckets:
        differs = f"{head.buckets} buckets, not {task.buckets}"
    elif not _schema(head.schema).equals(task.rows):
        differs = "other columns"
    if differs:
        raise CatenaSnapshotError(
            f"the checkpoint was written with {differs}",
            hint="go on with what it was written with, or start a new checkpoint",
        )
    return head


def _schema(text: str) -> pa.Schema:
    return pa.ipc.read_schema(pa.py_buffer(bytes.fromhex(text)))
