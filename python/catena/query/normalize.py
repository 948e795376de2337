"""LP normal form: every condition on one event stands directly at the atom that binds it.

A formula is in *locally parametrised* normal form (paper 003, section 5.2) when each filter with a
unary condition is applied to an atom. Then a row can be judged when it is read, by itself.

There are two kinds of unary conditions:

- `x[P]`, every position marked x satisfies P. It always moves down to the atoms by local pushes:
  `(A AS x ; B AS y)+ FILTER x[P]` becomes `(A AS x FILTER A[P] ; B AS y)+`. Only NEXT, LAST and
  MAX stop it, since they compare complex events before the filter; there it stays, and the
  automaton applies it to the transitions that mark x. What must be absent, in NOT (...) and UNLESS,
  marks nothing, so no filter around reaches it.
- comparisons of one variable, `x.v > 3`: x is bound and the last event bound to x satisfies it. It
  moves down too, and branches that do not bind x vanish. Where only a run tells which event is the
  last one, `(A AS x ; (A AS x OR B)) FILTER x.v > 3`, or NEXT, LAST or MAX is in the way, it stays
  as a `LastPredicate`, and the automaton's runs remember whether it holds. But it may also refer to
  an event bound to the left of the formula it filters,

      T AS x ; ((T AS y FILTER x.v >= 40) OR (H AS y FILTER x.v < 40))

  and no push leads there. Then the sequence is split by the truth of the condition at its left side
  (Theorem 2), with TRUE or FALSE in place of the condition on the right:

      (T AS x FILTER T[v >= 40] ; T AS y) OR (T AS x FILTER T[(v >= 40) IS NOT TRUE] ; H AS y) ...

`f -> g` is written out first, as `f ; NOT (g) ; g`: a filter around it then goes to the g that is
present and leaves the absent one as it is.

Conditions over several events, and those that look further back than to the last event, stay
conditions of a run: they are moved to the smallest part at whose end all that they speak of is as
it will be at the end of the filtered formula, so that they are checked as early as can be. There
the automaton asks them of registers (compile/tracks.py). So are comparisons of one variable where
only a run tells whether x was bound again inside the filtered formula or further left.

Invariant: the result has the same complex events. Cost: linear for local pushes; each condition
that has to be split, each OR of conditions and each `->` may double the formula, so the size is
limited.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Final, Literal, TypeAlias

from catena.errors import CatenaLimitError
from catena.query import ast
from catena.query.bindings import bound_variables
from catena.query.constants import constant

SIZE_MAX: Final = 100_000
"""The number of nodes that a normal form may have."""

ANY_MARK: Final = None
"""In place of a variable: whatever marks a position."""

Binds: TypeAlias = Literal["always", "maybe", "never"]

Joined: TypeAlias = ast.Sequence | ast.AbsentBetween
"""Formulas with a left side and what comes after it."""


def normalize(formula: ast.Formula) -> ast.Formula:
    """The formula in LP normal form."""
    return _Normalizer().normalize(formula)


def children(formula: ast.Formula) -> tuple[ast.Formula, ...]:
    """The formulas directly below a formula, from left to right."""
    match formula:
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return ()
        case (
            ast.As() | ast.Filter() | ast.Iteration() | ast.Within() | ast.Select() | ast.Project()
        ):
            return (formula.body,)
        case ast.Or() | ast.And() | ast.Sequence() | ast.FollowedBy():
            return (formula.left, formula.right)
        case ast.AbsentBetween():
            return (formula.left, formula.absent, formula.right)
        case ast.Unless():
            return (formula.body, formula.absent)


def present_parts(formula: ast.Formula) -> tuple[ast.Formula, ...]:
    """The formulas directly below a formula that are part of its matches: not what is absent."""
    match formula:
        case ast.AbsentBetween():
            return (formula.left, formula.right)
        case ast.Unless():
            return (formula.body,)
        case _:
            return children(formula)


def map_children(formula: ast.Formula, change: Callable[[ast.Formula], ast.Formula]) -> ast.Formula:
    """The formula with each child replaced by `change(child)`."""
    match formula:
        case ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return formula
        case (
            ast.As() | ast.Filter() | ast.Iteration() | ast.Within() | ast.Select() | ast.Project()
        ):
            return replace(formula, body=change(formula.body))
        case ast.Or() | ast.And() | ast.Sequence() | ast.FollowedBy():
            return replace(formula, left=change(formula.left), right=change(formula.right))
        case ast.AbsentBetween():
            return replace(
                formula,
                left=change(formula.left),
                absent=change(formula.absent),
                right=change(formula.right),
            )
        case ast.Unless():
            return replace(formula, body=change(formula.body), absent=change(formula.absent))


def subformulas(formula: ast.Formula) -> Iterator[ast.Formula]:
    """The formula and all below it; a formula comes before its parts."""
    pending = [formula]
    while pending:
        formula = pending.pop()
        yield formula
        pending.extend(children(formula))


# ---------------------------------------------------------------------------------------------
# Conditions


def subexpressions(expression: ast.Expression) -> Iterator[ast.Expression]:
    """The expression and all below it."""
    yield expression
    match expression:
        case ast.Arithmetic() | ast.Comparison() | ast.LogicalAnd() | ast.LogicalOr():
            below: tuple[ast.Expression | None, ...] = (expression.left, expression.right)
        case (
            ast.Negate() | ast.LogicalNot() | ast.IsNull() | ast.IsTrue() | ast.Like()
            | ast.IsBound() | ast.Narrow() | ast.Ends()
        ):  # fmt: skip
            below = (expression.operand,)
        case ast.IfBound():
            below = (expression.operand, expression.otherwise)
        case ast.Accumulate():
            below = (expression.operand, expression.value)
        case ast.Recall():
            below = (expression.value,)
        case ast.Begun():
            below = (expression.before, *expression.reads)
        case ast.InSet():
            below = (expression.operand, *expression.values)
        case ast.InRange():
            below = (expression.operand, expression.low, expression.high)
        case ast.VariablePredicate() | ast.LastPredicate():
            below = (expression.predicate,)
        case _:
            below = ()
    for part in below:
        if part is not None:
            yield from subexpressions(part)


def map_expression(
    expression: ast.Expression, change: Callable[[ast.Expression], ast.Expression]
) -> ast.Expression:
    """The expression with each operand replaced by `change(operand)`."""
    match expression:
        case ast.Arithmetic() | ast.Comparison() | ast.LogicalAnd() | ast.LogicalOr():
            return replace(expression, left=change(expression.left), right=change(expression.right))
        case (
            ast.Negate() | ast.LogicalNot() | ast.IsNull() | ast.IsTrue() | ast.Like()
            | ast.IsBound() | ast.Narrow()
        ):  # fmt: skip
            return replace(expression, operand=change(expression.operand))
        case ast.Ends():
            operand = change(expression.operand)
            assert isinstance(operand, ast.Begun)
            return replace(expression, operand=operand)
        case ast.Begun():
            reads = tuple(map(change, expression.reads))
            return replace(expression, before=change(expression.before), reads=reads)
        case ast.IfBound():
            otherwise = change(expression.otherwise)
            return replace(expression, operand=change(expression.operand), otherwise=otherwise)
        case ast.Accumulate():
            value = change(expression.value)
            return replace(expression, operand=change(expression.operand), value=value)
        case ast.InSet():
            return replace(expression, operand=change(expression.operand))
        case ast.InRange():
            low, high = expression.low, expression.high
            return replace(
                expression,
                operand=change(expression.operand),
                low=None if low is None else change(low),
                high=None if high is None else change(high),
            )
        case ast.VariablePredicate() | ast.LastPredicate():
            return replace(expression, predicate=change(expression.predicate))
        case _:
            return expression


def condition_variables(condition: ast.Expression) -> frozenset[str]:
    """The variables that a condition speaks of."""
    terms = (ast.VariableAttribute, ast.Aggregate, ast.VariablePredicate)
    return frozenset(e.variable for e in subexpressions(condition) if isinstance(e, terms))


def _is_plain_unary(condition: ast.Expression) -> bool:
    """True for a truth about the current event of exactly one variable."""
    for part in subexpressions(condition):
        if isinstance(part, ast.Aggregate | ast.VariablePredicate):
            return False
        if isinstance(part, ast.VariableAttribute) and part.binding != "current":
            return False
    return len(condition_variables(condition)) == 1


def _as_predicate(condition: ast.Expression) -> ast.Expression:
    """A plain unary condition as a predicate of the row: `x.v > 3` becomes `v > 3`."""
    if isinstance(condition, ast.VariableAttribute):
        return ast.Attribute(condition.attribute, span=condition.span)
    return map_expression(condition, _as_predicate)


def _negated(condition: ast.Expression) -> ast.Expression:
    """NOT condition, pushed inwards to predicates and comparisons."""
    match condition:
        case ast.LogicalAnd():
            return ast.LogicalOr(_negated(condition.left), _negated(condition.right))
        case ast.LogicalOr():
            return ast.LogicalAnd(_negated(condition.left), _negated(condition.right))
        case ast.LogicalNot():
            return condition.operand
        case ast.VariablePredicate():
            return replace(condition, predicate=ast.LogicalNot(condition.predicate))
        case _:
            return ast.LogicalNot(condition, span=condition.span)


# ---------------------------------------------------------------------------------------------
# Which variables a formula binds, how surely


Bindings: TypeAlias = dict[str, str]
"""The variables that may have been bound before: "sure" if it is known by which part of the
formula, "mixed" if an earlier repetition or another part further left may have done it instead."""


def _bound_after(left: ast.Formula, before: Bindings) -> Bindings:
    after = dict(before)
    for variable in bound_variables(left):
        is_sure = variable not in before or _binds(left, variable) == "always"
        after[variable] = "sure" if is_sure else "mixed"
    return after


def _map_plain_unary(
    condition: ast.Expression, change: Callable[[ast.Expression], ast.Expression]
) -> ast.Expression:
    """The condition with each condition on one event that it is made of changed."""
    if _is_plain_unary(condition):
        return change(condition)
    if isinstance(condition, ast.LogicalAnd | ast.LogicalOr | ast.LogicalNot):
        return map_expression(condition, lambda part: _map_plain_unary(part, change))
    return condition


def _is_undecided(condition: ast.Expression, body: ast.Formula, before: Bindings) -> bool:
    """Whether only a run tells which event a condition on one event refers to."""
    (variable,) = condition_variables(condition)
    binds = _binds(body, variable)
    bound_before = before.get(variable, "never")
    is_mixed = binds == "never" and bound_before == "mixed"
    return is_mixed or (binds == "maybe" and bound_before != "never")


def _of_last(condition: ast.Expression) -> ast.Expression:
    """The same with `last(x).v` in place of `x.v`."""
    if isinstance(condition, ast.VariableAttribute):
        return replace(condition, binding="last")
    return map_expression(condition, _of_last)


def _weakest(one: Binds, other: Binds) -> Binds:
    return one if one == other else "maybe"


def _binds(formula: ast.Formula, variable: str | None) -> Binds:
    """Whether the complex events of a formula mark the variable (or, for ANY_MARK, anything)."""
    match formula:
        case ast.Atom():
            return "always" if variable in (ANY_MARK, formula.type) else "never"
        case ast.AnyEvent():
            return "always" if variable in (ANY_MARK, "ANY") else "never"
        case ast.Nothing():
            return "never"
        case ast.As():
            here = variable in (ANY_MARK, formula.variable)
            return _binds(formula.body, ANY_MARK if here else variable)
        case ast.Project():
            return _binds_projected(formula, variable)
        case ast.Or():
            return _weakest(_binds(formula.left, variable), _binds(formula.right, variable))
        case ast.And() | ast.Sequence() | ast.AbsentBetween() | ast.FollowedBy():
            sides = {_binds(formula.left, variable), _binds(formula.right, variable)}
            return "always" if "always" in sides else "maybe" if "maybe" in sides else "never"
        case _:
            return _binds(formula.body, variable)


def _binds_projected(formula: ast.Project, variable: str | None) -> Binds:
    if variable is not ANY_MARK:
        return _binds(formula.body, variable) if variable in formula.variables else "never"
    kept = {_binds(formula.body, name) for name in formula.variables}
    return "always" if "always" in kept else "maybe" if "maybe" in kept else "never"


# ---------------------------------------------------------------------------------------------
# The rewriting


class _Normalizer:
    def normalize(self, formula: ast.Formula) -> ast.Formula:
        hint = "-> stands for two copies of its right side: group it from the left, A -> B -> C"
        _check_size(_size_written_out(formula), hint)
        result = self._drop_unbound(self._lower(self._with_registers(formula, {})))
        hint = "write conditions at the atoms they speak of, and fewer OR inside FILTER"
        _check_size(sum(1 for _ in subformulas(result)), hint)
        return result

    def _with_registers(self, formula: ast.Formula, before: Bindings) -> ast.Formula:
        """Leaves conditions on one variable to registers, as those on last(x), when only a run
        tells which event it refers to."""
        match formula:
            case ast.Filter():
                body = self._with_registers(formula.body, before)
                condition = _map_plain_unary(
                    formula.condition,
                    lambda part: _of_last(part) if _is_undecided(part, body, before) else part,
                )
                return replace(formula, body=body, condition=condition)
            case ast.Sequence() | ast.FollowedBy():
                after = _bound_after(formula.left, before)
                left = self._with_registers(formula.left, before)
                return replace(formula, left=left, right=self._with_registers(formula.right, after))
            case ast.AbsentBetween():
                after = _bound_after(formula.left, before)
                return replace(
                    formula,
                    left=self._with_registers(formula.left, before),
                    absent=self._with_registers(formula.absent, after),
                    right=self._with_registers(formula.right, after),
                )
            case ast.Iteration():
                again = dict.fromkeys(bound_variables(formula.body), "mixed")
                body = self._with_registers(formula.body, {**before, **again})
                return replace(formula, body=body)
            case ast.Unless():
                # What is absent may begin before or after the body binds its variables.
                inside = dict.fromkeys(bound_variables(formula.body), "mixed")
                return replace(
                    formula,
                    body=self._with_registers(formula.body, before),
                    absent=self._with_registers(formula.absent, {**before, **inside}),
                )
            case _:
                return map_children(formula, lambda part: self._with_registers(part, before))

    def _lower(self, formula: ast.Formula) -> ast.Formula:
        """Moves filters down; those on events bound further left stay as they are."""
        formula = map_children(formula, self._lower)
        match formula:
            case ast.Filter():
                return self._filter(formula.body, formula.condition)
            case ast.FollowedBy(left, right):
                return self._split(ast.AbsentBetween(left, right, right, span=formula.span))
            case ast.Sequence() | ast.AbsentBetween():
                return self._split(formula)
            case _:
                return formula

    def _filter(self, body: ast.Formula, condition: ast.Expression) -> ast.Formula:
        if not condition_variables(condition):  # A condition about no event is a constant.
            return body if constant(condition) is True else ast.Nothing()
        if _is_plain_unary(condition):
            return self._filter_last(body, condition)
        match condition:
            case ast.LogicalAnd():
                return self._filter(self._filter(body, condition.left), condition.right)
            case ast.LogicalOr() if _asks_one_event(condition):
                return ast.Or(
                    self._filter(body, condition.left),
                    self._filter(body, condition.right),
                    span=condition.span,
                )
            case ast.LogicalNot():
                negated = _negated(condition.operand)
                if isinstance(negated, ast.LogicalNot):
                    return _hold(body, negated)
                return self._filter(body, negated)
            case ast.VariablePredicate():
                return self._push_all(body, condition.variable, condition.predicate)
            case _:
                return _hold(body, condition)

    # x[P]: all positions marked x

    def _push_all(
        self, formula: ast.Formula, variable: str | None, predicate: ast.Expression
    ) -> ast.Formula:
        def push(below: ast.Formula) -> ast.Formula:
            return self._push_all(below, variable, predicate)

        atom = _atom_of(formula)
        if atom is not None:
            return _at_atom(formula, atom, predicate, variable)
        match formula:
            case ast.As() if formula.variable == variable:
                return replace(formula, body=self._push_all(formula.body, ANY_MARK, predicate))
            case ast.Project():
                body = formula.body
                for name in formula.variables:
                    if variable in (ANY_MARK, name):
                        body = self._push_all(body, name, predicate)
                return replace(formula, body=body)
            case ast.Select() if formula.strategy not in _COMMUTING:
                return _hold_back(formula, variable, predicate)
            case ast.Unless():
                return replace(formula, body=push(formula.body))
            case ast.AbsentBetween():
                return replace(formula, left=push(formula.left), right=push(formula.right))
            case _:
                return map_children(formula, push)

    # x.v > 3: the last position marked x, which there must be

    def _filter_last(self, body: ast.Formula, condition: ast.Expression) -> ast.Formula:
        (variable,) = condition_variables(condition)
        binds = _binds(body, variable)
        if binds == "never":  # Bound further left, or nowhere: _split and _drop_unbound will tell.
            return ast.Filter(body, condition, span=condition.span)
        return self._push_last(body, variable, _as_predicate(condition), "drop")

    def _push_last(
        self,
        formula: ast.Formula,
        variable: str | None,
        predicate: ast.Expression,
        unbound: Literal["keep", "drop"],
    ) -> ast.Formula:
        """Complex events whose last position marked with the variable satisfies the predicate."""

        def push(below: ast.Formula) -> ast.Formula:
            return self._push_last(below, variable, predicate, unbound)

        binds = _binds(formula, variable)
        if binds == "never":
            return formula if unbound == "keep" else ast.Nothing()
        atom = _atom_of(formula)
        if atom is not None:
            return _at_atom(formula, atom, predicate, variable)
        match formula:
            case ast.As() if formula.variable == variable:
                body = self._push_last(formula.body, ANY_MARK, predicate, unbound)
                return replace(formula, body=body)
            case ast.Sequence() | ast.AbsentBetween() if (
                _binds(formula.right, variable) == "always"
            ):
                return replace(formula, right=push(formula.right))
            case ast.Sequence() | ast.AbsentBetween() if _binds(formula.right, variable) == "never":
                return replace(formula, left=push(formula.left))
            case ast.Iteration() if _binds(formula.body, variable) == "always":
                last = push(formula.body)
                joined = ast.Sequence(formula, last, formula.contiguous, formula.interval)
                return ast.Or(last, joined, span=formula.span)
            case ast.And():
                if _binds(formula.left, variable) == "always":
                    return replace(formula, left=push(formula.left))
                return replace(formula, right=push(formula.right))
            case ast.Project() if variable is not ANY_MARK or len(formula.variables) == 1:
                name = variable if variable is not ANY_MARK else formula.variables[0]
                body = self._push_last(formula.body, name, predicate, unbound)
                return replace(formula, body=body)
            case ast.As() | ast.Or() | ast.Filter() | ast.Within():
                return map_children(formula, push)
            case ast.Unless():
                return replace(formula, body=push(formula.body))
            case ast.Select() if formula.strategy in _COMMUTING:
                return map_children(formula, push)
            case _:
                held = ast.LastPredicate(variable, predicate, if_unbound=unbound == "keep")
                return ast.Filter(formula, held, span=formula.span)

    # Conditions on the right that speak of events on the left

    def _split(self, formula: Joined) -> ast.Formula:
        condition = self._open_condition(formula)
        if condition is None:
            return formula
        (variable,) = condition_variables(condition)
        holds = _as_predicate(condition)
        fails = ast.IsTrue(holds, negated=True, span=condition.span)
        left_holds = self._push_last(formula.left, variable, holds, "drop")
        left_fails = self._push_last(formula.left, variable, fails, "keep")
        return ast.Or(
            self._split(replace(_decide_right(formula, condition, True), left=left_holds)),
            self._split(replace(_decide_right(formula, condition, False), left=left_fails)),
            span=formula.span,
        )

    def _open_condition(self, formula: Joined) -> ast.Expression | None:
        """A filter to the right of this formula's left side that speaks of what it binds."""
        bound = bound_variables(formula.left)
        pending = list(children(formula)[1:])
        while pending:
            below = pending.pop()
            if isinstance(below, ast.Filter) and _is_plain_unary(below.condition):
                (variable,) = condition_variables(below.condition)
                if variable in bound:
                    return below.condition
            pending.extend(children(below))
        return None

    def _drop_unbound(self, formula: ast.Formula) -> ast.Formula:
        """What is still open speaks of nothing bound: it is never satisfied."""
        if isinstance(formula, ast.Filter) and _is_plain_unary(formula.condition):
            return ast.Nothing()
        return _simplified(map_children(formula, self._drop_unbound))


