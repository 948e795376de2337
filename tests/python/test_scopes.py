"""What a condition may read where: the package's check against the oracle's, and against itself."""

from __future__ import annotations

import random
from collections.abc import Iterable

import pytest
from hypothesis import given, settings

import generators as g
import oracle as o
from catena.errors import CatenaError
from catena.query.bindings import Bound, Flow
from catena.query.check import check
from catena.query.parse import parse, parse_formula
from worked_examples import EXAMPLES

OPEN = frozenset({"as", "or", ";", "+", "project", "correlated", *g.NEGATED})


def refusal(query: o.Query) -> str:
    """Why the query is refused; empty when it is not."""
    text = query.text()
    try:
        check(parse(text), text)
    except CatenaError as error:
        assert error.line is not None and error.hint, "an error has a place and a hint"
        return error.message
    return ""


def compare_with_oracle(formulas: Iterable[o.Formula]) -> tuple[int, int]:
    """Asserts that the check refuses exactly what the oracle does; counts both kinds."""
    accepted = refused = 0
    for formula in formulas:
        is_fine = o.is_well_scoped(formula)
        message = refusal(o.Query(formula, window=o.Events(3)))
        assert (not message) == is_fine, f"{formula.text()}: {message or 'accepted'}"
        accepted, refused = accepted + is_fine, refused + (not is_fine)
    return accepted, refused


def some(size: int, count: int, seed: int) -> list[o.Formula]:
    return random.Random(seed).sample(g.formulas_of_size(size, OPEN, ("A", "B")), count)


def test_small_formulas_are_refused_where_a_condition_is_out_of_scope() -> None:
    accepted, refused = compare_with_oracle([*g.formulas_up_to(3, OPEN), *some(4, 400, seed=1)])
    assert accepted > 50 and refused > 300


@pytest.mark.slow
def test_all_small_formulas_are_refused_where_a_condition_is_out_of_scope() -> None:
    accepted, refused = compare_with_oracle([*g.formulas_up_to(4, OPEN), *some(5, 4000, seed=2)])
    assert accepted > 400 and refused > 4000


@settings(max_examples=60, deadline=None)
@given(g.queries(g.ALL_FEATURES))
def test_generated_queries_are_accepted(query: o.Query) -> None:
    message = refusal(query)
    assert message == "" or (query.window is None and "no window" in message)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
def test_worked_examples_are_accepted(example) -> None:
    assert refusal(o.Query(example.formula, window=o.Events(100))) == ""


@pytest.mark.parametrize(
    ("formula", "once", "twice"),
    [
        ("A ; B", "A B", ""),
        ("A ; A", "A", "A"),
        ("A OR (B ; B)", "A B", "B"),
        ("A+", "A", "A"),
        ("(A ; B) AS x", "A B x", "x"),
        ("(A AS x) AS x", "A x", ""),
        ("PROJECT[A](A ; B+)", "A", ""),
        ("PROJECT[](A) AS x", "", ""),
        ("A ; NOT (B) ; C", "A C", ""),
        ("A UNLESS B", "A", ""),
        ("((A FILTER A.v > B.v) OR B)+", "A B", "A B"),
    ],
)
def test_what_a_formula_may_bind(formula: str, once: str, twice: str) -> None:
    found = Flow().after(parse_formula(formula), Bound())
    assert found == Bound(frozenset(once.split()), frozenset(twice.split()))


def test_a_repetition_that_needs_a_later_one_is_never_completed() -> None:
    assert Flow().after(parse_formula("((A FILTER A.v > B.v) ; B)+"), Bound()) is None


def test_deep_iterations_are_checked_in_no_time() -> None:
    text = "A"
    for depth in range(40):
        text = f"({text} ; (T{depth} AS x{depth} FILTER x{depth}.v > prev(x{depth}).v))+"
    text = f"SELECT * WHERE {text}"
    check(parse(text), text)


ABSENT_OF_ITS_OWN = [
    "A ; NOT (B AS b ; (C AS c FILTER c.id = b.id)) ; A",
    "A ; NOT ((B AS b ; C AS c) FILTER c.id = b.id) ; A",
    "A ; NOT ((B FILTER B.v > prev(B).v)+) ; A",
    "A ; NOT (B+ FILTER sum(B.v) > 3) ; A",
    "A -> ((B ; C) FILTER B.v = C.v)",
    "(A ; A) UNLESS ((B ; C) FILTER B.v = C.v)",
]
ABSENT_ROW_BY_ROW = [
    "A AS a ; NOT (B AS b FILTER b.id = a.id) ; A",
    "A AS a ; NOT ((B AS b ; C AS c) FILTER b.id = a.id AND c.id = a.id) ; A",
    "A AS a ; NOT ((B AS b FILTER b.id = a.id AND B.v = 3)+) ; A",
    "A AS a -> (B AS b FILTER b.id = a.id)",
    "(A AS a ; A) UNLESS (B AS b FILTER b.id = a.id)",
    "A AS a ; (B AS b FILTER a.id = b.id) ; NOT (C) ; A",
]


@pytest.mark.parametrize("formula", ABSENT_OF_ITS_OWN)
def test_what_is_absent_compares_its_own_events_only_inside_a_window(formula: str) -> None:
    text = f"SELECT * WHERE {formula}"
    with pytest.raises(CatenaError, match="no window bounds it"):
        check(parse(text), text)
    for bounded in (f"{text} WITHIN 5 EVENTS", f"SELECT * WHERE ({formula} WITHIN 5 s)"):
        check(parse(bounded), bounded)


@pytest.mark.parametrize("formula", ABSENT_ROW_BY_ROW)
def test_what_is_told_row_by_row_needs_no_window(formula: str) -> None:
    text = f"SELECT * WHERE {formula}"
    check(parse(text), text)


def test_a_window_may_stand_around_what_is_absent_alone() -> None:
    for window, is_bounded in (("5 s", True), ("[< 5 s]", True), ("[> 5 s]", False)):
        text = f"SELECT * WHERE A ; NOT (((B ; C) FILTER B.v = C.v WITHIN {window})) ; A"
        if is_bounded:
            check(parse(text), text)
        else:
            with pytest.raises(CatenaError, match="no window bounds it"):
                check(parse(text), text)
