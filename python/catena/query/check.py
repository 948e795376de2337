"""Checks of a parsed query that need no data, with errors a person can act on.

The scope of a condition: what its formula binds, and what was bound to the left of it in the same
run. PROJECT hides the other variables; what NOT (...) and UNLESS ask to be absent binds nothing
outside, but sees what was bound before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

from catena.errors import CatenaError, error_at, nearest
from catena.query import ast
from catena.query.format import format_expression


def check(query: ast.Query, text: str) -> None:
    """Raises CatenaError at the first thing that cannot stand."""
    checker = _Checker(text, query)
    checker.formula(query.formula, _Scope())
    checker.items(query)


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


def output_variables(query: ast.Query) -> tuple[str, ...]:
    """What `*` shows: every AS variable and every type not immediately followed by AS, in order."""
    visible = bound_variables(query.formula)
    named = dict.fromkeys(_named(query.formula))
    return tuple(name for name in named if name in visible)


def _named(formula: ast.Formula) -> Iterator[str]:
    match formula:
        case ast.Atom():
            yield formula.type
        case ast.AnyEvent():
            yield "ANY"
        case ast.As():
            if not isinstance(formula.body, ast.Atom | ast.AnyEvent):
                yield from _named(formula.body)
            yield formula.variable
        case ast.Or() | ast.And() | ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            yield from _named(formula.left)
            yield from _named(formula.right)
        case ast.Nothing():
            return
        case _:
            yield from _named(formula.body)


def _iterated_variables(formula: ast.Formula) -> frozenset[str]:
    """The variables that a formula binds inside an iteration."""
    match formula:
        case ast.Iteration():
            return bound_variables(formula.body)
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return frozenset()
        case ast.Or() | ast.And() | ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            return _iterated_variables(formula.left) | _iterated_variables(formula.right)
        case ast.As():
            return _iterated_variables(formula.body)
        case ast.Project():
            return _iterated_variables(formula.body) & frozenset(formula.variables)
        case _:
            return _iterated_variables(formula.body)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a place in a formula sees: the variables bound before it and after it in the same run.

    `loops` are those of the variables before it that an iteration binds which it is not part of.
    """

    left: frozenset[str] = frozenset()
    right: frozenset[str] = frozenset()
    loops: frozenset[str] = frozenset()

    def after(self, formula: ast.Formula) -> _Scope:
        left = self.left | bound_variables(formula)
        return _Scope(left, self.right, self.loops | _iterated_variables(formula))

    def before(self, formula: ast.Formula) -> _Scope:
        return replace(self, right=self.right | bound_variables(formula))

    def without_right(self) -> _Scope:
        return replace(self, right=frozenset())


