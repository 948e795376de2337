"""The event algebra as a user meets it: worked examples, ticks, streams, keys, times, bad input."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_stream import with_checksum

import catena
from catena.algebra import event

# The scenario of the paper's Example 8: B at 6, P at 4, T at 1 and 6.
SCENARIO = {"ts": [1, 4, 6, 6], "type": ["T", "P", "B", "T"], "value": [38.2, 0.0, 0.0, 38.5]}


def pairs(found: catena.Instances) -> list[tuple[object, object]]:
    return [(m.start_time, m.end_time) for m in found]


@pytest.mark.parametrize(
    ("text", "expected", "rows"),
    [
        ("B | P", [(4, 4), (6, 6)], [{"P": (1,)}, {"B": (2,)}]),
        ("P + T", [(1, 4), (4, 6)], [{"P": (1,), "T": (0,)}, {"P": (1,), "T": (3,)}]),
        ("T ; B", [(1, 6)], [{"T": (0,), "B": (2,)}]),
        ("(P + T) - B", [(1, 4)], [{"P": (1,), "T": (0,)}]),
        ("(P + T)[2]", [(4, 6)], [{"P": (1,), "T": (3,)}]),
    ],
)
def test_the_worked_examples(text: str, expected: object, rows: object) -> None:
    """Example 11 of the paper, in both frameworks."""
    assert pairs(catena.Algebra(text, time="ts").run(SCENARIO)) == expected
    with_rows = catena.Algebra(text, time="ts", values=True).run(SCENARIO)
    assert pairs(with_rows) == expected
    assert [m.rows for m in with_rows] == rows


def test_a_button_pressed_twice_without_an_alarm() -> None:
    """Example 2 of the paper."""
    a = catena.Algebra("(B ; B)[2] - (P | T)", time="ts")
    rows = {"ts": [0, 2, 3, 4, 9, 10, 11], "type": ["B", "B", "P", "B", "B", "T", "B"]}
    assert pairs(a.run(rows)) == [(0, 2)]


def test_every_occurrence_meets_the_latest_of_the_other() -> None:
    """Example 12: each T with the last P before it and the other way round, not with all."""
    a = catena.Algebra("T + P", time="ts")
    rows = {"ts": [1, 2, 3, 4, 5], "type": ["T", "P", "P", "T", "P"]}
    assert pairs(a.run(rows)) == [(1, 2), (1, 3), (3, 4), (4, 5)]


def test_one_instance_for_each_end_and_one_with_the_latest_start() -> None:
    """Example 14: of the three instances that end at 6 two start at 2, and one of them is given."""
    rows = {"ts": [1, 2, 3, 4, 5, 6], "type": ["P", "T", "P", "B", "P", "B"]}
    a = catena.Algebra("(T + P) ; B", time="ts", values=True)
    first, second = a.run(rows)
    assert pairs(a.run(rows)) == [(2, 4), (2, 6)]
    assert first.rows == {"T": (1,), "P": (2,), "B": (3,)}
    assert second.rows["P"] in ((2,), (4,)) and second.rows["B"] == (5,)


def test_overlapping_occurrences_are_detected() -> None:
    """Section 5: a regular detector that starts again after each detection finds one of them."""
    a = catena.Algebra("A ; (B ; C)", time="ts")
    rows = {"ts": [1, 2, 3, 4, 5, 6], "type": ["A", "B", "A", "C", "B", "C"]}
    assert pairs(a.run(rows)) == [(1, 4), (3, 6)]


def test_a_sequence_is_about_intervals_and_not_about_detections() -> None:
    """The introduction's B ; (A ; C): A, B, C is no occurrence of it."""
    rows = {"ts": [1, 2, 3], "type": ["A", "B", "C"]}
    assert pairs(catena.Algebra("B ; (A ; C)", time="ts").run(rows)) == []
    assert pairs(catena.Algebra("A ; (B ; C)", time="ts").run(rows)) == [(1, 3)]


# ---------------------------------------------------------------------------------------------
# Ticks


def test_rows_of_one_time_are_one_tick() -> None:
    rows = {"ts": [1, 1], "type": ["A", "B"]}
    assert pairs(catena.Algebra("A + B", time="ts").run(rows)) == [(1, 1)]
    assert pairs(catena.Algebra("A ; B", time="ts").run(rows)) == []
    assert pairs(catena.Algebra("A - B", time="ts").run(rows)) == []


def test_two_rows_of_one_primitive_in_a_tick_are_one_occurrence_that_of_the_last() -> None:
    a = catena.Algebra("A ; B", time="ts", values=True)
    rows = {"ts": [1, 1, 2, 2], "type": ["A", "A", "B", "B"]}
    [m] = a.run(rows)
    assert m.rows == {"A": (1,), "B": (3,)}


