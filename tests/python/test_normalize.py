"""LP normal form: conditions move to the atoms they speak of."""

from __future__ import annotations

import pytest

from catena.errors import CatenaError
from catena.query.format import format_formula
from catena.query.normalize import normalize
from catena.query.parse import parse_formula


def normal(text: str) -> str:
    return format_formula(normalize(parse_formula(text)))


PUSHES = {
    "(A AS x ; B AS y) FILTER x[v > 1]": "(A FILTER A[v > 1]) AS x ; B AS y",
    "(A ; B) AS x FILTER x[v > 1]": "((A FILTER A[v > 1]) ; (B FILTER B[v > 1])) AS x",
    "(A AS x)+ FILTER x[v > 1]": "(A FILTER A[v > 1]) AS x +",
    "(A AS x OR B AS x) FILTER x[v > 1]": "(A FILTER A[v > 1]) AS x OR (B FILTER B[v > 1]) AS x",
    "PROJECT[x](A AS x ; B) FILTER x[v > 1]": "PROJECT[x]((A FILTER A[v > 1]) AS x ; B)",
    "PROJECT[x](A AS x ; B) AS y FILTER y[v > 1]": (
        "PROJECT[x]((A FILTER A[v > 1]) AS x ; B) AS y"
    ),
    "A FILTER A[v > 1] OR A[v < 0]": "(A FILTER A[v > 1]) OR (A FILTER A[v < 0])",
    "A FILTER NOT (A[v > 1] OR A[v < 0])": "A FILTER A[NOT v > 1] FILTER A[NOT v < 0]",
}  # fmt: skip

TERMS = {
    "(A AS x ; B AS y) FILTER x.v > 1": "(A FILTER A[v > 1]) AS x ; B AS y",
    "(A AS x OR B AS y) FILTER x.v > 1": "(A FILTER A[v > 1]) AS x",
    "(A AS x ; B AS x) FILTER x.v > 1": "A AS x ; (B FILTER B[v > 1]) AS x",
    "A FILTER A.v > 1 OR A.w > 2": "A FILTER A[v > 1 OR w > 2]",
}


@pytest.mark.parametrize("text", PUSHES)
def test_conditions_on_all_events_of_a_variable_are_pushed(text: str) -> None:
    assert normal(text) == PUSHES[text]


@pytest.mark.parametrize("text", TERMS)
def test_conditions_on_the_last_event_of_a_variable_are_pushed(text: str) -> None:
    assert normal(text) == TERMS[text]


HELD = {
    "NEXT(A AS x ; B) FILTER x[v > 1]": "NEXT(A AS x ; B) FILTER x[v > 1]",
    "NEXT(A ; B) AS x FILTER x[v > 1]": "(NEXT(A ; B) FILTER A[v > 1] FILTER B[v > 1]) AS x",
    "STRICT(A AS x ; B) FILTER x[v > 1]": "STRICT((A FILTER A[v > 1]) AS x ; B)",
    "MAX(A AS x ; B) FILTER x.v > 1": "MAX(A AS x ; B) FILTER last(x)[v > 1]",
    "MAX(A ; B) AS x FILTER x.v > 1": "(MAX(A ; B) FILTER last(*)[v > 1]) AS x",
    "(A AS x ; (A AS x OR B)) FILTER x.v > 1": "A AS x ; (A AS x OR B) FILTER last(x)[v > 1]",
    "B ; (A OR B) ; (C FILTER B.v = 0)": "(B ; (A OR B) FILTER last(B)[v = 0]) ; C",
    "LAST(A AS x) ; ((B FILTER x.v > 1) OR C)": (
        "(LAST(A AS x) FILTER last(x)[v > 1]) ; (B OR C) OR "
        "(LAST(A AS x) FILTER last(x)[(v > 1) IS NOT TRUE] OR NOT bound(x)) ; C"
    ),
}  # fmt: skip


@pytest.mark.parametrize("text", HELD)
def test_conditions_stay_where_matches_are_compared_before_them(text: str) -> None:
    assert normal(text) == HELD[text]


def test_a_condition_on_an_event_further_left_splits_the_sequence() -> None:
    assert normal("T AS x ; (H FILTER x.v > 40)") == "(T FILTER T[v > 40]) AS x ; H"
    both = normal("T AS x ; ((T FILTER x.v > 40) OR H)")
    assert both == (
        "(T FILTER T[v > 40]) AS x ; (T OR H) OR (T FILTER T[(v > 40) IS NOT TRUE]) AS x ; H"
    )


def test_conditions_over_several_events_are_refused() -> None:
    with pytest.raises(CatenaError, match="not supported yet"):
        normal("(A AS x ; B AS y) FILTER x.v = y.v")


@pytest.mark.parametrize(
    "text",
    [
        "((A OR B) ; (C FILTER B.v = 0))+",
        "B ; ((A OR B) FILTER B.v = 0)",
    ],
)
def test_conditions_on_an_event_that_only_a_run_tells_are_refused(text: str) -> None:
    with pytest.raises(CatenaError, match="may be bound several times"):
        normal(text)
