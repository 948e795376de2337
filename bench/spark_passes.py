"""What a query on Spark costs, as ratios to the cheapest pass of the same rows through Python.

    python bench/spark_passes.py                      # 5,000,000 rows; 10, 1,000 and 100,000 keys
    python bench/spark_passes.py --rows 200000 --keys 10 --stream-rows 0

Batch. Three passes over the same rows of a Parquet file, each into Spark's sink for nothing:

    cheapest   repartition by key, mapInArrow that orders the rows natively and does nothing else
    match      catena.spark.match of a query with few matches
    spark      sortWithinPartitions by key and time, mapInArrow that looks at the batches

CPU time is that of all processes (the JVM, its Python workers), read from /proc before and after.
The passes take turns, and the best of each counts. With 5,000,000 rows `match` must stay under 1.25
times `cheapest` and beat `spark`; the command ends with 1 if it does not.

Streaming. Rows as files, one a micro-batch, into the same sink: rows per second of the wall and of
CPU time, without the first two micro-batches, which start workers and compile.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import catena
from catena.spark.batch import BYTES_MAX
from catena.spark.ordering import in_order

RATIO_MAX = 1.25
ROWS_OF_CLAIM = 5_000_000
PARTITIONS = 4
QUERY = """
    SELECT a, b, b.value - a.value AS change
    WHERE (A AS a ; B AS b) FILTER a[value > 0.995] AND b[value > 0.995]
    PARTITION BY [id] WITHIN 1 hour
"""
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": str(PARTITIONS),
    "spark.sql.adaptive.enabled": "false",
    "spark.driver.memory": "4g",
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
}


@dataclass(frozen=True)
class Cost:
    """Seconds of CPU time of all processes, and of the wall."""

    cpu: float
    wall: float


def cpu_seconds() -> float:
    """CPU time of this process and all below it, with those that have ended."""
    children: dict[int, list[int]] = {}
    times: dict[int, float] = {}
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            text = (entry / "stat").read_text()
        except (OSError, NotADirectoryError):
            continue
        fields = text.rpartition(")")[2].split()
        pid = int(entry.name)
        children.setdefault(int(fields[1]), []).append(pid)
        times[pid] = sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
    total, waiting = 0.0, [os.getpid()]
    while waiting:
        pid = waiting.pop()
        total += times.get(pid, 0.0)
        waiting += children.get(pid, [])
    return total


def measured(run: Callable[[], None]) -> Cost:
    cpu, wall = cpu_seconds(), time.perf_counter()
    run()
    return Cost(cpu_seconds() - cpu, time.perf_counter() - wall)


def session() -> Any:
    from pyspark.sql import SparkSession

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    return spark


def events(spark: Any, rows: int, keys: int) -> Any:
    """Rows of a day, in no order, drawn without a seed that changes."""
    return spark.range(0, rows, 1, PARTITIONS).selectExpr(
        "timestamp_micros(pmod(xxhash64(id, 1), 86400000000)) AS ts",
        "substring('ABCD', 1 + cast(pmod(xxhash64(id, 2), 4) AS int), 1) AS type",
        f"pmod(xxhash64(id, 3), {keys}) AS id",
        "pmod(xxhash64(id, 4), 1000000) / 1000000 AS value",
        "id AS n",
    )


def cheapest(df: Any) -> Any:
    """The least that a pass in order can do."""

    def order(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in in_order(batches, ("ts",), BYTES_MAX):
            if batch.num_rows < 0:
                yield batch

    chosen = df.select("type", "value", "ts", "id").where("id IS NOT NULL")
    return chosen.repartition("id").mapInArrow(order, chosen.schema)


def sorted_by_spark(df: Any) -> Any:
    """The same with Spark's sort."""

    def look(batches: Iterator[Any]) -> Iterator[Any]:
        for batch in batches:
            if batch.num_rows < 0:
                yield batch

    chosen = df.select("type", "value", "ts", "id").where("id IS NOT NULL")
    return chosen.repartition("id").sortWithinPartitions("id", "ts").mapInArrow(look, chosen.schema)


def into_nothing(df: Any) -> None:
    df.write.format("noop").mode("overwrite").save()


