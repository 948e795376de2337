"""One measurement: a workload under a strategy. Made for a process of its own, whose peak it reads.

What each figure means, and where it misleads, is in README.md. Seconds are of CPU time.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import pyarrow as pa

import catena
from workloads import Answer, Workload

Feed: TypeAlias = Sequence[pa.RecordBatch] | Sequence[dict[str, Any]]
"""What is pushed, piece by piece."""

BATCH_ROWS = 10_000
"""Rows pushed at once."""

UPDATE_REPEATS = 3
PATIENCE = {"small": 0.1, "full": 1.0}
"""By size, which part of the following seconds: small is for the answers."""
UPDATE_SECONDS = 0.05
"""Short updates are repeated until they have taken so long together."""
UPDATE_SECONDS_MAX = 30
"""Long ones are repeated no more once they have taken so long."""
READ_SECONDS = 0.2
"""Matches are read until it has taken so long."""
GRAPH_STEP_ROWS = 500
SCAN_REPEATS = 100
PLACES = 200
"""Where in the stream the live valuations are counted."""

# Whatever is set up once is set up now, in the process that those of all measurements come from.
catena.Query("SELECT * WHERE A").count({"type": ["A"]})


@dataclass(frozen=True)
class Measurement:
    """The figures, and the answer that was found beside them."""

    rows: int
    update_seconds: float
    count_seconds: float
    scan_seconds: float
    graph_bytes_per_row: float
    idle_bytes: int
    """The process's peak before the first row was pushed."""
    peak_bytes: int
    """The process's peak after the last row was pushed and before anything was counted."""
    operations: int
    """The engine's steps for all rows, which do not depend on the machine."""
    valuations: float
    """How many values of registers and clocks were alive, on average."""
    found: Answer
    read_count: int = 0
    """Matches read as Arrow columns: all, or as many as could be in READ_SECONDS; their positions,
    and how long that took, without the update."""
    read_positions: int = 0
    read_seconds: float = 0.0

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.update_seconds

    @property
    def results_per_second(self) -> float:
        return self.read_count / self.read_seconds if self.read_count else 0.0

    @property
    def positions_per_second(self) -> float:
        return self.read_positions / self.read_seconds if self.read_count else 0.0

    @property
    def steps_per_valuation(self) -> float:
        return self.operations / self.rows / self.valuations

    @property
    def update_bytes(self) -> int:
        return self.peak_bytes - self.idle_bytes

    @property
    def scan_ratio(self) -> float:
        return self.update_seconds / self.scan_seconds


def attempt(workload: Workload, strategy: str, size: str) -> Measurement | str:
    """The measurement, or the first line of what went wrong: not every error can be sent."""
    try:
        return measure(workload, strategy, size)
    except Exception as error:
        return f"{type(error).__name__}: {error}".splitlines()[0]


def measure(workload: Workload, strategy: str, size: str) -> Measurement:
    """Runs the workload; does not judge the answer."""
    query = query_of(workload, strategy)
    table = workload.stream.table(workload.sizes[size])
    batches = table.to_batches(max_chunksize=BATCH_ROWS)
    feed = table.to_pylist() if workload.feed == "events" else batches
    scanned, wanted = scannable(table[workload.scan])
    idle_bytes = peak_bytes()
    patience = PATIENCE[size]
    update_seconds = best_seconds(
        lambda: update(query, feed), UPDATE_REPEATS, patience * UPDATE_SECONDS
    )
    peak = peak_bytes()
    read_count, read_positions, read_seconds = read(query, batches, patience * READ_SECONDS)
    operations, valuations = work(query, table)
    started = time.process_time()
    count = query.count(table)
    count_seconds = time.process_time() - started
    asked = workload.answers.get((size, strategy))
    has_distances = asked is not None and asked.distances is not None
    return Measurement(
        rows=table.num_rows,
        update_seconds=update_seconds,
        count_seconds=count_seconds,
        scan_seconds=best_seconds(lambda: np.count_nonzero(scanned == wanted), SCAN_REPEATS),
        read_count=read_count,
        read_positions=read_positions,
        read_seconds=read_seconds,
        graph_bytes_per_row=graph_bytes_per_row(query, batches[0]),
        idle_bytes=idle_bytes,
        peak_bytes=peak,
        operations=operations,
        valuations=valuations,
        found=Answer(count, distances(query, table) if has_distances else None),
    )


