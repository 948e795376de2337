"""Registers: what a run must keep of its tracks so that conditions can be answered.

While a formula is put together, conditions speak of tracks, the events bound to a variable so far
(tracks.py). A run cannot keep them all. A *register* holds one value of a track: an expression of
its last, last but one or first event, a running aggregate, or how many events there are.

    x.v < y.v, asked on the row bound to y        register: v of the last event of x
    y.v > prev(y).v, asked on a row bound to y    register: v of the last event of y before the row
    sum(y.v) < 10, on a row bound to y            register: the sum before the row; the condition
                                                  asks it with the row's own value added

How often a track can have been appended to, at least and at most (0, 1, or 2 and more), is known
for every state. So most questions whether a variable is bound are answered here: a condition that
needs what is never bound there takes its transition away, one on prev(x) does not apply where x is
bound for the first time, and one that speaks of the row alone becomes part of the guard.

A register is *live* in a state if some run from there reads it before it is written. Only live
registers are kept: the engine groups runs by what they hold. Registers that always hold the same
are one.

A strategy that compares while rows are read has its operand as a scope (scopes.py), an automaton
with registers of its own. What its conditions read of events further left it is lent when it is
opened: registers that are live in its initial state begin as what the run around holds.

    A AS x ; NEXT(B ; (C FILTER C.v > x.v))     the run around keeps v of the last x until the B,
                                                which opens the scope with it; then the scope does

What must be absent and is followed (following.py) is held by a register of its own, and the
automata of absences are over the same registers: a match that starts takes what it reads over from
the run. What is absent inside a scope's operand is held by runs of the scope.

Invariant: the automaton has the same complex events, and no tracks; so have its scopes, and their
clocks are settled (clocks.py). Cost: states times tracks, then transitions times registers, to a
fixed point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from catena.compile.cea import (
    INITIAL,
    NO_APPENDS,
    NO_FOLLOWS,
    Absence,
    Append,
    Ask,
    Automaton,
    Conditions,
    Follow,
    Scope,
    Transition,
    conjuncts,
    contradicts_itself,
    trimmed,
    with_transitions,
)
from catena.compile.clocks import settling as clocks_settled
from catena.compile.clocks import steps_together
from catena.compile.following import Family
from catena.compile.scopes import scope_of
from catena.compile.tracks import has_tracks
from catena.query import ast
from catena.query.constants import constant
from catena.query.format import format_expression
from catena.query.normalize import map_expression, subexpressions

_TRUE: Final = ast.Literal(True)
_FALSE: Final = ast.Literal(False)
_MANY: Final = 2


@dataclass(frozen=True, slots=True)
class Held:
    """What a register holds: of a track, what of its events, and the expression over one event."""

    track: str
    what: ast.Remembered
    value: ast.Expression | None

    @property
    def text(self) -> str:
        """In words: `v of the last x`."""
        variable = self.track.partition("'")[0]
        inside = " inside" if "'" in self.track else ""
        if self.what == "begun":
            return f"open matches of {self.track.partition(': ')[2]}"
        if self.value is None:
            return f"number of {variable}{inside}"
        value = format_expression(self.value)
        if self.what in ("last", "first"):
            return f"{value} of the {self.what} {variable}{inside}"
        if self.what == "prev":
            return f"{value} of the {variable}{inside} before the last"
        return f"{self.what} of {value} over {variable}{inside}"


@dataclass(frozen=True, slots=True)
class Remembering:
    """An automaton over registers, what these hold, by number, and the automata of its absences
    and those of its scopes, by number, over the same registers."""

    automaton: Automaton
    registers: tuple[Held, ...]
    absences: tuple[Automaton, ...] = ()


def remembered(automaton: Automaton) -> Remembering:
    """The automaton with conditions and updates of registers in place of tracks."""
    if not automaton.scopes and not has_tracks(automaton):
        return Remembering(automaton, ())
    settling = _Settling(automaton, {}, _Registers())
    settling.ask()
    settling.unite({})
    numbers = {number: i for i, number in enumerate(sorted(settling.stands()))}
    settled = with_transitions(automaton, settling.settle(numbers).values())
    return Remembering(trimmed(settled), settling.held(numbers), tuple(settling.absences()))


def has_synchronous_updates(automaton: Automaton) -> bool:
    """True only if runs that may give one result hold the same in all registers that both will
    still read."""
    live = live_registers(automaton)
    if not any(live.values()):
        return True
    steps = steps_together(automaton)
    if steps is None:
        return False
    for one, other in steps:
        shared = live[one.target] & live[other.target]
        if shared and _updates_of(one, shared) != _updates_of(other, shared):
            return False
    return True


def _updates_of(t: Transition, registers: frozenset[int]) -> set[tuple[int, ast.Expression]]:
    return {update for update in t.updates if update[0] in registers}


def live_registers(automaton: Automaton) -> dict[int, frozenset[int]]:
    """By state, the numbers of the registers that some run from there reads before it sets them."""

    def update(number: int, t: Transition) -> ast.Expression:
        return dict(t.updates).get(number, ast.Register(number))

    def read(t: Transition) -> frozenset[int]:
        lent = (outside for ask in t.asks for _, outside in ask.lends)
        return frozenset(lent) | _registers_asked(t)

    return _live(automaton, update, read)


def _registers_asked(t: Transition) -> frozenset[int]:
    asked = t.conditions.union(*t.forbids)
    return frozenset[int]().union(*map(read_registers, asked))


def read_registers(expression: ast.Expression) -> frozenset[int]:
    """The numbers of the registers that an expression reads."""
    return frozenset(e.number for e in subexpressions(expression) if isinstance(e, ast.Register))


_Update: TypeAlias = Callable[[int, Transition], ast.Expression]
"""What a register is set to on a transition."""


_Reads: TypeAlias = Callable[[Transition], frozenset[int]]
"""The registers that a transition asks for, whatever is live after it."""


def _live(automaton: Automaton, update: _Update, read: _Reads) -> dict[int, frozenset[int]]:
    entering: dict[int, list[Transition]] = {}
    live: dict[int, frozenset[int]] = dict.fromkeys(range(automaton.state_count), frozenset())
    for t in automaton.transitions:
        entering.setdefault(t.target, []).append(t)
        live[t.source] |= read(t)
    pending = list(range(automaton.state_count))
    while pending:
        state = pending.pop()
        for t in entering.get(state, ()):
            needed = (read_registers(update(number, t)) for number in live[state])
            more = live[t.source].union(*needed)
            if more != live[t.source]:
                live[t.source] = more
                pending.append(t.source)
    return live


def index_kind(condition: ast.Expression) -> Literal["hash", "order"] | None:
    """How the engine finds the runs that satisfy a condition: it may keep an index on what they
    hold where the condition compares that with what the row has."""
    if not isinstance(condition, ast.Comparison) or condition.op is ast.CompareOp.NE:
        return None
    sides = sorted(map(_depends_on, (condition.left, condition.right)))
    if sides not in (["row", "run"], ["", "run"]):
        return None
    return "hash" if condition.op is ast.CompareOp.EQ else "order"


def _depends_on(expression: ast.Expression) -> str:
    parts = list(subexpressions(expression))
    of_run = any(isinstance(part, _OF_RUNS) for part in parts)
    of_row = any(isinstance(part, ast.Attribute) for part in parts)
    return "both" if of_run and of_row else "run" if of_run else "row" if of_row else ""


def pruned(remembering: Remembering) -> Remembering:
    """Only with registers that are live somewhere, and with updates of those that are live then."""
    live = live_registers(remembering.automaton)
    kept = sorted(frozenset().union(*live.values()))
    numbers = {number: i for i, number in enumerate(kept)}

    def prune(t: Transition) -> Transition:
        updates = frozenset(
            (numbers[number], _renamed(value, numbers))
            for number, value in t.updates
            if number in live[t.target]
        )
        return replace(
            t,
            updates=updates,
            conditions=frozenset(_renamed(c, numbers) for c in t.conditions),
            forbids=frozenset(frozenset(_renamed(c, numbers) for c in f) for f in t.forbids),
        )

    automaton = remembering.automaton
    assert not remembering.absences, "what absences read is not pruned"
    return Remembering(
        with_transitions(automaton, map(prune, automaton.transitions)),
        tuple(remembering.registers[number] for number in kept),
    )


# ---------------------------------------------------------------------------------------------
# How often tracks have been appended to


_Count: TypeAlias = tuple[int, int]
"""At least, and at most; 2 stands for any number from 2 on."""

_Counts: TypeAlias = dict[str, _Count]


def _counts_by_state(automaton: Automaton, at_start: _Counts) -> dict[int, _Counts]:
    """By state that a run can be in, how many events tracks may have; those not named have none."""
    leaving = automaton.leaving()
    pending = sorted(automaton.observers | {INITIAL})
    counts: dict[int, _Counts] = dict.fromkeys(pending, at_start)
    while pending:
        state = pending.pop()
        for t in leaving[state]:
            after = _counts_after(counts[state], t)
            known = counts.get(t.target)
            joined = after if known is None else _either(known, after)
            if joined != known:
                counts[t.target] = joined
                pending.append(t.target)
    return counts


def _counts_after(counts: _Counts, t: Transition) -> _Counts:
    after = dict(counts)
    for append in t.appends:
        low, high = counts.get(append.source, (0, 0))
        more = int(append.appends)
        after[append.track] = min(low + more, _MANY), min(high + more, _MANY)
    return after


def _either(one: _Counts, other: _Counts) -> _Counts:
    none = (0, 0)
    both = {track: (one.get(track, none), other.get(track, none)) for track in {**one, **other}}
    return {track: (min(a[0], b[0]), max(a[1], b[1])) for track, (a, b) in both.items()}


# ---------------------------------------------------------------------------------------------
# From tracks to registers


class _Registers:
    """The registers and absences found so far, of an automaton and its scopes."""

    def __init__(self) -> None:
        self.held: list[Held] = []
        self.absence_count = 0
        self._numbers: dict[Held, int] = {}

    def number(self, held: Held) -> int:
        number = self._numbers.setdefault(held, len(self.held))
        if number == len(self.held):
            self.held.append(held)
        return number


class _Settling:
    """One automaton on its way from tracks to registers, as one with its absences, and with its
    scopes, each on its own way.

    How often tracks can have been appended to is known from the outside in; what is live from the
    inside out; what is equal from the outside in again.
    """

    def __init__(self, automaton: Automaton, at_start: _Counts, registers: _Registers) -> None:
        self._automaton = automaton
        self._family = Family(automaton)
        self._first_absence = registers.absence_count
        registers.absence_count += len(self._family.absences)
        self._counts = _counts_by_state(self._family.whole, at_start)
        self._registers = registers
        self._known: dict[tuple[int, Transition], ast.Expression] = {}
        self._asked_by: dict[Transition, Transition] = {}
        self._live: dict[int, frozenset[int]] = {}
        self._stands: dict[int, int] = {}
        self._settled_absences: tuple[Automaton, ...] = ()
        self._inside = {
            scope: _Settling(scope.operand, self._lent_counts(scope), registers)
            for scope in automaton.scopes
        }

    def _openings(self, scope: Scope) -> list[tuple[Transition, Ask]]:
        """What opens a scope, from states that a run can be in."""
        return [
            (t, ask)
            for t in self._automaton.transitions
            for ask in t.asks
            if ask.scope is scope and ask.opens and t.source in self._counts
        ]

    def _lent_counts(self, scope: Scope) -> _Counts:
        lent: _Counts | None = None
        for t, ask in self._openings(scope):
            counts = self._counts[t.source]
            found = {inside: counts.get(outside, (0, 0)) for inside, outside in ask.tracks}
            lent = found if lent is None else _either(lent, found)
        return lent or {}

    def ask(self) -> None:
        """Finds the conditions over registers, and what is live."""
        for inside in self._inside.values():
            inside.ask()
        whole = self._family.whole
        for t in whole.transitions:
            asked = self._asked(t) if t.source in self._counts else None
            if asked is not None:
                self._asked_by[t] = asked
        asked_for = with_transitions(whole, self._asked_by.values())
        self._live = _live(asked_for, self._update, self._read)

    def _read(self, t: Transition) -> frozenset[int]:
        lent = (outside for ask in t.asks for _, outside in self._lends(ask))
        return frozenset(lent) | _registers_asked(t)

    def _lends(self, ask: Ask) -> list[tuple[int, int]]:
        """The scope's registers that a transition must fill as it opens it, and with which."""
        if not ask.opens:
            return []
        outside, held = dict(ask.tracks), self._registers.held
        return [
            (n, self._registers.number(replace(held[n], track=outside[held[n].track])))
            for n in sorted(self._inside[ask.scope].live_at_start)
        ]

    @property
    def live_at_start(self) -> frozenset[int]:
        return self._live[INITIAL]

    def unite(self, at_start: Mapping[int, object]) -> None:
        """Finds the registers that always hold the same, given what is the same at the start."""
        kept = sorted(frozenset().union(*self._live.values()))
        self._stands = self._equal(kept, at_start)
        for scope, inside in self._inside.items():
            lent: dict[int, list[int]] = {}
            for _, ask in self._openings(scope):
                for number, outside in self._lends(ask):
                    lent.setdefault(number, []).append(self._stands[outside])
            inside.unite({number: tuple(begins) for number, begins in lent.items()})

    def stands(self) -> set[int]:
        """The registers that are kept, those of the scopes included."""
        return set(self._stands.values()).union(*(s.stands() for s in self._inside.values()))

    def held(self, numbers: Mapping[int, int]) -> tuple[Held, ...]:
        """What the registers hold that are kept, by their new numbers."""
        return tuple(self._registers.held[number] for number in numbers)

    def settle(self, numbers: Mapping[int, int]) -> dict[Transition, Transition]:
        """By transition, what it is over registers with their new numbers; those that can never be
        made are left out. Then the absences are known, too."""
        renamed = self._renaming(numbers)
        scopes = {scope: inside._as_scope(scope, numbers) for scope, inside in self._inside.items()}

        def settle_ask(ask: Ask) -> Ask:
            scope, places = scopes[ask.scope]
            inside = self._inside[ask.scope]._renaming(numbers)
            lends = {inside[n]: renamed[m] for n, m in self._lends(ask)}
            place = places[ask.scope.operand.transitions[ask.place]]
            return Ask(scope, place, lends=tuple(sorted(lends.items())))

        def settle_value(expression: ast.Expression) -> ast.Expression:
            return _renamed(self._reading(expression), renamed)

        def settle_all(conditions: Conditions) -> Conditions:
            return frozenset(map(settle_value, conditions))

        def settle(t: Transition) -> Transition:
            found = {n: self._update(n, t) for n in sorted(self._live[t.target])}
            return replace(
                t,
                appends=NO_APPENDS,
                follows=NO_FOLLOWS,
                conditions=settle_all(t.conditions),
                forbids=frozenset(map(settle_all, t.forbids)),
                updates=frozenset(
                    (renamed[n], settle_value(value))
                    for n, value in found.items()
                    if value != ast.Register(n)
                ),
                asks=tuple(map(settle_ask, t.asks)),
            )

        settled = {t: settle(asked) for t, asked in self._asked_by.items()}
        whole = with_transitions(self._family.whole, settled.values())
        self._settled_absences = self._family.absences_apart(whole)
        return {t: settled[t] for t in self._automaton.transitions if t in settled}

    def absences(self) -> Iterator[Automaton]:
        """The automata of absences, those of the scopes included, in the order of their numbers."""
        yield from self._settled_absences
        for inside in self._inside.values():
            yield from inside.absences()

    def _renaming(self, numbers: Mapping[int, int]) -> dict[int, int]:
        return {number: numbers[stands] for number, stands in self._stands.items()}

    def _as_scope(
        self, scope: Scope, numbers: Mapping[int, int]
    ) -> tuple[Scope, dict[Transition, int]]:
        settled = self.settle(numbers)
        operand = with_transitions(self._automaton, settled.values())
        timed = clocks_settled(operand)
        becomes = {t: timed[after] for t, after in settled.items()}
        return scope_of(scope.strategy, operand, becomes)

    def _register(self, held: Held) -> ast.Register:
        return ast.Register(self._registers.number(held))

    def _asked(self, t: Transition) -> Transition | None:
        """The transition with its conditions over registers; None if one of them never holds."""
        if not all(self._inside[ask.scope].can_make(ask.place) for ask in t.asks):
            return None
        asked = self._parts(t.conditions, t.source)
        forbids = {self._parts(several, t.source) for several in sorted(t.forbids, key=_texts)}
        for f in sorted(t.follows, key=lambda f: f.absence.number):
            if f.ends is True:
                asked |= {ast.Ends(self._begun(f))}
            elif f.ends is False:
                forbids.add(frozenset({ast.Ends(self._begun(f))}))
        guard = t.guard.union(filter(_is_of_row, asked))
        if _FALSE in asked or frozenset() in forbids or contradicts_itself(guard):
            return None
        return replace(
            t,
            guard=guard,
            conditions=frozenset(part for part in asked if not _is_of_row(part)),
            forbids=frozenset(several for several in forbids if _FALSE not in several),
        )

    def _parts(self, conditions: Conditions, state: int) -> Conditions:
        """What conditions on tracks ask of registers and the row, one by one, in a state."""
        expanded = (
            simplified(self._expanded(condition, state))
            for condition in sorted(conditions, key=format_expression)
        )
        return frozenset[ast.Expression]().union(*map(conjuncts, expanded)) - {_TRUE}

    # Open matches of absences

    def _slot(self, absence: Absence) -> ast.Register:
        return self._register(Held(f"{absence.number}: {absence.text}", "begun", None))

    def _begun(self, follow: Follow) -> ast.Begun:
        """The open matches after a row; what those that start on it read is filled in later."""
        family, absence = self._family, follow.absence
        entry = family.entry(follow) if follow.starts else None
        before = ast.Unbound() if follow.fresh else self._slot(absence)
        number = self._first_absence + family.absences.index(absence)
        return ast.Begun(number, entry, before)

    def _reading(self, expression: ast.Expression) -> ast.Expression:
        """With the registers that matches of an absence read which start on the row."""
        if isinstance(expression, ast.Begun) and expression.entry is not None:
            absence = self._family.absences[expression.absence - self._first_absence]
            entry = self._family.place(absence, expression.entry)
            return replace(expression, reads=tuple(map(ast.Register, sorted(self._live[entry]))))
        return map_expression(expression, self._reading)

    def can_make(self, place: int) -> bool:
        """Whether a run of the automaton can make a transition at all."""
        return self._automaton.transitions[place] in self._asked_by

    def _update(self, number: int, t: Transition) -> ast.Expression:
        """What a register holds after a transition."""
        key = number, t
        if key not in self._known:
            held = self._registers.held[number]
            if held.what == "begun":
                self._known[key] = self._open_after(number, t)
                return self._known[key]
            append = next((a for a in t.appends if a.track == held.track), None)
            self._known[key] = (
                ast.Register(number) if append is None else self._after(held, append, t.source)
            )
        return self._known[key]

    def _open_after(self, number: int, t: Transition) -> ast.Expression:
        """What a register of open matches holds after a transition."""
        for f in t.follows:
            if self._slot(f.absence) == ast.Register(number):
                is_none = f.fresh and not f.starts
                return ast.Unbound() if is_none else self._begun(f)
        return ast.Register(number)

    def _after(self, held: Held, append: Append, state: int) -> ast.Expression:
        recall = ast.Recall(append.source, held.what, held.value, append.appends)
        return self._value(recall, state)

    def _expanded(self, expression: ast.Expression, state: int) -> ast.Expression:
        """What a condition on tracks asks of registers and the row, in a state."""
        match expression:
            case ast.IsBound(operand=ast.Recall() as recall):
                return self._is_bound(recall, state)
            case ast.Recall(what="count" | "size", with_row=False):
                count = self._value(expression, state)
                if isinstance(count, ast.Unbound):
                    return ast.Literal(0)
                is_sure = self._count(expression, state)[0] > 0
                return count if is_sure else ast.IfBound(count, ast.Literal(0))
            case ast.Recall():
                return self._value(expression, state)
            case _:
                return map_expression(expression, lambda part: self._expanded(part, state))

    def _count(self, recall: ast.Recall, state: int) -> _Count:
        return self._counts[state].get(recall.variable, (0, 0))

    def _is_bound(self, recall: ast.Recall, state: int) -> ast.Expression:
        low, high = self._count(recall, state)
        more = int(recall.with_row)
        needed = 2 if recall.what == "prev" else 1
        if low + more >= needed:
            return _TRUE
        if high + more < needed:
            return _FALSE
        return ast.IsBound(self._value(recall, state))

    def _value(self, recall: ast.Recall, state: int) -> ast.Expression:
        """What a recall is worth before a row, or with it."""
        low, high = self._count(recall, state)
        what, value = recall.what, recall.value
        if what == "prev" and recall.with_row:  # The last one becomes the one before the last.
            last = Held(recall.variable, "last", value)
            return self._register(last) if high > 0 else ast.Unbound()
        if not recall.with_row:
            is_ever = high > (1 if what == "prev" else 0)
            held = Held(recall.variable, what, value)
            return self._register(held) if is_ever else ast.Unbound()
        if what in ("last", "first", "min", "max", "sum") and (high == 0 or what == "last"):
            assert value is not None
            return value
        before: ast.Expression = ast.Literal(0)
        if high > 0:
            before = self._register(Held(recall.variable, what, value))
        match what:
            case "first":
                assert value is not None
                return before if low > 0 else ast.IfBound(before, value)
            case "size":
                return ast.Accumulate("count", before, _TRUE) if high else ast.Literal(1)
            case "sum" | "min" | "max" | "count":
                assert value is not None
                return ast.Accumulate(what, before, value)
        raise AssertionError(f"{what} is not known with a row")

    # Registers that always hold the same

    def _equal(self, numbers: list[int], at_start: Mapping[int, object]) -> dict[int, int]:
        """By register, the first of those that always hold the same.

        All with the same value that begin alike are taken for equal at first; then those are told
        apart that a transition sets to something else, until nothing changes.
        """
        held = self._registers.held
        groups: Mapping[int, object] = {n: (held[n].value, at_start.get(n)) for n in numbers}
        while True:
            stands = _first_of_each(groups)
            refined = {
                n: (
                    groups[n],
                    tuple(_renamed(self._update(n, t), stands) for t in self._asked_by.values()),
                )
                for n in numbers
            }
            if len(set(refined.values())) == len(set(groups.values())):
                return stands
            groups = refined


