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
    query: tsa.Query,
    data: Mapping[str, Rows],
    pushes: list[Push],
    engine: Any = None,
) -> None:
    """After every push exactly the rows up to the output's progress have come, each once."""
    whole = oracle.evaluate(query.relation, data)
    program = tsa.Program(query)
    static = {s.name: data[s.name] for s in program.inputs if s.is_static}
    run = program.run(engine, static=static)
    seen: Rows = []
    name = query.stream.name
    for push in [*pushes, None]:
        step = run.push(push.rows, push.progress) if push else run.finish()
        seen += step[name].to_pylist()
        assert as_set(seen) == passed(query.stream, run, whole)
        assert len(seen) == len(as_set(seen)), "a row came twice"
    assert as_set(seen) == as_set(whole)
