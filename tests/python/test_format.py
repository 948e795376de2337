"""The formatter: `parse(format(tree)) == tree` for trees that the parser can make, and its style.

Trees come from Hypothesis; names are chosen to provoke quoting, numbers to provoke signs and dots.
"""

from __future__ import annotations

import re
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from catena.query import ast
from catena.query.format import format_expression, format_formula, format_query
from catena.query.parse import parse, parse_formula, parse_predicate

NAMES = st.sampled_from(
    [
        "A",
        "B",
        "x",
        "y",
        "price",
        "H",
        "S",
        "D",
        "M",
        "count",
        "last",
        "next",
        "max",
        "all",
        "strict",
        "project",
        "first",
        "range",
        "events",
        "by",
        "s",
        "min",
        "select",
        "Filter",
        "or",
        "NOT",
        "in",
        "null",
        "none",
        "any",
        "ANY",
        "ſelect",
        "éa",
        "_1",
        "two words",
        "back`quote",
        "1st",
        "-- no",
        "it's",
        "(",
        " ",
    ]
)
STRINGS = st.sampled_from(["", "a", "it's", "--", "/*", "`", '"', "(", "é\n", "%_\\"])


# ---------------------------------------------------------------------------------------------
# Trees


INTEGERS = st.integers(-(2**63), 2**64 - 1)
FLOATS = st.floats(allow_nan=False, allow_infinity=False)
LITERALS = st.one_of(INTEGERS, FLOATS, STRINGS, st.booleans()).map(ast.Literal)
AMOUNTS = st.one_of(
    st.integers(0, 10**6).map(Fraction),
    st.decimals(0, 1000, places=3).map(Fraction),
)
BOUNDS = st.builds(ast.Bound, AMOUNTS, st.none() | st.sampled_from(ast.Unit))
NEGATED = st.booleans()


def negate(operand: ast.Expression) -> ast.Expression:
    """The parser folds a minus sign into a number, so such a tree never comes from it."""
    return operand if isinstance(operand, ast.Literal) else ast.Negate(operand)


def values(leaves: st.SearchStrategy[ast.Expression]) -> st.SearchStrategy[ast.Expression]:
    return st.recursive(
        leaves | LITERALS,
        lambda below: st.one_of(
            st.builds(ast.Arithmetic, st.sampled_from("+-*/%"), below, below),
            below.map(negate),
        ),
        max_leaves=5,
    )


def truths(
    value: st.SearchStrategy[ast.Expression], leaves: st.SearchStrategy[ast.Expression]
) -> st.SearchStrategy[ast.Expression]:
    members = st.lists(LITERALS, min_size=1, max_size=3).map(tuple)
    ends = st.tuples(st.none() | value, st.none() | value).filter(lambda e: e != (None, None))
    atoms = st.one_of(
        leaves,
        st.builds(ast.Comparison, st.sampled_from(ast.CompareOp), value, value),
        st.builds(ast.InSet, value, members, NEGATED),
        st.builds(lambda v, e, n: ast.InRange(v, *e, n), value, ends, NEGATED),
        st.builds(ast.Like, value, STRINGS, NEGATED),
        st.builds(ast.IsNull, value, NEGATED),
    )
    return st.recursive(
        atoms,
        lambda below: st.one_of(
            st.builds(ast.LogicalAnd, below, below),
            st.builds(ast.LogicalOr, below, below),
            st.builds(ast.LogicalNot, below),
        ),
        max_leaves=4,
    )


