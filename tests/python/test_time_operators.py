"""Time bounds through the engine, against the oracle: all small formulas, random larger ones."""

from __future__ import annotations

import datetime

import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from test_semantics import COMMON, FEATURES, compare, compare_exhaustively

import catena
import oracle
from generators import STREAMS, TERMS, TIMED, UNARY, formulas_up_to, queries, rows

SMALL = (3, UNARY | TIMED)


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(formulas_up_to(*SMALL), 4, every=80, seed=1, time="ts") > 100


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(formulas_up_to(*SMALL), 4, every=8, seed=2, time="ts") > 1000


@settings(max_examples=150, **COMMON)
@given(queries(FEATURES | TIMED | TERMS | STREAMS), rows(), st.integers(0, 1000))
def test_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    compare(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=250, **COMMON)
@given(queries(FEATURES | TIMED | TERMS, max_depth=5), rows(max_size=10), st.integers(0, 1000))
def test_many_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    compare(asked, events, seed)


# The streams of the papers: times 1.2 1.33 2.5 3.7 4.5 5.3 5.9 6.1 7.2.
FIGURE = {
    "type": list("HTHHTTTHH"),
    "value": [25, 45, 20, 25, 40, 42, 25, 70, 18],
    "ts": [1.2, 1.33, 2.5, 3.7, 4.5, 5.3, 5.9, 6.1, 7.2],
}


def found(text: str, events: object = FIGURE, **settings: str) -> list[tuple[int, int]]:
    query = catena.Query(text, time="ts", **settings)
    return [(m.start, m.end) for m in query.run(events)]


def test_a_gap_and_a_window_inside_a_formula() -> None:
    text = """SELECT X, Y WHERE PROJECT[X, Y](((T AS X ;[<= 1] T ; H AS Y) WITHIN 5)
              FILTER T[value >= 40] AND H[value < 25])"""
    (match,) = catena.Query(text, time="ts").run(FIGURE)
    assert (match.start, match.end, match["X"], match["Y"]) == (4, 8, (4,), (8,))


def test_contiguous_rows_each_soon_after_the_one_before() -> None:
    text = """SELECT * WHERE (H AS X :[<= 1] (T :+[<= 1]) :[<= 1] H AS Y)
              FILTER X[value < 30] AND Y[value > 30]"""
    (match,) = catena.Query(text, time="ts").run(FIGURE)
    assert (match.start, match.end, match["T"]) == (3, 7, (4, 5, 6))


def test_resets_that_are_not_synchronous_give_each_result_once() -> None:
    """Three As, the last two exactly one apart, nothing kept: many runs, one result."""
    events = {"type": ["A"] * 5, "ts": [0, 1, 2, 2, 3]}
    text = "SELECT NONE WHERE PROJECT[](A ; A ;[= 1] A)"
    assert found(text, events) == [(0, 2), (0, 3), (2, 4), (1, 4), (0, 4)]
    assert catena.Query(text, time="ts").count(events) == 5


SECONDS = [0, 1, 6, 7]


@pytest.mark.parametrize(
    "times",
    [
        pa.array(SECONDS, pa.timestamp("s")),
        pa.array([t * 1_000 for t in SECONDS], pa.timestamp("ms", tz="Europe/Berlin")),
        pa.array([t * 1_000_000 for t in SECONDS], pa.timestamp("us", tz="UTC")),
        pa.array([t * 1_000_000_000 for t in SECONDS], pa.timestamp("ns")),
        pa.array([t * 1_000_000_000 for t in SECONDS], pa.duration("ns")),
    ],
    ids=str,
)
def test_units_on_columns_of_every_unit(times: pa.Array) -> None:
    events = {"type": ["A", "B", "B", "B"], "ts": times}
    assert found("SELECT * WHERE A ;[<= 6 s] B", events) == [(0, 1), (0, 2)]
    assert found("SELECT * WHERE A ;(1 s, 0.1 min] B", events) == [(0, 2)]
    assert found("SELECT * WHERE A ;[> 5999 ms] B", events) == [(0, 2), (0, 3)]


@pytest.mark.parametrize("type", [pa.date32(), pa.date64()], ids=str)
def test_units_on_columns_of_dates(type: pa.DataType) -> None:
    days = pa.array([datetime.date(2026, 3, 28 + day) for day in (0, 1, 3)], type)
    events = {"type": ["A", "B", "B"], "ts": days}
    assert found("SELECT * WHERE A ;[<= 3 d] B", events) == [(0, 1), (0, 2)]
    assert found("SELECT * WHERE A ;(24 h, 72 h] B", events) == [(0, 2)]
    assert found("SELECT * WHERE A ;[< 4320 min] B", events) == [(0, 1)]


def test_nanoseconds_are_exact() -> None:
    base = 1_700_000_000_000_000_001
    times = pa.array([base, base + 10**9, base + 10**9 + 1], pa.timestamp("ns"))
    events = {"type": ["A", "B", "B"], "ts": times}
    assert found("SELECT * WHERE A ;[= 1 s] B", events) == [(0, 1)]
    assert found("SELECT * WHERE A ;[> 1 s] B", events) == [(0, 2)]


def test_two_million_rows_keep_the_state_small() -> None:
    """With an upper bound on every gap, what no clock can use any more is released."""
    stream = catena.Query("SELECT * WHERE A ;[<= 20] B ;[<= 20] C", time="ts").stream()
    count = 100_000
    types = pa.DictionaryArray.from_arrays(
        pa.array([i * 7919 % 11 % 4 for i in range(count)], pa.int8()), list("ABCD")
    )
    largest = 0
    for round in range(20):
        times = pa.array(range(round * count, (round + 1) * count), pa.int64())
        stream.push({"type": types, "ts": times})
        stats = stream.stats()
        largest = max(largest, stats["graph_bytes"] + stats["part_bytes"])
    assert largest < 4_000_000