def test_a_row_may_be_several_primitives() -> None:
    a = catena.Algebra("hot + any", define={"hot": "value > 40", "any": "TRUE"}, values=True)
    found = list(a.run({"value": [10, 50, 20]}))
    assert [m.rows for m in found] == [{"hot": (1,), "any": (1,)}, {"hot": (1,), "any": (2,)}]


def test_without_a_time_column_rows_are_ticks_and_positions_are_times() -> None:
    a = catena.Algebra("(A ; B)[2]")
    assert pairs(a.run({"type": ["A", "C", "B", "B"]})) == [(0, 2)]
    d = a.stream()
    assert pairs(d.push({"type": "A"})) == [] and pairs(d.push({"type": "B"})) == [(0, 1)]


def test_a_tick_is_reported_when_a_later_row_comes_or_at_the_end() -> None:
    d = catena.Algebra("A ; B", time="ts").stream()
    assert pairs(d.push({"ts": [1, 3], "type": ["A", "B"]})) == []
    assert pairs(d.push({"ts": 5, "type": "Other"})) == [(1, 3)]
    assert pairs(d.push({"ts": 6, "type": "B"})) == []
    assert pairs(d.finish()) == [(1, 6)]
    assert pairs(d.finish()) == []
    assert pairs(d.push({"ts": [7, 8], "type": ["B", "B"]})) == [(1, 7)]


def test_a_finished_tick_takes_no_more_rows() -> None:
    d = catena.Algebra("A", time="ts").stream()
    d.push({"ts": 5, "type": "A"})
    d.finish()
    with pytest.raises(catena.CatenaDataError, match=r"row 1: .* a tick that is finished"):
        d.push({"ts": 5, "type": "A"})
    assert d.position == 1
    assert pairs(d.push({"ts": [6, 7], "type": ["A", "A"]})) == [(6, 6)]


def test_late_rows_are_refused_or_left_out_and_counted() -> None:
    a = catena.Algebra("A ; B", time="ts")
    rows = {"ts": [2, 1, 3], "type": ["A", "B", "B"]}
    with pytest.raises(catena.CatenaDataError, match="goes back") as caught:
        list(a.run(rows))
    assert caught.value.row == 1 and "on_late='drop'" in str(caught.value)
    d = a.stream(on_late="drop")
    d.push(rows)
    assert d.late_count == 1 and pairs(d.finish()) == [(2, 3)]


def test_a_bad_batch_changes_nothing() -> None:
    d = catena.Algebra("A ; B", time="ts").stream()
    d.push({"ts": [1, 2], "type": ["A", "C"]})
    for times in ([3, 2], [3, None]):
        with pytest.raises(catena.CatenaDataError):
            d.push({"ts": times, "type": ["B", "B"]})
    assert d.position == 2
    d.push({"ts": [4], "type": ["B"]})
    assert pairs(d.finish()) == [(1, 4)]


# ---------------------------------------------------------------------------------------------
# Columns


TIMES = {
    "timestamp": (pa.timestamp("us", "UTC"), 1_000_000, "2 s"),
    "nanoseconds": (pa.timestamp("ns"), 1_000_000_000, "2 s"),
    "duration": (pa.duration("ms"), 1_000, "2 s"),
    "date": (pa.date32(), 1, "2 d"),
    "float": (pa.float64(), 1, "2"),
    "short float": (pa.float32(), 1, "2.0"),
    "small integer": (pa.uint8(), 1, "2.5"),
}


@pytest.mark.parametrize("kind", TIMES)
def test_times_of_every_type(kind: str) -> None:
    type, ticks, limit = TIMES[kind]
    values = pa.array([1 * ticks, 3 * ticks, 6 * ticks])
    times = values.cast(pa.int32()).view(type) if kind == "date" else values.cast(type)
    a = catena.Algebra(f"(A ; B)[{limit}]", time="ts")
    found = a.run({"ts": times, "type": ["A", "B", "B"]}).to_arrow()
    assert found["start_time"].type == type
    assert found.to_pylist() == [
        {"start_time": times[0].as_py(), "end_time": times[1].as_py()}
    ]  # fmt: skip


def test_a_numeric_time_may_have_a_unit() -> None:
    rows = {"ts": [0, 1500, 4000], "type": ["A", "B", "B"]}
    assert pairs(catena.Algebra("(A;B)[2 s]", time="ts", time_unit="ms").run(rows)) == [(0, 1500)]
    with pytest.raises(catena.CatenaError, match="is a number, so its unit is not known"):
        list(catena.Algebra("(A ; B)[2 s]", time="ts").run(rows))


