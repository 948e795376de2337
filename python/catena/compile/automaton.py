"""From a formula in LP normal form to a complex event automaton (paper 003, Theorem 3).

An automaton here has one initial and one final state; nothing enters the initial state and nothing
leaves the final one. So automata are joined by letting states coincide, without empty transitions:

    R            i -[type = R] / {R}-> f
    a OR b       the initial states coincide, and the final ones
    a ; b        a's final and b's initial state coincide in w, and w -true/{}-> w lets rows pass
    a : b        the same without the loop
    a +          every transition into f has a twin into w, and w leaves like i; w loops
    a :+         the same without the loop
    a AS x       x is added to every set of marks that is not empty
    a ;[I] b     as a ; b; transitions into a's final state reset a clock, those out of b's initial
                 state check it against I; so do the other joins with time bounds
    a WITHIN I   transitions out of i reset a clock, those into f check it; one from i to f has
                 start = end and is kept if I has 0
    a FILTER x[P], PROJECT[L](a)   guards, or marks, of the transitions change
    a FILTER x.v < y.v   transitions into f ask it of what the run has bound (tracks.py)
    a AND b                               complement.py
    a ; NOT (b) ; c, a UNLESS b           absence.py; with clocks or tracks following.py
    STRICT(a), NEXT(a), LAST(a), MAX(a)   selection.py; over clocks and registers scopes.py

Invariant: `Automaton.transitions` only has states from which the final state can be reached and
that can be reached. Cost: linear in the formula but for AND, negations and strategies, whose
products are limited.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from catena.compile import absence as determined
from catena.compile import following
from catena.compile.cases import CaseBudget
from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_MARKS,
    TRUE,
    Absence,
    Automaton,
    Check,
    Clock,
    ClockKind,
    Guard,
    Marks,
    Transition,
    conjuncts,
    contradicts_itself,
    project,
    renumbered,
    trimmed,
    with_transitions,
)
from catena.compile.complement import intersection
from catena.compile.counting import rows_counted
from catena.compile.memory import last_satisfies
from catena.compile.scopes import scoped
from catena.compile.selection import COMPARING, selected
from catena.compile.tracks import (
    Tracks,
    has_conditions,
    has_tracks,
    read_variables,
    without_tracks,
)
from catena.compile.watching import unfolded, watchers_of
from catena.errors import error_at
from catena.query import ast
from catena.query.format import format_formula
from catena.query.normalize import present_parts


@dataclass(frozen=True, slots=True)
class ColumnNames:
    """The columns that hold the type and, if any, the stream of a row."""

    type: str
    stream: str | None


def build(formula: ast.Formula, columns: ColumnNames, text: str = "") -> Automaton:
    """The automaton of a formula in LP normal form.

    Strategies inside are worked out beforehand, unless one compares runs with clocks or conditions
    over several events: then all of them are scopes.
    """
    read = read_variables(formula)
    builder = _Builder(columns, text, read)
    try:
        return unfolded(builder.build(formula), builder.budget)
    except _ComparesValues:
        return _Builder(columns, text, read, has_scopes=True).build(formula)


class _ComparesValues(Exception):
    """A strategy's operand has clocks or conditions over several events."""


_NEGATIONS: Final = "negations that compare events or bound time"


def dead_part(formula: ast.Formula, columns: ColumnNames, text: str = "") -> ast.Formula | None:
    """The smallest part of a formula that can never match although its own parts can, if any."""
    for part in present_parts(formula):
        found = dead_part(part, columns, text)
        if found is not None:
            return found
    if isinstance(formula, ast.Nothing):
        return None
    return formula if build(formula, columns, text).is_empty else None


def _is_followed(absent: Automaton) -> bool:
    """Whether sets of states cannot tell all of what must be absent."""
    counts_else = any(clock.kind is not ClockKind.ROWS for clock in absent.clocks)
    return counts_else or has_conditions(absent)


def _shift(initial: int, final: int, first_free: int) -> Callable[[int], int]:
    """A numbering that gives the two special states new numbers and the others consecutive ones."""
    special = {INITIAL: initial, FINAL: final}
    return lambda state: special.get(state, state + first_free - 2)


