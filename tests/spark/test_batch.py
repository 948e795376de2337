"""`catena.spark.match` and `detect` over DataFrames."""

from __future__ import annotations

import datetime as dt
import random
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest

import catena
from catena.spark.types import arrow_schema

EPOCH = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)
SENSORS = "ts timestamp, type string, id int, value double"


def sensors(spark: Any, count: int = 300, keys: int = 4, seed: int = 1) -> Any:
    """Rows of sensors in no order."""
    rng = random.Random(seed)
    made = [
        (EPOCH + dt.timedelta(seconds=i), rng.choice("ABC"), rng.randrange(keys), rng.random())
        for i in range(count)
    ]
    rng.shuffle(made)
    return spark.createDataFrame(made, SENSORS)


def locally(query: catena.Query, df: Any, key: str = "id") -> list[dict[str, Any]]:
    """The matches of a query in each key's rows, as a stream of their own."""
    found = []
    table = df.orderBy("ts").toArrow()
    for value in sorted(set(table.column(key).to_pylist())):
        part = table.filter(pa.compute.equal(table.column(key), value))
        found += [{key: value, **match.to_dict()} for match in query.run(part)]
    return sorted(found, key=repr)


def listed(df: Any) -> list[dict[str, Any]]:
    """The rows of a DataFrame, arrays as tuples."""
    rows_of = df.toArrow().to_pylist()
    as_tuples = [
        {k: tuple(v) if isinstance(v, list) else v for k, v in row.items()} for row in rows_of
    ]
    return sorted(as_tuples, key=repr)


PAIRS = """
    SELECT a, b, b.value - a.value AS change, b.ts - a.ts AS took
    WHERE (A AS a ; B AS b) FILTER a[value < 0.5] PARTITION BY [id] WITHIN 20 seconds
"""


ABSENT = """
    SELECT a, c WHERE A AS a ; NOT (B ;[<= 3 s] (A AS d FILTER d.value < a.value)) ; B AS c
    PARTITION BY [id] WITHIN 20 seconds
"""


@pytest.mark.parametrize("text", [PAIRS, ABSENT], ids=["pairs", "absent"])
def test_positions_number_the_rows_of_a_key_in_order(spark: Any, text: str) -> None:
    df = sensors(spark)
    query = catena.Query(text, time="ts")
    found = listed(df.transform(catena.spark.match, query))
    assert len(found) > 10
    assert found == [{k: row[k] for k in found[0]} for row in locally(query, df)]


@pytest.mark.parametrize("options", [{"sort": "spark"}, {"bytes_max": 500}])
def test_however_rows_are_ordered_the_matches_are_the_same(
    spark: Any, options: dict[str, Any]
) -> None:
    df, query = sensors(spark), catena.Query(PAIRS, time="ts")
    assert listed(catena.spark.match(df, query, **options)) == listed(catena.spark.match(df, query))


def test_by_divides_a_query_that_does_not(spark: Any) -> None:
    df = sensors(spark)
    whole = catena.Query("SELECT a, b WHERE (A AS a ; B AS b) WITHIN 9 seconds", time="ts")
    divided = catena.Query(f"{whole.text[:-16]} PARTITION BY [id] WITHIN 9 seconds", time="ts")
    assert listed(catena.spark.match(df, whole, by="id")) == listed(catena.spark.match(df, divided))


def test_ties_in_time_are_settled_by_further_columns(spark: Any) -> None:
    rows_of = [(0, "B", 3), (0, "A", 1), (0, "B", 2), (0, "A", 4)]
    df = spark.createDataFrame(rows_of, "t int, type string, seq int")
    query = catena.Query("SELECT a, b WHERE A AS a : B AS b", time="t")
    [row] = catena.spark.match(df, query, (), ["t", "seq"]).collect()
    assert (row.start, row.end, row.a, row.b) == (0, 1, [0], [1])


def test_rows_with_a_null_in_the_key_belong_to_no_part(spark: Any) -> None:
    rows_of = [(1, "A", None), (2, "B", None), (3, "A", "x"), (4, "B", "x")]
    df = spark.createDataFrame(rows_of, "t int, type string, k string")
    query = catena.Query("SELECT * WHERE A ; B PARTITION BY [k]", time="t")
    assert [row.k for row in catena.spark.match(df, query).collect()] == ["x"]


# ---------------------------------------------------------------------------------------------
# Types


