"""What must be absent and has clocks or conditions over several events: followed row by row.

How far matches of it have got is no function of the rows' classes, so no sets of states can be
worked out beforehand (absence.py). The absent formula stays an automaton by itself, and a run that
passes over it holds the set of configurations (state, clocks, registers) that its matches, begun
since, are in. That is the power set construction at run time: two runs that hold the same set have
the same future, and where a window, or the formula's own bounds, limit how long configurations
live, the sets are finite (paper 001, Theorem 41 and Corollary 43).

    A ; NOT (B ;[<= 5] D) ; C     i -A-> w, holding nothing     w -any row-> w, holding what is open
                                  after it, unless a match ends with it     w -C-> f

`between` and `unless` are as in absence.py. Where the absent formula is one row, nothing is ever
open: the run may not go on over a row that satisfies it, and a condition on what the run has bound
says which one that is:

    A AS a ; NOT (B AS b FILTER b.id = a.id) ; C     w -not B-> w,   w -B, unless id = $0-> w

`determinized` and `complement` are those of automata with registers and clocks, inside a window.

The absent formula sees the tracks that the run has at the row where a match starts. In the end all
automata are one `Family`, joined where matches start, so that what each must remember is found at
once (registers.py), and apart again.

Invariant: the complex events are those of SPEC section 3. Cost here: linear, but for the cases of
rows that one absent row is told by.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise
from typing import Final, TypeAlias

from catena.compile.cases import CaseBudget, divided
from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_MARKS,
    TRUE,
    Absence,
    Append,
    Automaton,
    Check,
    Follow,
    Forbids,
    Guard,
    Transition,
    renumbered,
    trimmed,
    with_transitions,
)
from catena.compile.tracks import Tracks, read_as, recalled_tracks, renamed_outside
from catena.compile.watching import watchers_of

Names: TypeAlias = frozenset[tuple[str, str]]


def absence_of(operand: Automaton, number: int, text: str) -> Absence:
    """An absent formula, given its automaton."""
    assert not operand.scopes and not watchers_of(operand.transitions)
    return Absence(number, operand, recalled_tracks(operand), text)


# ---------------------------------------------------------------------------------------------
# Absent formulas of any length


def between(left: Automaton, absence: Absence, right: Automaton) -> Automaton:
    """The complex events of `left ; NOT (absence) ; right`."""
    begins, goes_on = Follow(absence, fresh=True, starts=False), Follow(absence, ends=False)
    middle = left.state_count
    first = [
        _following(t, begins) if t.target == middle else t
        for t in renumbered(left, lambda state: middle if state == FINAL else state)
    ]
    waiting = Transition(middle, TRUE, NO_MARKS, middle, follows=frozenset({goes_on}))
    return _joined(left, first, [waiting], right)


def unless(body: Automaton, absence: Absence, tracks: Tracks) -> Automaton:
    """The complex events of `body UNLESS absence`."""
    body, names = tracks.marked(body, absence.recalls)

    def follow(t: Transition) -> Transition:
        if t.source == INITIAL:
            return _following(t, Follow(absence, fresh=True, ends=False))
        return _following(t, renamed_outside(Follow(absence, ends=False), names))

    return with_transitions(body, map(follow, body.transitions))


def _following(t: Transition, follow: Follow) -> Transition:
    return replace(t, follows=t.follows | {follow})


def _joined(
    left: Automaton, first: Sequence[Transition], waiting: Sequence[Transition], right: Automaton
) -> Automaton:
    """What comes before waiting, which ends in the state numbered as the left side's count."""
    middle = left.state_count
    special = {INITIAL: middle, FINAL: FINAL}
    second = renumbered(right, lambda state: special.get(state, state + middle - 1))
    count = left.state_count + right.state_count - 1
    return trimmed(with_transitions(Automaton(count, ()), [*first, *waiting, *second]))


# ---------------------------------------------------------------------------------------------
# Absent formulas of one row


