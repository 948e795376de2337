"""Streams: pushing, reading late, snapshots, limits, threads."""

from __future__ import annotations

import threading

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import catena

TEXT = "SELECT a, b, sum(a.v) AS total WHERE (A AS a)+ ; B AS b PARTITION BY [id] WITHIN 20"
QUERY = catena.Query(TEXT, time="ts")


def rows(count: int, start: int = 0) -> pa.Table:
    positions = range(start, start + count)
    return pa.table(
        {
            "type": ["AABC"[p % 4] for p in positions],
            "id": [str(p % 3) for p in positions],
            "v": list(positions),
            "ts": list(positions),
        }
    )


def test_matches_may_be_read_after_later_pushes() -> None:
    stream = QUERY.stream()
    early = stream.push(rows(10))
    expected = early.to_arrow()
    stream.push(rows(100_000, 10))
    assert early.to_arrow().equals(expected)


def test_pushing_is_the_same_as_running() -> None:
    stream = QUERY.stream()
    pushed = [stream.push(rows(7, at)).to_arrow() for at in range(0, 700, 7)]
    assert pa.concat_tables(pushed).equals(QUERY.run(rows(700)).to_arrow())
    assert stream.position == 700


def test_the_state_of_a_window_stays_bounded() -> None:
    stream = QUERY.stream()
    sizes = []
    for at in range(0, 400_000, 40_000):
        stream.push(rows(40_000, at))
        sizes.append(stream.stats()["graph_bytes"])
    assert max(sizes[5:]) <= max(sizes[:5])
    assert stream.stats()["parts"] <= 3
    assert len(stream.snapshot()) < 20_000


def test_parts_without_live_runs_are_dropped() -> None:
    query = catena.Query("SELECT * WHERE A ; B PARTITION BY [id] WITHIN 10", time="ts")
    stream = query.stream()
    for at in range(0, 100_000, 10_000):
        keys = list(range(at, at + 10_000))
        stream.push({"type": ["A"] * 10_000, "id": keys, "ts": keys})
    assert stream.stats()["parts"] < 20_000


def test_rows_that_begin_nothing_make_no_parts() -> None:
    query = catena.Query("SELECT * WHERE (A AS a ; B) FILTER a[v > 9] PARTITION BY [id]", time="ts")
    stream, count = query.stream(), 5_000
    stream.push({"type": ["A", "B"] * count, "id": range(2 * count), "v": [1] * 2 * count,
                 "ts": range(2 * count)})  # fmt: skip
    assert stream.stats()["parts"] == 0
    rest = {"type": ["A", "B"], "id": [7, 7], "v": [10, 0], "ts": [2 * count] * 2}
    assert [m.start for m in stream.push(rest)] == [2 * count] and stream.stats()["parts"] == 1


def test_a_snapshot_goes_on_in_another_process(tmp_path) -> None:
    import subprocess
    import sys

    stream = QUERY.stream()
    stream.push(rows(50))
    (tmp_path / "blob").write_bytes(stream.snapshot())
    code = (
        "import catena; from pathlib import Path\n"
        f"blob = Path({str(tmp_path / 'blob')!r}).read_bytes()\n"
        f"s = catena.Query({TEXT!r}, time='ts').restore(blob)\n"
        "ms = s.push({'type': ['A', 'B', 'B', 'B'], 'id': ['0', '0', '1', '2'], 'v': [1, 2, 3, 4],"
        " 'ts': [50, 51, 52, 53]})\n"
        "print(ms.to_arrow().to_pylist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = stream.push(
        {"type": ["A", "B", "B", "B"], "id": ["0", "0", "1", "2"], "v": [1, 2, 3, 4],
         "ts": [50, 51, 52, 53]}
    )  # fmt: skip
    assert done.stdout.strip() == str(here.to_arrow().to_pylist())


def test_a_snapshot_of_another_query_is_refused() -> None:
    blob = QUERY.stream().snapshot()
    other = catena.Query(TEXT.replace("WITHIN 20", "WITHIN 21"), time="ts")
    with pytest.raises(catena.CatenaSnapshotError, match="another query"):
        other.restore(blob)


BLOB_STREAM = QUERY.stream()
BLOB_STREAM.push(rows(30))
BLOB = BLOB_STREAM.snapshot()


def test_damaged_bytes_are_refused() -> None:
    for blob in (b"", b"catena", b"x" * 100, BLOB[:-1], BLOB[:50], BLOB + b"x"):
        with pytest.raises(catena.CatenaSnapshotError, match="the snapshot is damaged"):
            QUERY.restore(blob)
    for at in range(0, len(BLOB), 7):
        damaged = BLOB[:at] + bytes([BLOB[at] ^ 0x10]) + BLOB[at + 1 :]
        with pytest.raises(catena.CatenaSnapshotError):
            QUERY.restore(damaged)