def _texts(conditions: Conditions) -> list[str]:
    return sorted(map(format_expression, conditions))


def _first_of_each(groups: Mapping[int, object]) -> dict[int, int]:
    first: dict[object, int] = {}
    return {number: first.setdefault(group, number) for number, group in groups.items()}


def _renamed(expression: ast.Expression, numbers: Mapping[int, int]) -> ast.Expression:
    if isinstance(expression, ast.Register):
        return replace(expression, number=numbers.get(expression.number, expression.number))
    return map_expression(expression, lambda part: _renamed(part, numbers))


# ---------------------------------------------------------------------------------------------
# Conditions made simple


_OF_RUNS: Final = (
    *(ast.Register, ast.Unbound, ast.IsBound, ast.IfBound, ast.Accumulate, ast.Narrow),
    *(ast.Begun, ast.Ends),
)


def _is_of_row(condition: ast.Expression) -> bool:
    return not any(isinstance(part, _OF_RUNS) for part in subexpressions(condition))


def simplified(condition: ast.Expression) -> ast.Expression:
    """Without parts whose truth is known."""
    match condition:
        case ast.LogicalAnd():
            left, right = simplified(condition.left), simplified(condition.right)
            if _FALSE in (left, right):
                return _FALSE
            if _TRUE in (left, right):
                return right if left == _TRUE else left
            return replace(condition, left=left, right=right)
        case ast.LogicalOr():
            left, right = simplified(condition.left), simplified(condition.right)
            if _TRUE in (left, right):
                return _TRUE
            if _FALSE in (left, right):
                return right if left == _FALSE else left
            return replace(condition, left=left, right=right)
        case ast.LogicalNot(operand=ast.Literal(value=bool(value))):
            return ast.Literal(not value)
    known = (ast.Attribute, *_OF_RUNS)
    if any(isinstance(part, known) for part in subexpressions(condition)):
        return condition
    return ast.Literal(constant(condition) is True)
