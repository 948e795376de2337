"""Checks of a parsed query that need no data, with errors a person can act on.

The scope of a condition: what its formula binds, and what was bound before it in the same run: to
the left of it, or by an earlier repetition of an iteration that it is part of. PROJECT hides the
other variables; `phi AS x` binds x when phi ends; what NOT (...) and UNLESS ask to be absent binds
nothing outside, but sees what was bound before it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from catena.errors import CatenaError, error_at, nearest
from catena.query import ast
from catena.query.absence import unbounded_comparison
from catena.query.bindings import (
    Bound,
    Flow,
    Term,
    bound_before_end,
    bound_variables,
    is_previous,
    iterated_variables,
    terms,
)
from catena.query.format import format_expression


def check(query: ast.Query, text: str) -> None:
    """Raises CatenaError at the first thing that cannot stand."""
    checker = _Checker(text, query)
    checker.formula(query.formula, _Scope())
    checker.absence(query)
    checker.items(query)


def check_predicate(expression: ast.Expression, text: str) -> None:
    """The same for a predicate of one row that stands by itself."""
    query = ast.Query(ast.Strategy.ALL, None, (), ast.AnyEvent())
    _Checker(text, query).types(expression)


def output_variables(query: ast.Query) -> tuple[str, ...]:
    """What `*` shows: every AS variable and every type not immediately followed by AS, in order.

    As far as matches mark it: variables that only what must be absent binds are never shown.
    """
    visible = bound_variables(query.formula)
    named = dict.fromkeys(_named(query.formula))
    return tuple(name for name in named if name in visible)


def _named(formula: ast.Formula) -> Iterator[str]:
    """What stands there by name, also in what must be absent."""
    match formula:
        case ast.Atom():
            yield formula.type
        case ast.AnyEvent():
            yield "ANY"
        case ast.As():
            if not isinstance(formula.body, ast.Atom | ast.AnyEvent):
                yield from _named(formula.body)
            yield formula.variable
        case ast.AbsentBetween():
            for part in (formula.left, formula.absent, formula.right):
                yield from _named(part)
        case ast.Unless():
            yield from _named(formula.body)
            yield from _named(formula.absent)
        case ast.Or() | ast.And() | ast.Sequence() | ast.FollowedBy():
            yield from _named(formula.left)
            yield from _named(formula.right)
        case ast.Nothing():
            return
        case _:
            yield from _named(formula.body)


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a place in a formula sees: the variables bound before it and after it in the same run.

    `loops` are those of the variables before it that an iteration binds which it is not part of,
    `earlier` those that only such an iteration in an earlier repetition does; `around` are the
    variables of the AS around it, `ending` those of the last row before UNLESS; `absent` tells that
    it stands inside NOT (...) or UNLESS.
    """

    left: Bound = field(default_factory=Bound)
    right: frozenset[str] = frozenset()
    loops: frozenset[str] = frozenset()
    earlier: frozenset[str] = frozenset()
    around: frozenset[str] = frozenset()
    ending: frozenset[str] = frozenset()
    absent: bool = False

    def before(self, formula: ast.Formula) -> _Scope:
        return replace(self, right=self.right | bound_variables(formula))


