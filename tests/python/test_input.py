"""Input of every shape gives the same matches; bad input gives a clear error."""

from __future__ import annotations

import datetime
import decimal

import duckdb
import pandas
import polars
import pyarrow as pa
import pytest

import catena

QUERY = catena.Query("SELECT x, y WHERE (A AS x ; B AS y) FILTER x[v > 1] AND y[s != 'no']")
COLUMNS = {"type": ["A", "A", "B", "B"], "v": [1, 2, 3, None], "s": ["", None, "yes", "no"]}
ROWS = [dict(zip(COLUMNS, row, strict=True)) for row in zip(*COLUMNS.values(), strict=True)]
EXPECTED = [((1,), (2,))]


def found(events: object) -> list[tuple[object, object]]:
    return [(m["x"], m["y"]) for m in QUERY.run(events)]


TABLE = pa.table(COLUMNS)


@pytest.mark.parametrize(
    "events",
    [
        TABLE,
        TABLE.to_batches()[0],
        TABLE.to_reader(),
        pa.Table.from_batches([TABLE.slice(0, 1).to_batches()[0], TABLE.slice(1).to_batches()[0]]),
        COLUMNS,
        {name: pa.array(values) for name, values in COLUMNS.items()},
        ROWS,
        tuple(ROWS),
        iter(ROWS),
        (row for row in ROWS),
        TABLE.to_batches(),
        pandas.DataFrame(COLUMNS),
        polars.DataFrame(COLUMNS),
        polars.DataFrame(COLUMNS).lazy().collect(),
        duckdb.from_arrow(TABLE),
    ],
    ids=lambda events: type(events).__module__ + "." + type(events).__name__,
)
def test_every_shape(events: object) -> None:
    assert found(events) == EXPECTED


@pytest.mark.parametrize(
    "kind",
    [
        pa.string(),
        pa.large_string(),
        pa.string_view(),
        pa.dictionary(pa.int8(), pa.string()),
        pa.dictionary(pa.uint32(), pa.large_string()),
    ],
    ids=str,
)
def test_string_types(kind: pa.DataType) -> None:
    table = TABLE.set_column(0, "type", TABLE["type"].combine_chunks().cast(kind))
    table = table.set_column(2, "s", table["s"].combine_chunks().cast(kind))
    assert found(table) == EXPECTED
    assert found(table.slice(1)) == [((0,), (1,))]


INTEGERS = [getattr(pa, f"{sign}int{bits}")() for sign in ("", "u") for bits in (8, 16, 32, 64)]


@pytest.mark.parametrize("kind", [*INTEGERS, pa.float32(), pa.float64(), pa.float16()], ids=str)
def test_number_types(kind: pa.DataType) -> None:
    values = TABLE["v"].combine_chunks().cast(pa.float32() if kind == pa.float16() else kind)
    assert found(TABLE.set_column(1, "v", values.cast(kind))) == EXPECTED


def count(predicate: str, array: pa.Array) -> int:
    """How many of the values satisfy a predicate on `a`."""
    query = catena.Query(f"SELECT NONE WHERE ANY AS x FILTER x[{predicate}]")
    return query.count(pa.table({"a": array}))


def test_large_integers_are_exact() -> None:
    big = pa.array([2**53, 2**53 + 1, 2**63 - 1, None], pa.int64())
    assert count(f"a = {2**53 + 1}", big) == 1
    assert count(f"a > {2**63 - 2}", big) == 1
    assert count(f"a < {2**64 - 1}", big) == 3
    unsigned = pa.array([2**63, 2**64 - 1, 0], pa.uint64())
    assert count(f"a >= {2**63}", unsigned) == 2
    assert count(f"a IN {{0, {2**64 - 1}}}", unsigned) == 2
    assert count("a - 1 < 0", unsigned) == 1


def test_decimals_that_fit_a_float() -> None:
    half = pa.array([decimal.Decimal("0.5"), decimal.Decimal("1.25")], pa.decimal128(9, 2))
    assert count("a > 0.5", half) == 1
    tenth = pa.array([decimal.Decimal("0.1")], pa.decimal128(20, 18))
    assert count("a > 0.05", pa.array([decimal.Decimal("0.5")], pa.decimal128(20, 18))) == 1
    with pytest.raises(catena.CatenaDataError, match="does not hold exactly"):
        count("a > 0.05", pa.array([decimal.Decimal("0.123456789012345678")], tenth.type))


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "+02:00"])
def test_timestamps(unit: str, zone: str | None) -> None:
    utc = datetime.datetime(2026, 1, 31, 12, 0, 0, tzinfo=datetime.UTC)
    values = [utc, utc + datetime.timedelta(hours=1), None]
    if zone is None:
        values = [v and v.replace(tzinfo=None) for v in values]
    array = pa.array(values, pa.timestamp(unit, tz=zone))
    hours = {"Europe/Berlin": 1, "+02:00": 2}.get(zone or "", 0)
    assert count(f"a = '2026-01-31 {12 + hours}:00:00'", array) == 1
    assert count(f"a > '2026-01-31T{12 + hours}:00'", array) == 1
    assert count("a >= '2026-01-31'", array) == 2
    assert count("a IN {'2026-02-01'}", array) == 0
    if zone:
        assert count("a = '2026-01-31 12:00:00+00:00'", array) == 1