def _size_written_out(formula: ast.Formula) -> int:
    """The parts of the formula when every `->` has been written out."""
    sizes = [_size_written_out(part) for part in children(formula)]
    if isinstance(formula, ast.FollowedBy):
        sizes.append(sizes[-1])
    return 1 + sum(sizes)


def _check_size(size: int, hint: str) -> None:
    if size > SIZE_MAX:
        raise CatenaLimitError(
            f"the formula's normal form has more than {SIZE_MAX} parts", hint=hint
        )


_COMMUTING: Final = frozenset({ast.Strategy.ALL, ast.Strategy.STRICT})


def _asks_one_event(condition: ast.Expression) -> bool:
    """Whether a condition has a part that can be judged of an event by itself."""
    if isinstance(condition, ast.LogicalAnd | ast.LogicalOr):
        return _asks_one_event(condition.left) or _asks_one_event(condition.right)
    if isinstance(condition, ast.LogicalNot):
        return _asks_one_event(condition.operand)
    return isinstance(condition, ast.VariablePredicate) or _is_plain_unary(condition)


def _hold(formula: ast.Formula, condition: ast.Expression) -> ast.Formula:
    """The formula with a condition over several events, at the smallest part at whose end all that
    it speaks of is as it will be at the end of the whole."""

    def hold(below: ast.Formula) -> ast.Formula:
        return _hold(below, condition)

    names = condition_variables(condition)
    match formula:
        case ast.Sequence() | ast.AbsentBetween():
            if all(_binds(formula.right, name) == "never" for name in names):
                return replace(formula, left=hold(formula.left))
            return replace(formula, right=hold(formula.right))
        case ast.Or():
            return replace(formula, left=hold(formula.left), right=hold(formula.right))
        case ast.And():
            return replace(formula, left=hold(formula.left))
        case ast.As() if formula.variable not in names:
            return replace(formula, body=hold(formula.body))
        case ast.Project() if not names & bound_variables(formula.body) - {*formula.variables}:
            return replace(formula, body=hold(formula.body))
        case ast.Select() if formula.strategy in _COMMUTING:
            return replace(formula, body=hold(formula.body))
        case ast.Within() | ast.Unless():
            return replace(formula, body=hold(formula.body))
        case ast.Filter() if _atom_of(formula) is None:
            return replace(formula, body=hold(formula.body))
        case _:
            return ast.Filter(formula, condition, span=condition.span)


