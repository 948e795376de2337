"""Table functions for SQL, functions for grouped data, and the doctor."""

from __future__ import annotations

import sys
from typing import Any

import pytest
from test_batch import PAIRS, listed, sensors

import catena

CHANGES = PAIRS.replace(", b.ts - a.ts AS took", "")


@pytest.fixture
def events(spark: Any) -> Any:
    df = sensors(spark)
    df.createOrReplaceTempView("events")
    return df


def test_a_registered_query_has_its_own_columns(spark: Any, events: Any) -> None:
    query = catena.Query(PAIRS, time="ts")
    catena.spark.register(spark, "pairs", query, events=events)
    found = spark.sql("SELECT * FROM pairs(TABLE(events) PARTITION BY id ORDER BY ts)")
    assert found.schema == catena.spark.schema(query, events)
    assert listed(found) == listed(catena.spark.match(events, query))


def test_without_the_table_keys_are_strings_and_measures_doubles(spark: Any, events: Any) -> None:
    catena.spark.register(spark, "guessed", catena.Query(CHANGES, time="ts"))
    found = spark.sql("SELECT * FROM guessed(TABLE(events) PARTITION BY id ORDER BY ts)")
    kinds = {field.name: field.dataType.simpleString() for field in found.schema}
    assert kinds["id"] == "string" and kinds["change"] == "double"
    assert kinds["start_time"] == "timestamp" and kinds["a"] == "array<bigint>"
    typed = catena.spark.match(events, catena.Query(PAIRS, time="ts"))
    as_guessed = typed.drop("took").withColumn("id", typed["id"].cast("string"))
    assert listed(found) == listed(as_guessed)


def test_the_general_functions_show_any_query_in_one_set_of_columns(
    spark: Any, events: Any
) -> None:
    catena.spark.register(spark)
    text = " ".join(PAIRS.split())
    found = spark.sql(
        f"SELECT * FROM catena_match(TABLE(events) PARTITION BY id ORDER BY (ts), '{text}')"
    )
    direct = catena.spark.match(events, catena.Query(PAIRS, time="ts"))
    assert sorted(
        (int(r["keys"]["id"]), r.start, r.end, r.positions["a"], r.positions["b"],
         r.measures["change"], r.start_time, r.measures["took"])
        for r in found.collect()
    ) == sorted(
        (r.id, r.start, r.end, r.a, r.b, r.change, r.start_time, r.took.total_seconds())
        for r in direct.collect()
    )  # fmt: skip
    detected = spark.sql(
        "SELECT * FROM catena_detect(TABLE(events) PARTITION BY id ORDER BY (ts), "
        "'(A ; B)[20 s] - C', 'ts')"
    )
    algebra = catena.Algebra("(A ; B)[20 s] - C", time="ts", values=True)
    by_pass = catena.spark.detect(events, algebra, by="id").collect()
    assert sorted((r.start_time, r.end_time, r.positions["B"]) for r in detected.collect()) == (
        sorted((r.start_time, r.end_time, r.B) for r in by_pass)
    )


def test_an_error_in_a_text_is_told_with_its_place(spark: Any, events: Any) -> None:
    catena.spark.register(spark)
    bad = spark.sql(
        "SELECT * FROM catena_match(TABLE(events) PARTITION BY id ORDER BY (ts), 'SELECT')"
    )
    with pytest.raises(Exception, match="line 1, column 7"):
        bad.collect()
    with pytest.raises(catena.CatenaError, match="a name and a query go together"):
        catena.spark.register(spark, "nameless")
    query = catena.Query(PAIRS, time="ts")
    with pytest.raises(catena.CatenaError, match="the function's name is 'two words'"):
        catena.spark.register(spark, "two words", query)
    catena.spark.register(spark, "other_table", query)
    for columns, message in {
        "ts, type, id": "there is no column 'value'",
        "date(ts) AS ts, type, id, value": "register the function with events=",
    }.items():
        events.selectExpr(*columns.split(", ")).createOrReplaceTempView("others")
        found = spark.sql("SELECT * FROM other_table(TABLE(others) PARTITION BY id)")
        with pytest.raises(Exception, match=message):
            found.collect()


# ---------------------------------------------------------------------------------------------
# Functions for other people's pipelines


def test_grouped_functions_find_what_match_finds(spark: Any, events: Any) -> None:
    query = catena.Query(CHANGES, time="ts")
    schema = catena.spark.schema(query, events)
    expected = listed(catena.spark.match(events, query))
    groups = events.groupBy("id")
    assert listed(groups.applyInArrow(catena.spark.arrow_udf(query), schema)) == expected
    by_type = catena.Query(CHANGES.replace("[id]", "[type]").replace("; B", "; A"), time="ts")
    schema_by_type = catena.spark.schema(by_type, events)
    with_large = groups.applyInArrow(catena.spark.arrow_udf(by_type), schema_by_type)
    spark.conf.set("spark.sql.execution.arrow.useLargeVarTypes", "true")
    assert with_large.count() > 10
    spark.conf.unset("spark.sql.execution.arrow.useLargeVarTypes")
    assert listed(groups.applyInPandas(catena.spark.pandas_udf(query), schema)) == expected


def test_matches_in_an_array_column_are_counted(spark: Any) -> None:
    rows = [(1, [("A", 1), ("A", 2), ("B", 3)]), (2, []), (3, None), (4, [("A", 1)] * 3)]
    df = spark.createDataFrame(rows, "id int, events array<struct<type: string, v: int>>")
    count = catena.spark.count_udf(catena.Query("SELECT * WHERE A AS x FILTER x[v > 0]"))
    found = df.select("id", count("events").alias("count")).collect()
    assert {row.id: row["count"] for row in found} == {1: 2, 2: 0, 3: None, 4: 3}


# ---------------------------------------------------------------------------------------------
# The doctor


def test_the_doctor_reports_versions_and_what_is_missing(
    spark: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = catena.spark.doctor(spark)
    assert found.is_well, found
    assert f"catena {catena.__version__}" in str(found) and "executor on " in str(found)
    module = sys.modules["catena.spark.doctor"]
    monkeypatch.setattr(module, "PACKAGES", ("catena", "no_such_package", "pyspark"))
    ill = catena.spark.doctor(spark, tasks=1)
    assert "no_such_package cannot be imported: ModuleNotFoundError" in str(ill)
    assert not ill.is_well
    assert "no_such_package" in str(catena.spark.doctor())
    monkeypatch.setattr(module, "PACKAGES", ("catena",))
    assert catena.spark.doctor().is_well, "here is all that a local session needs"
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    assert "Spark needs Java, and JAVA_HOME is /nowhere" in str(catena.spark.doctor())
