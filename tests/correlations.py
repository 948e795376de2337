"""Conditions over several events for tests: all small ones, and random larger ones.

What a condition may read depends on its place, see `Sight`; `generators` knows the places. The
attributes are small integers with nulls and many equal values (`v`, `id`), and floats with NaN
(`f`), whose sums are exact in any order.
"""

from __future__ import annotations

from functools import cache
from typing import NamedTuple

from hypothesis import strategies as st

import oracle as o


class Sight(NamedTuple):
    """What a condition may read: as `x.v`; with first, last and aggregates; with `prev(x).v`."""

    readable: frozenset[str] = frozenset()
    visible: frozenset[str] = frozenset()
    previous: frozenset[str] = frozenset()


# ---------------------------------------------------------------------------------------------
# All small conditions


def _v(variable: str, binding: str = "current") -> o.VariableAttribute:
    return o.VariableAttribute(variable, "v", binding)


def small_conditions(one: str, other: str) -> tuple[o.Condition, ...]:
    """Conditions over two variables, one of each kind; few of them fit a given place."""
    rising = o.Comparison(_v(one), ">", _v(one, "prev"))
    return (
        o.Comparison(_v(other), ">", _v(one)),
        o.Comparison(_v(one), "=", _v(other)),
        rising,
        o.Comparison(_v(other), ">", _v(one, "prev")),
        o.Comparison(_v(one, "last"), ">=", _v(other, "first")),
        o.Comparison(o.Aggregate("sum", one, "v"), ">", o.Literal(1)),
        o.Comparison(o.Aggregate("count", one), "<", o.Aggregate("count", other)),
        o.Negation(o.Either(rising, o.Comparison(_v(one), "=", _v(other)))),
    )


# ---------------------------------------------------------------------------------------------
# Random conditions


OPERATORS = st.sampled_from(("=", "!=", "<", "<=", ">", ">="))
INTEGERS = st.integers(-2, 4)
ATTRIBUTES = st.sampled_from(("v", "v", "v", "v", "id", "id", "f"))
FUNCTIONS = st.sampled_from(("sum", "avg", "min", "max", "count"))


def _terms(sight: Sight, features: frozenset[str]) -> list[st.SearchStrategy[o.Expression]]:
    """The kinds of terms that the place and the features allow."""

    def of(names: frozenset[str], binding: str) -> st.SearchStrategy[o.Expression]:
        variables = st.sampled_from(sorted(names))
        return st.builds(o.VariableAttribute, variables, ATTRIBUTES, st.just(binding))

    kinds: list[st.SearchStrategy[o.Expression]] = []
    if sight.readable:
        kinds += [of(sight.readable, "current")] * 3
    if sight.previous and "prev" in features:
        kinds += [of(sight.previous, "prev")] * 3
    if sight.visible and "aggregate" in features:
        variables = st.sampled_from(sorted(sight.visible))
        kinds += [
            of(sight.visible, "first"),
            of(sight.visible, "last"),
            st.builds(o.Aggregate, FUNCTIONS, variables, ATTRIBUTES),
            st.builds(o.Aggregate, st.just("count"), variables),
        ]
    return kinds


@cache
def comparisons(sight: Sight, features: frozenset[str]) -> st.SearchStrategy[o.Condition]:
    """Comparisons of terms with terms, seldom with constants, and what else can be asked of them;
    nothing at all where nothing can be read."""
    kinds = _terms(sight, features)
    if not kinds:
        return st.nothing()
    term = st.one_of(kinds)
    number = st.builds(o.Literal, INTEGERS)
    sums = st.builds(o.Arithmetic, st.sampled_from("+-*/%"), term, term | number)
    return st.one_of(
        *[st.builds(o.Comparison, term, OPERATORS, term)] * 4,
        st.builds(o.Comparison, sums, OPERATORS, term | number),
        st.builds(o.Comparison, term, OPERATORS, number),
        st.builds(o.InRange, term, term, term | number, st.just("BETWEEN")),
        st.builds(o.IsNull, term, st.booleans()),
    )
