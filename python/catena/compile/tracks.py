"""Tracks: which events a run has bound to a variable, as far as conditions ask for them.

A condition over several events (SPEC section 4) reads, on the row that ends the filtered formula,
what the run has bound so far: the last event of x, the one before it, the first, an aggregate. The
events bound to one variable, in order, are a *track*. A transition may append its row to tracks,
and may let a track begin as a copy of another; conditions read tracks as they were before the row,
or with the row appended. What of a track a run really has to keep is found at the end
(registers.py).

    (A AS x ; B AS y) FILTER x.v < y.v     i -A {A, x}, append x-> w   w -B {B, y}, if x.v < v-> f

Scopes need copies, made only where a condition inside looks:

    PROJECT[B](A AS x ; (B FILTER B.v > x.v))   x is a track of the inside, which begins as a copy
                                                of the x outside, and is forgotten at the end
    ((A ; (B FILTER B.v > x.v)) AS x)           inside, x is the x from before; the rows bound by
                                                AS are gathered beside it and become x at the end
    f AND g                                     both sides see what was bound before; g's tracks are
                                                its own, as under PROJECT; f's stay

Paper 001, sections 3 to 5: tracks are its registers as the formula sees them; a condition is that
of an n-ary filter, an append its write.

Invariant: operations on automata that copy transitions leave their meaning as it is, since all that
depends on where a part begins and ends is on its first and last transitions. Cost: linear.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Final

from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_APPENDS,
    Append,
    Ask,
    Automaton,
    Follow,
    Transition,
    with_transitions,
)
from catena.query import ast
from catena.query.constants import constant
from catena.query.normalize import condition_variables, map_expression, subexpressions, subformulas


def is_held(condition: ast.Expression) -> bool:
    """Whether a filter's condition, in normal form, is one over what runs remember."""
    return not isinstance(condition, ast.VariablePredicate | ast.LastPredicate)


def read_variables(formula: ast.Formula) -> frozenset[str]:
    """The variables that conditions over several events speak of."""
    return frozenset(
        name
        for part in subformulas(formula)
        if isinstance(part, ast.Filter) and is_held(part.condition)
        for name in condition_variables(part.condition)
    )


class Tracks:
    """Puts tracks on the transitions of automata."""

    def __init__(self, read: frozenset[str]) -> None:
        self._read = read
        self._made = 0

    def bound(self, automaton: Automaton, variable: str) -> Automaton:
        """After `AS variable`, or as an atom of that name: every marked row is bound to it."""
        if variable not in self._read:
            return automaton
        if variable in recalled_tracks(automaton):
            return self._bound_at_end(automaton, variable)

        def append(t: Transition) -> Transition:
            return _with_append(t, Append(variable, variable, True)) if t.marks else t

        return with_transitions(automaton, map(append, automaton.transitions))

    def _bound_at_end(self, automaton: Automaton, variable: str) -> Automaton:
        gathered = self._new(variable)

        def gather(t: Transition) -> Transition:
            before = variable if t.source == INITIAL else gathered
            appends = bool(t.marks)
            if t.target == FINAL:
                t = _with_append(t, Append(variable, before, appends))
            return _with_append(t, Append(gathered, before, appends))

        return with_transitions(automaton, map(gather, automaton.transitions))

    def hidden(self, automaton: Automaton, kept: Iterable[str] = ()) -> Automaton:
        """What the automaton binds to other variables than those kept is seen inside of it only."""
        kept, asked = frozenset(kept), recalled_tracks(automaton)
        for track in sorted(_appended(automaton) & self._read - kept):
            if track in asked:
                automaton = self._own_track(automaton, track)
            else:
                automaton = _without_track(automaton, track)
        return automaton

    def _own_track(self, automaton: Automaton, track: str) -> Automaton:
        own = self._new(track)

        def rename(t: Transition) -> Transition:
            before = track if t.source == INITIAL else own
            appends = frozenset(
                Append(
                    own if a.track == track else a.track,
                    before if a.source == track else a.source,
                    a.appends,
                )
                for a in t.appends
            )
            t = read_as(replace(t, appends=appends), {track: before})
            begins = t.source == INITIAL and all(a.track != own for a in t.appends)
            return _with_append(t, Append(own, track, False)) if begins else t

        return with_transitions(automaton, map(rename, automaton.transitions))

    def _new(self, variable: str) -> str:
        self._made += 1
        return f"{variable}'{self._made}"

    def marked(self, body: Automaton, read: frozenset[str]) -> tuple[Automaton, dict[str, str]]:
        """The body with tracks that show at any time what it has marked so far, for what is read of
        them while it runs; and what they are called. Most do so by themselves: only those that are
        bound at the end are not there before."""
        names: dict[str, str] = {}
        for variable in sorted(read):
            appends = (a for t in body.transitions for a in t.appends if a.track == variable)
            if all(a.source == variable for a in appends):
                continue
            names[variable] = own = self._new(variable)

            def append(t: Transition, variable: str = variable, own: str = own) -> Transition:
                before = variable if t.source == INITIAL else own
                return _with_append(t, Append(own, before, variable in t.marks))

            body = with_transitions(body, map(append, body.transitions))
        return body, names

    def held(self, automaton: Automaton, condition: ast.Expression) -> Automaton:
        """The complex events whose bindings satisfy a condition."""
        asked = _satisfied(condition)

        def hold(t: Transition) -> Transition:
            if t.target != FINAL:
                return t
            return replace(t, conditions=t.conditions | {_at_end_of(asked, t)})

        return with_transitions(automaton, map(hold, automaton.transitions))


