"""Batch cases, SQL and a stream through Spark Connect: no JVM object is within reach there."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import Any


def main() -> None:
    from asked import answers
    from pyspark.sql import SparkSession
    from test_batch import PAIRS, listed, sensors
    from test_questions import case_questions

    import catena

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark: Any = SparkSession.builder.remote("local[2]").getOrCreate()
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
        spark.conf.set(name, "false")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    questions, expected = case_questions()
    for question, found, due in zip(questions, answers(spark, questions), expected, strict=True):
        assert set(found) == due and len(found) == len(due), question.query.text
    df, query = sensors(spark), catena.Query(PAIRS, time="ts")
    direct = listed(df.transform(catena.spark.match, query))
    assert len(direct) > 10
    catena.spark.register(spark, "pairs", query, events=df)
    df.createOrReplaceTempView("events")
    by_sql = spark.sql("SELECT * FROM pairs(TABLE(events) PARTITION BY id ORDER BY ts)")
    assert listed(by_sql) == direct
    algebra = catena.Algebra("(A ; B)[20 s] - C", time="ts")
    assert catena.spark.detect(df, algebra, by="id").count() > 10
    assert "catena" in str(catena.spark.doctor(spark, tasks=1))
    with tempfile.TemporaryDirectory() as folder:
        check_stream(spark, Path(folder))
    print("all cases agree")


def check_stream(spark: Any, folder: Path) -> None:
    """The matches of a stream, and what its state holds, without a JVM object."""
    from stream_files import flush_row, read_files, run, shuffled, write_files
    from test_streaming import PAIRS, SCHEMA, events_of, expected_of

    import catena
    from catena.spark.requirements import ROCKSDB, STORE_SETTING

    spark.conf.set(STORE_SETTING, ROCKSDB)
    table, query = events_of(200, 5), catena.Query(PAIRS, time="ts")
    write_files(folder / "in", shuffled(table, "ts", 20, pieces=2, seed=5))
    write_files(folder / "in", [flush_row(table, "ts", id=99)])
    df = read_files(spark, folder / "in", SCHEMA)
    run(catena.spark.match_stream(df, query, watermark="25 seconds", buckets=2), folder)
    rows = spark.read.parquet(str(folder / "out")).collect()
    found = sorted((row["a.n"][0], row["b.n"][0], row.change) for row in rows)
    assert found == expected_of(query, table) and len(found) > 10
    state = catena.spark.stream_state(spark, str(folder / "out-checkpoint"))
    assert (state.rows, state.waiting_rows) == (200, 1)


if __name__ == "__main__":
    main()
