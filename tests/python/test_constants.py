"""A condition about no event is a constant, and what it is worth is what a predicate says."""

from __future__ import annotations

import pytest

import catena

CONDITIONS = [
    "TRUE", "FALSE", "NOT FALSE", "1 = 1", "1 = 2", "1 < 1.5", "2 >= 2.0", "1 != 1",
    "'a' < 'b'", "'a' = 'b'", "TRUE = FALSE", "1 + 2 * 3 = 7", "7 / 2 = 3.5", "7 % 4 = 3",
    "-7 % 4 = -3", "7 % -4 = 3", "7.5 % 2 = 1.5", "-(1 - 4) = 3",
    "1 / 0 = 1", "NOT 1 / 0 = 1", "1 % 0 IS NULL", "1 / 2 IS NULL", "1 / 0 IS NOT NULL",
    "9223372036854775807 + 1 IS NULL", "-9223372036854775808 - 1 IS NULL",
    "1 = 1 AND 1 / 0 = 1", "1 = 2 AND 1 / 0 = 1", "1 = 1 OR 1 / 0 = 1", "1 = 2 OR 1 / 0 = 1",
    "NOT (1 = 2 AND 1 / 0 = 1)", "NOT (1 = 2 OR 1 / 0 = 1)",
    "2 IN {1, 2}", "2 NOT IN {1, 2}", "3 IN {1, 2.5}", "1 / 0 IN {1}", "1 / 0 NOT IN {1}",
    "2 IN RANGE(1, 2)", "2 BETWEEN 3 AND 4", "2 NOT BETWEEN 3 AND 4", "2 IN {..1}", "2 IN {1..}",
    "'abc' LIKE 'a%'", "'abc' LIKE 'a_'", "'abc' NOT LIKE '_b_'", "'a%' LIKE 'a\\%'",
    "'ab' LIKE 'a\\%'", "'a.c' LIKE 'a.c'", "'abc' LIKE 'a.c'",
]  # fmt: skip

EVENTS = {"type": ["A", "B", "A"]}


def count(formula: str) -> int:
    try:
        return catena.Query(f"SELECT * WHERE {formula}").count(EVENTS)
    except catena.CatenaError as error:
        assert "can never match" in str(error)
        return 0


@pytest.mark.parametrize("condition", CONDITIONS)
def test_constants_are_worth_what_a_predicate_says(condition: str) -> None:
    assert count(f"A FILTER {condition}") == count(f"A FILTER A[{condition}]")


def test_constants_go_with_other_conditions() -> None:
    assert count("A FILTER A[type = 'A'] AND 1 = 1") == 2
    assert count("A FILTER A[type = 'B'] OR 1 = 1") == 2
    assert count("(A OR B) FILTER A[type = 'B'] OR 1 = 2") == 1
    assert count("A FILTER NOT (A[type = 'A'] AND 1 = 2)") == 2
    assert count("A ; (A FILTER 2 > 1)") == 1
