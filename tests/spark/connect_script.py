"""The batch cases through Spark Connect: no JVM object is within reach of such a session."""

from __future__ import annotations

import os
import sys
from typing import Any


def main() -> None:
    from asked import answers
    from pyspark.sql import SparkSession
    from test_batch import PAIRS, listed, sensors
    from test_questions import case_questions

    import catena

    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark: Any = SparkSession.builder.remote("local[2]").getOrCreate()
    for name in ("spark.sql.codegen.wholeStage", "spark.sql.adaptive.enabled"):
        spark.conf.set(name, "false")
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    questions, expected = case_questions()
    for question, found, due in zip(questions, answers(spark, questions), expected, strict=True):
        assert set(found) == due and len(found) == len(due), question.query.text
    df, query = sensors(spark), catena.Query(PAIRS, time="ts")
    direct = listed(df.transform(catena.spark.match, query))
    assert len(direct) > 10
    catena.spark.register(spark, "pairs", query, events=df)
    df.createOrReplaceTempView("events")
    by_sql = spark.sql("SELECT * FROM pairs(TABLE(events) PARTITION BY id ORDER BY ts)")
    assert listed(by_sql) == direct
    algebra = catena.Algebra("(A ; B)[20 s] - C", time="ts")
    assert catena.spark.detect(df, algebra, by="id").count() > 10
    assert "catena" in str(catena.spark.doctor(spark, tasks=1))
    print("all cases agree")


if __name__ == "__main__":
    main()
