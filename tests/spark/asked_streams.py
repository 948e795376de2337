"""Many queries through one stream: each is a stateful operator of it, so that all of them pay for
its micro-batches once.

A stream has a timestamp for a time column, and its positions are those of a bucket. So numbers of
seconds become timestamps, in the rows and in the query's text, and every variable shows the number
that its rows have in the whole stream of the question.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import reduce
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from asked import QUESTION, ROW, Question
from marks import Marks, showing_rows, text_in_seconds
from stream_files import flush_row, read_files, run, shuffled, write_files

import catena
from catena.spark.batch import column

STAMP = "stamp"
STAMP_TYPE = pa.timestamp("us", "UTC")
DELAY_S = 6


def answers_of_stream(
    spark: Any, questions: Sequence[Question], folder: Path, pieces: int = 2
) -> list[Counter[Marks]]:
    """The marks of the matches of every question, whose rows come in pieces, out of order by less
    than the watermark's delay."""
    tables = [_stamped(question, number) for number, question in enumerate(questions)]
    rows = pa.concat_tables(tables, promote_options="default").combine_chunks()
    cut = shuffled(rows, STAMP, DELAY_S, pieces, seed=len(questions))
    ends = [_end(question, table) for question, table in zip(questions, tables, strict=True)]
    write_files(folder / "in", [*cut, pa.concat_tables(ends, promote_options="default")])
    schema = spark.createDataFrame(rows).schema
    df = read_files(spark, folder / "in", schema).withWatermark(STAMP, f"{DELAY_S} seconds")
    found = [_asked(df, question, number) for number, question in enumerate(questions)]
    spark.conf.set("spark.sql.shuffle.partitions", "1")  # A task is a new process.
    run(reduce(lambda one, other: one.union(other), found), folder)
    spark.conf.set("spark.sql.shuffle.partitions", "2")
    answers: list[Counter[Marks]] = [Counter() for _ in questions]
    for row in spark.read.parquet(str(folder / "out")).collect():
        marks = json.loads(row.marks)
        answers[row.question][tuple(sorted((x, n) for x, at in marks.items() for n in at))] += 1
    return answers


def _stamped(question: Question, number: int) -> pa.Table:
    rows, time = question.rows, question.query.plan.settings.time
    count = rows.num_rows
    seconds = rows.column(time).to_pylist() if time else range(count)
    stamps = pa.array([round((s + 1) * 10**6) for s in seconds], STAMP_TYPE)
    return (
        rows.append_column(ROW, pa.array(range(count), pa.int64()))
        .append_column(QUESTION, pa.array([number] * count, pa.int32()))
        .append_column(STAMP, stamps)
    )


def _end(question: Question, table: pa.Table) -> pa.Table:
    """A row late in time: Spark filters rows before it looks at their times, so every question
    needs one, and one with a key."""
    keys = {name: pc.max(table.column(name)).as_py() for name in question.query.plan.keys}
    return flush_row(table, STAMP, **{QUESTION: table.column(QUESTION)[0].as_py()}, **keys)


def _asked(df: Any, question: Question, number: int) -> Any:
    """The question as a stream of its number and of its matches' marks."""
    from pyspark.sql import functions

    plan = question.query.plan
    text = showing_rows(text_in_seconds(question.query.text), plan.variables)
    settings = plan.settings
    query = catena.Query(
        text, time=STAMP if settings.time else None, type=settings.type, stream=settings.stream
    )
    rows = df.where(column(QUESTION) == number)
    found = catena.spark.match_stream(rows, query, STAMP, None, question.by, ROW, buckets=2)
    # The last columns are the positions of each variable and then its rows' numbers.
    last = found.columns[len(found.columns) - 2 * len(plan.variables) :]
    named = [column(n).alias(x) for n, x in zip(last[1::2], plan.variables, strict=True)]
    marks = functions.to_json(functions.struct(*named)) if named else functions.lit("{}")
    return found.select(functions.lit(number).alias(QUESTION), marks.alias("marks"))
