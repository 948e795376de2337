"""Every path a user can take through the engine, giving results in the oracle's form.

A path takes a query, rows and a source of randomness, and returns for each row the complex events
reported at it. `check` sends a query through all of them and compares with the oracle.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import pyarrow as pa

import catena
import oracle
from generators import COLUMNS
from oracle import ComplexEvent

Rows = Sequence[dict[str, Any]]
Reported = list[list[ComplexEvent]]
Path = Callable[[catena.Query, Rows, random.Random], Reported]


def table_of(rows: Rows) -> pa.Table:
    """The rows as a table with the columns that tests use; those that no row has are left out."""
    names = dict.fromkeys(name for row in rows for name in row)
    arrays = {
        name: pa.array([row.get(name) for row in rows], COLUMNS[name]) for name in names or COLUMNS
    }
    return pa.table(arrays)


def as_events(query: catena.Query, matches: Iterable[catena.Match]) -> list[ComplexEvent]:
    """Matches in the oracle's form."""
    variables = query.plan.variables
    return [
        ComplexEvent(m.start, m.end, frozenset((x, p) for x in variables for p in m[x]))
        for m in matches
    ]


def _by_row(events: Iterable[ComplexEvent], row_count: int) -> Reported:
    reported: Reported = [[] for _ in range(row_count)]
    last = -1
    for event in events:
        assert event.end >= last, "results come ordered by end"
        last = event.end
        reported[event.end].append(event)
    return reported


def run(query: catena.Query, rows: Rows, rng: random.Random) -> Reported:
    return _by_row(as_events(query, query.run(table_of(rows))), len(rows))


def push_by_row(query: catena.Query, rows: Rows, rng: random.Random) -> Reported:
    stream = query.stream()
    reported = []
    for position, row in enumerate(rows):
        events = as_events(query, stream.push(row))
        assert all(event.end == position for event in events), "a result comes with its last row"
        reported.append(events)
    return reported


def push_in_batches(query: catena.Query, rows: Rows, rng: random.Random) -> Reported:
    """Batches of random sizes; matches are read only after the last push."""
    stream, table = query.stream(), table_of(rows)
    pushed, at = [], 0
    while at < len(rows):
        size = rng.randint(1, len(rows) - at)
        pushed.append(stream.push(table.slice(at, size)))
        at += size
    events = [event for matches in pushed for event in as_events(query, matches)]
    return _by_row(events, len(rows))


def snapshot_at_every_cut(query: catena.Query, rows: Rows, rng: random.Random) -> Reported:
    """A new stream from a snapshot before every row."""
    table, blob = table_of(rows), query.stream().snapshot()
    events: list[ComplexEvent] = []
    for at in range(len(rows)):
        stream = query.restore(blob)
        events.extend(as_events(query, stream.push(table.slice(at, 1))))
        blob = stream.snapshot()
    return _by_row(events, len(rows))


PATHS: tuple[Path, ...] = (run, push_by_row, push_in_batches, snapshot_at_every_cut)


def check(
    asked: oracle.Query, rows: Rows, *, paths: Sequence[Path] = PATHS, seed: int = 0, **columns: Any
) -> None:
    """Compares all paths, and the count, with the oracle."""
    expected = oracle.results(asked, rows, **columns)
    query = catena.Query(asked.text(), **columns)
    for path in paths:
        reported = path(query, rows, random.Random(seed))
        problem = oracle.difference(asked, expected, reported)
        assert not problem, f"{path.__name__}: {problem}\nrows: {list(rows)}"
    due = sum(oracle.reported_count(asked, len(found)) for found in expected)
    assert query.count(table_of(rows)) == due
