"""A process with a stream, to be killed: reads files of a folder and writes matches beside them."""

from __future__ import annotations

import sys
from pathlib import Path

from stream_files import read_files, run
from test_streaming import PAIRS, SCHEMA

import catena
from conftest import SETTINGS


def main(folder: Path) -> None:
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.master("local[2]")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    spark = builder.config("spark.sql.warehouse.dir", str(folder / "warehouse")).getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    df = read_files(spark, folder / "in", SCHEMA)
    query = catena.Query(PAIRS, time="ts")
    run(catena.spark.match_stream(df, query, watermark="25 seconds", buckets=3), folder)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
