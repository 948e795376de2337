"""Proposition 28 as a check: what a run passes on, push by push, against the oracle."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tsa_generators import Push, Rows

from catena import tsa
from catena.tsa.bounds import LEAST
from oracle import tsa as oracle


def as_set(rows: Rows) -> set[tuple[Any, ...]]:
    return {tuple(sorted(row.items())) for row in rows}


def rows_of(result: Any) -> Rows:
    """The rows of an Arrow table or a Spark DataFrame."""
    table = result.toArrow() if hasattr(result, "toArrow") else result
    return table.to_pylist()


def passed(stream: tsa.Stream, run: tsa.Run[Any], rows: Rows) -> set[tuple[Any, ...]]:
    """The rows that the stream's progress says to be complete."""
    bounds = {name: run.progress[stream.bound(name)] for name in stream.progressing}
    return as_set(
        [row for row in rows if any(b != LEAST and b.covers(row[n]) for n, b in bounds.items())]
    )


def check_increments(
    queries: tsa.Query | list[tsa.Query],
    data: Mapping[str, Rows],
    pushes: list[Push],
    engine: Any = None,
) -> None:
    """After every push exactly the rows up to each output's progress have come, each once."""
    queries = [queries] if isinstance(queries, tsa.Query) else queries
    whole = oracle.fixpoint(queries, data, 10**9)
    program = tsa.Program(*queries)
    static = {s.name: data[s.name] for s in program.inputs if s.is_static}
    run = program.run(engine, static=static)
    seen: dict[str, Rows] = {stream.name: [] for stream in program.outputs}
    for push in [*pushes, None]:
        step = run.push(push.rows, push.progress) if push else run.finish()
        for stream in program.outputs:
            rows = seen[stream.name]
            rows += step[stream.name].to_pylist()
            assert as_set(rows) == passed(stream, run, whole[stream.name])
            assert len(rows) == len(as_set(rows)), "a row came twice"
    assert all(as_set(seen[name]) == as_set(whole[name]) for name in seen)
