"""Input of every shape gives the same matches; bad input gives a clear error."""

from __future__ import annotations

import datetime
import subprocess
import sys
from collections.abc import Iterator
from decimal import Decimal

import duckdb
import numpy
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


DECIMALS = [
    pa.decimal32(9, 2),
    pa.decimal64(18, 2),
    pa.decimal128(10, 2),
    pa.decimal128(38, 18),
    pa.decimal128(38, 36),
    pa.decimal256(50, 20),
]


@pytest.mark.parametrize("kind", DECIMALS, ids=str)
def test_a_decimal_is_read_as_the_float_that_is_written_alike(kind: pa.DataType) -> None:
    prices = pa.array([Decimal("0.30"), Decimal("1.10"), None, Decimal("-0.50")], kind)
    assert count("a = 0.3", prices) == 1
    assert count("a = 1.1", prices) == 1
    assert count("a < 0.3", prices) == 1
    assert count("a IS NULL", prices) == 1


def test_a_decimal_that_no_float_stands_for_is_refused_where_it_is_read() -> None:
    many = pa.array([Decimal("1.5"), Decimal("0.123456789012345678")], pa.decimal128(20, 18))
    message = "row 1: column 'a' is 0.123456789012345678, which a float64 does not hold exactly"
    with pytest.raises(catena.CatenaDataError, match=message):
        count("a > 0.05", many)


def test_a_decimal_that_is_only_shown_or_a_key_is_shown_as_it_is() -> None:
    many = Decimal("0.123456789012345678")
    query = catena.Query("SELECT x[a], x.a WHERE A AS x ; A PARTITION BY [a]")
    (match,) = query.run({"type": ["A", "A", "A"], "a": [many, Decimal(1), many]})
    assert (match["a"], match["x.a"]) == (many, (many,))


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


@pytest.mark.parametrize(
    ("column", "literal"),
    [
        (pa.array([0, 1, None], pa.timestamp("s")), "'1970-01-01 00:00:00.5'"),
        (pa.array([0, 1, None], pa.timestamp("s", "UTC")), "'1970-01-01T00:00:00.5+00:00'"),
        (pa.array([0, 1, None], pa.timestamp("us")), "'1970-01-01 00:00:00.000000001'"),
        (pa.array([0, 1, None], pa.date32()), "'1970-01-01 12:00:00'"),
    ],
    ids=lambda given: str(getattr(given, "type", given)),
)
def test_a_time_between_two_ticks_of_the_column(column: pa.Array, literal: str) -> None:
    """The first value lies before the literal, the second after it, and none is equal to it."""
    expected = {"<": 1, "<=": 1, "=": 0, "!=": 2, ">": 1, ">=": 1}
    assert {op: count(f"a {op} {literal}", column) for op in expected} == expected
    assert {op: count(f"{literal} {op} a", column) for op in expected} == expected
    assert count(f"a IN {{{literal}}}", column) == 0
    assert count(f"a IN {{{literal}..}}", column) == 1


def test_a_time_zone_that_nobody_knows() -> None:
    column = pa.array([0], pa.timestamp("s", "Mars/Base"))
    with pytest.raises(catena.CatenaError, match="time zone 'Mars/Base' is not known"):
        count("a < '2020-01-01'", column)
    assert count("a < '2020-01-01T00:00:00+00:00'", column) == 1


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


def test_a_misspelt_column_of_events_one_by_one() -> None:
    """As for a list, but an iterator that is longer than a batch is read to its end first: any
    event may be the first to have the attribute."""
    query = catena.Query("SELECT * WHERE A FILTER A[valeu > 3]")
    for length in (3, 5_000, 8_192):
        events = ({"type": "A", "value": 1} for _ in range(length))
        with pytest.raises(catena.CatenaDataError, match="there is no column 'valeu'") as caught:
            query.count(events)
        assert caught.value.hint == "did you mean 'value'?"
    late = ({"type": "A"} if i < 6_000 else {"type": "A", "valeu": 5} for i in range(6_001))
    assert query.count(late) == 1


def test_types_and_streams_are_text() -> None:
    with pytest.raises(catena.CatenaDataError, match="'type' holds the type of each row, which is"):
        catena.Query("SELECT * WHERE A").count({"type": [1, 2]})
    with pytest.raises(catena.CatenaDataError, match="'s' holds the stream of each row") as caught:
        catena.Query("SELECT * FROM S WHERE ANY", stream="s").count({"type": ["A"], "s": [1]})
    assert caught.value.hint == "cast it to strings, or name another column with stream='...'"
    numbers = catena.Query("SELECT * WHERE ANY FILTER ANY[type > 3]")
    assert numbers.count({"type": [1, 4]}) == 1


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


