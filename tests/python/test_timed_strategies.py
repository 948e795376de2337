"""NEXT, LAST and MAX over time bounds, of the query and inside formulas, against the oracle.

All small formulas, random larger ones, and cases that are easy to get wrong, through every path.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pyarrow as pa
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paths import PATHS, check, run
from test_semantics import COMMON, FEATURES, can_match, compare, compare_exhaustively

import catena
import oracle
from generators import (
    SELECTED,
    TERMS,
    TIMED,
    UNARY,
    Features,
    formulas,
    formulas_of_size,
    queries,
    rows,
    rows_of,
)

COMPARING = ("NEXT", "LAST", "MAX")
WINDOWS = (None, oracle.Events(2), oracle.Duration(2))


def has_clocks(formula: oracle.Formula) -> bool:
    return any(
        isinstance(part, oracle.Within) or getattr(part, "interval", None) is not None
        for part in oracle.subformulas(formula)
    )


def compares_clocks(formula: oracle.Formula) -> bool:
    """Whether a strategy inside compares matches of a formula with time bounds."""
    return any(
        isinstance(part, oracle.Select) and part.strategy in COMPARING and has_clocks(part)
        for part in oracle.subformulas(formula)
    )


# ---------------------------------------------------------------------------------------------
# Strategies of the query


def ask(formula: oracle.Formula, rng: random.Random) -> oracle.Query:
    return oracle.Query(formula, rng.choice(COMPARING), window=rng.choice(WINDOWS))


def timed(size: int, features: Features = UNARY | TIMED) -> Iterator[oracle.Formula]:
    return filter(has_clocks, formulas_of_size(size, features))


SMALL: Features = frozenset({"or", ";", "+", "project"}) | TIMED


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(timed(2), 4, every=4, seed=1, ask=ask, time="ts") > 20
    assert compare_exhaustively(timed(3), 5, every=300, seed=2, ask=ask, time="ts") > 20
    assert compare_exhaustively(timed(4, SMALL), 5, every=900, seed=3, ask=ask, time="ts") > 20


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(timed(3), 5, every=10, seed=4, ask=ask, time="ts") > 800
    assert compare_exhaustively(timed(4, SMALL), 5, every=100, seed=5, ask=ask, time="ts") > 90


def selected(features: Features, max_depth: int = 4) -> st.SearchStrategy[oracle.Query]:
    return st.builds(
        lambda asked, strategy: replace(asked, strategy=strategy),
        queries(features, max_depth),
        st.sampled_from(COMPARING),
    )


@settings(max_examples=60, **COMMON)
@given(selected(FEATURES | TIMED | TERMS), rows(), st.integers(0, 1000))
def test_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    assume(has_clocks(asked.formula))
    compare(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=300, **COMMON)
@given(selected(FEATURES | TIMED | TERMS | SELECTED, 5), rows(max_size=9), st.integers(0, 1000))
def test_many_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    assume(has_clocks(asked.formula))
    compare(asked, events, seed)


# ---------------------------------------------------------------------------------------------
# Strategies inside formulas


def selecting(size: int, features: Features) -> Iterator[oracle.Formula]:
    """All formulas of a size with a strategy that compares clocks."""
    return filter(compares_clocks, formulas_of_size(size, features))


NESTED: Features = frozenset({"or", "and", ";", "+", "project"}) | TIMED | SELECTED


def test_small_formulas_with_strategies_over_short_streams() -> None:
    assert compare_exhaustively(selecting(3, UNARY | TIMED | SELECTED), 4, 20, 6, time="ts") > 30
    assert compare_exhaustively(selecting(4, NESTED), 5, 800, 7, time="ts") > 20


@pytest.mark.slow
def test_many_small_formulas_with_strategies_over_short_streams() -> None:
    assert compare_exhaustively(selecting(3, UNARY | TIMED | SELECTED), 5, 8, 8, time="ts") > 200
    assert compare_exhaustively(selecting(4, NESTED), 5, 250, 9, time="ts") > 90
    assert compare_exhaustively(selecting(4, NESTED), 5, 100, 10, ask=ask, time="ts") > 200


PLACES = {
    "alone": lambda inside, other: inside,
    "first": oracle.Sequence,
    "second": lambda inside, other: oracle.Sequence(other, inside),
    "repeated": lambda inside, other: oracle.Sequence(oracle.Plus(inside), other),
    "in another": lambda inside, other: oracle.Select("MAX", oracle.Or(inside, other)),
    "with another": lambda inside, other: oracle.And(
        inside, oracle.Or(other, oracle.Select("LAST", inside.body))
    ),
}


@settings(max_examples=60, **COMMON)
@given(
    selected(FEATURES | TIMED, 3),
    st.sampled_from(COMPARING),
    st.sampled_from(sorted(PLACES)),
    formulas(UNARY | TIMED, 2),
    st.sampled_from(("ALL", *COMPARING)),
    rows(),
    st.integers(0, 1000),
)
def test_random_queries_with_a_strategy_inside(asked, inner, place, other, outer, events, seed):
    assume(has_clocks(asked.formula))
    formula = PLACES[place](oracle.Select(inner, asked.formula), other)
    compare(replace(asked, formula=formula, items="*", strategy=outer), events, seed)


nested = queries(FEATURES | TIMED | TERMS | SELECTED | {"strategy"}, max_depth=5)


@pytest.mark.slow
@settings(max_examples=300, **COMMON)
@given(nested, rows(max_size=9), st.integers(0, 1000))
def test_many_random_queries_with_strategies_inside(asked, events, seed) -> None:
    assume(compares_clocks(asked.formula))
    compare(asked, events, seed)


# ---------------------------------------------------------------------------------------------
# What is easy to get wrong


A, B, C = oracle.Type("A"), oracle.Type("B"), oracle.Type("C")
SOON = oracle.Interval(high=2)


def sequence(*parts: oracle.Formula) -> oracle.Formula:
    whole = parts[0]
    for part in parts[1:]:
        whole = oracle.Sequence(whole, part, SOON)
    return whole


TRICKY = {
    "the best A is too old by the time of the B": sequence(A, B),
    "the same rows under different variables tie": sequence(
        oracle.Or(oracle.As(A, "x"), oracle.As(A, "y")), B
    ),
    "the same rows from different starts tie": sequence(
        oracle.Project((), A), oracle.Or(B, sequence(C, B))
    ),
    "no marks at all": oracle.Project((), sequence(A, B)),
    "marks or none": oracle.Or(oracle.Project((), sequence(A, B)), sequence(oracle.AnyType(), B)),
    "resets that are not synchronous": oracle.Project(("A",), sequence(A, B, C)),
    "another run with the same rows goes on to mark more": oracle.Or(
        sequence(A, C), sequence(A, B, C)
    ),
    "every subset": oracle.Within(oracle.Sequence(oracle.Plus(oracle.AnyType()), B), SOON),
    "bounds between repetitions": oracle.Sequence(oracle.Plus(A, SOON), B),
    "two clocks": oracle.Within(
        oracle.Sequence(oracle.Plus(A, oracle.Interval(high=1)), B), oracle.Interval(high=3)
    ),
}


def timed_rows(letters: str, gaps: str) -> list[dict]:
    """Rows with these types and these times between them."""
    made, time = rows_of(letters), 0
    for row, gap in zip(made, gaps, strict=True):
        time += int(gap)
        row["ts"] = time
    return made


STREAMS = (timed_rows("AABACBC", "0101111"), timed_rows("CABBACBAB", "010010102"))


@pytest.mark.parametrize("strategy", COMPARING)
@pytest.mark.parametrize("name", TRICKY)
def test_tricky(name: str, strategy: str) -> None:
    inside = oracle.Select(strategy, TRICKY[name])
    asked = [
        oracle.Query(TRICKY[name], strategy),
        oracle.Query(TRICKY[name], strategy, window=oracle.Duration(2)),
        oracle.Query(TRICKY[name], strategy, window=oracle.Events(3)),
        oracle.Query(TRICKY[name], strategy, items="NONE"),
        oracle.Query(inside),
        oracle.Query(oracle.Sequence(inside, C)),
        oracle.Query(oracle.Sequence(C, inside)),
        oracle.Query(oracle.Plus(inside)),
        oracle.Query(oracle.Within(oracle.Sequence(inside, C), oracle.Interval(high=4))),
        oracle.Query(oracle.Select("MAX", oracle.Or(inside, sequence(A, C)))),
        oracle.Query(oracle.Select("LAST", oracle.Sequence(inside, oracle.Or(B, C), SOON))),
        oracle.Query(oracle.And(inside, oracle.Select("LAST", TRICKY[name]))),
        oracle.Query(oracle.Sequence(inside, oracle.Or(B, C)), "NEXT"),
    ]
    for query in filter(can_match, asked):
        for events in STREAMS:
            check(query, events, paths=(run,), time="ts")


CLAUSES = {
    "partition": {"partition": (("id",),)},
    "window": {"window": oracle.Events(2)},
    "consume by any": {"consume": "ANY", "partition": (("id",),)},
    "consume by partition": {"consume": "PARTITION", "partition": (("id",),)},
    "consume the stream": {"consume": "ANY"},
    "limit": {"limit": 1},
    "strict": {"strategy": "STRICT", "items": ("B",)},
}


@pytest.mark.parametrize("clause", CLAUSES)
def test_clauses(clause: str) -> None:
    """An operator compares over the whole part, beyond the window and over consumed rows; the
    query's strategy compares what is inside the window and not consumed."""
    for strategy in COMPARING:
        for body in (sequence(A, B), sequence(oracle.Plus(A), B)):
            inside = oracle.Select(strategy, body)
            for formula in (inside, oracle.Or(inside, sequence(B, A))):
                asked = oracle.Query(formula, **CLAUSES[clause])
                check(asked, rows_of("AABABBABBA"), paths=PATHS, time="ts")
            if clause != "strict":
                asked = oracle.Query(body, strategy, **CLAUSES[clause])
                check(asked, rows_of("AABABBABBA"), paths=PATHS, time="ts")


