"""What is absent may compare its own events only where a window bounds it.

Whether `B AS b FILTER b.id = a.id` has occurred since an A can be told from each row by itself,
given the A. Whether `B AS b ; (C AS c FILTER c.id = b.id)` has needs every B so far to be kept, and
automata with such registers have no complement (paper 001, Theorem 35), unless a window bounds how
long they run (Theorem 41, Corollary 43).

So a comparison inside NOT (...), UNLESS or on the right of `->` that reads two events of the absent
formula, or prev, first or an aggregate of them, needs a window: the query's, or one around it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeAlias

from catena.query import ast
from catena.query.bindings import Term, bound_variables, leaves, terms

Inside: TypeAlias = frozenset[str] | None
"""The variables that an absent formula has bound so far; None outside of any."""


def unbounded_comparison(query: ast.Query) -> ast.Expression | None:
    """The first comparison that needs a window and has none."""
    if query.window is not None:
        return None
    return next(_unbounded(query.formula, None), None)


def _unbounded(formula: ast.Formula, inside: Inside) -> Iterator[ast.Expression]:
    match formula:
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return
        case ast.Or() | ast.And():
            yield from _unbounded(formula.left, inside)
            yield from _unbounded(formula.right, inside)
        case ast.Sequence():
            yield from _unbounded(formula.left, inside)
            yield from _unbounded(formula.right, _after(formula.left, inside))
        case ast.AbsentBetween():
            yield from _unbounded(formula.left, inside)
            yield from _unbounded(formula.right, _after(formula.left, inside))
            yield from _unbounded(formula.absent, _after(formula.left, inside) or frozenset())
        case ast.FollowedBy():
            yield from _unbounded(formula.left, inside)
            yield from _unbounded(formula.right, _after(formula.left, inside) or frozenset())
        case ast.Unless():
            yield from _unbounded(formula.body, inside)
            yield from _unbounded(formula.absent, _after(formula.body, inside) or frozenset())
        case ast.Iteration():
            yield from _unbounded(formula.body, _after(formula.body, inside))
        case ast.Within() if _has_upper_end(formula.limit):
            return
        case ast.Filter() if inside is not None:
            yield from _unbounded(formula.body, inside)
            for leaf in leaves(formula.condition):
                if _reads_several(leaf, formula.body, inside):
                    yield leaf
        case _:
            yield from _unbounded(formula.body, inside)


def _after(formula: ast.Formula, inside: Inside) -> Inside:
    return None if inside is None else inside | bound_variables(formula)


def _has_upper_end(limit: ast.Window | ast.Interval) -> bool:
    return not isinstance(limit, ast.Interval) or limit.high is not None


def _reads_several(leaf: ast.Expression, body: ast.Formula, inside: frozenset[str]) -> bool:
    """Whether a comparison needs more than one event of the absent formula at a time."""
    own, at_once = bound_variables(body), _is_one_row(body)
    events: set[str | None] = set()
    for term in terms(leaf):
        if isinstance(term, ast.VariablePredicate) or term.variable not in own | inside:
            continue
        is_row = at_once and term.variable in own
        if not _reads_last(term) and not (is_row and term.variable not in inside):
            return True
        events.add(None if is_row else term.variable)
    return len(events) > 1


def _reads_last(term: Term) -> bool:
    return isinstance(term, ast.VariableAttribute) and term.binding in ("current", "last")


def _is_one_row(formula: ast.Formula) -> bool:
    """Whether all variables of the formula stand for the same row."""
    match formula:
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return True
        case ast.Or():
            return _is_one_row(formula.left) and _is_one_row(formula.right)
        case ast.And():
            return _is_one_row(formula.left) or _is_one_row(formula.right)
        case ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy() | ast.Iteration():
            return False
        case _:
            return _is_one_row(formula.body)
