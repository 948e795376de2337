"""Temporal stream algebra on Spark: the paper's examples, and streams with watermarks."""

from __future__ import annotations

import datetime
import os
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_examples_of_the_paper import run_example
from tsa_checks import rows_of
from tsa_examples import EXAMPLES, sliding_windows

import catena
from catena import tsa
from catena.errors import CatenaError
from catena.tsa import _


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_of_the_paper(spark: Any, name: str) -> None:
    example = sliding_windows(step=60) if name == "sliding_windows" else EXAMPLES[name]()
    run_example(example, [90, 400], tsa.Spark(spark))


SECOND = 10**6
KINDS = {"sid": "int64", "time": "timestamp", "speed": "int64"}
RAW = tsa.stream("AFRaw", KINDS, progressing="time")
FIRES = tsa.stream("Fire", {"time": "timestamp"}, progressing="time")


def airflow_in_fires() -> tsa.Program:
    """A tumbling window in batch times, and what was measured up to 30 s after a fire."""
    window = datetime.timedelta(seconds=20)
    airflow = tsa.query(
        "Airflow",
        RAW.mutate(window=_.time.ceil(window))
        .group_by("sid", "window")
        .aggregate(speed=_.speed.max())
        .rename(time="window"),
    )
    after = tsa.query(
        "AfterFire",
        RAW.prefix("r").semi_join(
            FIRES.prefix("f"),
            _.f.time <= _.r.time,
            _.r.time - _.f.time <= datetime.timedelta(seconds=30),
        ),
    )
    return tsa.Program(airflow, after)


def write_rows(folder: Path, batches: list[list[dict[str, Any]]], schema: pa.Schema) -> None:
    """One file a batch, in the order in which Spark is to read them."""
    folder.mkdir(exist_ok=True)
    for i, rows in enumerate(batches):
        pq.write_table(pa.Table.from_pylist(rows, schema=schema), folder / f"{i:03}.parquet")
        os.utime(folder / f"{i:03}.parquet", (1_000_000 + i, 1_000_000 + i))


@pytest.fixture
def sources(spark: Any, tmp_path: Path) -> dict[str, Any]:
    """Two streams out of order by at most 10 s, in four files each; one row is too late."""
    stamp = pa.timestamp("us", "UTC")
    raw = pa.schema([("sid", pa.int64()), ("time", stamp), ("speed", pa.int64())])
    times = [[3, 1, 12, 19], [24, 15, 31], [52, 48, 2, 43], [200, 75]]
    write_rows(
        tmp_path / "raw",
        [[{"sid": t % 2, "time": t * SECOND, "speed": t} for t in part] for part in times],
        raw,
    )
    write_rows(
        tmp_path / "fire",
        [[{"time": t * SECOND} for t in part] for part in [[2], [40], [50], [200]]],
        pa.schema([("time", stamp)]),
    )

    def read(name: str, schema: str) -> Any:
        reader = spark.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        return reader.parquet(str(tmp_path / name)).withWatermark("time", "10 seconds")

    return {
        "AFRaw": read("raw", "sid bigint, time timestamp, speed bigint"),
        "Fire": read("fire", "time timestamp"),
    }


def expected_of_sources() -> dict[str, set[tuple[Any, ...]]]:
    """All rows but the late one, up to the last watermark, 190 s."""
    kept = [3, 1, 12, 19, 24, 15, 31, 52, 48, 43, 75]
    windows = {(t % 2, -(-t // 20) * 20) for t in kept}
    return {
        "Airflow": {(s, w, max(t for t in kept if (t % 2, -(-t // 20) * 20) == (s, w)))
                    for s, w in windows},
        "AfterFire": {(t % 2, t, t) for t in kept if any(0 <= t - f <= 30 for f in (2, 40, 50))},
    }  # fmt: skip


def test_foreach_batch_with_watermarks_and_a_restart(
    sources: dict[str, Any], tmp_path: Path
) -> None:
    """The sink fails once after a batch was written: the batch comes again, nothing else does."""
    found: dict[str, dict[int, list[tuple[Any, ...]]]] = {"Airflow": {}, "AfterFire": {}}
    failing = [2]

    def write(number: int, rows: Any) -> None:
        for name, frame in rows.items():
            found[name][number] = [
                tuple(int(v.timestamp()) if isinstance(v, datetime.datetime) else v for v in row)
                for row in frame.collect()
            ]
        if number in failing:
            failing.clear()
            raise RuntimeError("the sink is full")

    def run() -> None:
        program = airflow_in_fires()
        query = tsa.start(program, sources, write, state=str(tmp_path / "state"), availableNow=True)
        query.awaitTermination()

    with pytest.raises(Exception, match="the sink is full"):
        run()
    run()
    for name, expected in expected_of_sources().items():
        rows = [row for batch in found[name].values() for row in batch]
        assert set(rows) == expected
        assert len(rows) == len(expected)


def test_a_stream_without_a_watermark_is_refused(spark: Any) -> None:
    rows = spark.readStream.format("rate").load().selectExpr("timestamp AS time")
    program = tsa.Program(tsa.query("Late", FIRES.prefix("f")))
    with pytest.raises(CatenaError, match="Fire has no watermark on 'time'"):
        tsa.start(program, {"Fire": rows}, lambda number, rows: None, state="unused")


def test_a_pattern_over_timestamps(spark: Any) -> None:
    pattern = catena.Query("SELECT a, max(b.speed) AS top WHERE (A AS a ; B AS b)", time="time")
    kinds = {"type": "string", "time": "timestamp", "speed": "int64"}
    events = tsa.stream("Events", kinds, progressing="time")
    matches = tsa.match(events, pattern, {"top": "int64"}, name="Pairs")
    run = tsa.Program(tsa.query("Out", matches.prefix("p"))).run(tsa.Spark(spark))
    start = datetime.datetime(2026, 1, 2)
    later = start + datetime.timedelta(seconds=3)
    rows = [
        {"type": "B", "time": later, "speed": 7},
        {"type": "A", "time": start, "speed": 1},
    ]
    found = rows_of(run.push({"Events": rows}, {"Events": later})["Out"])
    [row] = found
    naive = {name: row[name].replace(tzinfo=None) for name in ("p.start", "p.end")}
    assert naive == {"p.start": start, "p.end": later}
    assert row["p.top"] == 7
