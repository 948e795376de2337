"""A few benchmarks for users: how fast queries run here, and whether the answers are right.

Rows are made by rule from a seed, the same everywhere: types A to E, as likely, a time and a key.
Each query's number of matches is known beforehand, found without the engine (bench/README.md); a
speed beside another number says nothing, and `Result.is_right` tells.
Cost: about a second a query for a million rows. `bench/` in the sources measures much more.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Final

import numpy as np
import pyarrow as pa

from catena.queries import Query

SIZES: Final = {"small": 20_000, "full": 1_000_000}
TYPES: Final = "ABCDE"
KEYS: Final = 1_000
SEED: Final = 1
BATCH_ROWS: Final = 65_536
REPEATS: Final = 3
GRAPH_ROWS: Final = 5_000
"""The graph is looked at after so many rows, before any of it is released."""
READ_SECONDS: Final = 0.3
"""Matches are read for so long, if there are that many."""


@dataclass(frozen=True)
class Benchmark:
    """A query and, by size, how many matches it has."""

    name: str
    text: str
    counts: dict[str, int]


BENCHMARKS: Final = (
    Benchmark(
        "sequence",
        "SELECT * WHERE A AS x ; B AS y ; C AS z WITHIN 100 EVENTS",
        {"small": 783_762, "full": 38_793_345},
    ),
    Benchmark(
        "iteration",
        "SELECT * WHERE (A AS x)+ ; (B AS y)+ ; C AS z WITHIN 100 EVENTS",
        {"small": 6_044_259_287_359, "full": 174_735_554_428_647},
    ),
    Benchmark(
        "next match",
        "SELECT NEXT * WHERE A AS x ; B AS y ; C AS z WITHIN 100 EVENTS",
        {"small": 3_975, "full": 199_615},
    ),
    Benchmark(
        "absence",
        "SELECT * WHERE A AS x ; NOT (B) ; C AS y WITHIN 100 EVENTS",
        {"small": 4_090, "full": 199_753},
    ),
    Benchmark(
        "time bounds",
        "SELECT * WHERE A AS x ;[<= 100] B AS y ;[<= 100] C AS z",
        {"small": 1_613_040, "full": 79_979_596},
    ),
    Benchmark(
        "by key",
        "SELECT * WHERE A AS x ; B AS y ; C AS z PARTITION BY [key] WITHIN 100 EVENTS",
        {"small": 8_990, "full": 36_197_256},
    ),
)


@dataclass(frozen=True)
class Result:
    """What a benchmark gave; seconds are CPU time."""

    name: str
    rows: int
    expected: int
    found: int
    update_seconds: float
    scan_seconds: float
    """Of numpy's pass over the column of types."""
    results_per_second: float
    """Read into Arrow columns."""
    graph_bytes_per_row: float
    peak_bytes: int
    """The most that the process has held so far."""

    @property
    def is_right(self) -> bool:
        return self.found == self.expected

    @property
    def rows_per_second(self) -> float:
        return self.rows / self.update_seconds

    @property
    def scans(self) -> float:
        """The update in units of the scan."""
        return self.update_seconds / self.scan_seconds

    def as_dict(self) -> dict[str, Any]:
        return asdict(self) | {"is_right": self.is_right}


class Rows:
    """The rows of a size, in batches."""

    def __init__(self, size: str) -> None:
        self.count = SIZES[size]
        # numpy promises that the raw numbers of PCG64 stay the same, so no more is made of them
        # than the upper half, scaled.
        raw = np.random.PCG64(SEED).random_raw(self.count) >> np.uint64(32)
        self.codes = (raw * np.uint64(len(TYPES)) >> np.uint64(32)).astype(np.int8)

    @cached_property
    def table(self) -> pa.Table:
        numbers = np.arange(self.count)
        types = pa.DictionaryArray.from_arrays(pa.array(self.codes), list(TYPES))
        return pa.table({"ts": numbers, "type": types, "key": numbers % KEYS})

    @cached_property
    def batches(self) -> list[pa.RecordBatch]:
        return list(self.table.to_batches(max_chunksize=BATCH_ROWS))


def results(size: str) -> Iterator[Result]:
    """Runs one benchmark after the other."""
    rows = Rows(size)
    for benchmark in BENCHMARKS:
        yield measured(benchmark, rows, size)


def measured(benchmark: Benchmark, rows: Rows, size: str) -> Result:
    """Runs a benchmark; does not judge the answer."""
    query = Query(benchmark.text, time="ts")

    def update() -> None:
        stream = query.stream()
        for batch in rows.batches:
            stream.push(batch)

    seconds = _best_seconds(update)
    stream = query.stream()
    stream.push(rows.batches[0].slice(0, GRAPH_ROWS))
    stats = stream.stats()
    return Result(
        name=benchmark.name,
        rows=rows.count,
        expected=benchmark.counts[size],
        found=query.count(rows.table),
        update_seconds=seconds,
        scan_seconds=_best_seconds(lambda: np.count_nonzero(rows.codes == 1)),
        results_per_second=_results_per_second(query, rows),
        graph_bytes_per_row=stats["graph_bytes"] / stats["rows"],
        peak_bytes=_peak_bytes(),
    )


def _best_seconds(work: Callable[[], object]) -> float:
    """The shortest of several runs: what disturbs a run only makes it longer."""
    times = []
    for _ in range(REPEATS):
        started = time.process_time()
        work()
        times.append(max(time.process_time() - started, 1e-9))
    return min(times)


def _results_per_second(query: Query, rows: Rows) -> float:
    """How fast the matches are read, without the pushes."""
    stream, count, seconds = query.stream(), 0, 0.0
    for batch in rows.batches:
        matches = stream.push(batch)
        started = time.process_time()
        for columns in matches.batches():
            count += columns.num_rows
            if seconds + time.process_time() - started > READ_SECONDS:
                break
        seconds += time.process_time() - started
        if seconds > READ_SECONDS:
            break
    return count / max(seconds, 1e-9)


def _peak_bytes() -> int:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
