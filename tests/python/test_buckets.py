"""A bucket of a stream without Spark: micro-batches, watermarks, restarts and what is written.

The store is a dictionary of bytes, and every micro-batch starts from it alone, as after a restart.
"""

from __future__ import annotations

import json
import random
from collections import Counter
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from marks import showing_rows, text_in_seconds, why_wrong
from paths import table_of
from test_cases import load
from test_registers import is_refused
from test_semantics import COMMON

import catena
import oracle
from catena.spark import buckets
from catena.spark.buckets import ARRIVAL, BUCKET, Bucket, BucketTask, divided, read_head
from catena.spark.machines import query_machine
from catena.spark.types import declared
from generators import (
    ALL_FEATURES,
    CORRELATED,
    NEGATED,
    QUERY,
    SELECTED,
    STREAMS,
    TERMS,
    TIMED,
    UNARY,
    Features,
    queries,
    rows,
)

STAMP = pa.timestamp("us", "UTC")
SMALL: Features = frozenset({"as", "filter", ";", "+", "or", "strategy", "window", "partition"})


class DictStore:
    """A bucket's state in memory, with a count of the bytes written."""

    def __init__(self) -> None:
        self.values: dict[str, bytes] = {}
        self.entries: list[bytes] = []
        self.rows: dict[str, bytes] = {}
        self.written = 0

    def _put(self, place: dict[str, bytes], name: str, value: bytes) -> None:
        self.written += len(value)
        place[name] = value

    def head(self) -> bytes | None:
        return self.values.get("head")

    def put_head(self, head: bytes) -> None:
        self._put(self.values, "head", head)

    def snapshot(self) -> bytes | None:
        return self.values.get("snapshot")

    def put_snapshot(self, snapshot: bytes) -> None:
        self._put(self.values, "snapshot", snapshot)

    def log(self) -> list[bytes]:
        return list(self.entries)

    def append_log(self, entry: bytes) -> None:
        self.written += len(entry)
        self.entries.append(entry)

    def clear_log(self) -> None:
        self.entries.clear()

    def waiting(self, name: str) -> bytes:
        return self.rows[name]

    def put_waiting(self, name: str, rows: bytes) -> None:
        self._put(self.rows, name, rows)

    def drop_waiting(self, name: str) -> None:
        del self.rows[name]

    def size(self) -> int:
        kept = [*self.values.values(), *self.entries, *self.rows.values()]
        return sum(len(value) for value in kept)


def task_of(query: catena.Query, table: pa.Table, time: str) -> BucketTask:
    """The task of a query over one bucket of rows like these."""
    machine = query_machine(query, hidden_key=BUCKET)
    order = tuple(dict.fromkeys([time, *machine.plan.order_columns]))
    given = pa.schema([*table.schema, (BUCKET, pa.int32()), (ARRIVAL, pa.int64())])
    schema = declared(machine.empty(given).schema)[1]
    return BucketTask(machine, time, (*order, ARRIVAL), given, schema, 1, slot_us=2_000_000)


def with_hidden(table: pa.Table) -> pa.Table:
    """The table with the columns that streaming adds."""
    count = table.num_rows
    hidden = table.append_column(BUCKET, pa.array([0] * count, pa.int32()))
    return hidden.append_column(ARRIVAL, pa.nulls(count, pa.int64()))


def streamed(task: BucketTask, table: pa.Table, delay_s: int, rng: random.Random) -> list[dict]:
    """The matches of rows that come in micro-batches, out of order by less than the delay."""
    seconds = table.column(task.time).cast(pa.int64()).to_numpy() // 1_000_000
    arrival = sorted(range(table.num_rows), key=lambda i: seconds[i] + rng.uniform(0, delay_s - 1))
    store, found, watermark_ms, at = DictStore(), [], 0, 0
    while at < len(arrival):
        size = rng.randint(1, 4)
        batch = table.take(pa.array(sorted(arrival[at : at + size])))
        found += advance(task, store, batch, watermark_ms)
        seen = max(seconds[arrival[: at + size]])
        watermark_ms = max(watermark_ms, int(seen - delay_s) * 1000)
        at += size
    found += advance(task, store, table.slice(0, 0), 2**40)
    assert read_head(store.values["head"]).late_count == 0
    return found


def advance(task: BucketTask, store: DictStore, table: pa.Table, watermark_ms: int) -> list[dict]:
    done = Bucket(task, store).advance(with_hidden(table).to_batches(), watermark_ms)
    return [match for batch in done.matches for match in batch.to_pylist()]


