"""Automata of formulas: their size, their marks, and what can never match."""

from __future__ import annotations

import pytest

import catena
from catena.compile.automaton import ColumnNames, build
from catena.query.normalize import normalize
from catena.query.parse import parse_formula


def automaton(text: str):
    return build(normalize(parse_formula(text)), ColumnNames("type", None))


@pytest.mark.parametrize(
    ("text", "states", "transitions"),
    [
        ("A", 2, 1),
        ("A AS x FILTER x[v > 1]", 2, 1),
        ("A OR B", 2, 2),
        ("A OR A", 2, 1),
        ("A ; B", 3, 3),
        ("A : B", 3, 2),
        ("A +", 3, 5),
        ("A :+", 3, 4),
        ("(A ; B) AND (A : B)", 3, 2),
        ("A ; B ; C ; D", 5, 7),
        ("PROJECT[](A ; B)", 3, 3),
    ],
)
def test_size(text: str, states: int, transitions: int) -> None:
    made = automaton(text)
    assert (made.state_count, len(made.transitions)) == (states, transitions)


@pytest.mark.parametrize(
    "text",
    [
        "A AND B",
        "A AS x AND A",
        "(A ; B) AND (B ; A)",
        "A FILTER A[type = 'B']",
        "A FILTER A[FALSE]",
    ],
)
def test_what_can_never_match_is_empty(text: str) -> None:
    assert automaton(text).is_empty
    with pytest.raises(catena.CatenaError, match="can never match"):
        catena.Query(f"SELECT * WHERE C ; ({text})")
    assert catena.Query(f"SELECT * WHERE C OR ({text})").count({"type": ["C", "A"]}) == 1


def test_the_part_that_can_never_match_is_shown() -> None:
    with pytest.raises(catena.CatenaError) as caught:
        catena.Query("SELECT * WHERE C ; (A AND B) ; D")
    assert caught.value.message.startswith("A AND B can never match")
    assert caught.value.column == 21


def test_at_most_one_mark() -> None:
    made = automaton("A AS x ; (B AS y)+ ; (C AS z OR D AS x)")
    assert made.marks_at_most_once("z") and made.marks_at_most_once("C")
    assert not made.marks_at_most_once("y") and not made.marks_at_most_once("x")


def test_a_large_conjunction_is_refused() -> None:
    many = " ; ".join(["(A OR B)"] * 120)
    shifted = " ; ".join(["(A OR B)+"] * 120)
    with pytest.raises(catena.CatenaLimitError, match="10000 states"):
        catena.Query(f"SELECT * WHERE ({many}) AND ({shifted})")


def test_a_deep_formula_is_refused() -> None:
    with pytest.raises(catena.CatenaLimitError, match="operators deep"):
        catena.Query("SELECT * WHERE " + " ; ".join(["A"] * 600))


def test_literals_of_different_types_stay_apart() -> None:
    query = catena.Query("SELECT x, y WHERE (A AS x ; A AS y) FILTER x[f = 1] AND y[f = 1.0]")
    assert len(query.plan.guards) == 2
