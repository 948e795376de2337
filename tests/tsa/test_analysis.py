"""Distances, cases and progressing sets against brute force over small models.

Formulas over three names with constants up to one are constraints between differences, so one name
may be 0 and the others lie on a grid of quarters: fine enough that a supremum c - kε shows as
c - k/4, wide enough that a distance that is not finite leaves every bound behind.
"""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from catena.errors import CatenaLimitError
from catena.tsa.bounds import GREATEST, LEAST, Bound
from catena.tsa.distances import Analysis
from catena.tsa.formulas import (
    BOTTOM,
    TOP,
    And,
    Bounded,
    Comparison,
    Formula,
    Ignore,
    Not,
    Or,
    conjunction,
    disjunction,
)
from catena.tsa.normal import normalized
from catena.tsa.terms import Ceil, Floor, Greatest, Least, Name, Shift, Term

NAMES = ["a", "b", "c"]
STEP, REACH, FINITE = 4, 12, 5
FAST = settings(deadline=None, derandomize=True, max_examples=150)

names = st.sampled_from(NAMES).map(Name)
shifted = st.builds(lambda t, c: Shift(t, c) if c else t, names, st.integers(-1, 1))
simple_terms = st.one_of(
    shifted,
    st.builds(lambda a, b: Least((a, b)), names, shifted),
    st.builds(lambda a, b: Greatest((a, b)), shifted, names),
)
operators = st.sampled_from(["<", "<=", "=", ">=", ">", "!="])


def formulas_over(terms: st.SearchStrategy[Term]) -> st.SearchStrategy[Formula]:
    atoms = st.builds(Comparison, terms, operators, terms)
    return st.recursive(
        st.one_of(atoms, atoms, st.sampled_from([TOP, BOTTOM])),
        lambda inner: st.one_of(
            st.builds(lambda a, b: And((a, b)), inner, inner),
            st.builds(lambda a, b: Or((a, b)), inner, inner),
            st.builds(Not, inner),
        ),
        max_leaves=4,
    )