def with_checksum(body: bytes) -> bytes:
    """The bytes with the checksum that a reader expects: FNV-1a over all before it."""
    value = 0xCBF29CE484222325
    for byte in body:
        value = ((value ^ byte) * 0x100000001B3) % 2**64
    return body + value.to_bytes(8, "little")


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_forged_bytes_never_crash(data: st.DataObject) -> None:
    body = bytearray(BLOB[:-8])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(15, len(body) - 1))
        body[at] = data.draw(st.integers(0, 255))
    forged = with_checksum(bytes(body))
    try:
        stream = QUERY.restore(forged)
        matches = stream.push(rows(10, 1000))
        for _, _match in zip(range(1000), matches, strict=False):
            pass
    except catena.CatenaError:
        pass


def test_an_automaton_past_the_state_limit_is_refused() -> None:
    formula = " ; ".join(["(A+ ; B)+"] * 6)
    query = catena.Query(f"SELECT * WHERE {formula}", limits=catena.Limits(state_count_max=3))
    with pytest.raises(catena.CatenaLimitError, match="3 determinized states") as caught:
        query.count({"type": ["A", "B"] * 20})
    assert "catena.Limits" in str(caught.value)


def test_a_stream_that_passed_a_limit_stops() -> None:
    query = catena.Query("SELECT * WHERE A ; B ; C", limits=catena.Limits(state_count_max=2))
    stream = query.stream()
    with pytest.raises(catena.CatenaLimitError):
        stream.push({"type": ["A", "B"]})
    with pytest.raises(catena.CatenaError, match="stopped at an earlier error"):
        stream.push({"type": ["C"]})


def test_threads_may_share_a_stream() -> None:
    query = catena.Query("SELECT * WHERE A ; B WITHIN 100 EVENTS")
    stream = query.stream()
    counts: list[int] = []

    def work() -> None:
        for _ in range(20):
            counts.append(stream.push({"type": ["A", "B"] * 50}).count())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(counts) == 80 and stream.position == 8000


def test_matches_found_before_an_error_are_not_lost() -> None:
    """Batches are evaluated one after the other; the error carries what the good ones gave."""
    stream = catena.Query("SELECT * WHERE A", time="ts").stream()
    good = {"type": ["A", "A"], "ts": [1, 2]}
    bad = {"type": ["A"], "ts": [0]}
    with pytest.raises(catena.CatenaDataError, match="row 2: column 'ts' goes back") as caught:
        stream.push([pa.record_batch(good), pa.record_batch(bad)])
    assert caught.value.matches is not None
    assert [m.end for m in caught.value.matches] == [0, 1]
    assert stream.position == 2


def test_what_can_be_checked_is_checked_before_anything_is_evaluated() -> None:
    stream = catena.Query("SELECT * WHERE A", time="ts").stream()
    good = pa.record_batch({"type": ["A"], "ts": [1]})
    with pytest.raises(catena.CatenaDataError, match="no column 'ts'") as caught:
        stream.push([good, good.select(["type"])])
    assert stream.position == 0
    assert caught.value.matches is not None and caught.value.matches.count() == 0


def test_a_failed_first_push_fixes_no_type_of_time() -> None:
    stream = catena.Query("SELECT * WHERE A", time="ts").stream()
    with pytest.raises(catena.CatenaDataError, match="is NaN"):
        stream.push({"type": ["A"], "ts": [float("nan")]})
    assert stream.push({"type": ["A"], "ts": [1]}).count() == 1


def test_no_rows_and_no_types_change_nothing() -> None:
    query = catena.Query("SELECT * WHERE A ; B WITHIN 1.5", time="ts")
    stream = query.stream()
    stream.push({"type": ["A"], "ts": [0.5]})
    stream.push({"type": [], "ts": []})
    stream = query.restore(stream.snapshot())
    stream.push({"type": [], "ts": []})
    stream = query.restore(stream.snapshot())
    assert stream.push({"type": ["B"], "ts": [2.0]}).count() == 1


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_a_snapshot_is_read_from_anything_that_holds_bytes(kind: type) -> None:
    assert QUERY.restore(kind(BLOB)).position == 30


@pytest.mark.parametrize("given", [None, "text", 5])
def test_what_is_no_snapshot(given: object) -> None:
    with pytest.raises(catena.CatenaSnapshotError, match="a snapshot is bytes"):
        QUERY.restore(given)  # type: ignore[arg-type]


def test_a_type_of_time_that_changes_is_refused() -> None:
    stream = catena.Query("SELECT * WHERE A", time="ts").stream()
    stream.push({"type": ["A"], "ts": [1]})
    with pytest.raises(catena.CatenaDataError, match="type of a time column changed"):
        stream.push({"type": ["A"], "ts": [1.5]})