PREDICATES = truths(values(st.builds(ast.Attribute, NAMES)), st.builds(ast.Attribute, NAMES))
BINDINGS = st.sampled_from(["current", "prev", "first", "last"])
FUNCTIONS = st.sampled_from(["min", "max", "sum", "avg", "count"])
TERMS = st.one_of(
    st.builds(ast.VariableAttribute, NAMES, NAMES, BINDINGS),
    st.builds(ast.Aggregate, FUNCTIONS, NAMES, NAMES),
    st.builds(ast.Aggregate, st.just("count"), NAMES, st.none()),
)
CONDITIONS = truths(values(TERMS), st.builds(ast.VariablePredicate, NAMES, PREDICATES))
MEASURES = values(
    st.one_of(
        st.builds(ast.VariableAttribute, NAMES, NAMES),
        st.builds(ast.Aggregate, st.sampled_from(["first", "last", "max", "sum"]), NAMES, NAMES),
        st.builds(ast.Aggregate, st.just("count"), NAMES, st.none()),
    )
)


def interval(low: ast.Bound, width: Fraction, low_open: bool, high_open: bool) -> ast.Interval:
    high = ast.Bound(low.amount + width, low.unit)
    return ast.Interval(low, high, low_open and width > 0, high_open and width > 0)


def half_interval(bound: ast.Bound, is_high: bool, is_open: bool) -> ast.Interval:
    if is_high:
        return ast.Interval(None, bound, False, is_open and bound.amount > 0)
    return ast.Interval(bound, None, is_open)


INTERVALS = st.one_of(
    st.builds(interval, BOUNDS, AMOUNTS, st.booleans(), st.booleans()),
    st.builds(half_interval, BOUNDS, st.booleans(), st.booleans()),
)
WINDOWS = st.one_of(
    st.builds(ast.EventsWindow, st.integers(1, 10**9)),
    st.builds(ast.TimeWindow, BOUNDS),
    st.builds(ast.AttributeWindow, AMOUNTS, NAMES),
)
OPERATORS = st.sampled_from([s for s in ast.Strategy if s is not ast.Strategy.ANY])
MAYBE_INTERVAL = st.none() | INTERVALS


def larger(below: st.SearchStrategy[ast.Formula]) -> st.SearchStrategy[ast.Formula]:
    return st.one_of(
        st.builds(ast.As, below, NAMES),
        st.builds(ast.Filter, below, CONDITIONS),
        st.builds(ast.Or, below, below),
        st.builds(ast.And, below, below),
        st.builds(ast.Sequence, below, below, st.booleans(), MAYBE_INTERVAL),
        st.builds(ast.AbsentBetween, below, below, below, MAYBE_INTERVAL),
        st.builds(ast.FollowedBy, below, below),
        st.builds(ast.Iteration, below, st.booleans(), MAYBE_INTERVAL),
        st.builds(ast.Unless, below, below),
        st.builds(ast.Within, below, WINDOWS | INTERVALS),
        st.builds(ast.Select, OPERATORS, below),
        st.builds(ast.Project, st.lists(NAMES, max_size=2).map(tuple), below),
    )


ATOMS = st.one_of(st.builds(ast.Atom, NAMES, st.none() | NAMES), st.just(ast.AnyEvent()))
FORMULAS = st.recursive(ATOMS, larger, max_leaves=8)


def begins_with_parenthesis(items: tuple[ast.Item, ...]) -> bool:
    """`SELECT MAX (x.a + 1) * 2` is read as the function, so no text stands for such a query."""
    first = items[0] if items else None
    return isinstance(first, ast.MeasureItem) and format_expression(first.expression)[0] == "("


@st.composite
def queries(draw: st.DrawFn) -> ast.Query:
    name_lists = st.lists(NAMES, min_size=1, max_size=2).map(tuple)
    item = st.one_of(
        st.builds(ast.VariableItem, NAMES, st.just(()) | name_lists),
        st.builds(ast.MeasureItem, MEASURES, st.none() | NAMES),
    )
    items = draw(st.none() | st.lists(item, max_size=3).map(tuple))
    strategy = draw(st.sampled_from(ast.Strategy))
    if items and begins_with_parenthesis(items):
        strategy = ast.Strategy.NEXT
    return ast.Query(
        strategy,
        items,
        draw(st.just(()) | name_lists),
        draw(FORMULAS),
        draw(st.lists(name_lists, max_size=2).map(tuple)),
        draw(st.none() | WINDOWS),
        draw(st.sampled_from(ast.Consume)),
        draw(st.none() | st.integers(1, 2**63 - 1)),
    )


