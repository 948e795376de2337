"""What must be absent and compares events or bounds time, against the oracle: all small formulas
over short streams, random larger ones, nested in each other and in everything else, under every
clause, by every path."""

from __future__ import annotations

import pickle
import random
from collections.abc import Sequence

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paths import PATHS, Path, Rows, check, push_in_batches, run, snapshot_at_every_cut
from test_negation import AROUND, CLAUSES, sequence, x
from test_semantics import COMMON

import catena
import oracle as o
from generators import (
    CORRELATED,
    NEGATED,
    QUERY,
    TERMS,
    TIMED,
    UNARY,
    Features,
    Scope,
    absences,
    conditions,
    correlated_up_to,
    formulas,
    formulas_up_to,
    queries,
    rows,
    rows_of,
    type_streams,
    valued_streams,
)

A, B, C = o.Type("A"), o.Type("B"), o.Type("C")
Y = o.As(B, "y")
REFUSED = (
    "not supported yet",
    "can never match",
    "there is never an event before",
    "no window bounds it",
)


def compare(asked: o.Query, events: Rows, paths: Sequence[Path] = PATHS) -> bool:
    """Compares with the oracle, unless the query is refused; tells whether it is not."""
    try:
        check(asked, events, paths=paths, time="ts")
    except catena.CatenaError as error:
        if not any(words in str(error) for words in REFUSED):
            raise
        return False
    return True


# ---------------------------------------------------------------------------------------------
# All small formulas


def negations(formula: o.Formula) -> bool:
    kinds = o.SequenceNot, o.Arrow, o.Unless
    return any(isinstance(part, kinds) for part in o.subformulas(formula))