def batch_costs(spark: Any, rows: int, keys: int, rounds: int) -> dict[str, Cost]:
    """The best costs of the three passes; the matches must be those of Spark's order too."""
    query = catena.Query(QUERY, time="ts")
    with tempfile.TemporaryDirectory() as folder:
        events(spark, rows, keys).write.parquet(f"{folder}/events")
        df = spark.read.parquet(f"{folder}/events")
        if (
            catena.spark.match(df, query).count()
            != catena.spark.match(df, query, sort="spark").count()
        ):
            raise SystemExit("the two orders give different matches")
        passes = {
            "cheapest": cheapest(df),
            "match": catena.spark.match(df, query),
            "spark": sorted_by_spark(df),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in passes}
        for _ in range(rounds):
            for name, made in passes.items():
                costs[name].append(measured(lambda made=made: into_nothing(made)))
    return {
        name: Cost(min(c.cpu for c in found), min(c.wall for c in found))
        for name, found in costs.items()
    }


def stream_rates(spark: Any, rows: int, keys: int, micro_batches: int = 8) -> tuple[float, float]:
    """Rows per second of the wall and of CPU time through `match_stream`, steady state."""
    query = catena.Query(QUERY, time="ts")
    with tempfile.TemporaryDirectory() as folder:
        one = rows // micro_batches
        made = events(spark, rows, keys).withColumnRenamed("ts", "old")
        made = made.selectExpr("timestamp_millis(n) AS ts", "type", "id", "value", "n")
        for number in range(micro_batches):
            part = made.where(f"n >= {number * one} AND n < {(number + 1) * one}")
            part.coalesce(1).write.mode("append").parquet(f"{folder}/in")
        df = spark.readStream.schema(made.schema).option("maxFilesPerTrigger", 1)
        matches = catena.spark.match_stream(
            df.parquet(f"{folder}/in"), query, watermark="1 second", buckets=16
        )
        writer = matches.writeStream.format("noop").option("checkpointLocation", f"{folder}/state")
        stream = writer.start()
        marks = []
        while len(marks) < micro_batches - 1:
            done = [p for p in stream.recentProgress if p["numInputRows"]]
            if len(done) > len(marks) + 1:
                marks.append((time.perf_counter(), cpu_seconds(), len(done)))
            if stream.exception() is not None:
                raise SystemExit(str(stream.exception()))
            time.sleep(0.01)
            if marks and marks[-1][2] >= micro_batches:
                break
        stream.stop()
    (wall, cpu, first), (wall_end, cpu_end, last) = marks[0], marks[-1]
    read = (last - first) * one
    return read / (wall_end - wall), read / max(1e-9, cpu_end - cpu)


def report_batch(costs: dict[str, Cost], rows: int, keys: int) -> tuple[str, bool]:
    """A line of the table, and whether it keeps the promises."""
    least, own, sort = (costs[name] for name in ("cheapest", "match", "spark"))
    cpu, wall = own.cpu / least.cpu, own.wall / least.wall
    line = (
        f"| {rows:,} | {keys:,} | {least.cpu:.1f} / {least.wall:.1f} | {own.cpu:.1f} / "
        f"{own.wall:.1f} | {sort.cpu:.1f} / {sort.wall:.1f} | {cpu:.2f} | {wall:.2f} | "
        f"{own.cpu / sort.cpu:.2f} |"
    )
    return line, rows < ROWS_OF_CLAIM or (cpu < RATIO_MAX and own.cpu < sort.cpu)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rows", type=int, default=ROWS_OF_CLAIM)
    parser.add_argument("--keys", type=int, nargs="*", default=[10, 1_000, 100_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--stream-rows", type=int, default=400_000)
    asked = parser.parse_args()
    spark = session()
    into_nothing(catena.spark.match(events(spark, 100_000, 10), catena.Query(QUERY, time="ts")))
    names = ["rows", "keys", "cheapest CPU / wall s", "match", "Spark's sort"]
    ratios = ["match / cheapest CPU", "wall", "match / sort CPU"]
    print(f"| {' | '.join([*names, *ratios])} |\n|{' ---: |' * 8}", flush=True)
    keeps_all = True
    for keys in asked.keys:
        line, keeps = report_batch(
            batch_costs(spark, asked.rows, keys, asked.rounds), asked.rows, keys
        )
        print(line, flush=True)
        keeps_all = keeps_all and keeps
    for keys in (100, 10_000) if asked.stream_rows else ():
        wall, cpu = stream_rates(spark, asked.stream_rows, keys)
        print(
            f"stream, {keys:,} keys: {wall:,.0f} rows/s, {cpu:,.0f} rows per CPU second", flush=True
        )
    return 0 if keeps_all else 1


if __name__ == "__main__":
    sys.exit(main())
