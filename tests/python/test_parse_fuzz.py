"""Whatever the text, the parser, the checker and the formatter raise nothing but CatenaError."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.errors import CatenaError, CatenaLimitError
from catena.query.check import check
from catena.query.format import format_query
from catena.query.parse import parse, parse_formula, parse_predicate
from catena.query.trees import NESTING_MAX

TOKENS = [
    "SELECT",
    "FROM",
    "WHERE",
    "PARTITION",
    "BY",
    "WITHIN",
    "CONSUME",
    "LIMIT",
    "FILTER",
    "UNLESS",
    "OR",
    "AND",
    "NOT",
    "AS",
    "IN",
    "LIKE",
    "BETWEEN",
    "IS",
    "NULL",
    "TRUE",
    "FALSE",
    "NONE",
    "ANY",
    "ALL",
    "NEXT",
    "LAST",
    "MAX",
    "STRICT",
    "PROJECT",
    "RANGE",
    "EVENTS",
    "A",
    "B",
    "x",
    "y",
    "v",
    "S",
    "s",
    "min",
    "count(",
    "sum(",
    "prev(",
    "first(",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ".",
    "..",
    ";",
    ":",
    ":+",
    "+",
    "-",
    "*",
    "/",
    "%",
    "->",
    ">",
    "<",
    ">=",
    "<=",
    "=",
    "==",
    "!=",
    "<>",
    "1",
    "2.5",
    ".5",
    "1e9",
    "1e400",
    "99999999999999999999",
    "'a'",
    "''",
    "`q`",
    "`",
    "'",
    '"',
    "--",
    "/*",
    "*/",
    "\n",
]


def survives(text: str) -> None:
    for read in (parse, parse_formula, parse_predicate):
        try:
            tree = read(text)
        except CatenaError as error:
            assert str(error)
            continue
        if read is parse:
            _survives_later_stages(tree, text)


def _survives_later_stages(query: object, text: str) -> None:
    assert parse(format_query(query)) == query  # type: ignore[arg-type]
    try:
        check(query, text)  # type: ignore[arg-type]
    except CatenaError as error:
        assert str(error)


@given(st.text())
def test_any_text(text: str) -> None:
    survives(text)


@given(st.text(st.characters(), max_size=20))
def test_any_characters_inside_a_query(text: str) -> None:
    survives(f"SELECT * WHERE A FILTER A[{text}]")
    survives(f"SELECT {text} WHERE {text}")


@given(st.binary())
def test_any_bytes(data: bytes) -> None:
    survives(data.decode("latin-1"))
    survives(data.decode("utf-8", "surrogateescape"))
    with pytest.raises(CatenaError):
        parse(data)  # type: ignore[arg-type]


@given(st.lists(st.sampled_from(TOKENS), max_size=30).map(" ".join))
def test_token_soup(text: str) -> None:
    survives(text)
    survives("SELECT * WHERE " + text)
    survives("SELECT * WHERE A FILTER " + text)


DEEP = {
    "parentheses": "SELECT * WHERE " + "(" * 10_000 + "A" + ")" * 10_000,
    "open only": "SELECT * WHERE " + "(" * 10_000,
    "operators": "SELECT * WHERE " + "NEXT(" * 10_000 + "A" + ")" * 10_000,
    "sequence": "SELECT * WHERE " + " ; ".join(["A"] * 10_000),
    "iterations": "SELECT * WHERE A" + "+" * 10_000,
    "filters": "SELECT * WHERE A" + " FILTER A[v]" * 5_000,
    "not": "SELECT * WHERE A FILTER " + "NOT " * 10_000 + "A[v]",
    "minus": "SELECT * WHERE A FILTER A[" + "- " * 10_000 + "v > 1]",
    "sum": "SELECT * WHERE A FILTER A[v" + " + 1" * 10_000 + " > 1]",
    "brackets": "SELECT * WHERE A FILTER " + "A[" * 10_000,
    "closed before": "SELECT * WHERE " + ")" * 10_000 + "(" * 10_000,
}


@pytest.mark.parametrize("kind", DEEP)
def test_deep_nesting_is_an_error_and_no_crash(kind: str) -> None:
    with pytest.raises(CatenaError):
        parse(DEEP[kind])


def test_depth_is_limited_whatever_stands_in_strings_and_comments() -> None:
    deep = "(" * (NESTING_MAX + 1)
    with pytest.raises(CatenaLimitError):
        parse(f"SELECT * /* {')' * 999} */ WHERE {deep}A")
    assert parse(f"SELECT * /* {deep} */ WHERE A FILTER A[n = '{deep}'] -- {deep}")
    nested = "(" * (NESTING_MAX - 1) + "A" + ")" * (NESTING_MAX - 1)
    assert parse(f"SELECT * WHERE {nested}") == parse("SELECT * WHERE A")


@pytest.mark.parametrize("number", ["9" * 5000, "1e999999999", "1e-999999999", "1e" + "9" * 5000])
def test_huge_numbers_are_errors_and_cost_nothing(number: str) -> None:
    for text in ("A LIMIT {}", "A WITHIN {} s", "A WITHIN {} EVENTS", "A WITHIN {} [t]"):
        with pytest.raises(CatenaError):
            parse("SELECT * WHERE " + text.format(number))
    survives(f"SELECT * WHERE A FILTER A[v > {number} AND v < -{number}]")