def test_dates_and_durations() -> None:
    days = pa.array([datetime.date(2026, 1, 31), datetime.date(2026, 2, 1)])
    assert count("a < '2026-02-01'", days) == 1
    assert count("a BETWEEN '2026-01-01' AND '2026-12-31'", days.cast(pa.date64())) == 2
    spans = pa.array([5, 10], pa.duration("ms"))
    assert count("a > 5", spans) == 1


def test_booleans_and_nulls() -> None:
    flags = pa.array([True, False, None])
    assert count("a", flags) == 1
    assert count("NOT a", flags) == 1
    assert count("a = TRUE OR a != TRUE", flags) == 2
    assert count("a IS NULL", flags) == 1
    assert count("a IS NOT NULL", flags) == 2
    assert count("a", pa.nulls(3)) == 0
    assert count("a > 3", pa.nulls(3)) == 0
    assert count("a IS NULL", pa.nulls(3)) == 3


def test_nan_compares_as_ieee_754_says() -> None:
    values = pa.array([float("nan"), 1.0])
    assert count("a = a", values) == 1
    assert count("a != a", values) == 1
    assert count("NOT a < 0", values) == 2


def test_a_column_that_no_predicate_names_may_have_any_type() -> None:
    table = TABLE.append_column("extra", pa.array([[1], [], None, [2, 3]]))
    assert found(table) == EXPECTED
    query = catena.Query("SELECT * WHERE A FILTER A[extra > 3]")
    with pytest.raises(catena.CatenaError, match=r"list<.*which predicates cannot read"):
        query.count(table)


def test_an_unknown_column_names_those_there_are() -> None:
    query = catena.Query("SELECT * WHERE A FILTER A[valeu > 3]")
    message = "there is no column 'valeu'; the columns are 'type', 'value'"
    for events in ({"type": ["A"], "value": [1]}, [{"type": "A", "value": 1}]):
        with pytest.raises(catena.CatenaDataError, match=message) as caught:
            query.count(events)
        assert caught.value.hint == "did you mean 'value'?"


def test_types_that_cannot_be_compared() -> None:
    query = catena.Query("SELECT * WHERE A FILTER A[v = 'x']")
    with pytest.raises(catena.CatenaError, match="cannot compare a number with a string") as caught:
        query.count({"type": ["A"], "v": [1]})
    assert (caught.value.line, caught.value.column) == (1, 27)


def test_a_time_that_goes_back() -> None:
    query = catena.Query("SELECT * WHERE A ; B WITHIN 5", time="ts")
    events = {"type": ["A", "A", "B", "B"], "ts": [1, 5, 4, 6]}
    with pytest.raises(catena.CatenaDataError, match="row 2: column 'ts' goes back") as caught:
        query.count(events)
    assert caught.value.row == 2
    stream = query.stream(on_late="drop")
    assert [m.end for m in stream.push(events)] == [3, 3]
    assert stream.late_count == 1
    assert query.count(events, on_late="drop") == 2


def test_bad_data_leaves_the_stream_as_it_was() -> None:
    query = catena.Query("SELECT * WHERE A ; B", time="ts")
    stream = query.stream()
    stream.push({"type": ["A"], "ts": [5]})
    with pytest.raises(catena.CatenaDataError, match="row 2"):
        stream.push({"type": ["A", "B"], "ts": [6, 1]})
    with pytest.raises(catena.CatenaDataError, match=r"row 1: .* is null"):
        stream.push({"type": ["B"], "ts": [None]})
    assert stream.position == 1
    assert stream.push({"type": ["B"], "ts": [5]}).count() == 1


@pytest.mark.parametrize("events", [5, "SELECT", b"bytes", [1, 2], [{"type": "A"}, 7]])
def test_what_is_no_input(events: object) -> None:
    with pytest.raises(catena.CatenaDataError):
        catena.Query("SELECT * WHERE A").count(events)


@pytest.mark.parametrize(
    "events", [[], {"type": []}, iter([]), pa.table({"type": pa.array([], "string")})]
)
def test_nothing_at_all(events: object) -> None:
    matches = catena.Query("SELECT x WHERE A AS x").run(events)
    table = matches.to_arrow()
    assert table.num_rows == 0 and table.column_names == ["start", "end", "x"]


def test_an_iterator_is_read_once() -> None:
    matches = QUERY.run(iter(ROWS))
    assert matches.count() == 1
    with pytest.raises(catena.CatenaError, match="only once"):
        list(matches)


def test_missing_keys_of_a_mapping_are_null() -> None:
    query = catena.Query("SELECT x WHERE ANY AS x FILTER x[hum IS NULL]")
    rows = [{"type": "T", "temp": 3}, {"type": "H", "hum": 1}]
    assert [m["x"] for m in query.run(rows)] == [(0,)]
    assert query.stream().push({"type": "T"}).count() == 1
