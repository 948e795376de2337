"""Negation: what must not have happened, between two parts of a match or anywhere inside it.

A run carries the set of states that matches of what must be absent, begun since, can be in: the
output-agnostic determinization (complement.py) of the absent formula with a loop at its initial
state. Where one of them ends, the run stops. So an absence costs no comparison of matches and no
memory per match: it is part of the automaton.

    A ; NOT (B ; C) ; D      i -A-> w1 -B-> w2,   w1 -not B-> w1,   w2 -not C-> w2,
                             w1 -D-> f,   w2 -D-> f:   the state between is w1 or w2

`between` (phi ; NOT (chi) ; psi): the run carries the set while it waits. The row that psi starts
with is no longer between, so it is not asked about, and no row at all may be between.

`unless` (phi UNLESS chi): the run carries the set from its first row to its last, both included:
the product of phi with those sets. It keeps phi's marks, checks and resets.

Invariant: the complex events are those of SPEC section 3 for chi without clocks. Cost: `between`
adds the sets, each with psi's first transitions; `unless` has phi's states times the sets.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Final, TypeAlias

from catena.compile.cases import CaseBudget
from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_MARKS,
    TRUE,
    Automaton,
    Guard,
    Transition,
    When,
    renumbered,
    trimmed,
    with_transitions,
)
from catena.compile.complement import Case, Place, States, Subsets
from catena.compile.watching import Numbering

_WHAT: Final = "what must be absent"
_HINT: Final = "make the formula inside NOT (...), UNLESS or to the right of '->' smaller"


def between(left: Automaton, absent: Automaton, right: Automaton, budget: CaseBudget) -> Automaton:
    """The complex events of `left ; NOT (absent) ; right`."""
    subsets = _begun_since(absent, budget)
    first = left.state_count + right.state_count - 2
    places = Numbering(_WHAT, _HINT, subsets.first())
    sets: Numbering[States] = Numbering(_WHAT, _HINT, [frozenset({INITIAL})])

    def alive(after: Place, ended: bool) -> Iterator[int]:
        if not ended:
            places.number(after)
            yield first + sets.number(after.states)

    transitions = renumbered(left, lambda state: first if state == FINAL else state)
    for place in places:
        source = first + sets.number(place.states)
        for case in subsets.cases(place, alive):
            transitions.append(Transition(source, case.guard, NO_MARKS, case.outcome, case.when))
    shifted = renumbered(
        right, lambda state: state if state in (INITIAL, FINAL) else state + left.state_count - 2
    )
    for t in shifted:
        sources = range(first, first + len(sets)) if t.source == INITIAL else [t.source]
        transitions.extend(replace(t, source=source) for source in sources)
    return trimmed(with_transitions(Automaton(first + len(sets), ()), transitions))


def unless(body: Automaton, absent: Automaton, budget: CaseBudget) -> Automaton:
    """The complex events of `body UNLESS absent`."""
    return _Unless(body, absent, budget).run()


def _begun_since(absent: Automaton, budget: CaseBudget) -> Subsets:
    """The states of all its runs, one of which begins at every row."""
    waiting = Transition(INITIAL, TRUE, NO_MARKS, INITIAL)
    return Subsets(with_transitions(absent, [waiting, *absent.transitions]), budget)


_Question: TypeAlias = tuple[Place, Guard, When, bool]
"""A place, the guard of a transition of the body, what it asks of watchers, whether it ends."""


class _Unless:
    """A state is one of the body with a set."""

    def __init__(self, body: Automaton, absent: Automaton, budget: CaseBudget) -> None:
        self._leaving = body.leaving()
        self._subsets = _begun_since(absent, budget)
        self._places = Numbering(
            _WHAT, _HINT, ((INITIAL, place) for place in self._subsets.first())
        )
        none = frozenset({INITIAL})
        self._states = Numbering(_WHAT, _HINT, [(INITIAL, none), (FINAL, frozenset())])
        self._known: dict[_Question, tuple[list[Case[States]], dict[Place, None]]] = {}

    def run(self) -> Automaton:
        transitions = []
        for state, place in self._places:
            source = self._states.number((state, place.states))
            for t in self._leaving[state]:
                cases, reached = self._cases((place, t.guard, t.when, t.target == FINAL))
                for after in reached:
                    self._places.number((t.target, after))
                for case in cases:
                    target = self._states.number((t.target, case.outcome))
                    transitions.append(
                        replace(t, source=source, guard=case.guard, target=target, when=case.when)
                    )
        return trimmed(with_transitions(Automaton(len(self._states), ()), transitions))

    def _cases(self, question: _Question) -> tuple[list[Case[States]], dict[Place, None]]:
        """The sets after a row, and the places; where the run ends, neither matters."""
        if question not in self._known:
            place, guard, when, ends = question
            reached: dict[Place, None] = {}

            def alive(after: Place, ended: bool) -> Iterator[States]:
                if not ended:
                    if not ends:
                        reached[after] = None
                    yield frozenset() if ends else after.states

            cases = list(self._subsets.cases(place, alive, guard, when))
            self._known[question] = cases, reached
        return self._known[question]
