"""Automata of selection strategies: cases of rows, sizes, observers; by constructors, without rows.

That they have the right complex events is shown by test_selection_operators.py.
"""

from __future__ import annotations

import itertools
import os
import subprocess
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.compile.automaton import ColumnNames, build
from catena.compile.cases import CaseBudget, divided
from catena.compile.cea import Automaton, Guard, string_equality
from catena.query import ast
from catena.query.normalize import normalize
from catena.query.parse import parse_formula


def automaton(text: str) -> Automaton:
    return build(normalize(parse_formula(text)), ColumnNames("type", None))


# ---------------------------------------------------------------------------------------------
# Cases


def equals(name: str, value: str) -> ast.Expression:
    return ast.Comparison(ast.CompareOp.EQ, ast.Attribute(name), ast.Literal(value))


PREDICATES = (equals("t", "A"), equals("t", "B"), equals("u", "A"), ast.Attribute("p"))
LITERALS = (*PREDICATES, *(ast.IsTrue(p, negated=True) for p in PREDICATES))
guards = st.lists(st.frozensets(st.sampled_from(LITERALS), max_size=3), max_size=5)

ROWS = [
    frozenset(true)
    for size in range(len(PREDICATES) + 1)
    for true in itertools.combinations(PREDICATES, size)
    if not {PREDICATES[0], PREDICATES[1]} <= set(true)
]
"""Rows, by the predicates that they satisfy."""


def satisfies(row: frozenset[ast.Expression], guard: Guard) -> bool:
    return all(p.operand not in row if isinstance(p, ast.IsTrue) else p in row for p in guard)


@given(guards)
def test_every_row_falls_into_the_case_of_the_guards_it_satisfies(several: list[Guard]) -> None:
    cases = divided(
        [(guard, i) for i, guard in enumerate(several)],
        lambda satisfied: [frozenset(satisfied)],
        CaseBudget(),
    )
    for row in ROWS:
        expected = {i for i, guard in enumerate(several) if satisfies(row, guard)}
        assert [result for guard, result in cases if satisfies(row, guard)] == [expected]


def test_what_does_not_depend_on_an_answer_does_not_mention_it() -> None:
    options = [(frozenset({p}), p) for p in PREDICATES]
    cases = divided(options, lambda satisfied: [PREDICATES[1] in satisfied, "always"], CaseBudget())
    assert set(cases) == {
        (frozenset(), "always"),
        (frozenset({PREDICATES[1]}), True),
        (frozenset({ast.IsTrue(PREDICATES[1], negated=True)}), False),
    }


def test_strings_that_may_be_one_time_do_not_exclude_each_other() -> None:
    assert string_equality(equals("t", "A")) == ("t", "A")
    assert string_equality(equals("t", "2026-01-31")) is None
    assert not automaton("A FILTER A[t = '2026-01-31'] AND A[t = '2026-01-31 00:00']").is_empty


# ---------------------------------------------------------------------------------------------
# Sizes


@pytest.mark.parametrize(
    ("text", "states", "observers"),
    [
        ("STRICT(A ; B)", 3, 0),
        ("STRICT(A+)", 3, 0),
        ("NEXT(A)", 2, 0),
        ("NEXT(A ; B)", 4, 2),
        ("LAST(A ; B)", 4, 2),
        ("MAX(A ; B)", 4, 2),
        ("NEXT(A ; B) ; C", 5, 2),
        ("LAST(A ; B ; C ; D ; E ; F ; G ; H)", 37, 8),
        ("NEXT(A ; B) OR (NEXT(A ; B) : C)", 6, 2),
        ("MAX(NEXT(LAST(A ; B) ; C) ; D)", 9, 4),
    ],
)
def test_size(text: str, states: int, observers: int) -> None:
    made = automaton(text)
    assert (made.state_count, len(made.observers)) == (states, observers)


@pytest.mark.parametrize("text", ["NEXT(A ; B)+", "MAX(A+ ; B) ; LAST(B ; A)", "A ; MAX(B ; A)"])
def test_only_an_observer_leads_to_an_observer(text: str) -> None:
    made = automaton(text)
    assert 0 in made.observers and 1 not in made.observers
    for t in made.transitions:
        assert t.target not in made.observers or (t.source in made.observers and not t.marks)
        assert not t.when


def test_the_plan_does_not_depend_on_the_order_of_sets() -> None:
    """Snapshots carry the plan's hash, and Python hashes strings differently in every process."""
    text = (
        "SELECT * WHERE MAX((A OR B)+ ; LAST(C ; D)) ; NEXT((A ; C ; D) FILTER D[v > 1 OR w > 2])"
    )
    code = f"import catena; print(catena.Query({text!r}).plan.hash)"
    hashes = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True,
        ).stdout
        for seed in ("1", "2", "3")
    }  # fmt: skip
    assert len(hashes) == 1
