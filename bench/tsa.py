"""Increments of Temporal Stream Algebra on DuckDB against one evaluation of the whole.

    python bench/tsa.py [rows] [increments]

A tumbling window (the mean per sensor and 20 s) and the query for frames (the maximum per area
between a fire's start and its end), over a million rows in 100 increments. Both sides run the same
program on the same engine: once all rows are pushed at once, once in increments, out of order
within each. Printed are seconds of CPU, their ratio, and the most rows that were buffered. The
answers are compared; a ratio of 3 or more is an error.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from catena import tsa
from catena.tsa import _

RATIO_MAX = 3.0
ROUNDS = 3


@dataclass(frozen=True)
class Workload:
    """A program with its streams, in order of time."""

    name: str
    program: tsa.Program
    streams: dict[str, pa.Table]

    @property
    def rows(self) -> int:
        return sum(table.num_rows for table in self.streams.values())


def tumbling(count: int) -> Workload:
    """Fifty sensors, each once a second."""
    random = np.random.default_rng(1)
    raw = tsa.stream(
        "AFRaw", {"sid": "int64", "time": "time", "speed": "float64"}, progressing="time"
    )
    query = tsa.query(
        "Airflow",
        raw.mutate(window=_.time.ceil(20))
        .group_by("sid", "window")
        .aggregate(speed=_.speed.mean())
        .rename(time="window"),
    )
    moments = np.arange(count)
    table = pa.table({"sid": moments % 50, "time": moments // 50, "speed": random.random(count)})
    return Workload("tumbling window", tsa.Program(query), {"AFRaw": table})


def frames(count: int) -> Workload:
    """Smoke once a second in one of twenty areas; a fire every thousand seconds."""
    random = np.random.default_rng(2)
    fires = count // 1000
    smoke = tsa.stream(
        "Smoke", {"time": "time", "area": "int64", "konz": "float64"}, progressing="time"
    )
    start = tsa.stream("FireStart", {"fid": "int64", "time": "time"}, progressing="time")
    end = tsa.stream("FireEnd", {"fid": "int64", "time": "time"}, progressing="time")
    query = tsa.query(
        "MaxSmoke",
        start.prefix("fs")
        .cross_join(smoke.prefix("s"), end.prefix("fe"))
        .filter(_.fs.time <= _.s.time, _.s.time <= _.fe.time, _.fe.time - _.fs.time >= 60)
        .filter(_.fs.fid == _.fe.fid)
        .group_by("fs.time", "fe.time", "s.area")
        .aggregate(maxKonz=_.s.konz.max())
        .rename({"start": "fs.time", "end": "fe.time", "area": "s.area"}),
        progressing="end",
    )
    began = np.sort(random.integers(0, count - 2000, fires))
    ended = began + random.integers(30, 2000, fires)
    order = np.argsort(ended, kind="stable")
    streams = {
        "Smoke": pa.table({"time": np.arange(count), "area": random.integers(0, 20, count),
                           "konz": random.random(count)}),
        "FireStart": pa.table({"fid": np.arange(fires), "time": began}),
        "FireEnd": pa.table({"fid": order, "time": ended[order]}),
    }  # fmt: skip
    return Workload("frames", tsa.Program(query), streams)


def pushes(workload: Workload, increments: int) -> Iterator[tuple[dict[str, pa.Table], int]]:
    """Equal stretches of time, the rows of each shuffled."""
    random = np.random.default_rng(3)
    last = max(int(table["time"].to_numpy()[-1]) for table in workload.streams.values())
    ends = np.linspace(0, last, increments + 1).astype(int)[1:]
    cuts = {
        n: np.searchsorted(t["time"].to_numpy(), ends, "right") for n, t in workload.streams.items()
    }
    for i, end in enumerate(ends):
        rows = {}
        for name, table in workload.streams.items():
            first, stop = (cuts[name][i - 1] if i else 0), cuts[name][i]
            rows[name] = table.slice(first, stop - first).take(random.permutation(stop - first))
        yield rows, int(end)


@dataclass(frozen=True)
class Measured:
    """What one way of evaluating took, and gave."""

    seconds: float
    buffered: int
    result: pa.Table


def run(workload: Workload, increments: int) -> Measured:
    """The program over all rows; making the increments is not measured, reading them is."""
    prepared = list(pushes(workload, increments))
    at_work = workload.program.run()
    buffered, results = 0, []
    begun = time.process_time()
    for rows, end in prepared:
        came = sum(table.num_rows for table in rows.values())
        buffered = max(buffered, came + sum(at_work.buffered.values()))
        results += at_work.push(rows, dict.fromkeys(rows, end)).values()
    results += at_work.finish().values()
    return Measured(time.process_time() - begun, buffered, pa.concat_tables(results))


def same(first: pa.Table, second: pa.Table) -> bool:
    """Equal rows, whatever their order; numbers up to the order of summation."""
    keys = [(name, "ascending") for name in first.column_names]
    left, right = first.sort_by(keys).to_pandas(), second.sort_by(keys).to_pandas()
    return len(left) == len(right) and bool(np.allclose(left, right))


def measure(workload: Workload, increments: int) -> float:
    """Prints a line, and gives the ratio: medians of some rounds, in turns."""
    whole, parts = [], []
    for _round in range(ROUNDS):
        whole.append(run(workload, 1))
        parts.append(run(workload, increments))
    assert all(same(whole[0].result, each.result) for each in parts), "the answers differ"
    batch = float(np.median([each.seconds for each in whole]))
    all_increments = float(np.median([each.seconds for each in parts]))
    print(
        f"{workload.name:16} {workload.rows:>9} rows  {whole[0].result.num_rows:>7} results  "
        f"batch {batch:6.3f} s  {increments} increments {all_increments:6.3f} s  "
        f"ratio {all_increments / batch:5.2f}  peak buffered rows {parts[0].buffered}"
    )
    return all_increments / batch


def main(arguments: list[str]) -> int:
    """Measures both workloads; 1 if increments take too long."""
    count, increments = ([int(each) for each in arguments] + [1_000_000, 100][len(arguments) :])[:2]
    ratios = [measure(make(count), increments) for make in (tumbling, frames)]
    return int(max(ratios) >= RATIO_MAX)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