class _Builder:
    def __init__(
        self, columns: ColumnNames, text: str, read: frozenset[str], has_scopes: bool = False
    ) -> None:
        self._columns = columns
        self._tracks = Tracks(read)
        self._text = text
        self._has_scopes = has_scopes
        self.budget = CaseBudget()
        self._selections: dict[ast.Select, Automaton] = {}
        self._clock_count = 0
        self._absence_count = 0

    def build(self, formula: ast.Formula) -> Automaton:
        match formula:
            case ast.Atom():
                return self._atom(formula)
            case ast.AnyEvent():
                return self._tracks.bound(_one_row(TRUE, frozenset({"ANY"})), "ANY")
            case ast.Nothing():
                return Automaton(2, ())
            case ast.As():
                bound = self._tracks.bound(self.build(formula.body), formula.variable)
                return _add_mark(bound, formula.variable)
            case ast.Filter(condition=ast.LastPredicate() as condition):
                return last_satisfies(self.build(formula.body), condition)
            case ast.Filter(condition=ast.VariablePredicate() as condition):
                return _add_guard(self.build(formula.body), condition)
            case ast.Filter():
                return self._tracks.held(self.build(formula.body), formula.condition)
            case ast.Or():
                return _union(self.build(formula.left), self.build(formula.right))
            case ast.And():
                right = self._tracks.hidden(self.build(formula.right))
                return intersection(self.build(formula.left), right)
            case ast.Sequence():
                return _concatenation(*self._joined(formula), formula.contiguous)
            case ast.Iteration():
                return self._iteration(formula)
            case ast.Within():
                return self._within(formula)
            case ast.Project():
                body = self._tracks.hidden(self.build(formula.body), formula.variables)
                return trimmed(project(body, formula.variables))
            case ast.Select():
                return self._select(formula)
            case ast.AbsentBetween():
                return self._between(*self._joined(formula), formula.absent)
            case ast.Unless():
                return self._unless(self.build(formula.body), formula.absent)
        raise AssertionError("the formula is not in LP normal form")

    def _between(self, left: Automaton, right: Automaton, absent: ast.Formula) -> Automaton:
        made = self._absent(absent)
        if not _is_followed(made):
            return determined.between(left, made, right, self.budget)
        if following.is_one_row(made):
            return following.between_rows(left, made, right, self.budget)
        return following.between(left, self._absence(made, absent), right)

    def _unless(self, body: Automaton, absent: ast.Formula) -> Automaton:
        made = self._absent(absent)
        if not _is_followed(made):
            return determined.unless(body, made, self.budget)
        if following.is_one_row(made):
            return following.unless_rows(body, made, self._tracks, self.budget)
        return following.unless(body, self._absence(made, absent), self._tracks)

    def _absence(self, made: Automaton, formula: ast.Formula) -> Absence:
        self._absence_count += 1
        return following.absence_of(made, self._absence_count - 1, format_formula(formula))

    def _absent(self, formula: ast.Formula) -> Automaton:
        made = self.build(formula)
        if made.scopes:
            raise error_at(
                self._text,
                formula.span,
                "strategies inside what must be absent are not supported yet beside strategies "
                "over time bounds or conditions over several events",
                hint="bound the time, and compare events, outside of NEXT, LAST and MAX",
            )
        if not _is_followed(made):
            return without_tracks(rows_counted(made))
        if watchers_of(made.transitions):
            raise error_at(
                self._text,
                formula.span,
                "strategies inside what must be absent are not supported yet beside time bounds or "
                "conditions over several events in it",
                hint="NEXT, LAST and MAX may stand there over conditions on one event",
            )
        return made

    def _select(self, formula: ast.Select) -> Automaton:
        """Equal ones are made once, so that they share their watcher; but no two share clocks or
        tracks, or are one scope."""
        if formula in self._selections:
            return self._selections[formula]
        operand = self.build(formula.body)
        if formula.strategy in COMPARING:
            if self._has_scopes:
                return scoped(formula.strategy, operand)
            if operand.clocks or has_conditions(operand):
                raise _ComparesValues
        made = selected(formula.strategy, operand, self.budget)
        if not operand.clocks and not self._has_scopes and not has_tracks(operand):
            self._selections[formula] = made
        return made

    def _clock(self, kind: ClockKind, measures: str, column: str | None = None) -> Clock:
        self._clock_count += 1
        return Clock(self._clock_count - 1, kind, column, (measures,))

    def _joined(self, formula: ast.Sequence | ast.AbsentBetween) -> tuple[Automaton, Automaton]:
        """Both sides, with a clock from the end of the left one to the start of the right one."""
        left, right = self.build(formula.left), self.build(formula.right)
        if formula.interval is not None:
            what = f"from the end of {_last_part(formula.left)} to the start of "
            clock = self._clock(ClockKind.TIME, what + _first_part(formula.right))
            left = with_transitions(left, (_reset_last(t, clock) for t in left.transitions))
            check = clock, formula.interval
            right = with_transitions(right, (_check_first(t, check) for t in right.transitions))
        return left, right

    def _iteration(self, formula: ast.Iteration) -> Automaton:
        body = self.build(formula.body)
        check = None
        if formula.interval is not None:
            what = f"between repetitions of {format_formula(formula.body)}"
            check = self._clock(ClockKind.TIME, what), formula.interval
        return _iteration(body, formula.contiguous, check)

    def _within(self, formula: ast.Within) -> Automaton:
        body = self.build(formula.body)
        kind, column, interval = _measured(formula.limit)
        what = f"from start to end of {format_formula(formula.body)}"
        clock = self._clock(kind, what, column)
        bounded = [
            _check_last(_reset_first(t, clock), (clock, interval))
            for t in body.transitions
            if (t.source, t.target) != (INITIAL, FINAL)
        ]
        one_row = [t for t in body.transitions if (t.source, t.target) == (INITIAL, FINAL)]
        kept = one_row if _has_zero(interval) else []
        return trimmed(with_transitions(body, [*bounded, *kept]))

    def _atom(self, formula: ast.Atom) -> Automaton:
        guard = {equals(self._columns.type, formula.type)}
        if formula.stream is not None:
            if self._columns.stream is None:
                raise error_at(
                    self._text,
                    formula.span,
                    f"{format_formula(formula)} names a stream, but the query has no stream column",
                    hint="pass stream='...' with the name of the column that holds it",
                )
            guard.add(equals(self._columns.stream, formula.stream))
        return self._tracks.bound(
            _one_row(frozenset(guard), frozenset({formula.type})), formula.type
        )


