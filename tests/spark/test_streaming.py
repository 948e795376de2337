"""`catena.spark.match_stream` on structured streaming: matches, late rows, restarts, checks."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scripts import script_environment
from stream_files import flush_row, read_files, run, shuffled, write_files

import catena
from catena.spark.requirements import STORE_SETTING

SCHEMA = "ts timestamp, type string, id int, value double, n bigint"
STAMP = pa.timestamp("us", "UTC")
PAIRS = """
    SELECT a[n], b[n], b.value - a.value AS change
    WHERE (A AS a ; B AS b) FILTER a[value < 0.5] PARTITION BY [id] WITHIN 10 seconds
"""


def events_of(count: int, keys: int, seed: int = 1) -> pa.Table:
    """Rows one second apart."""
    rng = random.Random(seed)
    return pa.table(
        {
            "ts": pa.array([(i + 1) * 10**6 for i in range(count)], STAMP),
            "type": [rng.choice("ABC") for _ in range(count)],
            "id": pa.array([rng.randrange(keys) for _ in range(count)], pa.int32()),
            "value": [rng.random() for _ in range(count)],
            "n": pa.array(range(count), pa.int64()),
        }
    )


def expected_of(query: catena.Query, table: pa.Table) -> list[tuple[int, int, float]]:
    found = query.run(table).to_arrow().to_pylist()
    return sorted((m["a.n"][0], m["b.n"][0], m["change"]) for m in found)


def found_in(folder: Path) -> list[tuple[int, int, float]]:
    """What a file sink holds, by its own record of what is committed."""
    from pyspark.sql import SparkSession

    rows = SparkSession.getActiveSession().read.parquet(str(folder)).collect()
    return sorted((r["a.n"][0], r["b.n"][0], r.change) for r in rows)


def test_shuffled_rows_in_many_micro_batches_give_what_one_run_gives(
    spark: Any, tmp_path: Path
) -> None:
    table, query = events_of(400, 5), catena.Query(PAIRS, time="ts")
    pieces = shuffled(table, "ts", 20, pieces=5, seed=2)
    write_files(tmp_path / "in", [*pieces, flush_row(table, "ts", id=99)])
    df = read_files(spark, tmp_path / "in", SCHEMA)
    found = catena.spark.match_stream(df, query, watermark="25 seconds", buckets=3)
    run(found, tmp_path)
    assert found_in(tmp_path / "out") == expected_of(query, table)
    state = catena.spark.stream_state(spark, str(tmp_path / "out-checkpoint"))
    assert (state.rows, state.late_rows, state.waiting_rows) == (400, 0, 1)
    assert state.live_keys == 0 and state.state_bytes < 20_000, "all but the last row has expired"


def test_late_rows_are_counted_and_flagged(spark: Any, tmp_path: Path) -> None:
    table, query = events_of(60, 1), catena.Query(PAIRS, time="ts")
    on_time, late = table.slice(20), table.slice(0, 20)
    write_files(tmp_path / "in", [on_time, late, flush_row(table, "ts", id=99)])
    df = read_files(spark, tmp_path / "in", SCHEMA)
    found = catena.spark.match_stream(df, query, watermark="5 seconds", buckets=2, late="flag")
    run(found, tmp_path)
    rows = spark.read.parquet(str(tmp_path / "out"))
    flagged = rows.where("is_late").selectExpr("count(*)", "max(unix_seconds(start_time))").first()
    assert tuple(flagged) == (20, 20)
    matched = rows.where("NOT is_late").collect()
    assert sorted((r["a.n"][0], r["b.n"][0], r.change) for r in matched) == expected_of(
        query, on_time
    )
    state = catena.spark.stream_state(spark, str(tmp_path / "out-checkpoint"))
    assert state.late_rows == 20


# ---------------------------------------------------------------------------------------------
# Exactly once


SCRIPT = Path(__file__).parent / "stream_script.py"


def test_a_worker_that_dies_in_a_micro_batch_leaves_nothing_behind(
    spark: Any, tmp_path: Path
) -> None:
    """It dies when state has been written and matches have been found, and before the commit."""
    table, query = events_of(200, 5), catena.Query(PAIRS, time="ts")
    pieces = shuffled(table, "ts", 20, pieces=2, seed=3)
    write_files(tmp_path / "in", [*pieces, flush_row(table, "ts", id=99)])
    df = read_files(spark, tmp_path / "in", SCHEMA)
    to_die = tmp_path / "to-die"
    to_die.touch()

    def die_once(batches: Any) -> Any:
        for batch in batches:
            if batch.num_rows and to_die.exists():
                to_die.unlink()
                os._exit(1)
            yield batch

    found = catena.spark.match_stream(df, query, watermark="25 seconds", buckets=2)
    plain = found.toDF(*(name.replace(".", "_") for name in found.columns))
    through = plain.mapInArrow(die_once, plain.schema).toDF(*found.columns)
    with pytest.raises(Exception, match="exited unexpectedly"):
        run(through, tmp_path)
    assert not to_die.exists()
    run(through, tmp_path)
    assert found_in(tmp_path / "out") == expected_of(query, table)


@pytest.mark.slow
def test_a_killed_stream_goes_on_and_writes_every_match_once(spark: Any, tmp_path: Path) -> None:
    """A process is killed between micro-batches and in one; another one goes on."""
    table, query = events_of(400, 7), catena.Query(PAIRS, time="ts")
    pieces = shuffled(table, "ts", 20, pieces=6, seed=4)
    write_files(tmp_path / "in", [*pieces, flush_row(table, "ts", id=99)])
    command = [sys.executable, str(SCRIPT), str(tmp_path)]
    offsets, commits = (tmp_path / "out-checkpoint" / name for name in ("offsets", "commits"))
    for kill_at in ("between", "within"):
        process = subprocess.Popen(command, env=script_environment(), start_new_session=True)
        begun = len(list(commits.glob("[0-9]*"))) if commits.exists() else 0
        try:
            wait_until(lambda: _is_time_to_kill(kill_at, begun, offsets, commits), process)
        finally:
            os.killpg(process.pid, signal.SIGKILL)  # The JVM too.
            process.wait()
    committed = len(list(commits.glob("[0-9]*")))
    assert 2 <= committed < 7, "it was killed half way"
    df = read_files(spark, tmp_path / "in", SCHEMA)
    run(catena.spark.match_stream(df, query, watermark="25 seconds", buckets=3), tmp_path)
    assert found_in(tmp_path / "out") == expected_of(query, table)


def _is_time_to_kill(kill_at: str, begun: int, offsets: Path, commits: Path) -> bool:
    """Between: a micro-batch has been committed. Within: one has been planned and not committed."""
    if not commits.exists():
        return False
    planned, done = (len(list(folder.glob("[0-9]*"))) for folder in (offsets, commits))
    if kill_at == "between":
        return done > begun
    return done > begun and planned > done


def wait_until(is_time: Any, process: subprocess.Popen[bytes], timeout_s: float = 200) -> None:
    end = time.monotonic() + timeout_s
    while not is_time():
        assert time.monotonic() < end and process.poll() is None, "the stream did not get so far"
        time.sleep(0.02)


# ---------------------------------------------------------------------------------------------
# What Spark needs and does not say


def test_what_a_stream_needs_is_checked_first(
    spark: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "in").mkdir()
    df = read_files(spark, tmp_path / "in", SCHEMA)
    query = catena.Query(PAIRS, time="ts")
    ask = catena.spark.match_stream
    with pytest.raises(catena.CatenaError, match="time is 'n'"):
        ask(df, query, time="n", watermark="1 second")
    with pytest.raises(catena.CatenaError, match="a watermark needs a timestamp"):
        ask(df, catena.Query("SELECT * WHERE A", time="n"), watermark="1 second")
    without_zone = df.withColumn("ts", df["ts"].cast("timestamp_ntz"))
    with pytest.raises(catena.CatenaError, match="needs a timestamp with a zone"):
        ask(without_zone, query, watermark="1 second")
    with pytest.raises(catena.CatenaError, match="no watermark on column 'ts'"):
        ask(df, query)
    with pytest.raises(catena.CatenaError, match="watermark is 'soon'"):
        ask(df, query, watermark="soon")
    with pytest.raises(catena.CatenaError, match="the DataFrame is no stream"):
        ask(spark.createDataFrame([], SCHEMA), query, watermark="1 second")
    with pytest.raises(catena.CatenaError, match="buckets is 0"):
        ask(df, query, watermark="1 second", buckets=0)
    with pytest.warns(UserWarning, match="no key"):
        ask(df, catena.Query("SELECT * WHERE A", time="ts"), watermark="1 second")
    store = spark.conf.get(STORE_SETTING)
    spark.conf.unset(STORE_SETTING)
    try:
        with pytest.raises(catena.CatenaError, match="RocksDB"):
            ask(df, query, watermark="1 second")
    finally:
        spark.conf.set(STORE_SETTING, store)
    monkeypatch.setitem(sys.modules, "google.protobuf", None)
    with pytest.raises(catena.CatenaError, match="protobuf is not installed"):
        ask(df, query, watermark="1 second")


def test_a_package_that_is_too_old_and_a_java_that_is_missing_are_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import pandas

    from catena.spark.requirements import check_java, check_packages

    monkeypatch.setattr(pandas, "__version__", "1.5.3")
    with pytest.raises(catena.CatenaError, match=r"pandas is 1\.5\.3, and Spark needs 2\.2"):
        check_packages("pandas")
    with pytest.raises(catena.CatenaError, match="no_such_package is not installed"):
        check_packages("no_such_package")
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    with pytest.raises(catena.CatenaError, match="Spark needs Java"):
        check_java()
    (tmp_path / "bin").mkdir()
    java = tmp_path / "bin" / "java"
    java.write_text("#!/bin/sh\necho 'openjdk version \"11.0.2\"' >&2\n")
    java.chmod(0o755)
    with pytest.raises(catena.CatenaError, match="is Java 11, and Spark 4 needs 17"):
        check_java()


def test_the_sink_is_read_by_its_record(tmp_path: Path) -> None:
    """`write_files` gives Spark files in a fixed order."""
    write_files(tmp_path, [events_of(3, 1), events_of(2, 1)])
    assert [pq.read_table(path).num_rows for path in sorted(tmp_path.glob("*.parquet"))] == [3, 2]
