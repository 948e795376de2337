"""Failed logins before a success, in a stream of files: structured streaming on Spark.

    python examples/spark_stream.py [folder]

Events come in small files, somewhat out of order; matches are written to Parquet as the watermark
passes them. Run it again with the same folder and it goes on where it stopped.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from pyspark.sql import SparkSession

import catena

ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
SCHEMA = "ts timestamp, type string, user string"
QUERY = catena.Query(
    """
    SELECT tries, login, count(tries) AS failures
    WHERE FAILED+ AS tries : LOGIN AS login
    PARTITION BY [user]
    WITHIN 1 minute
    """,
    time="ts",
)


def write_events(spark: SparkSession, folder: Path, files: int) -> None:
    """Generated events: those of a file overlap those of the next by some seconds."""
    made = spark.range(files * 300).selectExpr(
        "timestamp_seconds(id - pmod(hash(id, 3), 10)) AS ts",
        "IF(pmod(hash(id), 3) = 0, 'FAILED', 'LOGIN') AS type",
        "concat('user', pmod(hash(id, 1), 20)) AS user",
        "id DIV 300 AS file",
    )
    for number in range(files):
        part = made.where(f"file = {number}").drop("file").coalesce(1)
        part.write.mode("append").parquet(str(folder))


def main(folder: Path) -> None:
    """Reads the files that are there, then tells what was found."""
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", ROCKSDB)
    write_events(spark, folder / "events", files=3)
    events = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", 1)
    matches = catena.spark.match_stream(
        events.parquet(str(folder / "events")), QUERY, watermark="10 seconds", buckets=4
    )
    stream = (
        matches.writeStream.format("parquet")
        .option("path", str(folder / "matches"))
        .option("checkpointLocation", str(folder / "checkpoint"))
        .trigger(availableNow=True)
        .start()
    )
    stream.awaitTermination()
    found = spark.read.parquet(str(folder / "matches"))
    state = catena.spark.stream_state(spark, str(folder / "checkpoint"))
    print(f"{found.count()} matches in {state.rows} events; {state.waiting_rows} still wait")
    print(f"{state.late_rows} events came too late")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp()))