def equals(column: str, value: str) -> ast.Expression:
    """The predicate that a column holds this text."""
    return ast.Comparison(ast.CompareOp.EQ, ast.Attribute(column), ast.Literal(value))


def _one_row(guard: Guard, marks: Marks) -> Automaton:
    return Automaton(2, (Transition(INITIAL, guard, marks, FINAL),))


def _add_mark(automaton: Automaton, variable: str) -> Automaton:
    added = frozenset({variable})
    return with_transitions(
        automaton,
        (replace(t, marks=t.marks | added) if t.marks else t for t in automaton.transitions),
    )


def _add_guard(automaton: Automaton, condition: ast.VariablePredicate) -> Automaton:
    transitions = []
    for t in automaton.transitions:
        guard = t.guard
        if condition.variable in t.marks:
            guard |= conjuncts(condition.predicate)
        if not contradicts_itself(guard):
            transitions.append(replace(t, guard=guard))
    return trimmed(with_transitions(automaton, transitions))


def _union(left: Automaton, right: Automaton) -> Automaton:
    second = renumbered(right, _shift(INITIAL, FINAL, left.state_count))
    count = left.state_count + right.state_count - 2
    return Automaton(count, tuple(dict.fromkeys([*left.transitions, *second])))


def _waiting(state: int) -> Transition:
    return Transition(state, TRUE, NO_MARKS, state)


def _concatenation(left: Automaton, right: Automaton, contiguous: bool) -> Automaton:
    middle = left.state_count
    first = renumbered(left, _shift(INITIAL, middle, 2))
    second = renumbered(right, _shift(middle, FINAL, middle + 1))
    loop = [] if contiguous else [_waiting(middle)]
    count = left.state_count + right.state_count - 1
    return trimmed(Automaton(count, (*first, *loop, *second)))


def _iteration(body: Automaton, contiguous: bool, check: Check | None) -> Automaton:
    """A check is of the time from each repetition's end to the start of the next."""
    middle = body.state_count
    again = []
    for t in body.transitions:
        sources = [t]
        if t.source == INITIAL:
            next_one = t if check is None else _check_first(t, check)
            sources.append(replace(next_one, source=middle))
        again += sources
        if t.target == FINAL:
            not_last = sources if check is None else [_reset_last(s, check[0]) for s in sources]
            again += [replace(s, target=middle) for s in not_last]
    loop = [] if contiguous else [_waiting(middle)]
    return trimmed(Automaton(middle + 1, (*again, *loop)))


def _first_part(formula: ast.Formula) -> str:
    """What a sequence begins with."""
    while isinstance(formula, ast.Sequence):
        formula = formula.left
    return format_formula(formula)


def _last_part(formula: ast.Formula) -> str:
    """What a sequence ends with."""
    while isinstance(formula, ast.Sequence):
        formula = formula.right
    return format_formula(formula)


def _reset_first(t: Transition, clock: Clock) -> Transition:
    return replace(t, resets=t.resets | {clock}) if t.source == INITIAL else t


def _reset_last(t: Transition, clock: Clock) -> Transition:
    return replace(t, resets=t.resets | {clock}) if t.target == FINAL else t


def _check_first(t: Transition, check: Check) -> Transition:
    return replace(t, checks=t.checks | {check}) if t.source == INITIAL else t


def _check_last(t: Transition, check: Check) -> Transition:
    return replace(t, checks=t.checks | {check}) if t.target == FINAL else t


def _measured(limit: ast.Window | ast.Interval) -> tuple[ClockKind, str | None, ast.Interval]:
    """What WITHIN limits from start to end, and to which interval."""
    match limit:
        case ast.Interval():
            return ClockKind.TIME, None, limit
        case ast.TimeWindow():
            return ClockKind.TIME, None, ast.Interval(None, limit.bound, span=limit.span)
        case ast.EventsWindow():
            rows = ast.Bound(Fraction(limit.count - 1), span=limit.span)
            return ClockKind.ROWS, None, ast.Interval(None, rows, span=limit.span)
        case ast.AttributeWindow():
            rise = ast.Bound(limit.amount, span=limit.span)
            interval = ast.Interval(None, rise, span=limit.span)
            return ClockKind.ATTRIBUTE, limit.attribute, interval


def _has_zero(interval: ast.Interval) -> bool:
    """Whether no time at all lies in the interval. Bounds are not negative."""
    low, high = interval.low, interval.high
    above = low is None or (low.amount == 0 and not interval.low_open)
    return above and (high is None or high.amount > 0 or not interval.high_open)
