"""LP normal form: conditions move to the atoms they speak of."""

from __future__ import annotations

import pytest

from catena.errors import CatenaLimitError
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


ABSENT = {
    "A -> B": "A ; NOT (B) ; B",
    "A -> B -> C": "A ; NOT (B) ; B ; NOT (C) ; C",
    "(A -> B AS y) FILTER y[v > 1]": "A ; NOT (B AS y) ; (B FILTER B[v > 1]) AS y",
    "(A -> B AS y) FILTER y.v > 1": "A ; NOT (B AS y) ; (B FILTER B[v > 1]) AS y",
    "A -> (B FILTER B[v > 1])": "A ; NOT (B FILTER B[v > 1]) ; (B FILTER B[v > 1])",
    "(A AS x ; NOT (B AS x) ; C) FILTER x[v > 1]": "(A FILTER A[v > 1]) AS x ; NOT (B AS x) ; C",
    "(A ; NOT (B) ; C) AS x FILTER x.v > 1": "(A ; NOT (B) ; (C FILTER C[v > 1])) AS x",
    "((A AS x ; B) UNLESS C AS x) FILTER x[v > 1]": "(A FILTER A[v > 1]) AS x ; B UNLESS C AS x",
    "A AS x ; NOT (B FILTER x.v > 1) ; C": (
        "(A FILTER A[v > 1]) AS x ; NOT (B) ; C OR (A FILTER A[(v > 1) IS NOT TRUE]) AS x ; C"
    ),
    "A UNLESS (B FILTER 1 = 2)": "A",
    "A ; NOT (B FILTER 1 = 2) ; C": "A ; C",
}  # fmt: skip


@pytest.mark.parametrize("text", ABSENT)
def test_conditions_outside_do_not_reach_what_is_absent(text: str) -> None:
    assert normal(text) == ABSENT[text]


def test_copies_of_what_is_next_are_limited() -> None:
    text = "Z"
    for _ in range(40):
        text = f"(A -> {text})"
    with pytest.raises(CatenaLimitError, match="more than 100000 parts") as caught:
        normal(text)
    assert caught.value.hint is not None and "group it from the left" in caught.value.hint


def test_a_condition_on_an_event_further_left_splits_the_sequence() -> None:
    assert normal("T AS x ; (H FILTER x.v > 40)") == "(T FILTER T[v > 40]) AS x ; H"
    both = normal("T AS x ; ((T FILTER x.v > 40) OR H)")
    assert both == (
        "(T FILTER T[v > 40]) AS x ; (T OR H) OR (T FILTER T[(v > 40) IS NOT TRUE]) AS x ; H"
    )