def test_a_batch_whose_types_do_not_fit_leaves_the_stream_as_it_was() -> None:
    query = catena.Query("SELECT sum(x.v) AS s WHERE A+ AS x")
    stream = query.stream()
    stream.push({"type": "A", "v": 1})
    with pytest.raises(catena.CatenaDataError, match="column 'v' changed between int64 and string"):
        stream.push({"type": "A", "v": "x"})
    assert stream.position == 1
    assert query.restore(stream.snapshot()).position == 1
    assert sorted(m["s"] for m in stream.push({"type": "A", "v": 5})) == [5, 6]


NO_INPUT = {
    "events of type int": 5,
    "events of type str": "SELECT",
    "events of type bytes": b"bytes",
    "event 0 is a int": [1, 2],
    "event 1 is a int": [{"type": "A"}, 7],
    "event 0 has no attributes": {},
    "event 1 has no attributes": [{"type": "A", "v": 1}, {}],
    "column 'v' is a int, not an array": {"type": ["A"], "v": 3},
    "column 'v' is a str, not an array": {"type": ["A"], "v": "3"},
    "column 'type' cannot be read: Expected bytes": {"type": ["A", 2], "v": [1, 2]},
    "the columns cannot be read: .* length": {"type": ["A", "A"], "v": [1, 2]} | {"v": [1]},
    "column 'v' cannot be read: Could not convert": pandas.DataFrame(
        {"type": ["A", "A"], "v": [1, "a"]}
    ),
    "column 'v' cannot be read: Unsupported": pandas.DataFrame({"type": ["A"], "v": [1j]}),
    "2 columns named 'v'": pandas.DataFrame([["A", 1, 2]], columns=["type", "v", "v"]),
    "an array of int64 is one column": pa.array([1]),
    "an array of int64 is|event 0 is a int": pandas.Series([1]),
    "an array of int64": polars.Series([1]),
    "nulls in place of events": pa.array([{"type": "A", "v": 1}, None]),
}


@pytest.mark.parametrize("message", NO_INPUT)
def test_what_is_no_input(message: str) -> None:
    query = catena.Query("SELECT x.v WHERE A AS x")
    with pytest.raises(catena.CatenaDataError, match=message):
        list(query.run(NO_INPUT[message]))


def test_arrays_of_structs_are_tables() -> None:
    rows = pa.array(ROWS)
    assert found(rows) == found(pa.chunked_array([rows])) == EXPECTED
    assert found(rows[1:]) == found(pa.chunked_array([rows[1:]])) == [((0,), (1,))]
    assert found(polars.Series(ROWS)) == EXPECTED


@pytest.mark.parametrize(
    "tags", [["p", "q"], ("p",), numpy.array([1, 2]), {"p"}, range(3), b"", {"a": 1}], ids=repr
)
def test_an_attribute_of_one_event_may_be_a_list(tags: object) -> None:
    """A mapping is one event if its type is text, whatever its other attributes are."""
    stream = catena.Query("SELECT x WHERE Alarm AS x").stream()
    assert [m["x"] for m in stream.push({"type": "Alarm", "tags": tags})] == [(0,)]
    assert stream.position == 1


def test_one_event_without_a_type_has_some_single_value() -> None:
    query = catena.Query("SELECT x[tags] WHERE ANY AS x")
    assert [m["x.tags"] for m in query.run({"id": 1, "tags": ["p", "q"]})] == [(["p", "q"],)]
    assert query.count({"id": [1, 2], "tags": [["p", "q"], []]}) == 2


def test_a_query_that_reads_no_column_counts_rows() -> None:
    query = catena.Query("SELECT NONE WHERE ANY : ANY")
    frame = pandas.DataFrame({"z": [1, 2, 3]})
    one_by_one = [{"z": i} for i in range(3)]
    for events in (frame, frame[[]], polars.from_pandas(frame), {"z": [1, 2, 3]}, one_by_one):
        assert query.count(events) == 2


def test_events_and_tables_may_take_turns() -> None:
    batch = pa.record_batch({"type": ["A", "B"]})
    query = catena.Query("SELECT * WHERE A")
    assert query.count([{"type": "A"}, batch, {"type": "A"}, {"type": "C"}, batch]) == 4
    assert query.count([batch, {"type": "A"}]) == 2


