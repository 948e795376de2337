"""Increments of random queries over random streams, cut and shuffled, against the oracle."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from list_engine import ListEngine
from tsa_checks import as_set, check_increments
from tsa_generators import pushes, row_lists, valid_programs, valid_queries

from catena import tsa
from catena.tsa.relations import leaves_of
from oracle import tsa as oracle

RELAXED = settings(
    deadline=None,
    suppress_health_check=[HealthCheck.filter_too_much, HealthCheck.too_slow],
    derandomize=True,
)


def draw_case(data: st.DataObject, depth: int) -> tuple[tsa.Query, dict[str, Any], list[Any]]:
    query = data.draw(valid_queries(depth))
    assume(query is not None)
    assert query is not None
    streams = {stream.name: stream for stream in leaves_of(query.relation)}
    rows = {name: row_lists(data.draw, stream) for name, stream in streams.items()}
    moving = {n: (s, rows[n]) for n, s in streams.items() if not s.is_static}
    return query, rows, pushes(data.draw, moving, data.draw(st.integers(1, 4)))


@settings(RELAXED, max_examples=200)
@given(st.data())
def test_increments_are_the_whole(data: st.DataObject) -> None:
    query, rows, steps = draw_case(data, 3)
    check_increments(query, rows, steps, ListEngine())


@pytest.mark.slow
@settings(RELAXED, max_examples=1000)
@given(st.data())
def test_increments_are_the_whole_at_length(data: st.DataObject) -> None:
    query, rows, steps = draw_case(data, 4)
    check_increments(query, rows, steps, ListEngine())


def draw_program(data: st.DataObject) -> tuple[list[tsa.Query], dict[str, Any], list[Any]]:
    queries = data.draw(valid_programs())
    assume(queries is not None)
    assert queries is not None
    streams = {s.name: s for s in tsa.Program(*queries).inputs}
    rows = {name: row_lists(data.draw, stream) for name, stream in streams.items()}
    moving = {n: (s, rows[n]) for n, s in streams.items() if not s.is_static}
    return queries, rows, pushes(data.draw, moving, data.draw(st.integers(1, 4)))


@settings(RELAXED, max_examples=100)
@given(st.data())
def test_programs_of_several_queries(data: st.DataObject) -> None:
    queries, rows, steps = draw_program(data)
    check_increments(queries, rows, steps, ListEngine())


@pytest.mark.slow
@settings(RELAXED, max_examples=400)
@given(st.data())
def test_programs_of_several_queries_at_length(data: st.DataObject) -> None:
    queries, rows, steps = draw_program(data)
    check_increments(queries, rows, steps, ListEngine())


@settings(RELAXED, max_examples=25)
@given(st.data())
def test_increments_on_duckdb(data: st.DataObject) -> None:
    query, rows, steps = draw_case(data, 3)
    check_increments(query, rows, steps)


@settings(RELAXED, max_examples=40)
@given(st.data())
def test_the_expression_on_duckdb(data: st.DataObject) -> None:
    query, rows, _ = draw_case(data, 4)
    program = tsa.Program(query)
    static = {s.name: rows[s.name] for s in program.inputs if s.is_static}
    run = program.run(static=static)
    run.push({s.name: rows[s.name] for s in program.inputs if not s.is_static})
    found = run.finish()["Out"].to_pylist()
    assert as_set(found) == as_set(oracle.evaluate(query.relation, rows))
    assert len(found) == len(as_set(found))
