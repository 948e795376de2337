"""Conditions over several events in the oracle: examples worked by hand, laws, a second evaluator.

The examples are in `tests/worked_examples.py`. The laws hold for all small formulas and for random
ones; the second evaluator, `oracle.complex_events_by_runs`, reads runs from left to right.
"""

from __future__ import annotations

import itertools
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import generators as g
import oracle as o
from worked_examples import EXAMPLES, Example, compare, get

BY_NAME = {example.name: example for example in EXAMPLES}


def meaning(formula: o.Formula, rows: list[g.Row]) -> frozenset[o.ComplexEvent]:
    return o.complex_events(formula, rows, time="ts", stream="stream")


@pytest.mark.parametrize("example", BY_NAME.values(), ids=BY_NAME)
def test_example(example: Example) -> None:
    found = o.complex_events(example.formula, example.rows())
    assert sorted(sorted(event.positions()) for event in found) == example.matches
    assert o.complex_events_by_runs(example.formula, example.rows()) == found
    assert o.is_well_scoped(example.formula)


def test_examples_have_names_of_their_own() -> None:
    assert len(BY_NAME) == len(EXAMPLES) > 50


# ---------------------------------------------------------------------------------------------
# Conditions by themselves


ROWS = [{"v": 1, "f": 0.5}, {"v": None, "f": math.nan}, {"v": 3, "f": 2.0}]


def holds(condition: o.Condition, wanted: bool = True, **bound: list[int]) -> bool:
    def history(variable: str) -> list[int]:
        return bound.get(variable, [])

    return o.holds(condition, ROWS, history, history, wanted)


@pytest.mark.parametrize(
    ("term", "value"),
    [
        (get("x"), 3),
        (get("x", binding="last"), 3),
        (get("x", binding="first"), 1),
        (o.Aggregate("sum", "x", "v"), 4),
        (o.Aggregate("avg", "x", "v"), 2),
        (o.Aggregate("min", "x", "v"), 1),
        (o.Aggregate("max", "x", "v"), 3),
        (o.Aggregate("count", "x", "v"), 2),
        (o.Aggregate("count", "x"), 3),
        (o.Aggregate("max", "x", "f"), 2),
    ],
)
def test_a_term_reads_the_history_of_its_variable(term: o.Expression, value: int) -> None:
    assert holds(compare(term, "=", value), x=[0, 1, 2])
    assert not holds(compare(term, "!=", value), x=[0, 1, 2])


def test_four_outcomes_of_a_comparison() -> None:
    rising = compare(get("x"), ">", get("x", binding="prev"))
    outcomes = {"applies not": [0], "true": [0, 2], "false": [2, 0], "unknown": [0, 1]}
    satisfied = {name: holds(rising, x=bound) for name, bound in outcomes.items()}
    negation = {name: holds(rising, wanted=False, x=bound) for name, bound in outcomes.items()}
    assert satisfied == {"applies not": True, "true": True, "false": False, "unknown": False}
    assert negation == {"applies not": True, "true": False, "false": True, "unknown": False}


def test_what_is_unbound_satisfies_neither_a_comparison_nor_its_negation() -> None:
    for condition in (compare(get("x"), "=", get("y")), o.IsNull(get("x")), o.IsNull(get("y"))):
        for wanted in (True, False):
            assert not holds(condition, wanted, y=[] if condition == o.IsNull(get("y")) else [0])


def test_a_sum_past_64_bits_is_null() -> None:
    large = o.Arithmetic("*", o.Aggregate("sum", "x", "v"), o.Literal(2**62))
    assert not holds(compare(large, ">", 0), x=[0, 2])
    assert holds(o.IsNull(large), x=[0, 2])


# ---------------------------------------------------------------------------------------------
# Two evaluators


SMALL = frozenset({"as", "or", ";", "+", "project", *g.NEGATED})


