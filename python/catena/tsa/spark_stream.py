"""Programs on Spark's structured streaming: `foreachBatch`, with watermarks as progress.

All input streams become one streaming DataFrame of tagged rows, so that each micro-batch is one
push. A stream is complete before its watermark: the greatest time that has come less the delay
given in `withWatermark`; rows that come later than that are dropped and counted, as Spark's own
operators do.

Exactly once: after each micro-batch progress and buffers are written under `state`, named by the
batch. Spark repeats a batch whose end it has not seen; then the state before it is read again, and
the same increments come out under the same number, which sinks can tell.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable, Mapping
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

from pyspark.sql import functions as F

from catena.errors import CatenaError
from catena.tsa.bounds import Bound
from catena.tsa.on_spark import Spark, column
from catena.tsa.programs import Program
from catena.tsa.relations import Stream
from catena.tsa.running import Run
from catena.tsa.temporal import TICKS
from catena.tsa.terms import exact

if TYPE_CHECKING:
    from pyspark.sql import DataFrame
    from pyspark.sql.streaming.query import StreamingQuery

Write: TypeAlias = Callable[[int, Mapping[str, Any]], None]
"""Takes the number of a micro-batch and the rows that have become final, by stream."""

TAG = "tsa_stream"
_DELAY = "spark.watermarkDelayMs"


def start(
    program: Program,
    inputs: Mapping[str, DataFrame],
    write: Write,
    *,
    state: str,
    static: Mapping[str, Any] | None = None,
    checkpoint: str | None = None,
    **trigger: Any,
) -> StreamingQuery:
    """Starts a streaming query that runs a program, and calls `write` with each increment.

    `inputs` are streaming DataFrames with a watermark on the time that their stream progresses on;
    `state` is a folder, `checkpoint` Spark's (a folder below `state` if not given). `trigger` goes
    to Spark, as `availableNow=True`.
    """
    delays = {
        stream.name: _delay(stream, inputs) for stream in program.inputs if not stream.is_static
    }
    rows = reduce(
        lambda a, b: a.unionByName(b, allowMissingColumns=True),
        [_tagged(name, inputs[name]) for name in delays],
    )
    batches = _Batches(program, rows.sparkSession, delays, static or {}, Path(state), write)
    writer = rows.writeStream.foreachBatch(batches.push)
    writer = writer.option("checkpointLocation", checkpoint or str(Path(state) / "checkpoint"))
    return (writer.trigger(**trigger) if trigger else writer).start()


def _delay(stream: Stream, inputs: Mapping[str, DataFrame]) -> Bound:
    """What the watermark of a stream stays behind, in units of its time line."""
    if len(stream.progressing) > 1:
        raise CatenaError(
            f"{stream.name} progresses on {', '.join(stream.progressing)}, and Spark's streams "
            "have one watermark",
            hint="declare the stream with one progressing attribute",
        )
    [name] = stream.progressing
    if stream.name not in inputs:
        raise CatenaError(f"there is no DataFrame for {stream.name}")
    metadata = inputs[stream.name].schema[name].metadata
    if stream.kinds[name] != "timestamp" or _DELAY not in metadata:
        raise CatenaError(
            f"{stream.name} has no watermark on '{name}'",
            hint='declare it as "timestamp", and call df.withWatermark on it',
        )
    return Bound(exact(metadata[_DELAY]) * exact("1/1000"))


def _tagged(name: str, rows: DataFrame) -> DataFrame:
    return rows.select(F.lit(name).alias(TAG), F.struct("*").alias(name))


class _Batches:
    """Micro-batches in; holds the run and where its state is."""

    def __init__(
        self,
        program: Program,
        session: Any,
        delays: Mapping[str, Bound],
        static: Mapping[str, Any],
        state: Path,
        write: Write,
    ) -> None:
        self._program, self._session, self._delays = program, session, delays
        self._static, self._state, self._write = static, state, write
        self._engine = Spark(session)
        self._run: Run[DataFrame] | None = None
        self._next = 0

    def push(self, batch: DataFrame, number: int) -> None:
        """One micro-batch: `foreachBatch` calls this."""
        run = self._at(number)
        batch.persist()
        try:
            rows, progress = self._taken(run, batch)
            found = run.push(rows, progress, on_late="drop")
            self._write(number, found)
            self._save(run, number)
        finally:
            batch.unpersist()
        self._next = number + 1

    def _taken(
        self, run: Run[DataFrame], batch: DataFrame
    ) -> tuple[dict[str, DataFrame], dict[str, Bound]]:
        """The rows of a batch by stream, and the watermarks after it."""
        rows, progress = {}, {}
        for name, delay in self._delays.items():
            stream = self._program.streams[name]
            [time] = stream.progressing
            rows[name] = batch.filter(F.col(TAG) == name).select(f"`{name}`.*")
            [last] = rows[name].agg(F.unix_micros(F.max(column(time)))).collect()[0]
            if last is not None:
                greatest = exact(last) * exact(f"1/{TICKS['timestamp']}")
                progress[name] = Bound(greatest - delay.value, False)
        return rows, progress

    def _at(self, number: int) -> Run[DataFrame]:
        """The run as it was before a batch: that at hand, or one from what was saved."""
        if self._run is None or self._next != number:
            self._run = self._program.run(self._engine, static=self._static)
            saved = self._state / f"{number - 1}"
            if number and not (saved / "progress.json").exists():
                raise CatenaError(
                    f"there is no state before micro-batch {number} under {self._state}",
                    hint="state and checkpoint belong together: remove both, or neither",
                )
            if number:
                self._load(self._run, saved)
        return self._run

    def _buffers(self) -> list[Stream]:
        program = self._program
        return [
            s for s in program.streams.values() if s.name in program.consumed and not s.is_static
        ]

    def _save(self, run: Run[DataFrame], number: int) -> None:
        """Buffers first, then progress, which says that they are all there; the one before the
        last may go then."""
        folder = self._state / str(number)
        for stream in self._buffers():
            rows = self._engine.buffer(stream)
            rows.coalesce(1).write.mode("overwrite").parquet(str(folder / stream.name))
        folder.mkdir(parents=True, exist_ok=True)
        text = json.dumps(run.saved())
        written = folder / "progress.json.part"
        written.write_text(text, encoding="utf-8")
        written.rename(folder / "progress.json")
        shutil.rmtree(self._state / str(number - 2), ignore_errors=True)

    def _load(self, run: Run[DataFrame], folder: Path) -> None:
        for stream in self._buffers():
            self._engine.append(stream, self._session.read.parquet(str(folder / stream.name)))
        run.restore(json.loads((folder / "progress.json").read_text(encoding="utf-8")))