def found(text: str, letters: str, times: list[int]) -> list[tuple[int, int]]:
    events = {"type": list(letters), "ts": times}
    return [(m.start, m.end) for m in catena.Query(text, time="ts").run(events)]


def test_the_best_that_is_in_time() -> None:
    times = [0, 3, 4, 7]
    assert found("SELECT NEXT * WHERE A ;[<= 5] B", "AAAB", times) == [(1, 3)]
    assert found("SELECT LAST * WHERE A ;[>= 4] B", "AAAB", times) == [(1, 3)]
    assert found("SELECT * WHERE NEXT(A ;[<= 5] B) ; C", "AAABC", [*times, 99]) == [(1, 4)]
    assert found("SELECT * WHERE ((NEXT(A ;[<= 5] B) ; C) WITHIN 9)", "AAABC", [*times, 99]) == []


def test_untimed_strategies_keep_their_automata() -> None:
    plan = catena.Query("SELECT * WHERE NEXT(A ; B) ;[<= 5] C", time="ts").plan
    assert plan.automaton.observers and not plan.automaton.scopes
    plan = catena.Query("SELECT * WHERE NEXT((A WITHIN 5) ; B)", time="ts").plan
    assert plan.automaton.observers and not plan.automaton.scopes


# ---------------------------------------------------------------------------------------------
# Bounds