def pairs(size: int, length: int, every: int, seed: int):
    """Each `every`-th pair of a small correlated formula and a short stream."""
    rng = random.Random(seed)
    streams = [rows for rows in g.valued_streams(length) if len(rows) > 1]
    for formula in g.correlated_up_to(size, SMALL):
        for _ in range(max(1, len(streams) // every)):
            yield formula, rng.choice(streams)


def compare_evaluators(formula: o.Formula, rows: list[g.Row]) -> None:
    try:
        expected = meaning(formula, rows)
        by_runs = o.complex_events_by_runs(formula, rows, time="ts", stream="stream")
    except o.OverBudget:
        return
    assert by_runs == expected


def test_runs_and_sets_agree_on_small_formulas() -> None:
    compared = 0
    for formula, rows in pairs(size=4, length=4, every=100, seed=1):
        compare_evaluators(formula, rows)
        compared += 1
    assert compared > 1000


@pytest.mark.slow
def test_runs_and_sets_agree_on_many_small_formulas() -> None:
    compared = 0
    for formula, rows in pairs(size=5, length=4, every=500, seed=3):
        compare_evaluators(formula, rows)
        compared += 1
    assert compared > 5000


FORMULAS = g.formulas((g.ALL_FEATURES - g.QUERY) | g.CORRELATED)


@settings(max_examples=80, deadline=None)
@given(FORMULAS, g.rows(max_size=6))
def test_runs_and_sets_agree_on_random_formulas(formula: o.Formula, rows: list[g.Row]) -> None:
    compare_evaluators(formula, rows)


# ---------------------------------------------------------------------------------------------
# Laws


@st.composite
def filtered(draw: st.DrawFn) -> tuple[o.Formula, o.Condition, o.Condition]:
    """A formula and two conditions that may filter it."""
    formula = draw(g.formulas(g.UNARY | g.CORRELATED | g.TERMS, max_depth=3))
    sight = g.Scope().after(formula).sight()
    read = g.conditions(o.bound_variables(formula), sight, g.CORRELATED | {"filter", "term"})
    return (formula, *((draw(read), draw(read)) if not read.is_empty else ()))


def agree(one: o.Formula, other: o.Formula, rows: list[g.Row]) -> bool:
    try:
        return meaning(one, rows) == meaning(other, rows)
    except o.OverBudget:
        return True


@settings(max_examples=80, deadline=None)
@given(filtered(), g.rows(max_size=6))
def test_laws_of_conditions(case: tuple, rows: list[g.Row]) -> None:
    """AND filters twice, OR is a union, NOT moves inwards and takes itself away."""
    formula, *conditions = case
    if not conditions:
        return
    c, d = conditions
    both, either = o.Filter(formula, o.Both(c, d)), o.Filter(formula, o.Either(c, d))
    assert agree(both, o.Filter(o.Filter(formula, c), d), rows)
    assert agree(either, o.Or(o.Filter(formula, c), o.Filter(formula, d)), rows)
    neither = o.Filter(formula, o.Negation(o.Either(c, d)))
    assert agree(neither, o.Filter(formula, o.Both(o.Negation(c), o.Negation(d))), rows)
    assert agree(o.Filter(formula, o.Negation(o.Negation(c))), o.Filter(formula, c), rows)


@settings(max_examples=40, deadline=None)
@given(
    g.formulas(g.UNARY | g.CORRELATED, max_depth=2),
    g.formulas(g.UNARY | g.CORRELATED, max_depth=2),
    g.rows(max_size=6),
)
def test_laws_of_absence(phi: o.Formula, psi: o.Formula, rows: list[g.Row]) -> None:
    """`->` is `; NOT (psi) ;`; what never occurs is always absent; what is asked for is there."""
    never = o.Filter(psi, o.Comparison(o.Literal(0), "=", o.Literal(1)))
    assert agree(o.Arrow(phi, psi), o.SequenceNot(phi, psi, psi), rows)
    assert agree(o.SequenceNot(phi, never, psi), o.Sequence(phi, psi), rows)
    assert agree(o.Unless(phi, never), phi, rows)
    assert not meaning(o.Unless(phi, phi), rows)


def test_laws_on_small_formulas() -> None:
    """An iteration unrolls whatever its body reads, and a filter moves into the parts of an OR."""
    for formula, rows in itertools.islice(pairs(size=4, length=4, every=2000, seed=2), 0, None, 3):
        plus = o.Plus(formula)
        assert agree(plus, o.Or(formula, o.Sequence(formula, plus)), rows)
        if isinstance(formula, o.Filter) and isinstance(formula.body, o.Or):
            left = o.Filter(formula.body.left, formula.condition)
            right = o.Filter(formula.body.right, formula.condition)
            assert agree(formula, o.Or(left, right), rows)
