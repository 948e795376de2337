"""Keys of PARTITION BY: equal values are one part, whatever the types of the batches they come in."""

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