@pytest.mark.parametrize(("stream", "case"), [c[1:] for c in load()], ids=[c[0] for c in load()])
def test_the_case_files_in_micro_batches(stream: dict[str, Any], case: dict[str, Any]) -> None:
    if "error" in case:
        return
    plan = catena.Query(case["query"], **case.get("columns", {})).plan
    query = catena.Query(showing_rows(case["query"], plan.variables), **case.get("columns", {}))
    table = pa.table(stream)
    count = table.num_rows
    table = table.append_column("n", pa.array(range(count)))
    table = table.append_column("now", pa.array([(i + 1) * 10**6 for i in range(count)], STAMP))
    expected = sorted(
        sorted((x, p) for x, at in found.items() for p in at) for _, _, found in case["matches"]
    )
    found = streamed(task_of(query, table, "now"), table, 10, random.Random(7))
    shown = [[(x, p) for x in plan.variables for p in match[f"{x}.n"]] for match in found]
    assert sorted(sorted(pairs) for pairs in shown) == expected


def compare(asked: oracle.Query, events: list, seed: int) -> None:
    """Whatever the cuts: rows of one time keep the order in which they came."""
    assume(events)
    try:
        plan = catena.Query(asked.text(), time="ts", stream="stream").plan
        due = oracle.results(asked, events, time="ts", stream="stream")
    except (oracle.OverBudget, catena.CatenaLimitError):
        assume(False)
    except catena.CatenaError as error:
        assume(not is_refused(error) and "no window bounds it" not in str(error))
        raise
    text = showing_rows(text_in_seconds(asked.text()), plan.variables)
    query = catena.Query(text, time="now", stream="stream")
    now = pa.array([(e["ts"] + 1) * 10**6 for e in events], STAMP)
    table = table_of(events).append_column("n", pa.array(range(len(events))))
    task = task_of(query, table.append_column("now", now), "now")
    store = DictStore()
    found = in_given_order(task, store, table.append_column("now", now), random.Random(seed))
    shown = [tuple(sorted((x, n) for x in plan.variables for n in m[f"{x}.n"])) for m in found]
    problem = why_wrong(asked, due, Counter(shown))
    assert not problem, f"{problem}\n{query.text}\nrows: {events}"
    remembers = any(isinstance(f, oracle.Select) for f in oracle.subformulas(asked.formula))
    if task.window_us is not None and not remembers:
        assert read_head(store.values["head"]).part_count == 0, "all has left the window"


@settings(max_examples=80, **COMMON)
@given(queries(UNARY | QUERY | TERMS | STREAMS | TIMED), rows(), st.integers(0, 1000))
def test_random_queries_in_micro_batches(asked: oracle.Query, events: list, seed: int) -> None:
    compare(asked, events, seed)


@settings(max_examples=40, **COMMON)
@given(queries(SMALL | NEGATED | CORRELATED | SELECTED), rows(), st.integers(0, 1000))
def test_random_negations_and_conditions(asked: oracle.Query, events: list, seed: int) -> None:
    compare(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=400, **COMMON)
@given(queries(ALL_FEATURES), rows(), st.integers(0, 1000))
def test_many_random_queries(asked: oracle.Query, events: list, seed: int) -> None:
    compare(asked, events, seed)


def in_given_order(
    task: BucketTask, store: DictStore, table: pa.Table, rng: random.Random
) -> list[dict]:
    """Micro-batches of rows in order, since rows of one time are told apart by arrival."""
    found, at, watermark_ms = [], 0, 0
    seconds = table.column("now").cast(pa.int64()).to_numpy() // 1_000_000
    while at < table.num_rows:
        size = rng.randint(1, 3)
        found += advance(task, store, table.slice(at, size), watermark_ms)
        watermark_ms = max(0, int(seconds[: at + size].max() - 1) * 1000 - 1)
        at += size
    return found + advance(task, store, table.slice(0, 0), 2**40)


# ---------------------------------------------------------------------------------------------
# State


def events_of(count: int, keys: int, first: int = 0, types: str = "AB") -> pa.Table:
    """Rows one second apart, each of another key, with types in turn."""
    at = range(first, first + count)
    return pa.table(
        {
            "ts": pa.array([(i + 1) * 10**6 for i in at], STAMP),
            "type": [types[i % len(types)] for i in at],
            "id": [i % keys for i in at],
        }
    )


PAIRS = "SELECT a, b WHERE A AS a ; B AS b PARTITION BY [id]"


def test_late_rows_are_counted_and_left_out() -> None:
    query = catena.Query(PAIRS, time="ts")
    table = events_of(6, 1)
    task, store = task_of(query, table, "ts"), DictStore()
    advance(task, store, table.slice(2, 4), 0)
    done = Bucket(task, store).advance(with_hidden(table.slice(0, 4)).to_batches(), 3_000)
    assert done.late is not None and done.late.num_rows == 3
    assert read_head(store.values["head"]).late_count == 3