def term_values(term: Term, model: dict[str, Any]) -> Any:
    match term:
        case Name(name):
            return model[name]
        case Shift(inner, by):
            return term_values(inner, model) + int(by) * STEP
        case Least(terms):
            return np.minimum.reduce([term_values(each, model) for each in terms])
        case Greatest(terms):
            return np.maximum.reduce([term_values(each, model) for each in terms])
        case Floor(width, inner):
            return term_values(inner, model) // (int(width) * STEP) * (int(width) * STEP)
        case Ceil(width, inner):
            return -(-term_values(inner, model) // (int(width) * STEP)) * (int(width) * STEP)


def truth(formula: Formula, model: dict[str, Any]) -> Any:
    match formula:
        case Comparison(left, operator, right):
            a, b = term_values(left, model), term_values(right, model)
            return {
                "<": np.less, "<=": np.less_equal, "=": np.equal,
                ">=": np.greater_equal, ">": np.greater, "!=": np.not_equal,
            }[operator](a, b)  # fmt: skip
        case And(parts):
            return np.logical_and.reduce([truth(part, model) for part in parts])
        case Or(parts):
            return np.logical_or.reduce([truth(part, model) for part in parts])
        case Not(inner):
            return ~truth(inner, model)
    return np.full(next(iter(model.values())).shape, formula == TOP)


def grid(first: int) -> dict[str, Any]:
    """All models with one name at 0."""
    line = np.arange(-REACH * STEP, REACH * STEP + 1)
    free = [name for name in NAMES if name != NAMES[first]]
    x, y = np.meshgrid(line, line)
    return {NAMES[first]: np.zeros_like(x).ravel(), free[0]: x.ravel(), free[1]: y.ravel()}


GRID = grid(0)


def greatest_difference(holds: Any, source: str, target: str) -> Bound:
    """The supremum of target - source over all models of a formula."""
    differences = (GRID[target] - GRID[source])[holds]
    if differences.size == 0:
        return LEAST
    top = int(differences.max())
    if top > FINITE * STEP:
        return GREATEST
    return Bound(math.ceil(Fraction(top, STEP)), top % STEP == 0)


@FAST
@given(formulas_over(simple_terms))
def test_distances_are_the_greatest_differences(formula: Formula) -> None:
    analysis = Analysis(formula)
    holds = truth(formula, GRID)
    for source in NAMES:
        for target in NAMES:
            if source != target:
                expected = greatest_difference(holds, source, target)
                assert analysis.dist(source, target) == expected, (source, target)


@FAST
@given(formulas_over(st.one_of(simple_terms, st.builds(Floor, st.integers(1, 3), shifted),
                               st.builds(Ceil, st.integers(1, 3), shifted))))  # fmt: skip
def test_floor_and_ceil_are_bounded_from_both_sides(formula: Formula) -> None:
    analysis = Analysis(formula)
    line = np.arange(-3 * STEP, 3 * STEP + 1)
    mesh = dict(zip(NAMES, (m.ravel() for m in np.meshgrid(line, line, line)), strict=True))
    holds = truth(formula, mesh)
    for source in NAMES:
        for target in NAMES:
            differences = (mesh[target] - mesh[source])[holds]
            if differences.size:
                top = Fraction(int(differences.max()), STEP)
                assert analysis.dist(source, target).covers(top)


def test_floor_and_ceil_are_as_tight_as_one_can_say() -> None:
    """Over all models the difference to a multiple gets as near to the width as one likes."""
    for rounding, up, down in [
        (Ceil(5, Name("a")), Bound(5, False), Bound(0)),
        (Floor(5, Name("a")), Bound(0), Bound(5, False)),
    ]:
        analysis = Analysis(Comparison(Name("b"), "=", rounding))
        assert (analysis.dist("a", "b"), analysis.dist("b", "a")) == (up, down)


subsets = st.sets(st.sampled_from(NAMES), min_size=1)
bound_formulas = st.lists(st.lists(st.sampled_from(NAMES), min_size=1, max_size=2), max_size=2).map(
    lambda clauses: conjunction(
        disjunction(Bounded(name, f"S:{name}") for name in clause) for clause in clauses
    )
)


@settings(FAST, max_examples=120)
@given(formulas_over(simple_terms), subsets, bound_formulas)
def test_progressing_sets_bound_the_stream(
    formula: Formula, chosen: set[str], bounds: Formula
) -> None:
    """Limits of the chosen names leave each clause of H with a bounded name."""
    anchor = sorted(chosen)[0]
    model = grid(NAMES.index(anchor))
    limited = truth(formula, model) & np.logical_and.reduce([model[n] <= 0 for n in chosen])
    clauses = bounds.parts if isinstance(bounds, And) else [] if bounds == TOP else [bounds]
    expected = True
    for clause in clauses:
        atoms = clause.parts if isinstance(clause, Or) else (clause,)
        least = np.minimum.reduce([model[atom.name] for atom in atoms])[limited]
        expected &= not least.size or least.max() <= FINITE * STEP
    assert Analysis(formula).is_progressing(chosen, bounds) == expected


@FAST
@given(formulas_over(simple_terms), formulas_over(simple_terms))
def test_implication(first: Formula, second: Formula) -> None:
    expected = not (truth(first, GRID) & ~truth(second, GRID)).any()
    assert Analysis(first).implies(second) == expected


@FAST
@given(formulas_over(simple_terms))
def test_normalizing_keeps_the_meaning(formula: Formula) -> None:
    """Seen through the cases: a model satisfies the formula iff it satisfies one of them."""
    holds = np.zeros(GRID["a"].shape, bool)
    for case in Analysis(formula).cases:
        within = np.ones_like(holds)
        for (source, target), by in case.shortest.items():
            difference = GRID[target] - GRID[source]
            limit = int(by.value) * STEP
            within &= difference <= limit if by.closed else difference < limit
        holds |= within
    assert (holds == truth(formula, GRID)).all()


def test_formulas_print_like_the_paper() -> None:
    start, end = Name("start"), Name("end")
    formula = And(
        (
            Comparison(start, "=", Shift(end, -10)),
            Or((Comparison(Ceil(20, start), "<", end), Not(Ignore("v#1")))),
        )
    )
    assert str(formula) == "start = end - 10 ∧ (ceil_20(start) < end ∨ ¬(ignore(v#1)))"
    assert str(normalized(formula.parts[0])) == "start ≤ end - 10 ∧ end ≤ start + 10"
    strict = normalized(Comparison(Greatest((start, Shift(end, 3))), "<", Least((end, start))))
    assert str(strict) == "⊥"


def test_a_strict_cycle_is_inconsistent_though_its_sum_is_zero() -> None:
    a, b = Name("a"), Name("b")
    strict = And((Comparison(a, "<", b), Comparison(b, "<=", a)))
    assert Analysis(strict).cases == ()
    assert len(Analysis(And((Comparison(a, "<=", b), Comparison(b, "<=", a)))).cases) == 1


def test_what_is_ignored_has_no_distance() -> None:
    a, b = Name("a"), Name("b#1")
    formula = Or((And((Ignore("b#1"),)), Comparison(b, "<=", Shift(a, 3))))
    ignoring, other = Analysis(formula).cases
    assert ignoring.dist("a", "b#1") == LEAST
    assert other.dist("a", "b#1") == Bound(3)
    assert Analysis(formula).is_progressing(["a"], Bounded("b#1", "B:b"))


def test_the_number_of_cases_has_a_budget() -> None:
    many = conjunction(Comparison(Name(f"a{i}"), "!=", Name(f"b{i}")) for i in range(13))
    with pytest.raises(CatenaLimitError, match="more than 4096 cases"):
        _ = Analysis(many).cases