class _Checker:
    def __init__(self, text: str, query: ast.Query) -> None:
        self._text = text
        self._streams = query.streams
        self._whole = query.formula

    def _error(self, node: ast.Node, message: str, hint: str | None = None) -> CatenaError:
        return error_at(self._text, node.span, message, hint=hint)

    # Formulas

    def formula(self, formula: ast.Formula, scope: _Scope) -> None:
        match formula:
            case ast.Atom():
                self._stream(formula)
            case ast.AnyEvent() | ast.Nothing():
                pass
            case ast.Sequence() | ast.FollowedBy():
                self._joined(formula, scope)
            case ast.AbsentBetween():
                self._joined(formula, scope)
                self.formula(formula.absent, scope.after(formula.left).without_right())
            case ast.Or() | ast.And():
                self.formula(formula.left, scope)
                self.formula(formula.right, scope)
            case ast.Unless():
                self.formula(formula.body, scope)
                self.formula(formula.absent, scope.without_right())
            case ast.Filter():
                self.formula(formula.body, scope)
                self._condition(formula, scope)
            case ast.Project():
                self.formula(formula.body, scope)
                self._projected(formula)
            case _:
                self.formula(formula.body, scope)

    def _joined(
        self, formula: ast.Sequence | ast.FollowedBy | ast.AbsentBetween, scope: _Scope
    ) -> None:
        self.formula(formula.left, scope.before(formula.right))
        self.formula(formula.right, scope.after(formula.left))

    def _stream(self, atom: ast.Atom) -> None:
        if atom.stream is None or not self._streams or atom.stream in self._streams:
            return
        close = nearest(atom.stream, self._streams)
        raise self._error(
            atom, f"the stream {atom.stream} is not in FROM",
            f"did you mean {close}?" if close else f"FROM names {', '.join(self._streams)}",
        )  # fmt: skip

    def _projected(self, formula: ast.Project) -> None:
        bound = bound_variables(formula.body)
        for name in formula.variables:
            if name not in bound:
                raise self._unknown(formula, name, bound)

    def _unknown(self, node: ast.Node, name: str, known: frozenset[str]) -> CatenaError:
        close = nearest(name, sorted(known))
        listed = ", ".join(sorted(known))
        hint = f"did you mean {close}?" if close else f"the variables here are {listed}"
        hidden = _why_hidden(self._whole, name)
        if hidden is not None:
            return self._error(node, f"{name} cannot be seen here: {hidden}", hint)
        return self._error(node, f"there is no variable {name} here", hint if known else None)

    # Conditions

    def _condition(self, formula: ast.Filter, scope: _Scope) -> None:
        own = bound_variables(formula.body)
        # What the filtered formula binds again is not the event that a loop to the left bound.
        iterated = _iterated_variables(formula.body) | (scope.loops - own)
        for term in _terms(formula.condition):
            if isinstance(term, ast.VariablePredicate):
                self._own(term, own, scope)
                self._types(term.predicate)
                continue
            self._visible(term, own | scope.left, scope.right)
            plain = isinstance(term, ast.VariableAttribute) and term.binding == "current"
            if plain and term.variable in iterated:
                raise self._several(term)
        self._types(formula.condition)

    def _own(self, term: ast.VariablePredicate, own: frozenset[str], scope: _Scope) -> None:
        if term.variable in scope.left - own:
            raise self._error(
                term, f"{term.variable} is bound to the left of the formula that is filtered here",
                f"put {term.variable} inside that formula, or compare {term.variable}.attr",
            )  # fmt: skip
        self._visible(term, own, scope.right)

    def _visible(
        self,
        term: ast.VariablePredicate | ast.VariableAttribute | ast.Aggregate,
        known: frozenset[str],
        right: frozenset[str],
    ) -> None:
        if term.variable in known:
            return
        if term.variable in right:
            raise self._error(
                term, f"{term.variable} is bound only to the right of this filter",
                f"move the filter to the right, after {term.variable} is bound",
            )  # fmt: skip
        raise self._unknown(term, term.variable, known)

    def _several(self, term: ast.VariableAttribute | ast.Aggregate) -> CatenaError:
        name = f"{term.variable}.{term.attribute}"
        return self._error(
            term, f"{name} is not one value: {term.variable} is bound inside an iteration",
            f"write first({term.variable}).{term.attribute}, last({term.variable})."
            f"{term.attribute} or an aggregate, or filter inside the iteration",
        )  # fmt: skip

    # Types, as far as literals tell

    def _types(self, expression: ast.Expression) -> None:
        match expression:
            case ast.LogicalAnd() | ast.LogicalOr():
                self._types(expression.left)
                self._types(expression.right)
            case ast.LogicalNot():
                self._types(expression.operand)
            case ast.Comparison():
                self._comparable(expression, expression.left, expression.right)
            case ast.InRange():
                for end in (expression.low, expression.high):
                    if end is not None:
                        self._comparable(expression, expression.operand, end)
            case ast.InSet():
                for member in expression.values:
                    self._comparable(expression, expression.operand, member)
            case ast.Like():
                if self._kind(expression.operand) not in (None, "string"):
                    raise self._error(expression, "LIKE needs a string on its left")
            case ast.Literal(value=value) if not isinstance(value, bool):
                raise self._error(expression, f"{format_expression(expression)} is not a condition")
            case ast.Arithmetic() | ast.Negate():
                raise self._error(
                    expression, f"{format_expression(expression)} is a number, not a condition",
                    "compare it with something",
                )  # fmt: skip
            case ast.VariableAttribute() | ast.Aggregate():
                raise self._error(
                    expression, f"{format_expression(expression)} is a value, not a condition",
                    "compare it with something",
                )  # fmt: skip
            case _:
                pass

    def _comparable(self, where: ast.Node, left: ast.Expression, right: ast.Expression) -> None:
        kinds = self._kind(left), self._kind(right)
        if None not in kinds and kinds[0] != kinds[1]:
            raise self._error(
                where, f"cannot compare a {kinds[0]} with a {kinds[1]}",
                "numbers stand without quotes, strings in single quotes",
            )  # fmt: skip

    def _kind(self, expression: ast.Expression) -> str | None:
        """number, string or boolean, or None if only the data tell."""
        match expression:
            case ast.Literal(value=None):
                raise self._error(
                    expression, "NULL cannot be calculated or compared with",
                    "write IS NULL or IS NOT NULL",
                )  # fmt: skip
            case ast.Literal(value=bool()):
                return "boolean"
            case ast.Literal(value=int() | float()):
                return "number"
            case ast.Literal(value=str()):
                return "string"
            case ast.Arithmetic():
                self._numeric(expression.left)
                self._numeric(expression.right)
                return "number"
            case ast.Negate():
                self._numeric(expression.operand)
                return "number"
            case ast.Aggregate(function="sum" | "avg" | "count"):
                return "number"
            case ast.Comparison() | ast.LogicalAnd() | ast.LogicalOr() | ast.LogicalNot():
                self._types(expression)
                return "boolean"
            case _:
                return None

    def _numeric(self, expression: ast.Expression) -> None:
        kind = self._kind(expression)
        if kind not in (None, "number"):
            raise self._error(
                expression,
                f"arithmetic needs numbers, and {format_expression(expression)} is a {kind}",
            )

    # Items

    def items(self, query: ast.Query) -> None:
        known = bound_variables(query.formula)
        names: set[str] = set()
        for item in query.items or ():
            name = None
            if isinstance(item, ast.VariableItem):
                if item.variable not in known:
                    raise self._unknown(item, item.variable, known)
                name = item.variable
            else:
                self._measure(item, known)
                name = item.name
            if name is not None and name in names:
                is_variable = isinstance(item, ast.VariableItem)
                hint = "leave one out" if is_variable else "give it another name with AS"
                raise self._error(item, f"two items are named {name}", hint)
            if name is not None:
                names.add(name)

    def _measure(self, item: ast.MeasureItem, known: frozenset[str]) -> None:
        terms = list(_terms(item.expression))
        for term in terms:
            if term.variable not in known:
                raise self._unknown(term, term.variable, known)
        if not terms:
            raise self._error(
                item, f"{format_expression(item.expression)} speaks of no event",
                "write an item such as x, x.attr or avg(x.attr)",
            )  # fmt: skip
        self._kind(item.expression)


