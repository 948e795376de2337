"""Key equalities: conditions that tie all events of a match to one key become a partition.

    (H AS x ; (T AS y FILTER y.id = x.id)+ ; H AS z) FILTER x.id = z.id

Every match of this formula lies in rows of one `id`. So each id may be evaluated as a stream of its
own, where the conditions say nothing any more: the query costs what a unary one does, and has its
guarantees, under all strategies.

That all events are tied is read off the automaton. While a run is read, its events fall into
classes that are known to have the same key; registers hold the keys of classes. An equality of a
register with the row, or of two registers, unites classes. An attribute *ties* the automaton if
every run that ends has one class, of two events at least: so all keys have been compared, and none
is null or NaN, which equal nothing.

The rows of other keys must not matter in between: every state that a run can wait in has to let any
row pass. That rules out `:`, and what must be absent unless it is one row that has the key as well,
as in `A AS a -> (B AS b FILTER b.id = a.id)`. Nor may anything count rows: `n EVENTS` does.

Invariant: the complex events of the automaton over the parts of the stream, by the keys found, are
those of the automaton given over all of it. Cost: the combinations of states and classes, limited;
past the limit nothing is tied.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final, TypeAlias

from catena.compile.cases import CaseBudget, divided
from catena.compile.cea import (
    FINAL,
    INITIAL,
    TRUE,
    Automaton,
    ClockKind,
    Conditions,
    Guard,
    Transition,
    trimmed,
    with_transitions,
)
from catena.compile.registers import (
    Held,
    Remembering,
    live_registers,
    pruned,
    simplified,
)
from catena.errors import CatenaLimitError
from catena.query import ast
from catena.query.format import format_expression
from catena.query.normalize import map_expression

PLACE_COUNT_MAX: Final = 2_000
"""The combinations of states and classes that are looked at."""

_Class: TypeAlias = frozenset[int]
"""The registers that hold the key of some events."""

_Classes: TypeAlias = frozenset[_Class]

_ROW: Final = -1
"""In a class: the row at hand."""


def tied(remembering: Remembering) -> tuple[Remembering, tuple[str, ...]]:
    """The automaton without the conditions that a partition by the attributes makes true."""
    if remembering.absences or not _lets_rows_pass(remembering.automaton):
        return remembering, ()
    keys = []
    for key in _candidates(remembering):
        if _ties(remembering, key):
            keys.append(key)
            remembering = _without_equalities(remembering, key)
    return remembering, tuple(keys)


def _lets_rows_pass(automaton: Automaton) -> bool:
    """Whether rows that no transition of a run needs may come at any time."""
    if automaton.observers or automaton.scopes:
        return False
    if any(c.kind is ClockKind.ROWS for c in automaton.clocks):
        return False
    waiting: dict[int, set[Guard]] = {t.source: set() for t in automaton.transitions}
    for t in filter(_is_waiting, automaton.transitions):
        waiting[t.source].add(t.guard)
    return all(_covers(guards) for state, guards in waiting.items() if state != INITIAL)


def _is_waiting(t: Transition) -> bool:
    """Whether a run stays as it is, unless the row is one that must be absent."""
    return t == Transition(t.source, t.guard, frozenset(), t.source, forbids=t.forbids)


def _covers(guards: set[Guard]) -> bool:
    """Whether every row satisfies one of the guards."""
    if TRUE in guards:
        return True
    options = [(guard, True) for guard in sorted(guards, key=_text)]
    try:
        cases = divided(options, lambda satisfied: [bool(satisfied)], CaseBudget())
    except CatenaLimitError:
        return False
    return all(is_satisfied for _, is_satisfied in cases)


def _text(guard: Guard) -> list[str]:
    return sorted(map(format_expression, guard))


def _candidates(remembering: Remembering) -> list[str]:
    """The attributes that registers hold for comparison."""
    names = {h.value.name for h in remembering.registers if isinstance(h.value, ast.Attribute)}
    return sorted(names)


def _holds_key(held: Held, key: str) -> bool:
    places = ("last", "prev", "first")
    return held.what in places and held.value == ast.Attribute(key)


# ---------------------------------------------------------------------------------------------
# Classes of events with one key


def _ties(remembering: Remembering, key: str) -> bool:
    automaton = remembering.automaton
    live, leaving = live_registers(automaton), automaton.leaving()
    pending: list[tuple[int, _Classes]] = [(INITIAL, frozenset())]
    seen = set(pending)
    while pending:
        state, classes = pending.pop()
        for t in leaving[state]:
            if _is_waiting(t):
                if all(_is_of_key(forbidden, classes, key) for forbidden in t.forbids):
                    continue
                return False
            united = _united(classes, t, key)
            if t.target == FINAL:
                if len(united) > 1 or t.source == INITIAL:
                    return False
                continue
            after = frozenset(_after(one, t, key) & live[t.target] for one in united)
            if len(united) > 1 and (len(after) < len(united) or frozenset() in after):
                return False
            place = t.target, after
            if place not in seen:
                if len(seen) == PLACE_COUNT_MAX:
                    return False
                seen.add(place)
                pending.append(place)
    return True


def _is_of_key(forbidden: Conditions, classes: _Classes, key: str) -> bool:
    """Whether a row that must be absent has the key of some event before."""
    sides = (_equated(condition, key) for condition in forbidden)
    held = frozenset[int]().union(*classes)
    return any(s is not None and _ROW in s and s & held for s in sides)


def _united(classes: _Classes, t: Transition, key: str) -> _Classes:
    """The classes when a transition's row is one, and what its conditions equate is together."""
    groups = [*map(set, classes), {_ROW}]
    for condition in t.conditions:
        sides = _equated(condition, key)
        if sides is None:
            continue
        found = [group for group in groups if group & sides]
        if len(found) == 2:
            groups.remove(found[1])
            found[0] |= found[1]
    return frozenset(map(frozenset, groups))


