"""The stateful processor of a bucket: Spark's state on one side, `Bucket` on the other."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pyarrow as pa
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from catena.compile.outputs import EdgeOutput
from catena.spark.buckets import Bucket, BucketTask, packed, unpacked

if TYPE_CHECKING:
    import pandas


class SparkStore:
    """A bucket's state in Spark's: two values, a list and a map."""

    def __init__(self, handle: StatefulProcessorHandle) -> None:
        self._head = handle.getValueState("head", "value binary")
        self._snapshot = handle.getValueState("snapshot", "value binary")
        self._log = handle.getListState("log", "value binary")
        self._waiting = handle.getMapState("waiting", "name string", "value binary")

    def head(self) -> bytes | None:
        return _value(self._head.get())

    def put_head(self, head: bytes) -> None:
        self._head.update((head,))

    def snapshot(self) -> bytes | None:
        return _value(self._snapshot.get())

    def put_snapshot(self, snapshot: bytes) -> None:
        self._snapshot.update((snapshot,))

    def log(self) -> list[bytes]:
        return [bytes(entry[0]) for entry in self._log.get()]

    def append_log(self, entry: bytes) -> None:
        self._log.appendValue((entry,))

    def clear_log(self) -> None:
        self._log.clear()

    def waiting(self, name: str) -> bytes:
        found = _value(self._waiting.getValue((name,)))
        assert found is not None
        return found

    def put_waiting(self, name: str, rows: bytes) -> None:
        self._waiting.updateValue((name,), (rows,))

    def drop_waiting(self, name: str) -> None:
        self._waiting.removeKey((name,))


def _value(stored: Any) -> bytes | None:
    return None if stored is None else bytes(stored[0])


class BucketProcessor(StatefulProcessor):
    """Hands the rows of a micro-batch and the watermark to a bucket, and its matches to Spark."""

    def __init__(self, task: BucketTask, flags_late: bool) -> None:
        self._task = task
        self._flags_late = flags_late

    def init(self, handle: StatefulProcessorHandle) -> None:
        self._handle = handle
        self._store = SparkStore(handle)

    def handleInputRows(
        self, key: Any, rows: Iterator[Any], timerValues: Any
    ) -> Iterator[pandas.DataFrame]:
        blobs = [bytes(blob) for frame in rows for blob in frame["rows"]]
        batches = [unpacked(blob, self._task.rows) for blob in blobs]
        return self._advance(batches, timerValues)

    def handleExpiredTimer(
        self, key: Any, timerValues: Any, expiredTimerInfo: Any
    ) -> Iterator[pandas.DataFrame]:
        return self._advance([], timerValues)

    def _advance(
        self, batches: list[pa.RecordBatch], timer_values: Any
    ) -> Iterator[pandas.DataFrame]:
        watermark_ms = timer_values.getCurrentWatermarkInMs()
        bucket = Bucket(self._task, self._store)
        done = bucket.advance(batches, watermark_ms)
        if done.timer_ms != done.old_timer_ms:
            if done.old_timer_ms is not None and done.old_timer_ms > watermark_ms:
                self._handle.deleteTimer(done.old_timer_ms)  # Others Spark deletes when they fire.
            if done.timer_ms is not None:
                self._handle.registerTimer(done.timer_ms)
        yield from (_frame(packed(batch), False) for batch in done.matches)
        if done.late is not None and self._flags_late:
            yield _frame(packed(self._shown(done.late)), True)

    def _shown(self, late: pa.Table) -> pa.RecordBatch:
        """Late rows in the columns of matches: their keys, and their time as start and end."""
        machine, schema = self._task.machine, self._task.schema
        arrays = [
            late.column(output.attribute).cast(field.type)
            if isinstance(output, EdgeOutput) and output.attribute
            else pa.nulls(late.num_rows, field.type)
            for output, field in zip(machine.outputs, schema, strict=True)
        ]
        [batch] = pa.Table.from_arrays(arrays, schema=schema).combine_chunks().to_batches()
        return batch

    def close(self) -> None:
        pass


def _frame(blob: bytes, is_late: bool) -> pandas.DataFrame:
    import pandas

    return pandas.DataFrame({"matches": [blob], "is_late": [is_late]})