def test_types_are_known_without_rows() -> None:
    query = catena.Query(
        "SELECT x[v], x.v, sum(x.v) AS s, count(x) AS n, x.v / 2 AS h WHERE A AS x "
        "PARTITION BY [k] WITHIN 5 seconds",
        time="t",
    )
    types = {"type": pa.string(), "v": pa.int8(), "k": pa.string(), "t": pa.timestamp("s")}
    positions, values = pa.list_(pa.int64()), pa.list_(pa.int8())
    expected = {
        "start": pa.int64(), "end": pa.int64(), "start_time": types["t"], "end_time": types["t"],
        "k": types["k"], "x": positions, "x.v": values, "x.v_2": types["v"], "s": pa.int64(),
        "n": pa.int64(), "h": pa.float64(),
    }  # fmt: skip
    empty = pa.schema(types).empty_table()
    for events in (empty, empty.to_pandas(), polars.from_arrow(empty), [empty]):
        shown = query.run(events).to_arrow().schema
        assert [shown.field(name).type for name in ("start", "x", "s", "n", "h")] == [
            expected[name] for name in ("start", "x", "s", "n", "h")
        ]
    assert query.run(empty).to_arrow().schema.equals(pa.schema(expected))


@pytest.mark.parametrize("events", [[], {"type": []}, iter([]), TABLE.schema.empty_table()])
def test_nothing_at_all(events: object) -> None:
    matches = catena.Query("SELECT x WHERE A AS x").run(events)
    table = matches.to_arrow()
    assert table.num_rows == 0
    assert table.schema.equals(
        pa.schema({"start": pa.int64(), "end": pa.int64(), "x": pa.list_(pa.int64())})
    )


def test_an_iterator_is_read_once() -> None:
    matches = QUERY.run(iter(ROWS))
    assert matches.count() == 1
    with pytest.raises(catena.CatenaError, match="only once"):
        list(matches)


class Once:
    """Iterable, but every time with the same iterator."""

    def __init__(self) -> None:
        self._rows = iter(ROWS)

    def __iter__(self) -> Iterator[dict[str, object]]:
        return self._rows


def test_an_iterable_with_one_iterator_is_read_once() -> None:
    matches = QUERY.run(Once())
    assert matches.count() == 1
    with pytest.raises(catena.CatenaError, match="only once"):
        matches.count()


def test_missing_numbers_of_pandas_are_null_and_those_of_numpy_are_nan() -> None:
    values = numpy.array([float("nan"), 1.0])
    assert count("a IS NULL", pa.array(values)) == 0
    query = catena.Query("SELECT NONE WHERE ANY AS x FILTER x[a IS NULL]")
    assert query.count({"a": values}) == 0
    assert query.count(pandas.DataFrame({"a": values})) == 1


def test_periods_of_pandas_are_shown_but_not_compared() -> None:
    periods = pandas.period_range("2020-01", periods=2, freq="M")
    frame = pandas.DataFrame({"type": ["A", "A"], "p": periods})
    assert catena.Query("SELECT x.p WHERE A AS x").run(frame).count() == 2
    with pytest.raises(catena.CatenaError, match=r"period.*, which predicates cannot read"):
        catena.Query("SELECT * WHERE A FILTER A[p > 3]").count(frame)


def test_missing_keys_of_a_mapping_are_null() -> None:
    query = catena.Query("SELECT x WHERE ANY AS x FILTER x[hum IS NULL]")
    rows = [{"type": "T", "temp": 3}, {"type": "H", "hum": 1}]
    assert [m["x"] for m in query.run(rows)] == [(0,)]
    assert query.stream().push({"type": "T"}).count() == 1


def test_columns_are_read_where_they_lie() -> None:
    """80 MB of numbers are evaluated without a second copy of them."""
    code = """
import resource, numpy, pyarrow, catena
values = numpy.arange(10_000_000)
kinds = pyarrow.DictionaryArray.from_arrays((values % 3).astype("int8"), ["A", "B", "C"])
table = pyarrow.table({"type": kinds, "v": values})
query = catena.Query("SELECT * WHERE (A AS x ; B) FILTER x[v > 9999000] WITHIN 5 EVENTS")
query.count(table.slice(0, 10_000))
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
assert query.count(table) > 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""
    grown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout
    assert int(grown) < 30_000  # Kilobytes.
