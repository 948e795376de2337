"""Streams for tests: rows as files, read one file a micro-batch."""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

FIRST_FILE_TIME = 1_700_000_000


def write_files(folder: Path, tables: Sequence[pa.Table]) -> None:
    """A file for every table, in the order in which Spark will take them."""
    folder.mkdir(parents=True, exist_ok=True)
    there = len(list(folder.glob("*.parquet")))
    for number, table in enumerate(tables, there):
        path = folder / f"{number:05}.parquet"
        pq.write_table(table, folder / f".{number}")
        os.rename(folder / f".{number}", path)
        os.utime(path, (FIRST_FILE_TIME + number, FIRST_FILE_TIME + number))


def shuffled(table: pa.Table, time: str, delay_s: float, pieces: int, seed: int) -> list[pa.Table]:
    """The rows in pieces, out of order by less than the delay."""
    rng = random.Random(seed)
    seconds = table.column(time).cast(pa.int64()).to_numpy() / 1e6
    order = sorted(range(len(seconds)), key=lambda i: seconds[i] + rng.uniform(0, delay_s))
    cuts = [len(order) * i // pieces for i in range(pieces + 1)]
    return [table.take(pa.array(order[a:b])) for a, b in pairwise(cuts)]


def flush_row(table: pa.Table, time: str, **values: Any) -> pa.Table:
    """A row so late in time that the watermark passes all others."""
    row = dict.fromkeys(table.schema.names)
    row[time] = 4 * 10**15
    arrays = [
        pa.array([row[f.name]], pa.int64()).cast(f.type)
        if f.name == time
        else pa.array([values.get(f.name)], f.type)
        for f in table.schema
    ]
    return pa.Table.from_arrays(arrays, schema=table.schema)


def read_files(spark: Any, folder: Path, schema: str) -> Any:
    reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
    return reader.parquet(str(folder))


def run(matches: Any, folder: Path, name: str = "out") -> Any:
    """Runs a stream until its files are read; the finished query."""
    query = (
        matches.writeStream.format("parquet")
        .option("checkpointLocation", str(folder / f"{name}-checkpoint"))
        .option("path", str(folder / name))
        .trigger(availableNow=True)
        .start()
    )
    query.awaitTermination()
    return query
