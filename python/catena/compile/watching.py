"""Watchers and runs made one automaton.

While formulas are put together, watchers stand beside the automaton (cea.py). The engine knows
observers instead: states that read the stream from its first row and that runs start from. So at
the end every state is paired with the states of the watchers that its future depends on:

    NEXT(A ; B)   the watcher: 0 -A-> 1 (an A is open)
                  runs:  i -A/{A}-> m when 0,   m -true/{}-> m when 1,   m -B/{B}-> f when 1
    unfolded      observers (i, 0) -A-> (i, 1);   (i, 0) -A/{A}-> (m, 1),   (m, 1) -B/{B}-> f, ...

The state after `;` in `NEXT(A ; B) ; C` depends on no watcher any more and stays one state.

Invariant: the unfolded automaton has the same complex events. Cost: states times those combinations
of watchers' states that some stream leads to; `STATE_COUNT_MAX` limits it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeAlias, TypeVar

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
    Watch,
    Watcher,
    closure,
    trimmed,
    with_transitions,
)
from catena.errors import CatenaLimitError

Key = TypeVar("Key", bound=Hashable)

Joint: TypeAlias = tuple[int, ...]
"""The states of several watchers, in order."""


class Numbering(Generic[Key]):
    """Numbers for what is found, in order, up to a limit.

    Iterating gives everything, also what is found while iterating.
    """

    def __init__(self, what: str, hint: str, first: Iterable[Key] = ()) -> None:
        self._what = what
        self._hint = hint
        self._keys: list[Key] = list(first)
        self._numbers = {key: i for i, key in enumerate(self._keys)}

    def number(self, key: Key) -> int:
        """The number of the key, a new one if need be."""
        number = self._numbers.setdefault(key, len(self._keys))
        if number == len(self._keys):
            self._keys.append(key)
            if number >= STATE_COUNT_MAX:
                raise CatenaLimitError(
                    f"the automaton of {self._what} grew past {STATE_COUNT_MAX} states",
                    hint=self._hint,
                )
        return number

    def __iter__(self) -> Iterator[Key]:
        return iter(self._keys)

    def __len__(self) -> int:
        return len(self._keys)


@dataclass(frozen=True, slots=True)
class JointStep:
    """As an option: one of several watchers makes a step."""

    place: int
    target: int


def watchers_of(transitions: Iterable[Transition]) -> tuple[Watcher, ...]:
    """The watchers that the transitions ask, in the order in which they come."""
    return tuple(dict.fromkeys(watcher for t in transitions for watcher, _ in t.when))


def options_at(
    watchers: Sequence[Watcher], joint: Joint, transitions: Iterable[Transition]
) -> Iterator[tuple[Guard, JointStep | Transition]]:
    """What a row may cause: steps of the watchers, and transitions that ask for their states."""
    states = dict(zip(watchers, joint, strict=True))
    for place, (watcher, state) in enumerate(states.items()):
        for step in watcher.steps[state]:
            yield step.guard, JointStep(place, step.target)
    for t in transitions:
        if all(states[watcher] == state for watcher, state in t.when):
            yield t.guard, t


def after_row(
    joint: Joint, satisfied: Iterable[JointStep | Transition]
) -> tuple[Joint, list[Transition]]:
    """Where the watchers are after a row, and the transitions that it satisfies."""
    states, taken = list(joint), []
    for option in satisfied:
        if isinstance(option, JointStep):
            states[option.place] = option.target
        else:
            taken.append(option)
    return tuple(states), taken


@dataclass(frozen=True, slots=True)
class _Place:
    """A state, and the states of the watchers that its future depends on."""

    state: int
    joint: Joint


@dataclass(frozen=True, slots=True)
class _Move:
    """What a row does at a place: a run's step, of no guard and no source; None where no run
    starts or goes on."""

    step: Transition | None
    target: _Place

    def out_of(self, source: int, guard: Guard, target: int) -> Transition:
        if self.step is None:
            return Transition(source, guard, NO_MARKS, target)
        return replace(self.step, source=source, guard=guard, target=target)


def _along(t: Transition, joint: Joint) -> _Move:
    """A run's move over a transition, to its target with those states of watchers."""
    step = replace(t, source=INITIAL, guard=TRUE, target=FINAL, when=())
    return _Move(step, _Place(t.target, joint))


