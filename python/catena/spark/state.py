"""What the state of a stream holds, read from its checkpoint."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from catena.spark.buckets import read_head

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


@dataclass(frozen=True)
class StreamState:
    """Counts over all buckets of a stream."""

    rows: int
    """Rows evaluated."""
    late_rows: int
    """Rows left out since the watermark had passed them when they came."""
    waiting_rows: int
    """Rows that wait for the watermark."""
    live_keys: int
    """Keys with open matches."""
    state_bytes: int
    """Bytes of snapshots and logs."""


def stream_state(spark: SparkSession, checkpoint: str) -> StreamState:
    """What the stream with this checkpoint has read, left out and kept, as of its last micro-batch.

    >>> catena.spark.stream_state(spark, "/data/checkpoint").late_rows   # doctest: +SKIP
    3
    """
    reader = spark.read.format("statestore").option("stateVarName", "head")
    rows = reader.load(checkpoint).selectExpr("value.value").collect()
    heads = [read_head(bytes(row[0])) for row in rows]
    return StreamState(
        rows=sum(head.row_count - head.back_count for head in heads),
        late_rows=sum(head.late_count + head.back_count for head in heads),
        waiting_rows=sum(count for head in heads for _, count in head.waiting.values()),
        live_keys=sum(head.part_count for head in heads),
        state_bytes=sum(head.snapshot_bytes + head.log_bytes for head in heads),
    )