@pytest.mark.parametrize("name", ["state_count_max", "class_count_max"])
@pytest.mark.parametrize("value", [0, -1, 2**40, 2**70, "a", 1.5, None])
def test_limits_are_whole_numbers_above_zero(name: str, value: object) -> None:
    with pytest.raises(catena.CatenaError, match=f"{name} is ") as caught:
        catena.Limits(**{name: value})  # type: ignore[arg-type]
    assert caught.value.hint == "use a whole number from 1 to 4,294,967,295"


@pytest.mark.parametrize(
    "settings",
    [{"time": 5}, {"type": None}, {"stream": b"s"}, {"time_unit": 5}, {"limits": 5}],
    ids=str,
)
def test_settings_of_the_wrong_type(settings: dict[str, object]) -> None:
    (name,) = settings
    with pytest.raises(catena.CatenaError, match=f"{name} is "):
        catena.Query("SELECT * WHERE A", **settings)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("column", "bound", "count"),
    [
        (pa.array([0, 5000, 5001], pa.timestamp("ms")), "5 seconds", 1),
        (pa.array([0, 5000, 5001], pa.timestamp("us", "UTC")), "5 ms", 1),
        (pa.array([0, 5, 6], pa.timestamp("s")), "5500 ms", 1),
        (pa.array([0, 1, 2], pa.date32()), "1 day", 1),
        (pa.array([0, 60, 61], pa.duration("s")), "1 min", 1),
        (pa.array([0, 5, 6]), "5", 1),
        (pa.array([0.0, 0.3, 0.4]), "0.3", 1),
        (pa.array([0, 1_500, 1_501], pa.timestamp("ns")), "1.5 us", 1),
        (pa.array([0, 5400, 5401], pa.timestamp("s")), "1 hour 30 minutes", 1),
        (pa.array([-(2**62), 2**62, 2**62], pa.timestamp("s")), "1e18 days", 2),
        (pa.array([-(2**62), 2**62, 2**62 + 1]), str(2**63), 1),
    ],
)
def test_windows_of_time(column: pa.Array, bound: str, count: int) -> None:
    query = catena.Query(f"SELECT * WHERE A ; B WITHIN {bound}", time="ts")
    assert query.count(pa.table({"type": ["A", "B", "B"], "ts": column})) == count


def test_units_of_numeric_times() -> None:
    events = {"type": ["A", "B", "B"], "ts": [0, 5000, 5001]}
    query = catena.Query("SELECT * WHERE A ; B WITHIN 5 seconds", time="ts")
    with pytest.raises(catena.CatenaError, match="its unit is not known") as caught:
        query.count(events)
    assert "time_unit" in str(caught.value)
    given_unit = catena.Query(query.text, time="ts", time_unit="ms")
    assert given_unit.count(events) == 1
    bare = catena.Query("SELECT * WHERE A ; B WITHIN 5", time="ts")
    with pytest.raises(catena.CatenaError, match="the bound needs a unit"):
        bare.count(pa.table({"type": ["A"], "ts": pa.array([0], pa.timestamp("s"))}))
    with pytest.raises(catena.CatenaError, match="did you mean 'ms'"):
        catena.Query("SELECT * WHERE A", time_unit="mss")


def test_single_mappings_of_changing_types_are_read_as_batches_are() -> None:
    events: list[dict[str, object]] = [
        {"type": "A", "v": 1},
        {"type": "B", "v": 2},
        {"type": "A", "v": 2.5},
        {"type": "B"},
        {"type": "A", "v": 2**63},
        {"type": "B", "v": None},
        {"type": "A", "v": 4, "w": "not asked for"},
        {"type": None, "v": 5},
        {"type": "B", "v": 1},
        {"type": "B", "v": 7},
    ]

    class Event(dict[str, object]):
        """Not just a dict, so it is gathered into a batch."""

    query = catena.Query("SELECT x, y WHERE (A AS x ; B AS y) FILTER x[v > 1] AND y[v > 1]")
    stream, batches = query.stream(), query.stream()
    for event in events:
        single = [m.to_dict() for m in stream.push(event)]
        assert single == [m.to_dict() for m in batches.push(Event(event))]
    assert stream.position == len(events)
    assert stream.snapshot() == batches.snapshot()


def test_a_single_mapping_that_is_late_is_refused_and_changes_nothing() -> None:
    query = catena.Query("SELECT x WHERE A AS x WITHIN 5 [t]")
    stream = query.stream()
    for t in (1, 2):
        stream.push({"type": "A", "t": t})
    with pytest.raises(catena.CatenaDataError, match="goes back") as caught:
        stream.push({"type": "A", "t": 0})
    assert list(caught.value.matches or ()) == []
    assert [m.end for m in stream.push({"type": "A", "t": 3})] == [2]


def test_a_text_without_utf8_is_refused_alone_and_in_a_batch() -> None:
    stream = catena.Query("SELECT x WHERE A AS x").stream()
    stream.push({"type": "A"})
    with pytest.raises(catena.CatenaDataError):
        stream.push({"type": "\ud800"})
    assert stream.position == 1