def test_a_timestamp_needs_a_unit() -> None:
    rows = {"ts": [datetime.datetime(2026, 1, 1)], "type": ["A"]}
    with pytest.raises(catena.CatenaError, match="needs a unit") as caught:
        list(catena.Algebra("A | (A ; B)[2]", time="ts").run(rows))
    assert caught.value.column == 13


def test_predicates_are_those_of_queries() -> None:
    a = catena.Algebra(
        "(hot ; S)[5] - low",
        define={
            "hot": "type = 'T' AND value > 40",
            "low": "value IN RANGE(0, 5) OR type LIKE 'x%'",
        },
    )
    rows = {"type": ["T", "S", "T", "x1", "S"], "value": [45, 30, 50, 30, 30]}
    assert pairs(a.run(rows)) == [(0, 1)]


def test_each_key_is_a_stream_of_its_own() -> None:
    a = catena.Algebra("A ; B", time="ts", by=["place", "id"], values=True)
    rows = {
        "ts": [1, 1, 2, 2, 3, 3],
        "type": ["A", "A", "B", "B", "B", "B"],
        "place": ["x", "y", "y", "x", None, "x"],
        "id": [1, 1, 1, 1, 1, 2],
    }
    found = a.run(rows).to_arrow().to_pylist()
    assert found == [
        {"start_time": 1, "end_time": 2, "place": "y", "id": 1, "A": [1], "B": [2]},
        {"start_time": 1, "end_time": 2, "place": "x", "id": 1, "A": [0], "B": [3]},
    ]
    by_row = a.stream()
    pushed = []
    for i in range(6):
        by_row = a.restore(by_row.snapshot())
        pushed += by_row.push({name: values[i : i + 1] for name, values in rows.items()})
    assert [m.to_dict() for m in [*pushed, *by_row.finish()]] == [
        {name: tuple(v) if isinstance(v, list) else v for name, v in row.items()} for row in found
    ]


def test_keys_that_can_no_longer_matter_are_forgotten() -> None:
    d = catena.Algebra("(A ; B)[10]", time="ts", by="id").stream()
    for at in range(0, 50_000, 5_000):
        ids = list(range(at, at + 5_000))
        d.push({"ts": ids, "type": ["A"] * 5_000, "id": ids})
    assert d.stats()["parts"] < 3_000
    assert pairs(d.push({"ts": [50_001] * 2, "type": ["B"] * 2, "id": [49_995, 1]})) == []
    assert pairs(d.finish()) == [(49_995, 50_001)]


def test_input_of_every_shape() -> None:
    import pandas
    import polars

    a = catena.Algebra("T ; B", time="ts")
    for rows in (pandas.DataFrame(SCENARIO), polars.DataFrame(SCENARIO), pa.table(SCENARIO),
                 pa.table(SCENARIO).to_pylist()):  # fmt: skip
        assert pairs(a.run(rows)) == [(1, 6)]


def test_instances_as_columns() -> None:
    found = catena.Algebra("P + T", time="ts", values=True).run(SCENARIO)
    assert found.to_arrow().schema.names == ["start_time", "end_time", "P", "T"]
    assert found.to_pandas()["start_time"].tolist() == [1, 4]
    assert found.to_polars()["T"].to_list() == [[0], [3]]
    assert found.count() == 2 and bool(found) and "<td>(3,)</td>" in found._repr_html_()
    empty = catena.Algebra("Nobody", time="ts").run(SCENARIO)
    assert empty.to_arrow().schema.names == ["start_time", "end_time"] and not empty


def test_no_instances_have_the_types_of_the_columns() -> None:
    a = catena.Algebra("Nobody", time="ts", by="id", values=True)
    ids, times = pa.array([1, 2], pa.int8()), pa.array([3, 4], pa.timestamp("us"))
    rows = pa.table({"ts": times, "type": ["A", "B"], "id": ids})
    d = a.stream()
    for found in (a.run(rows), d.push(rows), d.finish(), a.run(rows.slice(0, 0))):
        schema = found.to_arrow().schema
        assert schema.types == [times.type, times.type, pa.int8(), pa.list_(pa.int64())]


def test_a_primitive_may_be_called_like_a_column() -> None:
    a = catena.Algebra("end_time ; x", values=True)
    [m] = a.run({"type": ["end_time", "x"]})
    assert m.rows == {"end_time": (0,), "x": (1,)} and m.end_time == 1