def query_of(workload: Workload, strategy: str) -> catena.Query:
    time_column = "ts" if workload.stream.has_times else None
    return catena.Query(workload.text.replace("{strategy}", strategy), time=time_column)


def scannable(column: pa.ChunkedArray) -> tuple[np.ndarray, object]:
    """A column as numpy reads it, and a value to look for: codes where it is a dictionary."""
    values = column.combine_chunks()
    if pa.types.is_dictionary(values.type):
        return values.indices.to_numpy(), 1
    array = values.to_numpy(zero_copy_only=False)
    array = array.astype("U") if array.dtype == object else array
    return array, array[0]


def update(query: catena.Query, feed: Feed) -> None:
    """Reads all rows; the matches of a piece are dropped unread."""
    stream = query.stream()
    for piece in feed:
        stream.push(piece)


def read(
    query: catena.Query, batches: Sequence[pa.RecordBatch], seconds_max: float
) -> tuple[int, int, float]:
    """Matches and positions read as Arrow columns, and the seconds that took beside the pushes."""
    stream = query.stream()
    count = positions = 0
    seconds = 0.0
    for batch in batches:
        matches = stream.push(batch)
        started = time.process_time()
        for columns in matches.batches():
            count += columns.num_rows
            positions += positions_in(columns)
            if seconds + time.process_time() - started > seconds_max:
                return count, positions, seconds + time.process_time() - started
        seconds += time.process_time() - started
    return count, positions, seconds


def positions_in(columns: pa.RecordBatch) -> int:
    """The positions of all variables of a batch of matches."""
    return sum(len(column.flatten()) for column in columns.columns if is_list(column))


def is_list(column: pa.Array) -> bool:
    return bool(pa.types.is_list(column.type))


def work(query: catena.Query, table: pa.Table) -> tuple[int, float]:
    """The steps for all rows, and the valuations alive, averaged over many places."""
    stream = query.stream()
    alive = []
    for batch in table.to_batches(max_chunksize=max(1, table.num_rows // PLACES)):
        stream.push(batch)
        alive.append(stream.stats()["valuations"])
    return stream.stats()["operations"], sum(alive) / max(1, len(alive))


def graph_bytes_per_row(query: catena.Query, batch: pa.RecordBatch) -> float:
    """How fast the graph grows before any of it is released: until it has shrunk, or to the end."""
    stream = query.stream()
    before = {"rows": 1, "graph_nodes": 0, "graph_bytes": 0}
    for begin in range(0, batch.num_rows, GRAPH_STEP_ROWS):
        stream.push(batch.slice(begin, GRAPH_STEP_ROWS))
        stats = stream.stats()
        if stats["graph_nodes"] < before["graph_nodes"]:
            break
        before = stats
    return before["graph_bytes"] / before["rows"]


def distances(query: catena.Query, table: pa.Table) -> int:
    """How many rows before its match's end each marked row lies, summed over all matches."""
    total = 0
    for batch in query.run(table).batches():
        if batch.num_rows == 0:
            continue
        ends = batch["end"].to_numpy()
        for column in batch.columns:
            if is_list(column):
                lengths = column.value_lengths().to_numpy()
                total += int(np.dot(ends, lengths)) - int(column.flatten().to_numpy().sum())
    return total


def best_seconds(work: Callable[[], object], repeats: int, seconds: float = 0.0) -> float:
    """The shortest of several runs: what disturbs a run only makes it longer.

    At least `repeats` runs and `seconds`; no more of either once it has taken too long.
    """
    best, total, runs = float("inf"), 0.0, 0
    while (runs < repeats or total < seconds) and total < UPDATE_SECONDS_MAX:
        started = time.process_time()
        work()
        took = time.process_time() - started
        best, total, runs = min(best, took), total + took, runs + 1
    return best


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