def is_one_row(absent: Automaton) -> bool:
    """Whether all matches are one row, which nothing but its guard and conditions tell."""
    return all(
        (t.source, t.target) == (INITIAL, FINAL) and not (t.forbids or t.follows or t.when)
        for t in absent.transitions
    )


def between_rows(
    left: Automaton, absent: Automaton, right: Automaton, budget: CaseBudget
) -> Automaton:
    """The complex events of `left ; NOT (absent) ; right` for an absent row."""
    middle = left.state_count
    first = renumbered(left, lambda state: middle if state == FINAL else state)
    waiting = [
        Transition(middle, guard, NO_MARKS, middle, forbids=forbids)
        for guard, forbids in _passing(absent, TRUE, budget)
    ]
    return _joined(left, first, waiting, right)


def unless_rows(
    body: Automaton, absent: Automaton, tracks: Tracks, budget: CaseBudget
) -> Automaton:
    """The complex events of `body UNLESS absent` for an absent row."""
    body, names = tracks.marked(body, recalled_tracks(absent))
    later = with_transitions(absent, (read_as(t, names) for t in absent.transitions))
    places = dict.fromkeys((t.source == INITIAL, t.guard) for t in body.transitions)
    cases = {
        (is_first, guard): list(_passing(absent if is_first else later, guard, budget))
        for is_first, guard in places
    }
    return trimmed(
        with_transitions(
            body,
            (
                replace(t, guard=guard, forbids=t.forbids | forbids)
                for t in body.transitions
                for guard, forbids in cases[t.source == INITIAL, t.guard]
            ),
        )
    )


_ASKED: Final = "asked"


def _passing(
    absent: Automaton, guard: Guard, budget: CaseBudget
) -> Iterator[tuple[Guard, Forbids]]:
    """The rows that satisfy a guard and may be passed over, by what must not hold on them."""

    def results(satisfied: Sequence[Transition | str]) -> Iterator[Forbids]:
        found = [t for t in satisfied if isinstance(t, Transition)]
        if _ASKED in satisfied and all(t.conditions for t in found):
            yield frozenset(t.conditions for t in found)

    options: list[tuple[Guard, Transition | str]] = [(t.guard, t) for t in absent.transitions]
    return iter(divided([(guard, _ASKED), *options], results, budget))


# ---------------------------------------------------------------------------------------------
# Determinization and complement inside a window


def determinized(absence: Absence, window: Check) -> Automaton:
    """Ends, for every start, where a match of the automaton that starts there does and the window
    is not left, and marks nothing; at most one run from a start ends at a row."""
    return _exact(absence, window, True)


def complement(absence: Absence, window: Check) -> Automaton:
    """Ends, for every start, at the rows in the window where the automaton does not."""
    return _exact(absence, window, False)


def _exact(absence: Absence, window: Check, ends: bool) -> Automaton:
    """A run holds what the matches that started with it have come to."""
    first, later = Follow(absence, fresh=True), Follow(absence, starts=False)
    waiting, clock = 2, window[0]

    def step(source: int, follow: Follow) -> Iterator[Transition]:
        goes_on = Transition(source, TRUE, NO_MARKS, waiting, follows=frozenset({follow}))
        asking = frozenset({replace(follow, ends=ends)})
        if source == INITIAL:
            yield replace(goes_on, resets=frozenset({clock}))
            yield Transition(source, TRUE, NO_MARKS, FINAL, follows=asking)
        else:
            yield goes_on
            checks = frozenset({window})
            yield Transition(source, TRUE, NO_MARKS, FINAL, follows=asking, checks=checks)

    return Automaton(3, (*step(INITIAL, first), *step(waiting, later)))


# ---------------------------------------------------------------------------------------------
# All automata as one


@dataclass(frozen=True, slots=True)
class _Member:
    """An automaton of a family: where its states begin, and those where matches of it start, for
    runs that call their tracks by other names."""

    automaton: Automaton
    offset: int
    entries: dict[Names, int]