def test_the_empty_event_never_occurs() -> None:
    assert pairs(catena.Algebra("0").run({"type": ["A", "0"]})) == []
    assert pairs(catena.Algebra("A | 0", time="ts").run({"ts": [3], "type": ["A"]})) == [(3, 3)]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"time": 3}, "time is 3"),
        ({"type": None}, "type is None"),
        ({"values": "yes"}, "values is 'yes'"),
        ({"by": [1]}, "by has 1"),
        ({"define": {"A": 3}}, "define has 'A': 3"),
        ({"define": "A"}, "define is 'A'"),
        ({"define": {"A": "value >"}}, "in the predicate of A: the query ends"),
        ({"define": {"A": "value = NULL"}}, "in the predicate of A: .*never true"),
        ({"time_unit": "seconds"}, "time_unit is 'seconds'"),
        ({"limits": 3}, "limits is 3"),
        ({"limits": catena.Limits(detector_bytes_max=10)}, "more than 10 .detector_bytes_max."),
    ],
)
def test_bad_settings(settings: dict[str, object], message: str) -> None:
    with pytest.raises(catena.CatenaError, match=message):
        catena.Algebra("A ; B", **settings)  # type: ignore[arg-type]


def test_bad_data() -> None:
    with pytest.raises(catena.CatenaDataError, match="there is no column 'type'"):
        list(catena.Algebra("A").run({"kind": ["A"]}))
    with pytest.raises(catena.CatenaDataError, match="holds the type of each row, which is text"):
        list(catena.Algebra("A").run({"type": [1, 2]}))
    with pytest.raises(catena.CatenaError, match="cannot compare"):
        list(catena.Algebra("A", define={"A": "value > 'x'"}).run({"value": [1]}))
    with pytest.raises(catena.CatenaDataError, match="smallest integer"):
        list(catena.Algebra("A", time="ts").run({"ts": [-(2**63)], "type": ["A"]}))


def test_algebras_compose() -> None:
    a, b = (catena.Algebra(name, time="ts") for name in "AB")
    assert ((a >> b).within(2) - (a | event("C")) + b).text == "(A ; B)[2] - (A | C) + B"
    with pytest.raises(catena.CatenaError, match="different settings"):
        a | catena.Algebra("C")
    with pytest.raises(TypeError):
        a | "C"


# ---------------------------------------------------------------------------------------------
# Snapshots


ALGEBRA = catena.Algebra("(A ; (B + C))[90] - (A ; (C ; B))", time="ts", values=True, by=["id"])


def some_rows(count: int, start: int = 0) -> pa.Table:
    positions = range(start, start + count)
    return pa.table(
        {
            "ts": [p // 2 for p in positions],
            "type": ["ABCAACB"[p % 7] for p in positions],
            "id": [str(p % 3) for p in positions],
        }
    )


DETECTOR = ALGEBRA.stream()
DETECTOR.push(some_rows(41))
BLOB = DETECTOR.snapshot()


def test_a_snapshot_goes_on_in_another_process(tmp_path) -> None:
    import subprocess
    import sys

    (tmp_path / "blob").write_bytes(BLOB)
    code = (
        "import catena; from pathlib import Path\n"
        f"a = catena.Algebra({ALGEBRA.text!r}, time='ts', values=True, by=['id'])\n"
        f"d = a.restore(Path({str(tmp_path / 'blob')!r}).read_bytes())\n"
        "print(d.finish().to_arrow().to_pylist())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    here = ALGEBRA.restore(BLOB).finish().to_arrow().to_pylist()
    assert done.stdout.strip() == str(here)


def test_a_snapshot_of_another_expression_is_refused() -> None:
    other = catena.Algebra("A ; B", time="ts", values=True, by=["id"])
    with pytest.raises(catena.CatenaSnapshotError, match="another query"):
        other.restore(BLOB)
    with pytest.raises(catena.CatenaSnapshotError, match="a snapshot is bytes"):
        other.restore("text")  # type: ignore[arg-type]


def test_damaged_snapshots_are_refused() -> None:
    for blob in (b"", b"catena", b"x" * 100, BLOB[:-1], BLOB[:50], BLOB + b"x"):
        with pytest.raises(catena.CatenaSnapshotError, match="the snapshot is damaged"):
            ALGEBRA.restore(blob)
    for at in range(0, len(BLOB), 13):
        with pytest.raises(catena.CatenaSnapshotError):
            ALGEBRA.restore(BLOB[:at] + bytes([BLOB[at] ^ 0x10]) + BLOB[at + 1 :])


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_forged_snapshots_never_crash(data: st.DataObject) -> None:
    body = bytearray(BLOB[:-8])
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(15, len(body) - 1))
        body[at] = data.draw(st.sampled_from([0, 1, 2, 3, 7, 0x7F, 0x80, 0xFF]))
    try:
        d = ALGEBRA.restore(with_checksum(bytes(body)))
        list(d.push(some_rows(20, 1000)))
        list(d.finish())
        d.stats()
    except catena.CatenaError:
        pass
