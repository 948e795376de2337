"""Failed logins before a success, in a DataFrame of events: a batch query on Spark.

python examples/spark_batch.py
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession

import catena

QUERY = catena.Query(
    """
    SELECT tries, login, count(tries) AS failures
    WHERE (FAILED+ AS tries ; LOGIN AS login) FILTER tries[risk > 0.8]
    PARTITION BY [user]
    WITHIN 1 minute
    """,
    time="ts",
)


def events(spark: SparkSession) -> DataFrame:
    """Generated events of 50 users: mostly logins, some failures, a risk for each."""
    return spark.range(20_000).selectExpr(
        "timestamp_seconds(id) AS ts",
        "IF(pmod(hash(id), 7) = 0, 'FAILED', 'LOGIN') AS type",
        "concat('user', pmod(hash(id, 1), 50)) AS user",
        "pmod(hash(id, 2), 100) / 100 AS risk",
    )


def main() -> None:
    """Finds the matches by the function and by SQL."""
    spark = SparkSession.builder.master("local[2]").getOrCreate()
    df = events(spark)
    matches = df.transform(catena.spark.match, QUERY)
    print(matches.schema.simpleString())
    worst = matches.orderBy("failures", "user", "start", ascending=[False, True, True]).first()
    print(f"{matches.count()} matches; {worst.user} failed {worst.failures} times")

    catena.spark.register(spark, "suspicious", QUERY, events=df)
    df.createOrReplaceTempView("events")
    by_sql = spark.sql(
        "SELECT user, failures FROM suspicious(TABLE(events) PARTITION BY user ORDER BY ts)"
    )
    print(f"{by_sql.count()} matches by SQL")


if __name__ == "__main__":
    main()
