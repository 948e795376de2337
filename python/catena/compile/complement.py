"""Intersection, output-agnostic determinization and complement of automata (paper 001, section 5).

Whether a row ends a match, whatever it marks, is a question to the set of states that runs can be
in. So for this question every automaton is as good as a deterministic one, whose states are those
sets:

    B ; C, states i, m (after the B), f
    {i} -B-> {m} -C-> {m}, f       {i} -not B-> {}        {m} -not C-> {m}

A row may satisfy several guards, so rows are told apart in cases (cases.py). Where the automaton
asks watchers, what a row does depends on their states, so a *place* is a set together with the
states of the watchers. Marks are gone in the sets: two runs that mark differently are one.

The complement is read off the same sets: it ends where no run does. Complex events with marks have
no complement here, as any marks at all would be in it.

A state whose every future is also that of another one in the set adds nothing and is left out
(the largest simulation tells, as in antichain algorithms): of `(B ; C) OR (D ; C)` the states after
B and after D are one; of `B ; C ; D` that after C stands for those before it.

Invariant: what is determinized, or the complement of it, has no marks, and of the places that it
can be in after a row there is one, beside the final state. Cost: the sets that some stream leads
to, exponentially many in the states at worst, `STATE_COUNT_MAX` at most.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Final, Generic, TypeAlias, TypeVar

from catena.compile.cases import CaseBudget, divided
from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_MARKS,
    STATE_COUNT_MAX,
    TRUE,
    Automaton,
    Guard,
    Transition,
    When,
    contradicts_itself,
    trimmed,
    with_transitions,
)
from catena.compile.watching import (
    Joint,
    JointStep,
    Numbering,
    after_row,
    options_at,
    watchers_of,
)
from catena.errors import CatenaLimitError

States: TypeAlias = frozenset[int]
Outcome = TypeVar("Outcome", bound=Hashable)

SIMULATION_STATE_COUNT_MAX: Final = 500
"""With more states it is not looked for those that others stand for."""


# ---------------------------------------------------------------------------------------------
# Intersection


def intersection(one: Automaton, other: Automaton) -> Automaton:
    """The complex events of both: equal start, end and marks."""
    left, right = one.leaving(), other.leaving()
    numbers = {(INITIAL, INITIAL): INITIAL, (FINAL, FINAL): FINAL}
    pending = [(INITIAL, INITIAL)]
    transitions = []
    while pending:
        pair = pending.pop()
        for t, target in _moves_together(left[pair[0]], right[pair[1]]):
            if target not in numbers:
                numbers[target] = len(numbers)
                pending.append(target)
                _check_size(len(numbers))
            transitions.append(replace(t, source=numbers[pair], target=numbers[target]))
    return trimmed(Automaton(len(numbers), tuple(dict.fromkeys(transitions))))


def _check_size(state_count: int) -> None:
    if state_count > STATE_COUNT_MAX:
        raise CatenaLimitError(
            f"the automaton of an AND grew past {STATE_COUNT_MAX} states",
            hint="make the formulas on both sides of AND smaller",
        )


def _moves_together(
    left: list[Transition], right: list[Transition]
) -> Iterator[tuple[Transition, tuple[int, int]]]:
    """The moves of a product out of a pair of states, given what leaves them, and their targets.

    A final state goes only with a final one.
    """
    for a, b in product(left, right):
        if a.marks != b.marks or (a.target == FINAL) != (b.target == FINAL):
            continue
        guard, when = a.guard | b.guard, both_ask(a.when, b.when)
        if when is not None and not contradicts_itself(guard):
            both = replace(
                a,
                guard=guard,
                when=when,
                checks=a.checks | b.checks,
                resets=a.resets | b.resets,
                asks=a.asks + b.asks,
                appends=a.appends | b.appends,
                conditions=a.conditions | b.conditions,
                forbids=a.forbids | b.forbids,
                follows=a.follows | b.follows,
            )
            yield both, (a.target, b.target)


def both_ask(one: When, other: When) -> When | None:
    """What both ask of watchers; None if they ask for different states of one."""
    states = dict(one)
    for watcher, state in other:
        if states.setdefault(watcher, state) != state:
            return None
    return tuple(states.items())


# ---------------------------------------------------------------------------------------------
# Sets of states


@dataclass(frozen=True, slots=True)
class Place:
    """The states that runs are in, and those of the watchers, between two rows."""

    states: States
    joint: Joint


@dataclass(frozen=True, slots=True)
class Case(Generic[Outcome]):
    """What happens on the rows that satisfy a guard, while watchers are in some states."""

    guard: Guard
    when: When
    outcome: Outcome


_ASKED: Final = "asked"
"""As an option: the row is one of those that are asked about."""


class Subsets:
    """The sets of states that runs of an automaton, all started at one row, can be in.

    The automaton's initial state may be entered here: with a loop there, runs start at every row.
    """

    def __init__(self, automaton: Automaton, budget: CaseBudget) -> None:
        assert not automaton.clocks, "sets of states know nothing of clocks"
        self._budget = budget
        self._leaving = automaton.leaving()
        self._watchers = watchers_of(automaton.transitions)
        self._simulated_by = _simulation(automaton)

    def first(self) -> list[Place]:
        """Where a run may start: the initial state, with every joint state of the watchers."""
        joints = {tuple(0 for _ in self._watchers): None}
        pending = list(joints)
        while pending:
            for after in self._joints_after(pending.pop()):
                if after not in joints:
                    joints[after] = None
                    pending.append(after)
        return [Place(frozenset({INITIAL}), joint) for joint in joints]

    def _joints_after(self, joint: Joint) -> list[Joint]:
        def results(steps: Sequence[JointStep | Transition]) -> list[Joint]:
            return [after_row(joint, steps)[0]]

        options = options_at(self._watchers, joint, ())
        return [after for _, after in divided(options, results, self._budget)]

    def cases(
        self,
        place: Place,
        outcomes: Callable[[Place, bool], Iterable[Outcome]],
        guard: Guard = TRUE,
        when: When = (),
    ) -> Iterator[Case[Outcome]]:
        """What the rows that satisfy a guard do at a place while watchers are in some states.

        `outcomes` tells what, given the place after the row and whether a run ends with it.
        """
        asked = both_ask(when, tuple(zip(self._watchers, place.joint, strict=True)))
        if asked is None:
            return
        live = [t for state in sorted(place.states) for t in self._leaving[state]]

        def results(satisfied: Sequence[JointStep | Transition | str]) -> Iterable[Outcome]:
            if _ASKED not in satisfied:
                return ()
            joint, taken = after_row(place.joint, (o for o in satisfied if not isinstance(o, str)))
            targets = {t.target for t in taken}
            return outcomes(Place(self._pruned(targets - {FINAL}), joint), FINAL in targets)

        options = [(guard, _ASKED), *options_at(self._watchers, place.joint, live)]
        for condition, outcome in divided(options, results, self._budget):
            yield Case(condition, asked, outcome)

    def _pruned(self, states: Iterable[int]) -> States:
        """Without states that another one stands for; of equal ones, the first stands for all."""
        by = self._simulated_by
        several = frozenset(min(o for o in by[s] if s in by[o]) for s in states)
        return frozenset(s for s in several if not by[s] & (several - {s}))


def _simulation(automaton: Automaton) -> dict[int, set[int]]:
    """By state, those that simulate it: they may do whatever it may. The largest such relation."""
    leaving = automaton.leaving()
    if len(leaving) > SIMULATION_STATE_COUNT_MAX:
        return {state: {state} for state in leaving}
    entering: dict[int, list[int]] = {state: [] for state in leaving}
    for t in automaton.transitions:
        entering[t.target].append(t.source)
    found = {s: set(leaving) - {FINAL} if s != FINAL else {FINAL} for s in leaving}

    def matched(t: Transition, other: int) -> bool:
        """Whether a transition out of the other state may do what this one does."""
        return any(
            u.guard <= t.guard and u.target in found[t.target] and set(u.when) <= set(t.when)
            for u in leaving[other]
        )

    pending = [(state, other) for state in leaving for other in found[state]]
    while pending:
        state, other = pending.pop()
        if other in found[state] and not all(matched(t, other) for t in leaving[state]):
            found[state].remove(other)
            pending.extend(product(entering[state], entering[other]))
    return found


# ---------------------------------------------------------------------------------------------
# Determinization and complement


def determinized(automaton: Automaton, budget: CaseBudget) -> Automaton:
    """Ends where the automaton does, for every start, and marks nothing; at most one run from a
    start ends at a row."""
    return _exact(automaton, budget, lambda ended: ended)


def complement(automaton: Automaton, budget: CaseBudget) -> Automaton:
    """Ends, for every start, at the rows where the automaton does not, and marks nothing."""
    return _exact(automaton, budget, lambda ended: not ended)


def _exact(automaton: Automaton, budget: CaseBudget, ends: Callable[[bool], bool]) -> Automaton:
    subsets = Subsets(automaton, budget)
    places = Numbering("a complement", _HINT, subsets.first())
    sets = Numbering("a complement", _HINT, [frozenset({INITIAL}), frozenset({FINAL})])

    def outcomes(after: Place, ended: bool) -> Iterator[int]:
        places.number(after)
        yield sets.number(after.states)
        if ends(ended):
            yield FINAL

    transitions = [
        Transition(sets.number(place.states), case.guard, NO_MARKS, case.outcome, case.when)
        for place in places
        for case in subsets.cases(place, outcomes)
    ]
    return trimmed(with_transitions(Automaton(len(sets), ()), transitions))


_HINT: Final = "make the formula smaller, with fewer conditions"
