"""Queries on Spark: batch, SQL and structured streaming. Import it where you use it.

>>> import catena.spark                                               # doctest: +SKIP
>>> matches = catena.spark.match(events, query)                       # doctest: +SKIP
"""

from catena.spark.batch import detect, match, schema
from catena.spark.doctor import doctor
from catena.spark.grouped import arrow_udf, count_udf, pandas_udf
from catena.spark.sql import register
from catena.spark.state import stream_state
from catena.spark.streaming import match_stream

__all__ = [
    "arrow_udf",
    "count_udf",
    "detect",
    "doctor",
    "match",
    "match_stream",
    "pandas_udf",
    "register",
    "schema",
    "stream_state",
]