def unfolded(automaton: Automaton, budget: CaseBudget) -> Automaton:
    """The automaton without watchers, with observers in their stead."""
    if not watchers_of(automaton.transitions):
        return automaton
    return _Unfolding(automaton, budget).run()


class _Unfolding:
    def __init__(self, automaton: Automaton, budget: CaseBudget) -> None:
        self._budget = budget
        self._leaving = _by_first_question(automaton)
        self._watchers = watchers_of(automaton.transitions)
        self._needed = _watchers_needed(automaton, self._watchers)
        first = _Place(INITIAL, tuple(0 for _ in self._needed[INITIAL]))
        self._places = Numbering(
            "nested selection strategies",
            "make the formulas inside NEXT, LAST and MAX smaller",
            [first, _Place(FINAL, ())],
        )

    def run(self) -> Automaton:
        transitions = [
            move.out_of(number, guard, self._places.number(move.target))
            for number, place in enumerate(self._places)
            for guard, move in self._moves(place)
            if move.step is not None or move.target != place
        ]
        watching = [i for i, place in enumerate(self._places) if place.state == INITIAL]
        observers = frozenset(watching) if len(watching) > 1 else frozenset()
        return trimmed(with_transitions(Automaton(len(self._places), (), observers), transitions))

    def _moves(self, place: _Place) -> Iterable[tuple[Guard, _Move]]:
        needed = self._needed[place.state]
        watchers = [self._watchers[i] for i in needed]
        asked = [None, *zip(watchers, place.joint, strict=True)]
        leaving = [t for first in asked for t in self._leaving.get((place.state, first), ())]
        if not needed:
            return [(t.guard, _along(t, ())) for t in leaving]

        def results(satisfied: Sequence[JointStep | Transition]) -> Iterator[_Move]:
            joint, taken = after_row(place.joint, satisfied)
            states = dict(zip(needed, joint, strict=True))
            if place.state == INITIAL:
                yield _Move(None, _Place(INITIAL, joint))
            for t in taken:
                yield _along(t, tuple(states[i] for i in self._needed[t.target]))

        return divided(options_at(watchers, place.joint, leaving), results, self._budget)


def _by_first_question(
    automaton: Automaton,
) -> dict[tuple[int, tuple[Watcher, int] | None], list[Transition]]:
    """The transitions by their source and the first state that they ask a watcher for, if any."""
    found: dict[tuple[int, tuple[Watcher, int] | None], list[Transition]] = {}
    for t in automaton.transitions:
        found.setdefault((t.source, t.when[0] if t.when else None), []).append(t)
    return found


def _watchers_needed(
    automaton: Automaton, watchers: Sequence[Watcher]
) -> dict[int, tuple[int, ...]]:
    """By state, the watchers that some transition from there on asks."""
    backward = [(t.target, t.source) for t in automaton.transitions]
    needed: dict[int, tuple[int, ...]] = dict.fromkeys(range(automaton.state_count), ())
    for i, watcher in enumerate(watchers):
        asking = (t.source for t in automaton.transitions if watcher in dict(t.when))
        for state in closure(asking, backward):
            needed[state] = (*needed[state], i)
    return needed


def watcher_of(steps: Iterable[Iterable[tuple[Guard, int]]]) -> Watcher:
    """The watcher with these steps by state; steps that stay are left out."""
    return Watcher(
        tuple(
            tuple(Watch(guard, target) for guard, target in leaving if target != state)
            for state, leaving in enumerate(steps)
        )
    )
