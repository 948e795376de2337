"""`simplify`: the laws applied to lower what detection needs, never to raise it.

From the leaves up, every subexpression is first rewritten by what always helps, in steps that are
laws put together, and then by a search through the laws for a cheaper expression nearby:

    empty and instant   what never occurs vanishes; what takes no time needs no restriction
    under a restriction an inner one that is as long or longer says nothing (laws 19 to 25, 27)
    under a negation    the same absence asked for again says nothing (laws 11, 12, 13, 15, 17, 18)
    alternatives        are told once (laws 1, 2, 4)

A subexpression is replaced only by one that needs no more in any respect (`Shape.exceeds`), so the
whole needs no more either. The result occurs at the same times with the same starts: laws keep the
meaning, and detection of equal meanings agrees on starts and ends (Proposition 20).

Cost: the search looks at a bounded number of expressions for each subexpression.
"""

from __future__ import annotations

import heapq
from collections import defaultdict
from collections.abc import Iterator
from typing import Final

from catena.algebra.bounds import Bounds
from catena.algebra.expressions import (
    Binary,
    Disjunction,
    Empty,
    Expression,
    Negation,
    Primitive,
    Restriction,
    Sequence,
    checked,
)
from catena.algebra.laws import RULES, Rule, apply, shorter
from catena.query.ast import Bound

EXPANDED_MAX: Final = 24
"""Expressions that the search goes on from, for each subexpression."""

GROWTH_MAX: Final = 2
"""Subexpressions that a step on the way may add."""

DEPTH: Final = 2
"""How far below its root the search rewrites an expression."""

ROUNDS_MAX: Final = 8


def simplify(expression: Expression) -> Expression:
    """An expression with the same detected starts and ends, and bounds that are no larger.

    >>> from catena.algebra import parse, simplify
    >>> print(simplify(parse("(A ; (B ; C)) - (D - D)")))
    A ; B ; C
    """
    simplifier = _Simplifier()
    for _ in range(ROUNDS_MAX):
        simpler = simplifier.simplify(checked(expression), keeps_starts=False)
        if simpler == expression:
            return expression
        expression = simpler
    return expression


_RULES_OF: Final[dict[type[Expression], list[Rule]]] = defaultdict(list)
for _rule in RULES:
    _RULES_OF[type(_rule.pattern)].append(_rule)


class _Simplifier:
    def __init__(self) -> None:
        self._bounds = Bounds()
        self._known: dict[tuple[Expression, bool], Expression] = {}

    def simplify(self, expression: Expression, keeps_starts: bool) -> Expression:
        key = (expression, keeps_starts)
        if key not in self._known:
            self._known[key] = self._best(expression, keeps_starts)
        return self._known[key]

    def _best(self, expression: Expression, keeps: bool) -> Expression:
        rebuilt = self._with_simple_parts(expression, keeps)
        direct = _direct(rebuilt)
        if self._is_worse(direct, rebuilt, keeps):
            direct = rebuilt
        return self._search(direct, keeps)

    def _with_simple_parts(self, expression: Expression, keeps: bool) -> Expression:
        match expression:
            case Restriction():
                return Restriction(self.simplify(expression.operand, keeps), expression.limit)
            case Binary():
                of_right = isinstance(expression, Sequence) or (
                    keeps and not isinstance(expression, Negation)
                )
                left = self.simplify(expression.left, keeps)
                right = self.simplify(expression.right, of_right)
                return type(expression)(left, right)
        return expression

    def _is_worse(self, one: Expression, other: Expression, keeps: bool) -> bool:
        return self._bounds.of(one, keeps).exceeds(self._bounds.of(other, keeps))

    def _search(self, start: Expression, keeps: bool) -> Expression:
        """The cheapest expression that a few laws lead to, the cheapest ways first."""
        first = self._bounds.of(start, keeps)
        best, best_cost = start, first.cost
        seen = {start}
        number = 0  # Of two with the same cost the older one goes first.
        waiting = [(best_cost, number, start)]
        for _ in range(EXPANDED_MAX):
            if not waiting:
                break
            _, _, at = heapq.heappop(waiting)
            for next in _rewritten(at, DEPTH):
                if next in seen:
                    continue
                seen.add(next)
                shape = self._bounds.of(next, keeps)
                if shape.count > first.count + GROWTH_MAX:
                    continue
                number += 1
                heapq.heappush(waiting, (shape.cost, number, next))
                if shape.cost < best_cost and not shape.exceeds(first):
                    best, best_cost = next, shape.cost
        return best


def _rewritten(expression: Expression, depth: int) -> Iterator[Expression]:
    """What one law makes of the expression, at its root or a little below."""
    for rule in _RULES_OF[type(expression)]:
        result = apply(rule, expression)
        if result is not None:
            yield result
    if depth == 0:
        return
    match expression:
        case Restriction():
            for operand in _rewritten(expression.operand, depth - 1):
                yield Restriction(operand, expression.limit)
        case Binary():
            for left in _rewritten(expression.left, depth - 1):
                yield type(expression)(left, expression.right)
            for right in _rewritten(expression.right, depth - 1):
                yield type(expression)(expression.left, right)


# ---------------------------------------------------------------------------------------------
# What always helps


def _direct(expression: Expression) -> Expression:
    match expression:
        case Restriction():
            if _is_instant(expression.operand):
                return expression.operand
            limit, operand = expression.limit, _under_limit(expression.operand, expression.limit)
            return Restriction(operand, limit)
        case Negation():
            absent = _once(expression.right)
            if expression.left in _alternatives(absent):
                return Empty()
            return Negation(_under_absence(expression.left, set(_alternatives(absent))), absent)
        case Disjunction():
            return _once(expression)
    return expression


def _is_instant(expression: Expression) -> bool:
    """True if no instance takes any time."""
    match expression:
        case Primitive() | Empty():
            return True
        case Disjunction():
            return _is_instant(expression.left) and _is_instant(expression.right)
        case Negation():
            return _is_instant(expression.left)
        case Restriction():
            return _is_instant(expression.operand)
    return False


def _under_limit(expression: Expression, limit: Bound) -> Expression:
    """The expression without restrictions that say nothing more when it is restricted so."""
    match expression:
        case Restriction():
            if shorter(limit, expression.limit) == limit:
                return _under_limit(expression.operand, limit)
            return expression
        case Binary():
            left = _under_limit(expression.left, limit)
            return type(expression)(left, _under_limit(expression.right, limit))
    return expression


def _under_absence(expression: Expression, absent: set[Expression]) -> Expression:
    """The expression without asking again for the absence of any of these."""
    match expression:
        case Negation():
            left = _under_absence(expression.left, absent)
            asked = [part for part in _alternatives(expression.right) if part not in absent]
            return Negation(left, _joined(asked)) if asked else left
        case Binary():
            left = _under_absence(expression.left, absent)
            return type(expression)(left, _under_absence(expression.right, absent))
        case Restriction():
            return Restriction(_under_absence(expression.operand, absent), expression.limit)
    return expression


def _alternatives(expression: Expression) -> list[Expression]:
    if isinstance(expression, Disjunction):
        return [*_alternatives(expression.left), *_alternatives(expression.right)]
    return [expression]


def _once(expression: Expression) -> Expression:
    """The alternatives without repetition and without the empty one."""
    found = dict.fromkeys(_alternatives(expression))
    found.pop(Empty(), None)
    return _joined(list(found))


def _joined(alternatives: list[Expression]) -> Expression:
    if not alternatives:
        return Empty()
    joined = alternatives[0]
    for part in alternatives[1:]:
        joined = Disjunction(joined, part)
    return joined
