"""`catena.spark.match` and `detect` over DataFrames."""

from __future__ import annotations

import datetime as dt
import random
from dataclasses import replace
from decimal import Decimal
from typing import Any

import pyarrow as pa
import pytest
from asked import Question, answers
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import table_of
from test_cases import load
from test_semantics import COMMON, can_match

import catena
import oracle
from generators import QUERY, STRATEGIES, STREAMS, TERMS, TIMED, UNARY, queries, rows
from oracle import ComplexEvent

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


# ---------------------------------------------------------------------------------------------
# The same answers as everywhere


def case_questions() -> tuple[list[Question], list[set[ComplexEvent]]]:
    """The queries of the case files, and the matches that they have."""
    questions, expected = [], []
    for _, stream, case in load():
        if "error" not in case:
            query = catena.Query(case["query"], **case.get("columns", {}))
            questions.append(Question(query, pa.table(stream)))
            expected.append(
                {
                    ComplexEvent(start, end, frozenset((x, p) for x, at in m.items() for p in at))
                    for start, end, m in case["matches"]
                }
            )
    return questions, expected


def test_the_case_files(spark: Any) -> None:
    questions, expected = case_questions()
    for question, found, due in zip(questions, answers(spark, questions), expected, strict=True):
        assert set(found) == due and len(found) == len(due), question.query.text


def drawn(count: int, features: Any) -> list[tuple[oracle.Query, list[dict[str, Any]]]]:
    """Random queries and rows, always the same ones."""
    found: list[tuple[oracle.Query, list[dict[str, Any]]]] = []

    @settings(max_examples=4 * count, derandomize=True, database=None, **COMMON)
    @given(queries(features), rows(), st.just(0))
    def draw(asked: oracle.Query, events: list[dict[str, Any]], _: int) -> None:
        asked = replace(asked, strategy=STRATEGIES[len(found) % len(STRATEGIES)])
        if len(found) < count and events and can_match(asked):
            found.append((asked, events))

    draw()
    return found


def compare_random_queries(spark: Any, count: int) -> None:
    """Random queries, with all strategies and windows, against the oracle."""
    features = UNARY | QUERY | TERMS | STREAMS | TIMED
    asked = [(q, r, due) for q, r in drawn(count, features) if (due := expected(q, r)) is not None]
    questions = [
        Question(catena.Query(q.text(), time="ts", stream="stream"), table_of(r))
        for q, r, _ in asked
    ]
    assert {q.strategy for q, _, _ in asked} == set(STRATEGIES)
    for (query, events, due), found in zip(asked, answers(spark, questions), strict=True):
        reported: list[list[ComplexEvent]] = [[] for _ in events]
        for event in found:
            reported[event.end].append(event)
        problem = oracle.difference(query, due, reported)
        assert not problem, f"{problem}\nrows: {events}"


def expected(asked: oracle.Query, events: list[dict[str, Any]]) -> Any:
    try:
        return oracle.results(asked, events, time="ts", stream="stream")
    except oracle.OverBudget:
        return None


def test_random_queries(spark: Any) -> None:
    compare_random_queries(spark, 24)


@pytest.mark.slow
def test_many_random_queries(spark: Any) -> None:
    compare_random_queries(spark, 150)


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
    with pytest.raises(catena.CatenaError, match="sort is 'quick'"):
        catena.spark.match(
            df, catena.Query("SELECT * WHERE A", time="t", type="Type"), sort="quick"
        )


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