def has_tracks(automaton: Automaton) -> bool:
    """Whether a transition appends to a track or asks for what a run remembers."""
    return has_conditions(automaton) or any(t.appends for t in automaton.transitions)


def has_conditions(automaton: Automaton) -> bool:
    """Whether a transition asks for what a run remembers: a track, or what it must pass over."""
    return any(t.conditions or t.forbids or t.follows for t in automaton.transitions)


def without_tracks(automaton: Automaton) -> Automaton:
    """The automaton without tracks: nothing that it binds is asked for."""
    return with_transitions(
        automaton, (replace(t, appends=NO_APPENDS) for t in automaton.transitions)
    )


def _with_append(t: Transition, append: Append) -> Transition:
    """The transition with one more append, in place of one to the same track."""
    others = frozenset(a for a in t.appends if a.track != append.track)
    return replace(t, appends=others | {append})


def _without_track(automaton: Automaton, track: str) -> Automaton:
    return with_transitions(
        automaton,
        (
            replace(t, appends=frozenset(a for a in t.appends if a.track != track))
            for t in automaton.transitions
        ),
    )


def _appended(automaton: Automaton) -> frozenset[str]:
    return frozenset(a.track for t in automaton.transitions for a in t.appends)


def recalled_tracks(automaton: Automaton) -> frozenset[str]:
    """The tracks that a condition reads, or that another begins with, also one inside a scope or
    an absence."""
    asked = (
        part.variable
        for t in automaton.transitions
        for condition in t.conditions.union(*t.forbids)
        for part in subexpressions(condition)
        if isinstance(part, ast.Recall)
    )
    copied = (a.source for t in automaton.transitions for a in t.appends if a.source != a.track)
    followed = (
        dict(f.names).get(track, track)
        for t in automaton.transitions
        for f in t.follows
        for track in f.absence.recalls
    )
    lent = (track for t in automaton.transitions for ask in t.asks for _, track in ask.tracks)
    return frozenset(asked) | frozenset(copied) | frozenset(followed) | frozenset(lent)


def renamed_outside(follow: Follow, names: Mapping[str, str]) -> Follow:
    """What a transition does with an absence when the tracks outside of it get other names."""
    known = dict(follow.names)
    outside = {track: known.get(track, track) for track in follow.absence.recalls}
    changed = ((inside, names.get(name, name)) for inside, name in outside.items())
    return replace(follow, names=frozenset((i, name) for i, name in changed if i != name))


def read_as(t: Transition, names: Mapping[str, str]) -> Transition:
    """The transition with what it asks for under other names, and what it appends as it is."""
    return replace(
        t,
        conditions=frozenset(_reading(c, names) for c in t.conditions),
        forbids=frozenset(frozenset(_reading(c, names) for c in several) for several in t.forbids),
        follows=frozenset(renamed_outside(f, names) for f in t.follows),
        asks=tuple(_beginning(ask, names) for ask in t.asks),
    )


