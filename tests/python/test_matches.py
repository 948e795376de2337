"""What matches show: items, measures, columns, counts."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest

import catena

EVENTS = pa.table(
    {
        "type": ["A", "B", "B", "C", "B", "C"],
        "v": [1, 5, None, 7, 2, 8],
        "name": ["a", "b", "c", "d", None, "f"],
        "id": [1, 1, 1, 1, 2, 2],
        "ts": pa.array([0, 1, 2, 3, 4, 5], pa.timestamp("s")),
    }
)


def measures(
    items: str, formula: str = "A AS a ; (B AS b)+ ; C AS c WITHIN 4 EVENTS"
) -> list[dict]:
    query = catena.Query(f"SELECT {items} WHERE {formula}", time="ts")
    table = query.run(EVENTS).to_arrow().drop_columns(["start", "end", "start_time", "end_time"])
    return sorted(table.to_pylist(), key=str)


def test_aggregates_skip_nulls() -> None:
    shown = measures("count(b), count(b.v), sum(b.v), avg(b.v), min(b.v), max(b.v)")
    assert shown == [
        dict(zip(shown[0], values, strict=True))
        for values in ((1, 0, None, None, None, None), (1, 1, 5, 5.0, 5, 5), (2, 1, 5, 5.0, 5, 5))
    ]


def test_first_and_last() -> None:
    assert measures("first(b.name) AS one, last(b.name) AS other") == [
        {"one": "b", "other": "b"},
        {"one": "b", "other": "c"},
        {"one": "c", "other": "c"},
    ]


def test_a_single_value_and_arithmetic() -> None:
    assert measures("c.v - a.v AS gain, (c.v + a.v) / 2, c.v % 4, -a.v", "A AS a ; C AS c") == [
        {"gain": 6, "(c.v + a.v) / 2": 4.0, "c.v % 4": 3, "-a.v": -1},
        {"gain": 7, "(c.v + a.v) / 2": 4.5, "c.v % 4": 0, "-a.v": -1},
    ]


def test_division_by_zero_is_null() -> None:
    assert measures("c.v / (a.v - 1) AS q", "A AS a ; C AS c WITHIN 4 EVENTS") == [{"q": None}]


def test_a_value_of_a_variable_that_is_not_marked_is_null() -> None:
    formula = "(A AS a OR (B AS b FILTER b[v = 5])) WITHIN 1 EVENTS"
    assert measures("a.v, b.v, count(a)", formula) == [
        {"a.v": 1, "b.v": None, "count(a)": 1},
        {"a.v": None, "b.v": 5, "count(a)": 0},
    ]


def test_several_events_are_not_one_value() -> None:
    with pytest.raises(catena.CatenaError, match=r"b\.v is not one value") as caught:
        catena.Query("SELECT b.v WHERE A ; (B AS b)+")
    assert caught.value.hint == "write first(b.v), last(b.v) or an aggregate such as avg(b.v)"
    assert (caught.value.line, caught.value.column) == (1, 8)


def test_attributes_of_a_variable() -> None:
    query = catena.Query("SELECT b[v, name] WHERE A ; (B AS b)+ ; C WITHIN 4 EVENTS")
    longest = max(query.run(EVENTS), key=lambda m: len(m["b"]))
    assert longest["b"] == (1, 2)
    assert longest["b.v"] == (5, None)
    assert longest["b.name"] == ("b", "c")


def test_a_sum_that_does_not_fit_is_an_error() -> None:
    query = catena.Query("SELECT sum(a.v) WHERE (A AS a)+")
    big = {"type": ["A", "A"], "v": [2**62, 2**62]}
    with pytest.raises(catena.CatenaDataError, match=r"sum\(a.v\) does not fit 64 bits"):
        list(query.run(big))


def test_columns_of_a_table() -> None:
    query = catena.Query(
        "SELECT a, max(b.v) AS top WHERE A AS a ; B AS b PARTITION BY [id]", time="ts"
    )
    table = query.run(EVENTS).to_arrow()
    assert table.schema.names == ["start", "end", "start_time", "end_time", "id", "a", "top"]
    assert table.schema.field("a").type == pa.list_(pa.int64())
    assert table.schema.field("start_time").type == pa.timestamp("s")
    assert table.to_pylist()[0] == {
        "start": 0,
        "end": 1,
        "start_time": datetime.datetime(1970, 1, 1),
        "end_time": datetime.datetime(1970, 1, 1, 0, 0, 1),
        "id": 1,
        "a": [0],
        "top": 5,
    }


def test_pandas_and_polars() -> None:
    matches = catena.Query("SELECT a, b WHERE A AS a ; B AS b").run(EVENTS)
    assert list(matches.to_pandas()["end"]) == [1, 2, 4]
    assert matches.to_polars()["b"].to_list() == [[1], [2], [4]]


def test_a_name_that_is_taken_gets_a_number() -> None:
    query = catena.Query("SELECT start, id WHERE A AS start ; B AS id PARTITION BY [id]")
    table = query.run(EVENTS).to_arrow()
    assert table.column_names == ["start", "end", "id", "start_2", "id_2"]


def test_a_match_as_an_object() -> None:
    query = catena.Query("SELECT a WHERE A AS a ; C", time="ts")
    match, other = query.run(EVENTS)
    assert (match.start, match.end, match["a"]) == (0, 3, (0,))
    assert match.start_time == datetime.datetime(1970, 1, 1)
    assert match.keys() == ("start", "end", "start_time", "end_time", "a")
    assert match == match and match != other and match.get("b") is None
    with pytest.raises(KeyError, match="a match has 'start', 'end'"):
        match["b"]
    assert repr(match).startswith("Match(start=0, end=3")


def test_without_a_time_column_there_are_no_times() -> None:
    (match,) = catena.Query("SELECT * WHERE A").run(EVENTS)
    assert match.start_time is None and match.end_time is None
    (named,) = catena.Query("SELECT start_time WHERE A AS start_time").run(EVENTS)
    assert named.start_time is None and named["start_time"] == (0,)


def test_matches_can_be_read_again() -> None:
    matches = catena.Query("SELECT * WHERE B").run(EVENTS)
    assert len(list(matches)) == len(list(matches)) == matches.count() == 3
    assert matches
    assert not catena.Query("SELECT * WHERE Z").run(EVENTS)


def test_any_reports_one_match_for_each_end() -> None:
    matches = catena.Query("SELECT ANY a, b WHERE ANY AS a ; B AS b").run(EVENTS)
    assert [m.end for m in matches] == [1, 2, 4]
    assert matches.count() == 3


def test_limit_is_for_each_end() -> None:
    matches = catena.Query("SELECT a, b WHERE ANY AS a ; B AS b LIMIT 2").run(EVENTS)
    assert [m.end for m in matches] == [1, 2, 2, 4, 4]
    assert matches.count() == 5


def test_counts_are_exact_past_64_bits() -> None:
    query = catena.Query("SELECT * WHERE A ; B+ ; C")
    events = {"type": ["A", *["B"] * 200, "C"]}
    assert query.count(events) == 2**200 - 1
    first = next(iter(query.run(events)))
    assert first.start == 0 and first.end == 201


def test_long_matches_are_read_in_smaller_pieces() -> None:
    """At most a million positions are in memory at once, and one match more."""
    query = catena.Query("SELECT x WHERE (A:+) AS x")
    lengths = []
    for batch in query.run({"type": ["A"] * 2_000}).batches():
        lengths.append(len(batch.column("x").flatten()))
        if len(lengths) == 40:
            break
    assert max(lengths) < 2**20 + 2_000
    assert max(lengths) >= 2**20


def test_results_are_read_lazily() -> None:
    query = catena.Query("SELECT * WHERE (A AS x)+")
    matches = iter(query.run({"type": ["A"] * 10_000}))
    assert [next(matches).end for _ in range(1000)][-1] < 20