LONG = {
    "SELECT NEXT * WHERE A ;[<= 20] B ;[<= 20] C": 2_000_000,
    "SELECT LAST * WHERE A ;[<= 20] B ;[<= 20] C WITHIN 30": 2_000_000,
    "SELECT MAX * WHERE A ;[<= 20] B ;[<= 20] C": 2_000_000,
    "SELECT * WHERE NEXT(A ;[<= 20] B) ;[<= 20] MAX(A ;[<= 5] C)": 2_000_000,
}


@pytest.mark.parametrize("text", LONG)
def test_long_streams_keep_the_state_small(text: str) -> None:
    """With an upper bound on every gap, what no clock can use any more is released."""
    stream = catena.Query(text, time="ts").stream()
    count = 10_000
    types = pa.DictionaryArray.from_arrays(
        pa.array([i * 7919 % 11 % 4 for i in range(count)], pa.int8()), list("ABCD")
    )
    largest = operations = 0
    for round in range(6):
        times = pa.array(range(round * count, (round + 1) * count), pa.int64())
        stream.push({"type": types, "ts": times})
        stats = stream.stats()
        largest = max(largest, stats["graph_bytes"] + stats["part_bytes"])
        operations = stats["operations"]
    assert largest < LONG[text] + 4_000_000
    assert operations < 6 * count * 400


def test_too_many_configurations_are_refused() -> None:
    limits = catena.Limits(valuation_count_max=100)
    query = catena.Query("SELECT NEXT * WHERE A ;[<= 1000] B", time="ts", limits=limits)
    with pytest.raises(catena.CatenaLimitError, match="more than 100 configurations") as caught:
        query.count({"type": ["A"] * 200, "ts": list(range(200))})
    assert caught.value.hint is not None and "Limits" in caught.value.hint
