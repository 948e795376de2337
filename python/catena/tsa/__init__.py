"""Temporal Stream Algebra: relational algebra over streams, without windows.

Relational algebra over streams and static relations, with an analysis of temporal relations that
tells, before any row comes, whether a query can be evaluated on streams, when which of its rows are
final, and what has to be kept. `docs/tsa.md` is the tour.

Importing this imports no engine: DuckDB (with ibis) when a program first runs, Spark when it is
asked for. Paper: Brodt, Bry, "Analysing Temporal Relations - Beyond Windows, Frames and
Predicates".
"""

from typing import Any

from catena.tsa.bounds import Bound
from catena.tsa.patterns import match
from catena.tsa.programs import Program, import_engine
from catena.tsa.queries import Query, query
from catena.tsa.relations import Relation, Stream, static, stream
from catena.tsa.running import Run, before
from catena.tsa.values import Aggregate, Value, _, count, greatest, least

__all__ = [
    "Aggregate",
    "Bound",
    "Program",
    "Query",
    "Relation",
    "Run",
    "Stream",
    "Value",
    "_",
    "before",
    "count",
    "greatest",
    "least",
    "match",
    "query",
    "static",
    "stream",
]

_ENGINES = {
    "DuckDB": "catena.tsa.on_duckdb",
    "Spark": "catena.tsa.on_spark",
    "start": "catena.tsa.spark_stream",
}


def __getattr__(name: str) -> Any:
    """Engines are imported when they are first asked for."""
    if name in _ENGINES:
        return getattr(import_engine(_ENGINES[name]), name)
    raise AttributeError(f"module 'catena.tsa' has no attribute {name!r}")
