"""One measurement: a workload under a strategy. Made for a process of its own, whose peak it reads.

What each figure means, and where it misleads, is in README.md. Seconds are of CPU time.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

import catena
from workloads import Answer, Workload

BATCH_ROWS = 10_000
"""Rows pushed at once."""

UPDATE_REPEATS = 3
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

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.update_seconds

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
    time_column = "ts" if workload.stream.has_times else None
    query = catena.Query(workload.text.replace("{strategy}", strategy), time=time_column)
    table = workload.stream.table(workload.sizes[size])
    batches = table.to_batches(max_chunksize=BATCH_ROWS)
    codes = table["type"].chunk(0).indices.to_numpy()
    idle_bytes = peak_bytes()
    update_seconds = best_seconds(lambda: update(query, batches), UPDATE_REPEATS)
    peak = peak_bytes()
    operations, valuations = work(query, table)
    started = time.process_time()
    count = query.count(table)
    count_seconds = time.process_time() - started
    asked = workload.answers.get((size, strategy))
    has_distances = asked is not None and asked.distances is not None
    return Measurement(
        rows=len(codes),
        update_seconds=update_seconds,
        count_seconds=count_seconds,
        scan_seconds=best_seconds(lambda: np.count_nonzero(codes == 1), SCAN_REPEATS),
        graph_bytes_per_row=graph_bytes_per_row(query, batches[0]),
        idle_bytes=idle_bytes,
        peak_bytes=peak,
        operations=operations,
        valuations=valuations,
        found=Answer(count, distances(query, table) if has_distances else None),
    )


def update(query: catena.Query, batches: list[pa.RecordBatch]) -> None:
    """Reads all rows; the matches of a batch are dropped unread."""
    stream = query.stream()
    for batch in batches:
        stream.push(batch)


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
            if pa.types.is_list(column.type):
                lengths = column.value_lengths().to_numpy()
                total += int(np.dot(ends, lengths)) - int(column.flatten().to_numpy().sum())
    return total


def best_seconds(work: Callable[[], object], repeats: int) -> float:
    """The shortest of several runs: what disturbs a run only makes it longer."""
    times = []
    for _ in range(repeats):
        started = time.process_time()
        work()
        times.append(time.process_time() - started)
    return min(times)


def peak_bytes() -> int:
    """The most memory that this process has held so far."""
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
