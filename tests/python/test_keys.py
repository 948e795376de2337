"""Keys of PARTITION BY: equal values are one part, whatever the types of the batches they come in;
each part is a stream of its own, with its own clock."""

from __future__ import annotations

import datetime
from decimal import Decimal
from itertools import pairwise

import pyarrow as pa
import pytest

import catena

QUERY = catena.Query("SELECT NONE WHERE A ; A PARTITION BY [k]")

INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]
NUMBERS = [*INTEGERS, pa.float16(), pa.float32(), pa.float64(), pa.decimal128(25, 3)]
STRINGS = [
    pa.string(),
    pa.large_string(),
    pa.string_view(),
    pa.dictionary(pa.int8(), pa.string()),
    pa.dictionary(pa.uint32(), pa.large_string()),
]
UNITS = ["s", "ms", "us", "ns"]


def in_one_part(*keys: pa.Array) -> bool:
    """Whether the first values of the arrays, pushed one after the other, are one key."""
    stream = QUERY.stream()
    counts = [stream.push(pa.table({"type": ["A"], "k": key[:1]})).count() for key in keys]
    assert counts in ([0] * len(keys), list(range(len(keys)))), "all are one key, or none are"
    return counts[-1] > 0


def test_numbers_are_keys_by_value() -> None:
    assert in_one_part(*(pa.array([7]).cast(kind) for kind in NUMBERS))
    assert in_one_part(pa.array([0.5]), pa.array([Decimal("0.50")]))
    assert in_one_part(pa.array([0.0]), pa.array([-0.0]), pa.array([0]))
    assert in_one_part(pa.array([float("nan")]), pa.array([-float("nan")], pa.float32()))
    assert not in_one_part(pa.array([2**64 - 1], pa.uint64()), pa.array([-1]))


def test_numbers_and_booleans_are_different_keys() -> None:
    with pytest.raises(catena.CatenaDataError, match="'k' changed between bool and int64"):
        in_one_part(pa.array([True]), pa.array([1]))


def test_strings_are_keys_by_their_text() -> None:
    text = pa.array(["a text that is not short"])
    assert in_one_part(*(text.cast(kind) for kind in (*STRINGS, *reversed(STRINGS))))


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_times_are_keys_by_instant(zone: str | None) -> None:
    moment = datetime.datetime(1969, 12, 31, 23, 59, 59, tzinfo=zone and datetime.UTC)
    assert in_one_part(*(pa.array([moment], pa.timestamp(unit, zone)) for unit in UNITS))


def test_dates_and_durations_are_keys_by_value() -> None:
    assert in_one_part(pa.array([1], pa.date32()), pa.array([86_400_000], pa.date64()))
    length = datetime.timedelta(seconds=-5)
    assert in_one_part(*(pa.array([length], pa.duration(unit)) for unit in UNITS))


def test_decimals_of_many_digits_are_keys_of_their_own() -> None:
    many = [Decimal(f"0.1{'0' * 20}{i}") for i in (1, 2)]
    one, other = (pa.array([value], pa.decimal128(38, 30)) for value in many)
    assert in_one_part(one, one.cast(pa.decimal128(38, 25)))
    assert not in_one_part(one, other)


def test_a_key_of_events_one_by_one_may_turn_into_a_float() -> None:
    """A batch holds 4,096 mappings; the key's type is that of the batch."""
    events = ({"type": "A", "k": 1 if i < 4_096 else 1.0} for i in range(4_097))
    assert sum(m.end == 4_096 for m in QUERY.run(events)) == 4_096


def test_large_unsigned_keys_one_by_one() -> None:
    stream = QUERY.stream()
    keys = [1, 2**64 - 1, 1, 2**64 - 1]
    shown = [m["k"] for key in keys for m in stream.push({"type": "A", "k": key})]
    assert shown == [1, 2**64 - 1]


def test_strings_of_every_layout_are_shown() -> None:
    query = catena.Query("SELECT x.k, x[k] WHERE A AS x ; A PARTITION BY [k]")
    stream = query.stream()
    for one, other in pairwise([*STRINGS, STRINGS[0]]):
        stream.push(pa.table({"type": ["A"], "k": pa.array(["key"]).cast(one)}))
        matches = stream.push(pa.table({"type": ["A"], "k": pa.array(["key"]).cast(other)}))
        for m in matches:
            assert (m["k"], m["x.k"], m["x.k_2"]) == ("key", "key", ("key",))
        stream = query.restore(stream.snapshot())
    assert stream.position == 2 * len(STRINGS)