# ---------------------------------------------------------------------------------------------
# Round trips


@given(PREDICATES)
def test_predicates_come_back(predicate: ast.Expression) -> None:
    assert parse_predicate(format_expression(predicate)) == predicate


@given(FORMULAS)
def test_formulas_come_back(formula: ast.Formula) -> None:
    assert parse_formula(format_formula(formula)) == formula


@given(queries())
def test_queries_come_back(query: ast.Query) -> None:
    text = format_query(query)
    assert parse(text) == query
    assert format_query(parse(text)) == text


BLANKS = st.sampled_from([" ", "\n", "\t ", " /* ; ' */ ", " -- ( \n", "  "])


@given(FORMULAS, st.data())
def test_layout_means_nothing(formula: ast.Formula, data: st.DataObject) -> None:
    text = format_formula(formula)
    spread = re.sub(r" (?=[^'`]*$)", lambda _: data.draw(BLANKS), text)
    assert parse_formula(data.draw(BLANKS) + spread + data.draw(BLANKS)) == formula


# ---------------------------------------------------------------------------------------------
# Style


CANONICAL = [
    "A ; B ; C",
    "A ; (B ; C)",
    "A ; B FILTER x[v > 1]",
    "A ; (B FILTER x[v > 1])",
    "(A OR B) AND C",
    "A + AS x",
    "A AS x +",
    "A :+[<= 1 s] ; B",
    "A ; NOT (B OR C) ;[1 s, 2 s) D",
    "(A WITHIN [= 5])",
    "PROJECT[x, ANY](NEXT(A) -> ANY)",
    "A FILTER x[- -v > 1 AND NOT (a OR b)]",
    "A FILTER x[a - (b - c) * -2 = 1.5]",
    "A FILTER (x[a] OR y[b]) AND NOT z[c]",
    "A FILTER prev(x).v < x.v + count(x)",
    "A FILTER x[v IN RANGE(1, 2) OR v IN {3..} OR n NOT IN {'a', 'it''s'}]",
    "last ; next AS max FILTER max[range > 1 AND by < 2]",
    "`filter` ; `two words` AS `ANY`",
]


@pytest.mark.parametrize("text", CANONICAL)
def test_canonical_text_is_kept(text: str) -> None:
    assert format_formula(parse_formula(text)) == text


@pytest.mark.parametrize(
    ("given", "canonical"),
    [
        ("((A) ; (B)) ; C", "A ; B ; C"),
        ("A FILTER x[v == 1 and w <> 2]", "A FILTER x[v = 1 AND w != 2]"),
        ("A FILTER x[v BETWEEN 1 AND 2]", "A FILTER x[v IN RANGE(1, 2)]"),
        ("A ;[1, 1] B", "A ;[= 1] B"),
        ("(A WITHIN 1 hour 30 minutes)", "(A WITHIN 90 min)"),
        ("(A WITHIN 1.50 seconds)", "(A WITHIN 1.5 s)"),
        ("`A` ; any", "A ; ANY"),
    ],
)
def test_canonical_text(given: str, canonical: str) -> None:
    assert format_formula(parse_formula(given)) == canonical


def test_strategy_is_written_only_where_it_is_needed() -> None:
    def again(text: str) -> str:
        return format_query(parse(text))

    assert again("select all x where A as x") == "SELECT x WHERE A AS x"
    assert again("SELECT ALL next, y WHERE A") == "SELECT ALL next, y WHERE A"
    assert again("SELECT max(x.v) WHERE A AS x") == "SELECT max(x.v) WHERE A AS x"


def test_nodes_of_rewriting_print() -> None:
    assert format_formula(ast.Nothing()) == "NOTHING"
    assert "IS TRUE" in format_expression(ast.IsTrue(ast.Attribute("v")))
    assert "IS NOT TRUE" in format_expression(ast.IsTrue(ast.Attribute("v"), True))