def test_every_type_of_spark_in_predicates_keys_measures_and_rows(spark: Any) -> None:
    kinds = {
        "boolean": (True, "v = TRUE"),
        "tinyint": (7, "v > 6"),
        "smallint": (300, "v > 299"),
        "int": (70_000, "v = 70000"),
        "bigint": (2**40, "v > 1"),
        "float": (1.5, "v = 1.5"),
        "double": (2.25, "v < 3"),
        "decimal(10,2)": (Decimal("12.34"), "v = 12.34"),
        "string": ("héllo", "v LIKE 'h%o'"),
        "date": (dt.date(2026, 3, 1), "v IS NOT NULL"),
        "timestamp": (dt.datetime(2026, 3, 1, 12, 0, 0, 123456), "v IS NOT NULL"),
        "timestamp_ntz": (dt.datetime(2026, 3, 1, 12, 0, 0, 654321), "v IS NOT NULL"),
    }
    for kind, (value, predicate) in kinds.items():
        rows_of = [(1, "A", value), (2, "A", None), (3, "B", value)]
        df = spark.createDataFrame(rows_of, f"t int, type string, v {kind}")
        text = f"SELECT a, first(a.v) AS was, b[v] WHERE (A AS a ; B AS b) FILTER a[{predicate}]"
        query = catena.Query(f"{text} PARTITION BY [v]", time="t")
        found = catena.spark.match(df, query, rows=True)
        [row] = found.collect()
        assert (row.v, row.was, row["b.v"]) == (value, value, [value]), kind
        assert row.a_rows[0].asDict() == {"t": 1, "type": "A", "v": value}, kind
        assert found.schema["was"].dataType.simpleString() == kind
        found.write.format("noop").mode("overwrite").save()


def test_times_of_every_kind_order_the_rows(spark: Any) -> None:
    stamps = [dt.datetime(2026, 3, 1, 12, 0, s) for s in (0, 5)]
    for kind, times in {
        "timestamp": stamps,
        "timestamp_ntz": stamps,
        "date": [dt.date(2026, 3, 1), dt.date(2026, 3, 2)],
        "double": [0.5, 1.5],
        "decimal(10,3)": [Decimal("1.5"), Decimal("2.5")],
        "smallint": [1, 2],
    }.items():
        rows_of = [(times[1], "B"), (times[0], "A")]
        df = spark.createDataFrame(rows_of, f"t {kind}, type string")
        query = catena.Query("SELECT a, b WHERE A AS a ; B AS b", time="t")
        [row] = catena.spark.match(df, query, by=()).collect()
        assert (row.start_time, row.end_time) == (times[0], times[1]), kind


def test_columns_whose_names_differ_in_case_only_get_a_number(spark: Any) -> None:
    df = spark.createDataFrame([(1, "A"), (2, "B")], "t int, type string")
    query = catena.Query("SELECT x, X WHERE A AS x ; B AS X", time="t")
    found = catena.spark.match(df, query, by=())
    assert found.columns[-2:] == ["x", "X_2"]
    assert found.select("X_2").first()[0] == [1]


def test_columns_may_have_names_that_are_no_words(spark: Any) -> None:
    rows_of = [(1, "A", 1), (2, "B", 1), (3, "B", None)]
    df = spark.createDataFrame(rows_of, "`t.x` int, type string, `a ``key``` int")
    query = catena.Query("SELECT a, b WHERE A AS a ; B AS b", time="t.x")
    for sort in ("native", "spark"):
        [row] = catena.spark.match(df, query, by="a `key`", rows=True, sort=sort).collect()
        assert (row["a `key`"], row.a, row.b, row.b_rows[0]["t.x"]) == (1, [0], [1], 2)


def test_integers_are_nanoseconds_if_the_query_says_so(spark: Any) -> None:
    """Spark has no times finer than microseconds; where it reads some, it reads integers."""
    first = 1_700_000_000_000_000_001
    df = spark.createDataFrame(
        [(first, "A"), (first + 2, "B"), (first + 9, "B")], "t long, type string"
    )
    query = catena.Query("SELECT a, b WHERE A AS a ;[<= 2 ns] B AS b", time="t", time_unit="ns")
    [row] = catena.spark.match(df, query, by=()).collect()
    assert (row.start_time, row.end_time) == (first, first + 2)


