"""Which variables a run may have bound when it comes to a filter, and whether more than once.

A run reads a formula from left to right, and an iteration again and again. So inside an iteration
a variable may be bound that stands further right, or in another branch of an OR, in the text:

    ((A FILTER A.v > y.v) OR B AS y)+

After a repetition that took the B, the A's filter sees its y. In `((A FILTER A.v > y.v) ; B AS y)+`
it never does: the first repetition needs a y that is not bound yet, and a comparison on an unbound
variable is not satisfied, so that no repetition is ever completed.

Invariant: `Flow.after` never leaves out what some run binds; it may count too much where a run that
looks possible is not (conditions that contradict each other). Cost: each part of the formula is
gone through once for every different set of variables that may be bound before it; a loop adds few.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TypeAlias

from catena.query import ast

Term: TypeAlias = ast.VariablePredicate | ast.VariableAttribute | ast.Aggregate


def bound_variables(formula: ast.Formula) -> frozenset[str]:
    """The variables that some complex event of the formula may mark."""
    match formula:
        case ast.Atom():
            return frozenset({formula.type})
        case ast.AnyEvent():
            return frozenset({"ANY"})
        case ast.Nothing():
            return frozenset()
        case ast.As():
            below = bound_variables(formula.body)
            return below | {formula.variable} if below else below
        case ast.Project():
            return bound_variables(formula.body) & frozenset(formula.variables)
        case ast.Or() | ast.And() | ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            return bound_variables(formula.left) | bound_variables(formula.right)
        case _:
            return bound_variables(formula.body)


def iterated_variables(formula: ast.Formula) -> frozenset[str]:
    """The variables that a formula binds inside an iteration."""
    match formula:
        case ast.Iteration():
            return bound_variables(formula.body)
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return frozenset()
        case ast.Or() | ast.And() | ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            return iterated_variables(formula.left) | iterated_variables(formula.right)
        case ast.As():
            return iterated_variables(formula.body)
        case ast.Project():
            return iterated_variables(formula.body) & frozenset(formula.variables)
        case _:
            return iterated_variables(formula.body)


def bound_before_end(formula: ast.Formula) -> frozenset[str]:
    """The variables that a formula may bind before its last row."""
    match formula:
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return frozenset()
        case ast.As():
            below = bound_before_end(formula.body)
            return below | {formula.variable} if below else below
        case ast.Project():
            return bound_before_end(formula.body) & frozenset(formula.variables)
        case ast.Iteration():
            return bound_variables(formula.body)
        case ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            return bound_variables(formula.left) | bound_before_end(formula.right)
        case ast.Or() | ast.And():
            return bound_before_end(formula.left) | bound_before_end(formula.right)
        case _:
            return bound_before_end(formula.body)


@dataclass(frozen=True, slots=True)
class Bound:
    """The variables that may be bound, and those among them that may be so more than once."""

    once: frozenset[str] = frozenset()
    twice: frozenset[str] = frozenset()

    def with_binding(self, variable: str, times: int) -> Bound:
        """After the variable was bound `times` more times."""
        if times == 0:
            return self
        again = times > 1 or variable in self.once
        return Bound(self.once | {variable}, self.twice | {variable} if again else self.twice)

    def joined(self, other: Bound) -> Bound:
        """After one of two ways."""
        return Bound(self.once | other.once, self.twice | other.twice)

    def hiding(self, kept: frozenset[str], before: Bound) -> Bound:
        """Only the bindings of the variables kept are new since `before`."""
        return Bound(
            (self.once & kept) | (before.once - kept), (self.twice & kept) | (before.twice - kept)
        )


class Flow:
    """What is bound after the parts of one formula, remembered as it is asked for."""

    def __init__(self) -> None:
        self._known: dict[tuple[int, Bound], Bound | None] = {}

    def after(self, formula: ast.Formula, before: Bound) -> Bound | None:
        """What may be bound after the formula; None if no run can complete it."""
        key = id(formula), before
        if key not in self._known:
            self._known[key] = self._after(formula, before)
        return self._known[key]

    def inside(self, iteration: ast.Iteration, before: Bound) -> Bound:
        """What may be bound before any of the repetitions."""
        while True:
            after = self.after(iteration.body, before)
            if after is None or after == before:
                return before
            before = after

    def _after(self, formula: ast.Formula, before: Bound) -> Bound | None:
        match formula:
            case ast.Atom():
                return before.with_binding(formula.type, 1)
            case ast.AnyEvent():
                return before.with_binding("ANY", 1)
            case ast.Nothing():
                return None
            case ast.Or():
                left, right = self.after(formula.left, before), self.after(formula.right, before)
                return left.joined(right) if left and right else left or right
            case ast.And():
                left, right = self.after(formula.left, before), self.after(formula.right, before)
                return left.joined(right) if left and right else None
            case ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
                left = self.after(formula.left, before)
                return left and self.after(formula.right, left)
            case ast.Iteration():
                return self.after(formula.body, self.inside(formula, before))
        return self._after_one(formula, before)

    def _after_one(self, formula: ast.Formula, before: Bound) -> Bound | None:
        """The operators around one formula."""
        assert isinstance(
            formula, ast.As | ast.Filter | ast.Project | ast.Unless | ast.Within | ast.Select
        )
        after = self.after(formula.body, before)
        if after is None:
            return None
        match formula:
            case ast.As():
                # AS binds what the body marks, whether that bound the variable already or not.
                others = after.hiding(after.once - {formula.variable}, before)
                return others.with_binding(formula.variable, most_marked(formula.body))
            case ast.Project():
                return after.hiding(frozenset(formula.variables), before)
            case ast.Filter():
                return after if can_hold(formula.condition, after) else None
            case _:
                return after


def most_marked(formula: ast.Formula, names: frozenset[str] | None = None) -> int:
    """How many rows a complex event may mark with the names (None: with any name): 0, 1 or more,
    which counts as 2."""
    match formula:
        case ast.Atom():
            return int(names is None or formula.type in names)
        case ast.AnyEvent():
            return int(names is None or "ANY" in names)
        case ast.Nothing():
            return 0
        case ast.As():
            here = names is None or formula.variable in names
            return most_marked(formula.body, None if here else names)
        case ast.Project():
            kept = frozenset(formula.variables)
            return most_marked(formula.body, kept if names is None else kept & names)
        case ast.Or():
            return max(most_marked(formula.left, names), most_marked(formula.right, names))
        case ast.And():
            return min(most_marked(formula.left, names), most_marked(formula.right, names))
        case ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            return min(2, most_marked(formula.left, names) + most_marked(formula.right, names))
        case ast.Iteration():
            return 2 * min(1, most_marked(formula.body, names))
        case _:
            return most_marked(formula.body, names)


def can_hold(condition: ast.Expression, bound: Bound, wanted: bool = True) -> bool:
    """False where the condition (its negation, when not `wanted`) needs what is never bound."""
    match condition:
        case ast.LogicalNot():
            return can_hold(condition.operand, bound, not wanted)
        case ast.LogicalAnd() | ast.LogicalOr():
            sides = (can_hold(side, bound, wanted) for side in (condition.left, condition.right))
            return all(sides) if isinstance(condition, ast.LogicalAnd) is wanted else any(sides)
        case _:
            found = list(terms(condition))
            return any(is_previous(term) for term in found) or all(
                term.variable in bound.once for term in found if needs_binding(term)
            )


def is_previous(term: Term) -> bool:
    """A comparison with `prev(x)` applies from the second binding of x on, and holds before."""
    return isinstance(term, ast.VariableAttribute) and term.binding == "prev"


def needs_binding(term: Term) -> bool:
    """`x[P]` holds where nothing is marked x, and a count of nothing is 0."""
    if isinstance(term, ast.Aggregate):
        return term.function != "count"
    return isinstance(term, ast.VariableAttribute)


def leaves(condition: ast.Expression) -> Iterator[ast.Expression]:
    """What AND, OR and NOT join in a condition."""
    match condition:
        case ast.LogicalAnd() | ast.LogicalOr():
            yield from leaves(condition.left)
            yield from leaves(condition.right)
        case ast.LogicalNot():
            yield from leaves(condition.operand)
        case _:
            yield condition


def terms(expression: ast.Expression) -> Iterator[Term]:
    """The parts of a condition or measure that speak of variables."""
    match expression:
        case ast.VariablePredicate() | ast.VariableAttribute() | ast.Aggregate():
            yield expression
        case ast.Comparison() | ast.Arithmetic() | ast.LogicalAnd() | ast.LogicalOr():
            yield from terms(expression.left)
            yield from terms(expression.right)
        case ast.LogicalNot() | ast.Negate() | ast.InSet() | ast.Like() | ast.IsNull():
            yield from terms(expression.operand)
        case ast.InRange():
            for part in (expression.operand, expression.low, expression.high):
                if part is not None:
                    yield from terms(part)
        case _:
            pass
