"""NEXT, LAST and MAX over conditions on several events and over attributes as clocks, against the
oracle: of the query and inside formulas, with what is read further left, through every path."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from paths import PATHS, check, run
from test_registers import compare, is_refused
from test_semantics import COMMON

import catena
import oracle as o
from generators import (
    CORRELATED,
    QUERY,
    SELECTED,
    TERMS,
    TIMED,
    UNARY,
    Features,
    Scope,
    conditions,
    correlated_up_to,
    formulas,
    queries,
    rows,
    valued_streams,
)

COMPARING = ("NEXT", "LAST", "MAX")
WINDOWS = (None, o.Events(2), o.Events(3))


def compares(formula: o.Formula) -> bool:
    """Whether a strategy inside compares matches of a formula that reads several events."""
    return any(
        isinstance(part, o.Select) and part.strategy in COMPARING and o.term_variables(part.body)
        for part in o.subformulas(formula)
    )


# ---------------------------------------------------------------------------------------------
# All small formulas


def compare_exhaustively(
    found: Iterator[o.Formula], length: int, every: int, seed: int, strategies=COMPARING
) -> int:
    """The formulas under all strategies over all short streams, each `every`-th combination."""
    rng, compared = random.Random(seed), 0
    streams = [list(stream) for stream in valued_streams(length, values=(0, 1))]
    for formula in found:
        for stream in streams:
            if rng.randrange(every):
                continue
            asked = o.Query(formula, rng.choice(strategies), window=rng.choice(WINDOWS))
            try:
                check(asked, stream, paths=[run])
            except catena.CatenaError as error:
                if not is_refused(error):
                    raise
                continue
            compared += 1
    return compared


SMALL: Features = frozenset({"as", "filter", "or", ";", ":", "+", "project"}) | CORRELATED
FEW: Features = frozenset({"filter", ";", "+"}) | CORRELATED
INSIDE: Features = frozenset({";", "+", "or"}) | CORRELATED | SELECTED


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(correlated_up_to(4, SMALL), 4, 500, seed=1) > 60
    assert compare_exhaustively(correlated_up_to(5, FEW), 4, 1_000, seed=2) > 30


@pytest.mark.slow
def test_more_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(correlated_up_to(4, SMALL), 4, 40, seed=3) > 1_000
    assert compare_exhaustively(correlated_up_to(5, FEW), 4, 60, seed=4) > 800


def test_small_formulas_with_strategies_over_short_streams() -> None:
    found = filter(compares, correlated_up_to(5, INSIDE))
    assert compare_exhaustively(found, 4, 1_500, 5, ("ALL", *COMPARING)) > 40


@pytest.mark.slow
def test_more_small_formulas_with_strategies_over_short_streams() -> None:
    found = filter(compares, correlated_up_to(5, INSIDE))
    assert compare_exhaustively(found, 4, 100, 6, ("ALL", *COMPARING)) > 500


# ---------------------------------------------------------------------------------------------
# Random ones


EVERYTHING = UNARY | TERMS | TIMED | CORRELATED | QUERY | SELECTED


def is_correlated(asked: o.Query) -> bool:
    return bool(o.term_variables(asked.formula))


def selected(features: Features, max_depth: int) -> st.SearchStrategy[o.Query]:
    return st.builds(
        lambda asked, strategy: replace(asked, strategy=strategy),
        queries(features, max_depth).filter(is_correlated),
        st.sampled_from(COMPARING),
    )


@settings(max_examples=50, **COMMON)
@given(selected(UNARY | TERMS | CORRELATED | QUERY, 4), rows(max_size=8))
def test_random_queries(asked: o.Query, events: list[dict]) -> None:
    compare(asked, events, time="ts")


nested = queries(EVERYTHING, max_depth=5).filter(lambda asked: compares(asked.formula))


@settings(max_examples=30, **COMMON)
@given(nested, rows(max_size=7))
def test_random_queries_with_strategies_inside(asked: o.Query, events: list[dict]) -> None:
    compare(asked, events, time="ts")


@pytest.mark.slow
@settings(max_examples=250, **COMMON)
@given(selected(EVERYTHING, 4) | nested, rows(max_size=9))
def test_many_random_queries(asked: o.Query, events: list[dict]) -> None:
    compare(asked, events, time="ts")


PLACES = {
    "alone": lambda whole, other: whole,
    "first": o.Sequence,
    "repeated": lambda whole, other: o.Plus(whole),
    "in another": lambda whole, other: o.Select("LAST", o.Or(whole, other)),
    "with another": lambda whole, other: o.And(whole, o.Or(other, whole)),
}


@st.composite
def lending(draw: st.DrawFn) -> o.Query:
    """A strategy whose conditions may read the Cs to its left, and its own events."""
    left = draw(st.sampled_from((o.As(C, "x"), o.Sequence(o.As(C, "z"), o.As(C, "x")), o.Plus(C))))
    scope = Scope().after(left)
    body = draw(formulas(UNARY, 2, types=("A", "B"), variables=("y", "z")))
    read = conditions(frozenset(), scope.after(body).sight(), CORRELATED, 2)
    inside = o.Select(draw(st.sampled_from(COMPARING)), o.Filter(body, draw(read)))
    whole = draw(st.sampled_from((o.Sequence, o.Sequence, o.Adjacent)))(left, inside)
    other = draw(formulas(UNARY, 1, types=("A", "B")))
    formula = PLACES[draw(st.sampled_from(sorted(PLACES)))](whole, other)
    return o.Query(
        formula,
        draw(st.sampled_from(("ALL", *COMPARING))),
        window=draw(st.sampled_from((None, o.Events(4), o.AttributeSpan(3, "clock")))),
        partition=draw(st.sampled_from(((), (("id",),)))),
        consume=draw(st.sampled_from((None, "ANY", "PARTITION"))),
    )


def with_early_cs(events: list[dict]) -> list[dict]:
    """What begins before the C on the left hides most of what comes after it."""
    return [{**row, "type": "C"} if i in (0, 2) else row for i, row in enumerate(events)]


@settings(max_examples=50, **COMMON)
@given(lending(), rows(max_size=8))
def test_random_strategies_that_are_lent_values(asked: o.Query, events: list[dict]) -> None:
    compare(asked, with_early_cs(events), time="ts")


@pytest.mark.slow
@settings(max_examples=300, **COMMON)
@given(lending(), rows(max_size=9))
def test_many_random_strategies_that_are_lent_values(asked: o.Query, events: list[dict]) -> None:
    compare(asked, with_early_cs(events), time="ts")


# ---------------------------------------------------------------------------------------------
# What is easy to get wrong


A, B, C = o.Type("A"), o.Type("B"), o.Type("C")
X, Y = o.As(A, "x"), o.As(B, "y")


def v(variable: str, binding: str = "current", attribute: str = "v") -> o.VariableAttribute:
    return o.VariableAttribute(variable, attribute, binding)


def over(one: str, other: str) -> o.Comparison:
    return o.Comparison(v(one), ">", v(other))


RISING = o.Plus(o.Filter(X, o.Comparison(v("x"), ">", v("x", "prev"))))
TRICKY = {
    "the best A is too high for the B": o.Filter(o.Sequence(X, Y), over("y", "x")),
    "the same rows under different variables": o.Filter(
        o.Sequence(o.Or(X, o.As(A, "z")), Y), over("y", "x")
    ),
    "the same rows from different starts": o.Filter(
        o.Sequence(o.Sequence(o.Project((), X), o.As(o.Or(A, B), "x")), Y), over("y", "x")
    ),
    "what the output hides tells runs apart": o.Sequence(
        o.Project(("B",), o.Filter(o.Sequence(X, B), over("B", "x"))), C
    ),
    "every rising run": o.Sequence(RISING, B),
    "a sum in bounds": o.Sequence(
        o.Plus(o.Filter(X, o.Comparison(o.Aggregate("sum", "x", "v"), "<", o.Literal(4)))), B
    ),
    "strings": o.Filter(
        o.Sequence(X, Y), o.Comparison(v("x", attribute="s"), "=", v("y", attribute="s"))
    ),
    "time and values": o.Filter(
        o.Within(o.Sequence(X, Y, o.Interval(high=2)), o.AttributeSpan(3, "clock")), over("y", "x")
    ),
    "two branches": o.Or(
        o.Filter(o.Sequence(X, B), over("B", "x")), o.Filter(o.Sequence(X, C), over("x", "C"))
    ),
}
STREAMS = (
    [
        {"type": t, "ts": i - i % 2, "v": n, "s": s, "clock": i // 2, "id": i % 2}
        for i, (t, n, s) in enumerate(zip("AABACBCB", (2, 0, 1, 3, 0, 2, 2, 9), "abbaabab"))
    ],
    [
        {"type": t, "ts": i, "v": n, "s": s, "clock": i, "id": 0}
        for i, (t, n, s) in enumerate(zip("CABBACBAB", (1, None, 1, 2, 1, 3, 4, 0, 5), "cabcabcab"))
    ],
)


@pytest.mark.parametrize("strategy", COMPARING)
@pytest.mark.parametrize("name", TRICKY)
def test_tricky(name: str, strategy: str) -> None:
    body = TRICKY[name]
    inside = o.Select(strategy, body)
    last = o.As(o.Or(B, C), "last")
    asked = [
        o.Query(body, strategy),
        o.Query(body, strategy, window=o.Duration(2)),
        o.Query(body, strategy, window=o.Events(3), items="NONE"),
        o.Query(body, strategy, window=o.AttributeSpan(1, "clock"), limit=1),
        o.Query(body, strategy, partition=(("id",),), consume="PARTITION"),
        o.Query(inside, consume="ANY"),
        o.Query(o.Sequence(inside, last), partition=(("id",),)),
        o.Query(o.Plus(inside)),
        o.Query(o.Within(o.Sequence(inside, last), o.Interval(high=4)), "NEXT"),
        o.Query(o.Select("MAX", o.Or(inside, o.Sequence(A, C))), window=o.Events(4)),
        o.Query(o.And(inside, o.Select("LAST", body))),
    ]
    for query in asked:
        for events in STREAMS:
            check(query, events, paths=PATHS, time="ts")


@pytest.mark.parametrize("strategy", COMPARING)
def test_conditions_around_a_strategy_read_what_is_bound_inside(strategy: str) -> None:
    inside = o.Select(strategy, o.Filter(o.Sequence(X, Y), over("y", "x")))
    around = [
        o.Filter(inside, o.Comparison(v("x"), "=", o.Literal(0))),
        o.Filter(o.Sequence(inside, o.As(C, "z")), over("z", "x")),
        o.Filter(o.Plus(inside), o.Comparison(o.Aggregate("sum", "x", "v"), "<", o.Literal(4))),
        o.Sequence(inside, o.Filter(o.As(B, "w"), o.Comparison(v("w"), ">=", v("y", "last")))),
    ]
    for formula in around:
        for events in STREAMS:
            check(o.Query(formula), events, time="ts")


def found(text: str, letters: str, values: list[int]) -> list[tuple[int, ...]]:
    events = {"type": list(letters), "v": values}
    return [tuple(sorted({*m["x"], *m["y"]})) for m in catena.Query(text).run(events)]


def test_the_best_that_satisfies_the_condition() -> None:
    rising = "(A AS x ; B AS y) FILTER y.v > x.v"
    values = [3, 1, 2, 2, 9]
    assert found(f"SELECT NEXT * WHERE {rising}", "AAABB", values) == [(1, 3), (0, 4)]
    assert found(f"SELECT LAST * WHERE {rising}", "AAABB", values) == [(1, 3), (2, 4)]
    assert found(f"SELECT NEXT * WHERE {rising} WITHIN 3 EVENTS", "AAABB", values) == [
        (1, 3),
        (2, 4),
    ]
    runs = "(A AS x FILTER x.v > prev(x).v)+ ; B AS y"
    assert set(found(f"SELECT MAX * WHERE {runs}", "AAAB", [3, 1, 2, 0])) == {(0, 3), (1, 2, 3)}


def test_each_value_lent_has_matches_of_its_own() -> None:
    """Of the Bs after the C the earliest above it; one that stands before it counts as well."""
    text = "SELECT * WHERE C AS x ; NEXT(A ; (B AS y FILTER B.v > x.v))"
    assert found(text, "CAAB", [3, 0, 0, 9]) == [(0, 3)]
    assert [m["A"] for m in catena.Query(text).run({"type": list("CAAB"), "v": [3, 0, 0, 9]})] == [
        (1,)
    ]
    assert found(text, "ACAB", [0, 3, 0, 9]) == []
    text = "SELECT * WHERE C AS x ; NEXT((A AS y FILTER y.v > x.v) ; B)"
    assert found(text, "ACAB", [0, 3, 5, 9]) == [(1, 2)]


def test_rows_are_read_again_whatever_the_types_were() -> None:
    """The values of a row that is read again may have come as another type, or as nothing."""
    query = catena.Query("SELECT * WHERE C AS x ; NEXT((A AS y FILTER y.v > x.v) ; B)")
    stream = query.stream()
    stream.push({"type": ["A", "A"], "v": [None, None]})
    stream.push({"type": ["A"], "v": [1]})
    stream.push({"type": ["C", "A", "B"], "v": [0.5, 2.5, 0.0]})
    stream = query.restore(stream.snapshot())
    matches = stream.push({"type": ["C", "A", "B"], "v": [2.0, 3.0, 0.0]})
    assert [(m["x"], m["y"]) for m in matches] == []
    matches = stream.push({"type": ["C", "A", "B"], "v": [2.75, 9.0, 0.0]})
    assert [(m["x"], m["y"]) for m in matches] == []
    matches = stream.push({"type": ["C", "A", "B"], "v": [8.5, 9.5, 0.0]})
    assert [(m["x"], m["y"]) for m in matches] == []
    matches = stream.push({"type": ["C", "A", "B"], "v": [9.25, 10.0, 0.0]})
    assert [(m["x"], m["y"]) for m in matches] == []
    matches = stream.push({"type": ["C", "A", "B"], "v": [10.0, 11.0, 0.0]})
    assert [(m["x"], m["y"]) for m in matches] == [((18,), (19,))]


# ---------------------------------------------------------------------------------------------
# Bounds


def test_many_strings_are_dropped_when_no_run_holds_them() -> None:
    equal = "x.s <= y.s AND y.s <= x.s"
    query = catena.Query(f"SELECT NEXT * WHERE (A AS x ; B AS y) FILTER {equal} WITHIN 10 EVENTS")
    stream, ended = query.stream(), 0
    for i in range(60):
        names = [f"name {i} {k // 2}" for k in range(400)]
        ended += stream.push({"type": ["A", "B"] * 200, "s": names}).count()
        assert stream.stats()["part_bytes"] < 300_000  # All would take 800,000.
    assert ended == 60 * 200


LONG = {
    "SELECT NEXT * WHERE (A AS x ; B AS y) FILTER y.v > x.v WITHIN 50 EVENTS": 300,
    "SELECT LAST * WHERE (A AS x ; B AS y) FILTER y.v > x.v": 60,
    "SELECT MAX * WHERE (A AS x ; (B AS y)+ ; C AS z) FILTER z.v > x.v WITHIN 50 EVENTS": 1500,
    "SELECT * WHERE LAST((A AS x ;[<= 20] B AS y) FILTER y.v > x.v) ;[<= 20] C": 200,
}


@pytest.mark.parametrize("text", LONG)
def test_steps_follow_the_values_that_are_alive(text: str) -> None:
    """Per row, and bytes that do not grow: a window, a bound or few values keep them few."""
    stream = catena.Query(text, time="ts").stream()
    rng, count = random.Random(7), 4_000
    largest = []
    for part in range(4):
        events = {
            "type": [rng.choice("ABCD") for _ in range(count)],
            "ts": list(range(part * count, (part + 1) * count)),
            "v": [rng.randrange(10) for _ in range(count)],
        }
        before = stream.stats()["operations"]
        stream.push(events)
        stats = stream.stats()
        assert (stats["operations"] - before) / count < LONG[text]
        largest.append(stats["part_bytes"])
    assert max(largest) < 2 * largest[0] + 10_000


def test_too_many_values_are_refused() -> None:
    limits = catena.Limits(valuation_count_max=100)
    query = catena.Query("SELECT NEXT * WHERE (A AS x ; B) FILTER B.v > x.v", limits=limits)
    with pytest.raises(catena.CatenaLimitError, match="more than 100 configurations") as caught:
        query.count({"type": ["A"] * 200, "v": list(range(200))})
    assert caught.value.hint is not None and "Limits" in caught.value.hint


def test_explain_names_the_algorithm_and_its_bound() -> None:
    text = "SELECT NEXT * WHERE (A AS x ; B AS y) FILTER y.v > x.v WITHIN 5 EVENTS"
    page = catena.Query(text).explain()
    assert "per valuation (1 register, compared while rows are read)" in page
    assert "states, values of registers and starts of runs that can still win" in page
    assert "preorder of the states and values" in page and "v > $0: asked of each" in page
    page = catena.Query("SELECT * WHERE C AS x ; NEXT(A ; (B FILTER B.v > x.v))").explain()
    assert "in the history" in page and "v of every row that may matter" in page


def test_untimed_strategies_keep_their_automata() -> None:
    plan = catena.Query("SELECT * WHERE NEXT(A AS x ; B AS y) FILTER y.v > x.v").plan
    assert plan.automaton.observers and not plan.automaton.scopes


@pytest.mark.parametrize("strategy", COMPARING)
def test_rows_that_no_match_can_have_begun_at_are_not_kept(strategy: str) -> None:
    """Of those that may be read again, if there is a bound on how long matches take. A branch that
    never matches and has no bound changes no match."""
    bounded = "A AS y ;[<= 7] (B FILTER B.v > x.v)"
    rng, count = random.Random(3), 3_000
    events = {
        "type": [rng.choice("AABBBCDD") for _ in range(count)],
        "ts": [row // 2 for row in range(count)],
        "v": [rng.randrange(4) for _ in range(count)],
    }
    reported, sizes = [], []
    for inside in (bounded, f"({bounded}) OR (D ; E)"):
        text = f"SELECT * WHERE C AS x ; {strategy}({inside}) ;[<= 20] D WITHIN 30"
        stream = catena.Query(text, time="ts").stream()
        reported.append(sorted((m.start, m.end, m["x"], m["y"]) for m in stream.push(events)))
        sizes.append(stream.stats()["part_bytes"])
    assert reported[0] == reported[1] and reported[0][-1][1] > 2_900
    assert sizes[0] < sizes[1] / 2