def _why_hidden(formula: ast.Formula, name: str) -> str | None:
    """Which construct keeps the variable from being seen at the top, if it is bound below one."""
    match formula:
        case ast.Project() if name in bound_variables(formula.body) - set(formula.variables):
            return "PROJECT leaves it out"
        case ast.AbsentBetween() if name in bound_variables(formula.absent):
            return "it is bound inside NOT (...)"
        case ast.Unless() if name in bound_variables(formula.absent):
            return "it is bound inside UNLESS"
        case ast.Or() | ast.And() | ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            return _why_hidden(formula.left, name) or _why_hidden(formula.right, name)
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return None
        case _:
            return _why_hidden(formula.body, name)


def _terms(
    expression: ast.Expression,
) -> Iterator[ast.VariablePredicate | ast.VariableAttribute | ast.Aggregate]:
    """The parts of a condition or measure that speak of variables."""
    match expression:
        case ast.VariablePredicate() | ast.VariableAttribute() | ast.Aggregate():
            yield expression
        case ast.Comparison() | ast.Arithmetic() | ast.LogicalAnd() | ast.LogicalOr():
            yield from _terms(expression.left)
            yield from _terms(expression.right)
        case ast.LogicalNot() | ast.Negate() | ast.InSet() | ast.Like() | ast.IsNull():
            yield from _terms(expression.operand)
        case ast.InRange():
            for part in (expression.operand, expression.low, expression.high):
                if part is not None:
                    yield from _terms(part)
        case _:
            pass