def _equated(condition: ast.Expression, key: str) -> frozenset[int] | None:
    """The two sides of an equality of registers, or of one with the row's key."""
    match condition:
        case ast.Comparison(op=ast.CompareOp.EQ, left=left, right=right):
            sides = [_side(left, key), _side(right, key)]
            return None if None in sides else frozenset(s for s in sides if s is not None)
    return None


def _side(expression: ast.Expression, key: str) -> int | None:
    if isinstance(expression, ast.Register):
        return expression.number
    return _ROW if expression == ast.Attribute(key) else None


def _after(one: _Class, t: Transition, key: str) -> _Class:
    """The registers that hold the class's key after a transition."""
    updates = dict(t.updates)
    kept = {number for number in one if number not in updates and number != _ROW}
    return frozenset(kept | {n for n, value in updates.items() if _side(value, key) in one})


# ---------------------------------------------------------------------------------------------
# Inside a part all keys are the same


def _without_equalities(remembering: Remembering, key: str) -> Remembering:
    holding = {n for n, held in enumerate(remembering.registers) if _holds_key(held, key)}

    def known(expression: ast.Expression) -> ast.Expression:
        sides = _equated(expression, key)
        if sides is not None and sides <= holding | {_ROW}:
            return ast.Literal(True)
        return map_expression(expression, known)

    def loosened(conditions: Conditions) -> Conditions:
        found = (simplified(known(condition)) for condition in conditions)
        return frozenset(c for c in found if c != ast.Literal(True))

    def loosen(t: Transition) -> Iterable[Transition]:
        asked, forbids = loosened(t.conditions), frozenset(map(loosened, t.forbids))
        if ast.Literal(False) not in asked and frozenset() not in forbids:
            left = frozenset(several for several in forbids if ast.Literal(False) not in several)
            yield replace(t, conditions=asked, forbids=left)

    transitions: Sequence[Transition] = [
        loose for t in remembering.automaton.transitions for loose in loosen(t)
    ]
    automaton = trimmed(with_transitions(remembering.automaton, transitions))
    return pruned(Remembering(automaton, remembering.registers))