def _atom_of(formula: ast.Formula) -> str | None:
    """The variable that an atom, with or without filters at it, marks; None for other formulas."""
    while isinstance(formula, ast.Filter):
        formula = formula.body
    if isinstance(formula, ast.Atom):
        return formula.type
    return "ANY" if isinstance(formula, ast.AnyEvent) else None


def _at_atom(
    formula: ast.Formula, name: str, predicate: ast.Expression, variable: str | None
) -> ast.Formula:
    if variable not in (ANY_MARK, name):
        return formula
    condition = ast.VariablePredicate(name, predicate, span=predicate.span)
    return ast.Filter(formula, condition, span=formula.span)


def _hold_back(
    formula: ast.Formula, variable: str | None, predicate: ast.Expression
) -> ast.Formula:
    names = bound_variables(formula) if variable is ANY_MARK else [variable]
    for name in sorted(names):
        formula = ast.Filter(formula, ast.VariablePredicate(name, predicate))
    return formula


def _decide(formula: ast.Formula, condition: ast.Expression, truth: bool) -> ast.Formula:
    """The formula with TRUE or FALSE in place of a filter's condition."""
    formula = map_children(formula, lambda below: _decide(below, condition, truth))
    if isinstance(formula, ast.Filter) and formula.condition == condition:
        return formula.body if truth else ast.Nothing()
    return formula


def _decide_right(formula: Joined, condition: ast.Expression, truth: bool) -> Joined:
    right = _decide(formula.right, condition, truth)
    if isinstance(formula, ast.AbsentBetween):
        absent = _decide(formula.absent, condition, truth)
        return replace(formula, absent=absent, right=right)
    return replace(formula, right=right)


def _simplified(formula: ast.Formula) -> ast.Formula:
    """Without parts that are Nothing, as far as one step goes."""

    def is_nothing(part: ast.Formula) -> bool:
        return isinstance(part, ast.Nothing)

    match formula:
        case ast.Or() if is_nothing(formula.left):
            return formula.right
        case ast.Or() if is_nothing(formula.right):
            return formula.left
        case ast.Or() | ast.Atom() | ast.AnyEvent() | ast.Nothing():
            return formula
        case _ if any(map(is_nothing, present_parts(formula))):
            return ast.Nothing()
        case ast.Unless(body, absent) if is_nothing(absent):
            return body
        case ast.AbsentBetween(left, absent, right, interval) if is_nothing(absent):
            return ast.Sequence(left, right, False, interval, span=formula.span)
        case _:
            return formula