class Family:
    """An automaton with those of its absences, and of theirs, as one.

    Where a transition lets matches of an absence start, another leads to the absence's first state.
    """

    def __init__(self, automaton: Automaton) -> None:
        self._starts: dict[Absence, set[Names]] = {}
        self._find_starts(automaton)
        self.absences = sorted(self._starts, key=lambda absence: absence.number)
        self._main = automaton
        self._members: dict[Absence, _Member] = {}
        offset = automaton.state_count
        for absence in self.absences:
            member = _with_entries(absence.operand, offset, self._starts[absence])
            self._members[absence] = member
            offset += member.automaton.state_count
        self._state_count = offset

    def _find_starts(self, automaton: Automaton, names: Names = frozenset()) -> None:
        """How runs call the tracks of absences where matches of these start, `names` being those of
        the automaton's own in places where it starts itself."""
        for t in automaton.transitions:
            for f in t.follows:
                for given in (frozenset(), names) if t.source == INITIAL else (frozenset(),):
                    start = renamed_outside(f, dict(given)).names
                    known = self._starts.setdefault(f.absence, set())
                    if start not in known:
                        known.add(start)
                        self._find_starts(f.absence.operand, start)

    def entry(self, follow: Follow) -> int:
        """The state, of the absence itself, where matches start that a transition lets start."""
        return self._members[follow.absence].entries[follow.names]

    def place(self, absence: Absence, state: int) -> int:
        """The number in the whole of a state of an absence."""
        return self._members[absence].offset + state

    @cached_property
    def whole(self) -> Automaton:
        """All of it, with the transitions that let matches start."""
        joined = list(self._main.transitions)
        for member in self._members.values():
            joined += _moved(member.automaton.transitions, member.offset)
        starting = (
            Transition(t.source, TRUE, NO_MARKS, self.place(f.absence, self.entry(f)))
            for t in joined
            for f in sorted(t.follows, key=lambda f: f.absence.number)
            if f.starts
        )
        count = self._state_count
        return Automaton(count, tuple(dict.fromkeys([*joined, *starting])), self._main.observers)

    def absences_apart(self, whole: Automaton) -> tuple[Automaton, ...]:
        """The automata of the absences, in order, out of a changed whole."""
        firsts = [*(member.offset for member in self._members.values()), self._state_count]
        found = []
        for first, last in pairwise(firsts):
            own = (
                t
                for t in whole.transitions
                if first <= t.source < last and first <= t.target < last
            )
            found.append(with_transitions(Automaton(last - first, ()), _moved(own, -first)))
        return tuple(found)


def _moved(transitions: Iterable[Transition], by: int) -> list[Transition]:
    """The transitions with the numbers of states so much larger."""
    return renumbered(Automaton(0, tuple(transitions)), lambda state: state + by)


def _with_entries(operand: Automaton, offset: int, starts: set[Names]) -> _Member:
    """The automaton with a state for each way in which runs call its tracks where it starts."""
    entries: dict[Names, int] = {frozenset(): INITIAL}
    transitions = list(operand.transitions)
    count = operand.state_count
    for names in sorted(starts - {frozenset()}, key=sorted):
        entries[names] = count
        leaving = (t for t in operand.transitions if t.source == INITIAL)
        transitions += [_entering(t, count, dict(names)) for t in leaving]
        count += 1
    return _Member(with_transitions(Automaton(count, ()), transitions), offset, entries)


def _entering(t: Transition, entry: int, names: dict[str, str]) -> Transition:
    """A first transition, where the tracks that are read have other names until then."""
    appends = {a.track: replace(a, source=names.get(a.source, a.source)) for a in t.appends}
    for inside, outside in names.items():
        appends.setdefault(inside, Append(inside, outside, False))
    return replace(read_as(t, names), source=entry, appends=frozenset(appends.values()))