def test_releases_of_spark_ask_for_the_zone_by_different_names(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.sql.pandas import types

    now = types.to_arrow_type
    schema = spark.range(1).selectExpr("current_timestamp() AS ts", "'x' AS s").schema

    def earlier(dt: Any, *, timestamp_utc: bool = True, prefers_large_types: bool = False) -> Any:
        zone = "UTC" if timestamp_utc else None
        return now(dt, timezone=zone, prefers_large_types=prefers_large_types)

    expected = arrow_schema(schema, ["ts", "s"])
    monkeypatch.setattr(types, "to_arrow_type", earlier)
    assert arrow_schema(schema, ["ts", "s"]) == expected
    assert expected.field("ts").type == pa.timestamp("us", "UTC")


def test_no_rows_give_no_matches_of_the_same_columns(spark: Any) -> None:
    df, query = sensors(spark), catena.Query(PAIRS, time="ts")
    nothing = catena.spark.match(df.where("id > 99"), query)
    assert nothing.count() == 0
    assert nothing.schema == catena.spark.match(df, query).schema == catena.spark.schema(query, df)


# ---------------------------------------------------------------------------------------------
# Errors, each before a task is started


def test_what_is_wrong_is_said_at_once(spark: Any) -> None:
    df = spark.createDataFrame([(1, "A", [1])], "t int, Type string, v array<int>")
    ask = catena.Query("SELECT * WHERE A", time="t")
    with pytest.raises(catena.CatenaDataError, match=r"no column 'type'.*\n.*did you mean 'Type'"):
        catena.spark.match(df, ask)
    listed_values = catena.Query("SELECT * WHERE A FILTER A[v > 1]", time="t", type="Type")
    with pytest.raises(catena.CatenaError, match="list"):
        catena.spark.match(df, listed_values)
    unordered = catena.Query("SELECT * WHERE A", type="Type")
    with pytest.raises(catena.CatenaError, match="no order"):
        catena.spark.match(df, unordered)
    with pytest.raises(catena.CatenaError, match="the query is a str"):
        catena.spark.match(df, "SELECT * WHERE A")
    typed = catena.Query("SELECT * WHERE A", time="t", type="Type")
    with pytest.raises(catena.CatenaError, match="sort is 'quick'"):
        catena.spark.match(df, typed, sort="quick")
    with pytest.raises(catena.CatenaError, match="by takes names of columns"):
        catena.spark.match(df, typed, by=df["Type"])
    with pytest.raises(catena.CatenaError, match="the events are a list"):
        catena.spark.match([], typed)
    stream = spark.readStream.format("rate").load()
    for ask_stream in (catena.spark.match, catena.spark.detect):
        with pytest.raises(catena.CatenaError, match="the DataFrame is a stream"):
            ask_stream(stream, typed)


def test_without_a_key_a_warning_says_how_many_rows_one_task_gets(spark: Any) -> None:
    df = sensors(spark, 30)
    query = catena.Query("SELECT * WHERE A ; B", time="ts")
    with pytest.warns(UserWarning, match="no key, so all 30 rows are evaluated in one task"):
        catena.spark.match(df, query)


def test_a_null_time_is_told_by_the_task(spark: Any) -> None:
    df = spark.createDataFrame([(1, "A"), (None, "B")], "t int, type string")
    found = catena.spark.match(df, catena.Query("SELECT * WHERE A", time="t"), by=())
    with pytest.raises(Exception, match="column 't' orders the rows and is null"):
        found.collect()


# ---------------------------------------------------------------------------------------------
# The event algebra


def test_detect_is_the_same_pass_with_a_detector(spark: Any) -> None:
    df = sensors(spark)
    algebra = catena.Algebra("(A ; B)[20 s] - C", time="ts", values=True)
    found = listed(catena.spark.detect(df, algebra, by="id"))
    assert len(found) > 10
    names = found[0]
    local = locally(algebra, df)
    assert found == sorted(({k: row[k] for k in names} for row in local), key=repr)


# ---------------------------------------------------------------------------------------------
# Many keys


def test_a_hundred_thousand_keys(spark: Any) -> None:
    keys = spark.range(0, 200_000, 1, 2)
    df = keys.selectExpr(
        "id % 100000 AS id", "timestamp_micros(id) AS ts", "IF(id < 100000, 'A', 'B') AS type"
    )
    query = catena.Query("SELECT a, b WHERE A AS a ; B AS b PARTITION BY [id]", time="ts")
    found = catena.spark.match(df, query)
    counts = found.selectExpr("count(*)", "count(DISTINCT id)", "sum(a[0])", "sum(b[0])").first()
    assert tuple(counts) == (100_000, 100_000, 0, 100_000)
