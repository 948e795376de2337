"""Many queries through Spark in few jobs, giving matches in the oracle's form.

Starting a job takes far longer than a small query, so the rows of all queries are one DataFrame,
and the matches of all queries are brought to one form and collected together.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

import pyarrow as pa

import catena
from catena.spark.batch import column
from oracle import ComplexEvent

ROW = "n"
"""The column that holds a row's position in the whole stream."""

QUESTION = "question"
"""The column that holds the number of the question that a row belongs to."""


@dataclass(frozen=True)
class Question:
    """A query, and the rows that it is asked about, in order."""

    query: catena.Query
    rows: pa.Table

    @property
    def by(self) -> tuple[str, ...] | None:
        """None if the query says how to divide; else all rows are one part, and that is meant."""
        return None if self.query.plan.keys and self.query.plan.query.consume.value != "ANY" else ()

    def event(self, row: Any) -> ComplexEvent:
        """A match with the positions of the whole stream."""
        positions = self._positions(json.loads(row.keys))
        marks = json.loads(row.marks)
        return ComplexEvent(
            positions[row.start],
            positions[row.end],
            frozenset((x, positions[p]) for x, found in marks.items() for p in found),
        )

    def _positions(self, key: dict[str, Any]) -> list[int]:
        """The positions of a key's rows."""
        parts = self.rows.select(list(key)).to_pylist() if key else [{}] * self.rows.num_rows
        return [i for i, part in enumerate(parts) if part == key]


Find = Callable[[Any, Question], Any]
"""What finds the matches of a question in a DataFrame."""


def by_batch(df: Any, question: Question) -> Any:
    return catena.spark.match(df, question.query, question.by, ROW)


def by_table_function(df: Any, question: Question) -> Any:
    """By SQL, through a function of its own name; a row's number in the whole stream orders it."""
    spark, name = df.sparkSession, f"question_{id(question)}"
    catena.spark.register(spark, name, question.query, events=df)
    df.createOrReplaceTempView(f"rows_of_{name}")
    keys = ", ".join(question.query.plan.keys) if question.by is None else ""
    parts = f"PARTITION BY ({keys})" if keys else "WITH SINGLE PARTITION"
    return spark.sql(f"SELECT * FROM {name}(TABLE(rows_of_{name}) {parts} ORDER BY {ROW})")


def answers(
    spark: Any, questions: Sequence[Question], find: Find = by_batch
) -> list[list[ComplexEvent]]:
    """The matches of every question."""
    tables = [
        question.rows.append_column(ROW, pa.array(range(question.rows.num_rows), pa.int64()))
        .append_column(QUESTION, pa.array([i] * question.rows.num_rows, pa.int32()))
        for i, question in enumerate(questions)
    ]  # fmt: skip
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    backwards = rows.take(pa.array(range(rows.num_rows - 1, -1, -1)))
    df = spark.createDataFrame(backwards).repartition(2).cache()
    found = [
        in_one_form(find(df.where(column(QUESTION) == i), question), question, i)
        for i, question in enumerate(questions)
    ]
    events: list[list[ComplexEvent]] = [[] for _ in questions]
    for row in reduce(lambda one, other: one.union(other), found).collect():
        events[row.question].append(questions[row.question].event(row))
    df.unpersist()
    return events


def in_one_form(matches: Any, question: Question, number: int) -> Any:
    """Matches as numbers and texts, whatever the query shows."""
    from pyspark.sql import functions

    def as_json(names: Sequence[str]) -> Any:
        columns = [column(called.get(name, name)).alias(name) for name in names]
        keeps_nulls = {"ignoreNullFields": "false"}
        return functions.to_json(functions.struct(*columns), keeps_nulls) if names else lit("{}")

    lit = functions.lit
    plan = question.query.plan
    # Names that differ in case only are others in Spark; outputs are the last columns, in order.
    last = matches.columns[len(matches.columns) - len(plan.outputs) :]
    called = dict(zip((o.name for o in plan.outputs), last, strict=True))
    marks = [x for x in plan.variables if x in called]
    keys = as_json(plan.keys)
    return matches.select(
        lit(number).alias(QUESTION),
        "start",
        "end",
        keys.alias("keys"),
        as_json(marks).alias("marks"),
    )
