"""Event expressions from and to text: binding, positions of errors, hints, whatever the text."""

from __future__ import annotations

import datetime
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

import catena
from algebra_generators import random_term
from catena.algebra import Empty, Expression, event, format, parse
from catena.errors import CatenaError, CatenaLimitError
from oracle.algebra import text_of

A, B, C, D = map(event, "ABCD")


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("A | B + C ; D", A | (B + (C >> D))),
        ("A ; B + C | D", ((A >> B) + C) | D),
        ("A + B - C + D", ((A + B) - C) + D),
        ("A ; B ; C", (A >> B) >> C),
        ("A | B | C", (A | B) | C),
        ("A ; B[2]", A >> B.within(2)),
        ("(A ; B)[2][3 s]", (A >> B).within(2).within("3 s")),
        ("A - (B | C)", A - (B | C)),
        ("0 ; A", Empty() >> A),
        ("`two words` | `back``quote`", event("two words") | event("back`quote")),
        ("A -- the first\n ; /* then */ B", A >> B),
        ("select ; within", event("select") >> event("within")),
        ("A[1 min 30 s]", A.within("90 s")),
        ("A[.5]", A.within(0.5)),
    ],
)
def test_how_operators_bind(text: str, expected: Expression) -> None:
    assert parse(text) == expected
    assert parse(format(expected)) == expected


def test_lengths_of_every_form() -> None:
    assert A.within(datetime.timedelta(milliseconds=1500)) == A.within("1.5 s")
    for bad in (-1, "-1", "x", True, None, float("nan"), "3 parsecs"):
        with pytest.raises(CatenaError):
            A.within(bad)  # type: ignore[arg-type]


def test_expressions_print_with_no_more_parentheses_than_needed() -> None:
    assert str((A >> B).within("2 s") - (C | D)) == "(A ; B)[2 s] - (C | D)"
    assert str((A - B) - C) == "A - B - C"
    assert str(A - (B - C)) == "A - (B - C)"
    assert str((A + B) >> C) == "(A + B) ; C"
    assert str(A >> (B >> C)) == "A ; (B ; C)"


@pytest.mark.parametrize("seed", range(40))
def test_format_and_parse_are_inverse(seed: int) -> None:
    rng = random.Random(seed)
    expression = parse(text_of(random_term(rng, rng.randint(1, 30), "ABC")))
    assert parse(format(expression)) == expression


@pytest.mark.parametrize(
    ("text", "column", "message", "hint"),
    [
        ("", 1, "the expression ends; expected a name", "give an event"),
        ("A ;", 4, "the expression ends; expected a name", None),
        ("(A ; B", 7, "the expression ends", "a ')' is missing"),
        ("A B", 3, "unexpected 'B'", None),
        ("A & B", 3, "unexpected '&'", "A + B"),
        ("A -> B", 4, "unexpected '>'", "A ; B"),
        ("A || B", 4, "unexpected '|'", "A | B"),
        ("A, B", 2, "unexpected ','", "A ; B"),
        ("A and B", 3, "unexpected 'and'", "A + B"),
        ("A or B", 3, "unexpected 'or'", "A | B"),
        ("not A", 5, "unexpected 'A'", "A - B"),
        ("A within 2", 3, "unexpected 'within'", "(A ; B)[2 s]"),
        ("SELECT * WHERE A", 8, "unexpected '*'", "catena.Query"),
        ("A[-2]", 3, "unexpected '-'", "not negative"),
        ("A[2 parsecs]", 5, "'parsecs' is not a unit of time", "did you mean sec?"),
        ("A[]", 3, "unexpected ']'; expected a number", None),
        ("A | 12", 5, "unexpected '12'", "only 0 is an event"),
        ("'A'", 1, 'unexpected "\'"', "backquotes"),
        ("`A", 1, "unexpected '`'", "a backquote is missing"),
        ("A\n  ; ; B", 5, "unexpected ';'", None),
    ],
)
def test_errors_say_where_and_what_to_try(
    text: str, column: int, message: str, hint: str | None
) -> None:
    with pytest.raises(catena.CatenaSyntaxError) as caught:
        catena.Algebra(text)
    error = caught.value
    assert error.message.startswith(message), error.message
    assert error.column == column and error.line == text.count("\n") + 1
    assert hint is None or hint in (error.hint or ""), error.hint


def test_a_duration_needs_a_time_column() -> None:
    with pytest.raises(CatenaError, match="needs a time column") as caught:
        catena.Algebra("(A ; B)[2 s]")
    assert caught.value.column == 9


TOKENS = ["A", "B", "0", "|", "+", "-", ";", "(", ")", "[", "]", "2", ".5", "1e9", "1e400", "s",
          "`", "`x`", "'", "--", "/*", "*/", "\n", "\\", "é", "99999999999999999999"]  # fmt: skip


def survives(text: str) -> None:
    try:
        expression = parse(text)
    except CatenaError as error:
        assert str(error)
        return
    assert parse(format(expression)) == expression


@given(st.text())
def test_any_text(text: str) -> None:
    survives(text)


@given(st.lists(st.sampled_from(TOKENS), max_size=20).map(" ".join))
def test_any_tokens(text: str) -> None:
    survives(text)


@given(st.text(min_size=1))
def test_any_name(name: str) -> None:
    assert parse(format(event(name))) == event(name)


def test_large_expressions_are_refused_and_do_not_crash() -> None:
    for text in ("(" * 5000 + "A" + ")" * 5000, " | ".join(["A"] * 5000), "A" + "[2]" * 5000):
        with pytest.raises(CatenaLimitError):
            parse(text)
    doubled: Expression = A
    for _ in range(60):
        doubled = doubled + doubled
    with pytest.raises(CatenaLimitError, match="subexpressions"):
        catena.Algebra(doubled)
    chain: Expression = A
    for _ in range(5000):
        chain = chain | B
    with pytest.raises(CatenaLimitError):
        catena.Algebra(chain)
    with pytest.raises(CatenaError, match="is a string"):
        parse(3)  # type: ignore[arg-type]