def _map_recalls(
    expression: ast.Expression, change: Callable[[ast.Recall], ast.Expression]
) -> ast.Expression:
    if isinstance(expression, ast.Recall):
        return change(expression)
    return map_expression(expression, lambda part: _map_recalls(part, change))


def _reading(condition: ast.Expression, names: Mapping[str, str]) -> ast.Expression:
    """The condition with tracks under other names."""
    return _map_recalls(condition, lambda r: replace(r, variable=names.get(r.variable, r.variable)))


def _beginning(ask: Ask, names: Mapping[str, str]) -> Ask:
    """What is asked of a scope with tracks under other names lent."""
    tracks = tuple((inside, names.get(lent, lent)) for inside, lent in ask.tracks)
    return replace(ask, tracks=tracks)


def _at_end_of(condition: ast.Expression, t: Transition) -> ast.Expression:
    """What a condition on the tracks after a transition asks of them before it, and of its row."""
    by_track = {a.track: a for a in t.appends}

    def before(recall: ast.Recall) -> ast.Expression:
        append = by_track.get(recall.variable)
        if append is None:
            return recall
        return replace(recall, variable=append.source, with_row=append.appends)

    return _map_recalls(condition, before)


# ---------------------------------------------------------------------------------------------
# Conditions


def _satisfied(condition: ast.Expression) -> ast.Expression:
    """A condition as an expression over tracks that is true where it is satisfied.

    A comparison is satisfied where it does not apply (some prev(x), and x bound less than twice),
    and where all that it speaks of is bound and it is true.
    """
    if isinstance(condition, ast.LogicalAnd | ast.LogicalOr):
        return map_expression(condition, _satisfied)
    if not condition_variables(condition):
        return ast.Literal(constant(condition) is True)
    asked = _recalling(condition)
    recalls = dict.fromkeys(e for e in subexpressions(asked) if isinstance(e, ast.Recall))
    result = asked
    for recall in reversed(recalls):
        if recall.what not in ("size", "count", "prev"):
            result = ast.LogicalAnd(ast.IsBound(recall), result)
    for recall in reversed(recalls):
        if recall.what == "prev":
            result = ast.LogicalOr(ast.LogicalNot(ast.IsBound(recall)), result)
    return result


def _recalling(expression: ast.Expression) -> ast.Expression:
    """The expression with its largest parts about one event, and its aggregates, as recalls."""
    place = _place(expression)
    if place is not None:
        variable, what = place
        value = _of_one_event(expression)
        return ast.Recall(variable, what, value, span=expression.span)
    if isinstance(expression, ast.Aggregate):
        return _aggregate(expression)
    return map_expression(expression, _recalling)


_PLACES: Final[dict[str, ast.Remembered]] = {
    "current": "last",
    "last": "last",
    "prev": "prev",
    "first": "first",
}


def _place(expression: ast.Expression) -> tuple[str, ast.Remembered] | None:
    """The variable, and which of its events, if the expression is about one event only."""
    places: set[tuple[str, ast.Remembered]] = set()
    for part in subexpressions(expression):
        if isinstance(part, ast.VariableAttribute):
            places.add((part.variable, _PLACES[part.binding]))
        elif isinstance(part, ast.Aggregate):
            if part.function not in ("first", "last"):
                return None
            places.add((part.variable, _PLACES[part.function]))
    return places.pop() if len(places) == 1 else None


def _of_one_event(expression: ast.Expression) -> ast.Expression:
    if isinstance(expression, ast.VariableAttribute | ast.Aggregate):
        assert expression.attribute is not None
        return ast.Attribute(expression.attribute, span=expression.span)
    return map_expression(expression, _of_one_event)


def _aggregate(term: ast.Aggregate) -> ast.Expression:
    span = term.span
    if term.attribute is None:
        return ast.Recall(term.variable, "size", None, span=span)
    value = ast.Attribute(term.attribute, span=span)
    match term.function:
        case "sum":
            return ast.Narrow(ast.Recall(term.variable, "sum", value, span=span), span=span)
        case "avg":
            total = ast.Recall(term.variable, "sum", value, span=span)
            count = ast.Recall(term.variable, "count", value, span=span)
            return ast.Arithmetic("/", total, count, span=span)
        case "min" | "max" | "count":
            return ast.Recall(term.variable, term.function, value, span=span)
    raise AssertionError(f"{term.function} is about one event")