def test_state_is_released_when_nothing_is_live() -> None:
    query = catena.Query(f"{PAIRS} WITHIN 10 seconds", time="ts")
    table = events_of(2_000, 1_000, types="A")
    task, store = task_of(query, table, "ts"), DictStore()
    advance(task, store, table, 0)
    advance(task, store, table.slice(0, 0), 1_995_000)
    head = read_head(store.values["head"])
    assert 10 <= head.part_count <= 16, "a key is kept for the window only"
    assert head.timer_ms is not None and head.timer_ms > 1_995_000
    advance(task, store, table.slice(0, 0), 2_100_000)
    head = read_head(store.values["head"])
    assert (head.part_count, head.waiting, head.timer_ms) == (0, {}, None)
    assert store.size() < 4_000


def test_few_events_of_many_keys_do_not_rewrite_the_state_of_all() -> None:
    query = catena.Query(PAIRS, time="ts")
    many = events_of(20_000, 20_000, types="A")
    task, store = task_of(query, many, "ts"), DictStore()
    advance(task, store, many, 0)
    advance(task, store, many.slice(0, 0), 30_000_000)
    state_bytes = len(store.values["snapshot"])
    assert state_bytes > 1_000_000
    store.written = 0
    rounds, size = 20, 10
    for number in range(rounds):
        first = 30_001 + number * size
        advance(task, store, events_of(size, 20_000, first, "A"), 30_000_000 + number * size * 1000)
    assert store.written < state_bytes / 5
    assert store.written / (rounds * size) < 1_500, "bytes written by the event"


def test_the_log_and_the_snapshot_lead_to_the_same_matches(monkeypatch: Any) -> None:
    query, table = catena.Query(PAIRS, time="ts"), events_of(60, 3)
    task = task_of(query, table, "ts")
    found = []
    for log_bytes_min in (0, 10**9):
        monkeypatch.setattr(buckets, "LOG_BYTES_MIN", log_bytes_min)
        found.append(streamed(task, table, 5, random.Random(3)))
    assert found[0] == found[1] and found[0]


def test_a_bucket_that_is_not_ours_is_refused() -> None:
    query, table = catena.Query(PAIRS, time="ts"), events_of(4, 1)
    task, store = task_of(query, table, "ts"), DictStore()
    advance(task, store, table, 0)
    other = task_of(catena.Query(f"{PAIRS} WITHIN 1 s", time="ts"), table, "ts")
    with pytest.raises(catena.CatenaSnapshotError, match="another query"):
        Bucket(other, store)
    with pytest.raises(catena.CatenaSnapshotError, match="1 buckets, not 8"):
        Bucket(replace(task, buckets=8), store)
    wider = table.set_column(2, "id", table.column("id").cast(pa.int16()))
    with pytest.raises(catena.CatenaSnapshotError, match="other columns"):
        Bucket(task_of(query, wider, "ts"), store)
    for field, value in {"version": 99, "news": 1}.items():
        head = json.loads(store.values["head"]) | {field: value}
        with pytest.raises(catena.CatenaSnapshotError, match=r"version 99|damaged"):
            read_head(json.dumps(head).encode())


def test_heads_of_this_version_are_read_for_ever() -> None:
    """As the first release writes them: a later one may know more, and must not need more."""
    written = (
        '{"plan": "2b", "schema": "10", "version": 1, "buckets": 8, "late_count": 1, '
        '"back_count": 0, "row_count": 5, "snapshot_bytes": 300, "log_bytes": 20, '
        '"entry_count": 4, "part_count": 2, "arrival_count": 9, "timer_ms": 7000, '
        '"waiting": {"000000000004": [6500000, 3]}, "live_until": 8000000}'
    )
    head = read_head(written.encode())
    assert (head.version, head.buckets, head.row_count, head.timer_ms) == (1, 8, 5, 7000)
    assert head.waiting == {"000000000004": [6_500_000, 3]} and head.live_until == 8_000_000


def test_rows_are_divided_by_bucket_in_the_order_in_which_they_stand() -> None:
    batch = pa.record_batch({"b": pa.array([2, 0, 2, 1, 0], pa.int32()), "n": range(5)})
    parts = [(number, part.column("n").to_pylist()) for number, part in divided(batch, "b")]
    assert parts == [(0, [1, 4]), (1, [3]), (2, [0, 2])]
    assert list(divided(batch.slice(0, 0), "b")) == []