def test_layouts_of_strings_agree_in_a_table_of_all_matches() -> None:
    batches = [pa.record_batch({"type": ["A"], "k": pa.array(["a"]).cast(s)}) for s in STRINGS]
    shown = catena.Query("SELECT x.k WHERE A AS x").run(batches).to_arrow()
    assert shown["x.k"].to_pylist() == ["a"] * len(STRINGS)


def test_what_cannot_be_a_key() -> None:
    with pytest.raises(catena.CatenaDataError, match=r"list<.*which cannot be a key"):
        QUERY.count({"type": ["A"], "k": [[1]]})


CLOCK = catena.Query("SELECT x WHERE A AS x ; A PARTITION BY [k] WITHIN 5 [c]")


def test_a_clock_must_not_fall_within_its_part() -> None:
    events = {"type": ["A"] * 5, "k": ["p", "q", "p", "q", "q"], "c": [100, 1, 104, 3, 7]}
    assert [(m["k"], m.start, m.end) for m in CLOCK.run(events)] == [
        ("p", 0, 2),
        ("q", 1, 3),
        ("q", 3, 4),
    ]
    events["c"] = [100, 1, 104, 3, 2]
    with pytest.raises(catena.CatenaDataError, match="row 4: column 'c' goes back"):
        CLOCK.count(events)


def test_a_row_of_no_part_may_hold_any_clock() -> None:
    events = {"type": ["A"] * 4, "k": ["p", None, None, "p"], "c": [100, None, 3, 101]}
    assert CLOCK.count(events) == 1
    query = catena.Query("SELECT * FROM S WHERE A ; A WITHIN 5 [c]", stream="s")
    assert query.count({"type": ["A"] * 3, "s": ["S", "T", "S"], "c": [1.5, None, 2.0]}) == 1
    with pytest.raises(catena.CatenaDataError, match="row 1: column 'c' orders the rows and is nu"):
        query.count({"type": ["A"] * 3, "s": ["S", "S", "S"], "c": [1.5, None, 2.0]})


def test_a_clock_that_falls_leaves_the_stream_as_it_was() -> None:
    stream = CLOCK.stream()
    stream.push({"type": ["A", "A"], "k": ["p", "q"], "c": [100, 1]})
    with pytest.raises(catena.CatenaDataError, match="row 3: column 'c' goes back"):
        stream.push({"type": ["A", "A"], "k": ["q", "p"], "c": [9, 99]})
    assert stream.position == 2
    restored = CLOCK.restore(stream.snapshot())
    for going_on in (stream, restored):
        with pytest.raises(catena.CatenaDataError, match="row 2: column 'c' goes back"):
            going_on.push({"type": "A", "k": "p", "c": 99})
        assert [m["k"] for m in going_on.push({"type": "A", "k": "q", "c": 6})] == ["q"]
        assert [m["k"] for m in going_on.push({"type": "A", "k": "p", "c": 105})] == ["p"]


def test_late_rows_of_a_part_are_dropped() -> None:
    stream = CLOCK.stream(on_late="drop")
    events = {"type": ["A"] * 4, "k": ["p", "q", "p", "p"], "c": [100, 1, 99, 100]}
    assert [(m.start, m.end) for m in stream.push(events)] == [(0, 3)]
    assert stream.late_count == 1


def test_the_time_must_not_fall_over_all_parts() -> None:
    query = catena.Query(CLOCK.text, time="ts")
    events = {"type": ["A", "A"], "k": ["p", "q"], "c": [5, 1], "ts": [1, 2]}
    assert query.count(events) == 0
    with pytest.raises(catena.CatenaDataError, match="row 1: column 'ts' goes back"):
        query.count({**events, "ts": [2, 1]})


def test_parts_with_a_clock_of_their_own_expire_by_it() -> None:
    """What lies behind a part's own clock is let go, however far other parts have come."""
    stream = CLOCK.stream()
    stream.push({"type": "A", "k": "slow", "c": 0})
    for at in range(0, 300_000, 50_000):
        clocks = list(range(at, at + 50_000))
        stream.push({"type": ["A"] * 50_000, "k": ["fast"] * 50_000, "c": clocks})
    assert stream.stats()["graph_nodes"] < 200_000
    assert [m["k"] for m in stream.push({"type": "A", "k": "slow", "c": 5})] == ["slow"]
