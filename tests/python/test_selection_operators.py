"""NEXT, LAST, MAX and STRICT inside a formula, and SELECT STRICT, against the oracle.

The oracle compares sets of marked rows as SPEC section 3 says; the package builds automata
(compile/selection.py). All small formulas, random larger ones, and cases that are easy to get
wrong.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from paths import PATHS, check, run
from test_semantics import COMMON, FEATURES, can_match, compare, compare_exhaustively

import catena
import oracle
from generators import (
    SELECTED,
    STREAMS,
    TERMS,
    UNARY,
    Features,
    formulas_of_size,
    queries,
    rows,
    rows_of,
)

SMALL: Features = frozenset({"or", ";", "+", "project", "as"}) | SELECTED


def selects(formula: oracle.Formula) -> bool:
    return any(isinstance(part, oracle.Select) for part in oracle.subformulas(formula))


def selecting(size: int, features: Features) -> Iterator[oracle.Formula]:
    """All formulas of a size with a strategy."""
    return filter(selects, formulas_of_size(size, features))


def test_small_formulas_over_short_streams() -> None:
    assert compare_exhaustively(selecting(2, UNARY | SELECTED), 4, every=5, seed=1) > 50
    assert compare_exhaustively(selecting(3, UNARY | SELECTED), 4, every=25, seed=2) > 100
    assert compare_exhaustively(selecting(4, SMALL), 5, every=250, seed=3) > 100


@pytest.mark.slow
def test_all_small_formulas_over_all_short_streams() -> None:
    assert compare_exhaustively(selecting(3, UNARY | SELECTED), 5, every=8, seed=4) > 500
    assert compare_exhaustively(selecting(4, UNARY | SELECTED), 5, every=160, seed=5) > 200
    assert compare_exhaustively(selecting(5, SMALL), 5, every=800, seed=6) > 200


nested = queries(FEATURES | SELECTED | TERMS | STREAMS, max_depth=5)


def compare_within_limits(asked: oracle.Query, events: list[dict], seed: int) -> None:
    try:
        compare(asked, events, seed)
    except catena.CatenaLimitError:
        assume(False)


@settings(max_examples=100, **COMMON)
@given(nested, rows(), st.integers(0, 1000))
def test_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    assume(selects(asked.formula))
    compare_within_limits(asked, events, seed)


@pytest.mark.slow
@settings(max_examples=150, **COMMON)
@given(nested, rows(max_size=10), st.integers(0, 1000))
def test_many_random_queries(asked: oracle.Query, events: list[dict], seed: int) -> None:
    assume(selects(asked.formula))
    compare_within_limits(asked, events, seed)


@settings(max_examples=50, **COMMON)
@given(nested, rows(), st.integers(0, 1000))
def test_strict_for_the_whole_query(asked: oracle.Query, events: list[dict], seed: int) -> None:
    compare_within_limits(replace(asked, strategy="STRICT"), events, seed)


# ---------------------------------------------------------------------------------------------
# What is easy to get wrong


A, B, C = oracle.Type("A"), oracle.Type("B"), oracle.Type("C")


def x(formula: oracle.Formula) -> oracle.As:
    return oracle.As(formula, "x")


def y(formula: oracle.Formula) -> oracle.As:
    return oracle.As(formula, "y")


def sequence(*parts: oracle.Formula) -> oracle.Formula:
    whole = parts[0]
    for part in parts[1:]:
        whole = oracle.Sequence(whole, part)
    return whole


def positive(variable: str) -> oracle.Holds:
    return oracle.Holds(variable, oracle.Comparison(oracle.Attribute("v"), ">", oracle.Literal(0)))


def last_positive(variable: str) -> oracle.Comparison:
    return oracle.Comparison(oracle.VariableAttribute(variable, "v"), ">", oracle.Literal(0))


TRICKY = {
    "the same rows under different variables tie": sequence(oracle.Or(x(A), y(A)), B),
    "the same rows from different starts tie": sequence(
        oracle.Project((), A), oracle.Or(B, sequence(C, B))
    ),
    "no marks at all": oracle.Project((), sequence(A, B)),
    "marks or none": oracle.Or(oracle.Project((), sequence(A, B)), sequence(oracle.AnyType(), B)),
    "an unmarked start and an unmarked end": oracle.Project(
        ("x",), sequence(A, x(oracle.AnyType()), B)
    ),
    "another run with the same rows goes on to mark more": oracle.Or(
        sequence(A, C), sequence(A, B, C)
    ),
    "every subset": sequence(oracle.Plus(oracle.AnyType()), B),
    "filtered below": sequence(oracle.Filter(x(A), positive("x")), B),
    "rows that only one repetition may use": oracle.Plus(sequence(A, oracle.Or(B, C))),
}

LETTERS = ("AABACBC", "CABBACB")


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX", "STRICT"])
@pytest.mark.parametrize("name", TRICKY)
def test_tricky(name: str, strategy: str) -> None:
    selected = oracle.Select(strategy, TRICKY[name])
    around = [
        selected,
        sequence(selected, C),
        oracle.Plus(selected),
        oracle.Select("MAX", oracle.Or(selected, sequence(A, C))),
        oracle.Select("LAST", sequence(selected, oracle.Or(B, C))),
    ]
    for formula in around:
        asked = oracle.Query(formula)
        if can_match(asked):
            for letters in LETTERS:
                check(asked, rows_of(letters), paths=(run,))


AROUND = {
    "every x[P], after the comparison": lambda f: oracle.Filter(f, positive("x")),
    "the last x, after the comparison": lambda f: oracle.Filter(f, last_positive("x")),
    "the last of both, under a new name": lambda f: oracle.Filter(
        oracle.As(f, "z"), last_positive("z")
    ),
    "x of an event further left": lambda f: sequence(x(C), oracle.Filter(f, last_positive("x"))),
    "x from the right": lambda f: sequence(f, oracle.Filter(B, last_positive("x"))),
}


@pytest.mark.parametrize("strategy", ["NEXT", "LAST", "MAX", "STRICT"])
@pytest.mark.parametrize("name", AROUND)
def test_conditions_around(name: str, strategy: str) -> None:
    for body in (sequence(x(A), y(B)), sequence(x(A), oracle.Or(x(B), y(B)))):
        asked = oracle.Query(AROUND[name](oracle.Select(strategy, body)))
        if can_match(asked):
            for letters in LETTERS:
                check(asked, rows_of(letters), paths=(run,), time="ts", stream="stream")


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
    """The operator compares over the whole part, beyond the window and over consumed rows."""
    for strategy in ("NEXT", "LAST", "MAX"):
        for body in (sequence(A, B), sequence(oracle.Plus(A), B)):
            inside = oracle.Select(strategy, body)
            for formula in (inside, oracle.Or(inside, sequence(B, A))):
                asked = oracle.Query(formula, **CLAUSES[clause])
                check(asked, rows_of("AABABBABBA"), paths=PATHS, time="ts")


def matches(text: str, letters: str) -> list[tuple[int, int]]:
    found = catena.Query(f"SELECT * WHERE {text}").run({"type": list(letters)})
    return [(match.start, match.end) for match in found]


def test_a_match_that_began_before_the_left_side_takes_part() -> None:
    """In C ; LAST(A ; B) the A before C loses to the one after it; in C ; NEXT(A ; B) it wins, and
    as it is not after C nothing is left."""
    assert matches("C ; LAST(A ; B)", "ACAB") == [(1, 3)]
    assert matches("C ; NEXT(A ; B)", "ACAB") == []
    assert matches("C ; NEXT(A ; B)", "CAAB") == [(0, 3)]


def test_what_comes_after_an_earlier_one_of_its_kind_can_never_be_next() -> None:
    with pytest.raises(catena.CatenaError, match="can never match") as caught:
        catena.Query("SELECT * WHERE A ; NEXT(A ; B)")
    assert caught.value.hint is not None and "earlier ones" in caught.value.hint


def test_strict_may_leave_nothing() -> None:
    with pytest.raises(catena.CatenaError, match=r"STRICT\(.*\) can never match"):
        catena.Query("SELECT STRICT A WHERE PROJECT[A, C](A : B : C)")


def test_a_large_selection_is_refused() -> None:
    gaps = " : ".join(["ANY"] * 15)
    with pytest.raises(catena.CatenaLimitError, match=r"MAX\(...\) grew past") as caught:
        catena.Query(f"SELECT * WHERE MAX(A : {gaps} : B) ; C")
    assert caught.value.hint is not None and "SELECT MAX" in caught.value.hint


def test_many_conditions_in_a_selection_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("catena.compile.cases.CASE_COUNT_MAX", 1000)
    parts = " ; ".join(f"A AS x{i} FILTER x{i}[v{i} > 0]" for i in range(12))
    with pytest.raises(catena.CatenaLimitError, match="more than 1000 cases"):
        catena.Query(f"SELECT * WHERE LAST({parts}) ; C")