class _Checker:
    def __init__(self, text: str, query: ast.Query) -> None:
        self._text = text
        self._streams = query.streams
        self._whole = query.formula
        self._flow = Flow()

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
                before = self._after(formula.left, scope.before(formula.right))
                self.formula(formula.absent, replace(before, absent=True))
            case ast.Or() | ast.And():
                self.formula(formula.left, scope)
                self.formula(formula.right, scope)
            case ast.Unless():
                self.formula(formula.body, scope)
                self.formula(formula.absent, self._inside(formula.body, scope))
            case ast.Iteration():
                self.formula(formula.body, self._repeated(formula, scope))
            case ast.As():
                around = scope.around | {formula.variable}
                self.formula(formula.body, replace(scope, around=around))
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
        self.formula(formula.right, self._after(formula.left, scope))

    def _after(self, formula: ast.Formula, scope: _Scope) -> _Scope:
        """The scope to the right of a formula."""
        return replace(
            scope,
            left=self._flow.after(formula, scope.left) or scope.left,
            loops=scope.loops | iterated_variables(formula),
            earlier=scope.earlier - bound_variables(formula),
        )

    def _inside(self, body: ast.Formula, scope: _Scope) -> _Scope:
        """The scope of what UNLESS asks to be absent: it begins before the body ends."""
        after = self._after(body, scope)
        once = scope.left.once | (after.left.once & bound_before_end(body))
        left = Bound(once, after.left.twice & once)
        return replace(after, left=left, ending=bound_variables(body), absent=True)

    def _repeated(self, formula: ast.Iteration, scope: _Scope) -> _Scope:
        """The scope of a repetition: earlier ones came before it."""
        left = self._flow.inside(formula, scope.left)
        earlier = scope.earlier | iterated_variables(formula.body)
        return replace(scope, left=left, earlier=earlier)

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
        listed = f"the variables here are {', '.join(sorted(known))}"
        hint = f"did you mean {close}?" if close else listed if known else "nothing is marked here"
        hidden = _why_hidden(self._whole, name)
        if hidden is not None:
            return self._error(node, f"{name} cannot be seen here: {hidden}", hint)
        return self._error(node, f"there is no variable {name} here", hint)

    # Conditions

    def _condition(self, formula: ast.Filter, scope: _Scope) -> None:
        own = bound_variables(formula.body)
        bound = self._flow.after(formula.body, scope.left) or scope.left
        # What the filtered formula binds again is not the event that a loop to the left bound.
        iterated = iterated_variables(formula.body) | ((scope.loops | scope.earlier) - own)
        for term in terms(formula.condition):
            if isinstance(term, ast.VariablePredicate):
                self._own(term, own, scope)
                self.types(term.predicate)
                continue
            self._visible(term, bound.once | own, scope)
            if isinstance(term, ast.VariableAttribute) and term.binding in ("current", "prev"):
                if term.variable in iterated:
                    raise self._several(term)
                self._previous(term, bound)
        self.types(formula.condition)

    def _own(self, term: ast.VariablePredicate, own: frozenset[str], scope: _Scope) -> None:
        if term.variable in scope.left.once - own:
            raise self._error(
                term, f"{term.variable} is bound to the left of the formula that is filtered here",
                f"put {term.variable} inside that formula, or compare {term.variable}.attr",
            )  # fmt: skip
        self._visible(term, own, scope)

    def _visible(self, term: Term, known: frozenset[str], scope: _Scope) -> None:
        name = term.variable
        if name in known:
            return
        if name in scope.around:
            raise self._error(
                term, f"{name} is bound by the AS around this filter, so not before it ends",
                f"move the filter to the right, behind AS {name}",
            )  # fmt: skip
        absent = "what NOT (...) and UNLESS ask to be absent sees only what is bound before it"
        if name in scope.ending:
            raise self._error(
                term, f"{name} is bound only by the last row of the formula before UNLESS", absent
            )
        if name in scope.right:
            move = f"move the filter to the right, after {name} is bound"
            raise self._error(
                term, f"{name} is bound only to the right of this filter",
                absent if scope.absent else move,
            )  # fmt: skip
        raise self._unknown(term, name, known)

    def _several(self, term: ast.VariableAttribute) -> CatenaError:
        event, name = format_expression(term), term.variable
        others = f"first({name}).{term.attribute}, last({name}).{term.attribute} or an aggregate"
        if is_previous(term):
            return self._error(
                term, f"{event} has no meaning outside of the iteration that binds {name}",
                f"filter inside the iteration, or write {others}",
            )  # fmt: skip
        return self._error(
            term, f"{event} is not one value: {name} is bound inside an iteration",
            f"write {others}, or filter inside the iteration",
        )  # fmt: skip

    def _previous(self, term: ast.VariableAttribute, bound: Bound) -> None:
        """Refuses a `prev(x)` that never refers to anything."""
        if is_previous(term) and term.variable not in bound.twice:
            name = term.variable
            raise self._error(
                term, f"there is never an event before {name} here: it is bound only once",
                f"prev({name}) stands in a filter inside an iteration that binds {name}",
            )  # fmt: skip

    def absence(self, query: ast.Query) -> None:
        """Refuses an absence that could be told only by keeping all events for ever."""
        comparison = unbounded_comparison(query)
        if comparison is not None:
            raise self._error(
                comparison, "what is absent here compares its own events, and no window bounds it",
                "add WITHIN to the query, or a window around what is absent: (... WITHIN 5 min)",
            )  # fmt: skip

    # Types, as far as literals tell

    def types(self, expression: ast.Expression) -> None:
        match expression:
            case ast.LogicalAnd() | ast.LogicalOr():
                self.types(expression.left)
                self.types(expression.right)
            case ast.LogicalNot():
                self.types(expression.operand)
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
                self.types(expression)
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
        found = list(terms(item.expression))
        for term in found:
            if term.variable not in known:
                raise self._unknown(term, term.variable, known)
        if not found:
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
        case ast.AbsentBetween(left, absent, right):
            parts: tuple[ast.Formula, ...] = (left, absent, right)
        case ast.Unless(body, absent):
            parts = (body, absent)
        case ast.Or() | ast.And() | ast.Sequence() | ast.FollowedBy():
            parts = (formula.left, formula.right)
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return None
        case _:
            parts = (formula.body,)
    return next((why for part in parts if (why := _why_hidden(part, name))), None)
