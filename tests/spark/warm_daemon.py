"""The process that Spark's Python workers are forked from, with what they import imported already:
a worker that keeps state is a new process for every task."""

import pandas
import pyarrow
from pyspark.daemon import manager

import catena.spark.processor
import catena.spark.sql

IMPORTED = (pandas, pyarrow, catena.spark.processor, catena.spark.sql)

if __name__ == "__main__":
    manager()