def compare_all(formulas, streams: list[Rows], every: int, seed: int) -> int:
    """Each `every`-th pair of a formula with something absent and a stream, in a window."""
    rng, compared = random.Random(seed), 0
    for formula in filter(negations, formulas):
        asked = o.Query(formula, window=o.Events(4))
        for stream in rng.sample(streams, max(1, len(streams) // every)):
            compared += compare(asked, stream, [run])
    return compared


COMPARING: Features = frozenset({";", "correlated"}) | NEGATED
TIMED_ONLY: Features = frozenset({";", ":", "+", "or"}) | NEGATED | TIMED


def full_streams(length: int) -> list[Rows]:
    return [stream for stream in valued_streams(length) if len(stream) == length]


def test_small_formulas_that_compare_over_short_streams() -> None:
    assert compare_all(correlated_up_to(5, COMPARING), full_streams(4), every=400, seed=1) > 150


def test_small_formulas_that_bound_time_over_short_streams() -> None:
    streams = [list(stream) for stream in type_streams(5) if len(stream) == 5]
    assert compare_all(formulas_up_to(4, TIMED_ONLY), streams, every=6, seed=3) > 400


@pytest.mark.slow
@pytest.mark.parametrize("more", ["+", "as", "or", "project"])
def test_more_small_formulas_over_short_streams(more: str) -> None:
    formulas = correlated_up_to(5, COMPARING | {more})
    assert compare_all(formulas, full_streams(4), every=1296, seed=4) > 150


@pytest.mark.slow
def test_more_small_formulas_that_bound_time_over_short_streams() -> None:
    streams = [list(stream) for stream in type_streams(5) if len(stream) == 5]
    assert compare_all(formulas_up_to(4, TIMED_ONLY), streams, every=3, seed=5) > 700


# ---------------------------------------------------------------------------------------------
# Random larger ones


PLAIN = UNARY | NEGATED
WINDOW: Features = frozenset({"window"})
KINDS = (
    PLAIN | CORRELATED | TERMS | WINDOW,
    PLAIN | CORRELATED | {"interval"} | WINDOW,
    PLAIN | TIMED,
    PLAIN | CORRELATED | TERMS | TIMED | (QUERY - {"strategy"}),
    PLAIN | TIMED | QUERY,
    PLAIN | CORRELATED | TIMED | QUERY | {"select"},
)


def random_absences(max_depth: int) -> st.SearchStrategy[o.Query]:
    return st.sampled_from(KINDS).flatmap(
        lambda features: queries(features, made=absences(features, max_depth))
    )


def compare_random(asked: o.Query, events: Rows) -> None:
    try:
        assume(compare(asked, events))
    except (o.OverBudget, catena.CatenaLimitError):
        assume(False)


@settings(max_examples=60, **COMMON)
@given(random_absences(2), rows(max_size=8))
def test_random_queries(asked: o.Query, events: Rows) -> None:
    compare_random(asked, events)


@pytest.mark.slow
@settings(max_examples=250, **COMMON)
@given(random_absences(3), rows(max_size=9))
def test_many_random_queries(asked: o.Query, events: Rows) -> None:
    compare_random(asked, events)


# ---------------------------------------------------------------------------------------------
# Nested in each other and in everything else


def value(variable: str, attribute: str = "id", binding: str = "current") -> o.VariableAttribute:
    return o.VariableAttribute(variable, attribute, binding)


def filtered(formula: o.Formula, left: o.Expression, op: str, right: o.Expression) -> o.Filter:
    return o.Filter(formula, o.Comparison(left, op, right))


def same(formula: o.Formula, one: str, other: str) -> o.Filter:
    return filtered(formula, value(one), "=", value(other))


def rising(formula: o.Formula, one: str, other: str) -> o.Filter:
    return filtered(formula, value(one, "v"), "<", value(other, "v"))


SOON, LATER = o.Interval(high=2), o.Interval(low=3)
TWO_OF_ONE_ID = same(sequence(Y, o.As(A, "z")), "y", "z")
ABSENCES = {
    "a row with the id of x": o.SequenceNot(x(A), same(Y, "y", "x"), C),
    "one of two rows": o.SequenceNot(x(A), o.Or(same(B, "B", "x"), rising(A, "A", "x")), C),
    "two rows of one id": o.SequenceNot(x(A), TWO_OF_ONE_ID, C),
    "two rows, one with the id of x": o.SequenceNot(
        x(A), sequence(rising(B, "x", "B"), same(A, "A", "x")), C
    ),
    "two rows soon after each other": o.SequenceNot(x(A), o.Sequence(B, B, SOON), C),
    "two rows long after each other": o.SequenceNot(x(A), o.Sequence(B, B, LATER), C),
    "rows in touch, in time": o.SequenceNot(x(A), o.Within(o.Adjacent(B, A), SOON), C),
    "more than so much": o.SequenceNot(
        x(A), filtered(o.Plus(Y), o.Aggregate("sum", "y", "v"), ">", value("x", "v")), C
    ),
    "rising rows": o.SequenceNot(
        x(A), sequence(filtered(o.Plus(o.Filter(Y, o.Comparison(
            value("y", "v"), ">", value("y", "v", "prev")))),
            o.Aggregate("count", "y"), ">", o.Literal(1)), A), C
    ),
    "the next of one id": o.Arrow(x(A), same(o.As(C, "y"), "y", "x")),
    "the next two, soon": o.Arrow(x(A), o.Sequence(B, C, SOON)),
    "unless a row with the id of x": o.Unless(sequence(x(A), C), same(B, "B", "x")),
    "unless a row over the first": o.Unless(
        sequence(o.Plus(x(o.Or(A, B))), C),
        filtered(B, value("B", "v"), ">", value("x", "v", "first")),
    ),
    "unless two rows, what was bound when they begin": o.Unless(
        sequence(o.Plus(x(o.Or(A, B))), C),
        filtered(sequence(B, A), value("A", "v"), ">", value("x", "v", "last")),
    ),
    "unless soon": o.Unless(sequence(x(A), C), o.Sequence(o.Or(A, B), B, SOON)),
    "unless what is bound under its name": o.Unless(
        o.As(sequence(x(A), o.Filter(Y, o.Comparison(value("y", "v"), ">=", value("x", "v"))), C),
             "x"),
        filtered(B, value("B", "v"), "<", value("x", "v", "last")),
    ),
    "what is not undone": o.SequenceNot(x(A), o.SequenceNot(Y, same(A, "A", "y"), B), C),
    "what is not undone in time": o.SequenceNot(
        x(A), o.Unless(o.Sequence(B, B, o.Interval(high=6)), o.Sequence(A, A, SOON)), C
    ),
    "twice": o.SequenceNot(
        x(A), o.Sequence(B, B, SOON), o.SequenceNot(Y, same(A, "A", "y"), o.As(C, "z"))
    ),
}  # fmt: skip

LETTERS = ("AABACBCBAC", "CABCBACAAC", "ABABBAACBC")
SHORT = ("ABABBAC", "AACBAC")


@pytest.mark.parametrize("around", AROUND)
@pytest.mark.parametrize("name", ABSENCES)
def test_nested(name: str, around: str) -> None:
    asked = o.Query(AROUND[around](ABSENCES[name]), window=o.Events(9))
    for letters in SHORT:
        compare(asked, rows_of(letters), [run])


@pytest.mark.parametrize("name", ABSENCES)
def test_alone(name: str) -> None:
    """By every path, and with matches on some stream."""
    asked = o.Query(ABSENCES[name], window=o.Events(9))
    assert all(compare(asked, rows_of(letters)) for letters in LETTERS)
    assert any(any(o.results(asked, rows_of(letters), time="ts")) for letters in LETTERS)


@pytest.mark.parametrize("clause", CLAUSES)
def test_clauses(clause: str) -> None:
    for formula in ABSENCES.values():
        clauses = {"window": o.Events(9), **CLAUSES[clause]}
        compare(
            o.Query(formula, **clauses),
            rows_of("AABACBCCABCBAC"),
            [push_in_batches, snapshot_at_every_cut],
        )


LENDING = {
    "a row with the id of x": o.Sequence(
        x(A), o.Select("NEXT", o.SequenceNot(B, same(A, "A", "x"), C))
    ),
    "two rows, one under x, soon": o.Sequence(
        x(A),
        o.Select(
            "LAST",
            o.SequenceNot(Y, o.Sequence(rising(B, "B", "x"), same(o.Or(A, B), "A", "y"), SOON), C),
        ),
    ),
    "unless, beside what is compared": o.Sequence(
        x(A),
        o.Select(
            "MAX",
            o.Unless(rising(o.Sequence(o.Plus(Y), C), "x", "C"), same(sequence(A, B), "B", "x")),
        ),
    ),
    "what is absent around it": o.SequenceNot(
        x(A), TWO_OF_ONE_ID, o.Select("NEXT", rising(sequence(B, C), "x", "C"))
    ),
    "in another that is lent a value": o.Sequence(
        x(A),
        o.Select(
            "LAST",
            o.Sequence(Y, o.Select("NEXT", o.SequenceNot(o.Or(A, B), same(B, "B", "x"), C))),
        ),
    ),
}


@pytest.mark.parametrize("name", LENDING)
def test_strategies_that_are_lent_what_is_absent_inside_reads(name: str) -> None:
    """Rows are read again for what must be absent, too."""
    for letters in (*LETTERS, "BABCACBC", "ABBCABC"):
        for window in (o.Events(20), o.Events(6)):
            asked = o.Query(LENDING[name], window=window)
            assert compare(asked, rows_of(letters))
    found = (o.results(o.Query(LENDING[name]), rows_of(s), time="ts") for s in LETTERS)
    assert any(map(any, found))


@st.composite
def compared_absences(draw: st.DrawFn) -> o.Query:
    """A strategy over something absent, which may read the As to its left, in a strategy or not."""
    left = draw(st.sampled_from((x(A), o.Plus(x(A)))))
    absent = draw(formulas(UNARY | {"interval"}, 2, types=("A", "B"), variables=("y", "z")))
    read = conditions(frozenset(), Scope().after(left).after(absent).sight(), CORRELATED, 2)
    absent = o.Filter(absent, draw(read))
    inside = draw(
        st.sampled_from(
            (
                o.SequenceNot(o.As(C, "c"), absent, C),
                o.Sequence(C, o.Arrow(o.As(C, "c"), absent)),
                o.Unless(o.Sequence(o.Plus(o.As(C, "c")), C), absent),
            )
        )
    )
    compared = o.Select(draw(st.sampled_from(("NEXT", "LAST", "MAX"))), inside)
    return o.Query(
        draw(st.sampled_from((o.Sequence, o.Adjacent)))(left, compared),
        draw(st.sampled_from(("ALL", "NEXT", "LAST", "MAX"))),
        window=draw(st.sampled_from((o.Events(6), o.Duration(5)))),
        partition=draw(st.sampled_from(((), (("id",),)))),
    )


@settings(max_examples=40, **COMMON)
@given(compared_absences(), rows(max_size=8))
def test_random_strategies_over_what_is_absent(asked: o.Query, events: Rows) -> None:
    compare_random(asked, events)


@pytest.mark.slow
@settings(max_examples=200, **COMMON)
@given(compared_absences(), rows(max_size=9))
def test_many_random_strategies_over_what_is_absent(asked: o.Query, events: Rows) -> None:
    compare_random(asked, events)


STRATEGIES = ("the first of its kind", "the last of its kind", "the largest of its kind")


@pytest.mark.parametrize("around", STRATEGIES)
def test_strategies_over_what_is_absent(around: str) -> None:
    """Nothing of this is refused."""
    for formula in ABSENCES.values():
        asked = o.Query(AROUND[around](formula), window=o.Events(9))
        assert compare(asked, rows_of("AABACBC"), [run])


# ---------------------------------------------------------------------------------------------
# What it costs, and what is kept


def test_a_row_finds_the_matches_that_it_stops() -> None:
    """A thousand shares are bought, half of them are sold: each sale touches its own share."""
    query = catena.Query("SELECT * WHERE BUY AS a ; NOT (SELL AS b FILTER b.id = a.id) ; CLOSE")
    assert "id = $0: indexed by hash" in query.explain()
    shares = 1000
    stream = query.stream()
    stream.push({"type": ["BUY"] * shares, "id": list(range(shares))})
    before = stream._engine.stats()["operations"]
    stream.push({"type": ["SELL"] * (shares // 2), "id": list(range(shares // 2))})
    assert stream._engine.stats()["operations"] - before < 60 * shares
    left = stream.push({"type": ["CLOSE"], "id": [0]})
    assert sorted(m.start for m in left) == list(range(shares // 2, shares))


@pytest.mark.parametrize("strategy", ["ALL", "NEXT", "LAST", "MAX"])
def test_the_next_of_one_key(strategy: str) -> None:
    """One key for all events, the absent ones too: a partition, whatever the strategy."""
    query = catena.Query(f"SELECT {strategy} * WHERE BUY AS a -> (SELL AS b FILTER b.id = a.id)")
    assert "constant (unary conditions and key equalities)" in query.explain()
    events = {"type": ["BUY", "BUY", "SELL", "BUY", "SELL", "SELL"], "id": [1, 2, 2, 1, 1, 1]}
    found = [(m.start, m.end) for m in query.run(events)]
    pairs = {"ALL": [(0, 4), (3, 4)], "NEXT": [(0, 4)], "LAST": [(3, 4)], "MAX": [(0, 4), (3, 4)]}
    assert sorted(found) == sorted([(1, 2), *pairs[strategy]])


def test_time_bounds_need_no_window() -> None:
    """Waiting matches are told apart by what is open, so a long stream keeps few of them."""
    query = catena.Query("SELECT c WHERE A AS a ; NOT (B ;[<= 5] D) ; C AS c", time="ts")
    stream, sizes = query.stream(), []
    for batch in range(6):
        count = 10_000
        ts = range(batch * count, (batch + 1) * count)
        stream.push({"type": ["A", "B"] * (count // 2), "ts": ts})
        sizes.append(stream._engine.stats()["part_bytes"])
    assert sizes[-1] <= 2 * sizes[2]


def test_open_matches_are_limited() -> None:
    query = catena.Query(
        "SELECT * WHERE A ; NOT (B AS b ; (D AS d FILTER d.v = b.v)) ; C WITHIN 1000 EVENTS",
        limits=catena.Limits(valuation_count_max=100),
    )
    with pytest.raises(catena.CatenaLimitError, match="more than 100 open matches"):
        query.run({"type": ["A"] + ["B"] * 200, "v": list(range(201))}).count()


@pytest.mark.parametrize(("strategy", "expected"), [("ALL", 5 * 5_000 - 10), ("NEXT", 5_000)])
def test_endless_values_stay_bounded(strategy: str, expected: int) -> None:
    """Sets and strings that nobody holds any more are dropped, and the others go on."""
    query = catena.Query(
        f"SELECT {strategy} * WHERE A ; NOT (B AS b ; (D AS d FILTER d.s = b.s)) ; C "
        "WITHIN 20 EVENTS"
    )
    events = {
        "type": [*"ABBC"] * 5_000,
        "s": [f"{i}-" * 4 for i in range(20_000)],
    }
    stream = query.stream()
    assert stream.push(events).count() == expected
    copied = query.restore(stream.snapshot())
    following = {"type": ["D", "C"], "s": [events["s"][-2], ""]}
    assert [m.start for m in copied.push(following)] == []
    assert len(stream.snapshot()) < 100_000


def test_the_plan_travels() -> None:
    """As to the workers of Spark: with its absences."""
    query = catena.Query("SELECT * WHERE A ; NOT (B ;[<= 5] (D FILTER D.v > B.v)) ; C WITHIN 50",
                         time="ts")  # fmt: skip
    plan = pickle.loads(pickle.dumps(query.plan))
    assert plan.hash == query.plan.hash and len(plan.absences) == 1
    assert plan.cea is not None
