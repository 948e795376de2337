"""An automaton whose runs remember one thing, out of few, about what they have read.

A memory is told every transition that a run makes and changes by it; a run may then end only with a
memory that is accepted. So a property of a complex event that can be judged from left to right is
asked without comparing it with others: that its marks have no gap, that the last event bound to x
satisfies a predicate.

Invariant: the complex events are those of the automaton whose memory is accepted in the end. Cost:
states times memories.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from dataclasses import replace
from typing import TypeVar

from catena.compile.cea import (
    FINAL,
    INITIAL,
    Automaton,
    Guard,
    Transition,
    conjuncts,
    contradicts_itself,
    trimmed,
    with_transitions,
)
from catena.query import ast

Memory = TypeVar("Memory", bound=Hashable)


def remembering(
    automaton: Automaton,
    first: Memory,
    after: Callable[[Memory, Transition], Iterable[tuple[Memory, Guard]]],
    accepts: Callable[[Memory], bool],
) -> Automaton:
    """The runs that end with an accepted memory.

    `after` gives the memories that a transition may lead to, each with what the row must satisfy
    beside the transition's guard for it.
    """
    leaving = automaton.leaving()
    numbers = {(INITIAL, first): INITIAL}
    pending = [(INITIAL, first)]

    def number(state: int, memory: Memory) -> int:
        if state == FINAL:
            return FINAL
        if (state, memory) not in numbers:
            numbers[state, memory] = len(numbers) + 1
            pending.append((state, memory))
        return numbers[state, memory]

    transitions = []
    while pending:
        state, memory = pending.pop()
        source = numbers[state, memory]
        for t in leaving[state]:
            for then, more in after(memory, t):
                guard = t.guard | more
                if contradicts_itself(guard) or (t.target == FINAL and not accepts(then)):
                    continue
                target = number(t.target, then)
                transitions.append(replace(t, source=source, guard=guard, target=target))
    return trimmed(with_transitions(Automaton(len(numbers) + 1, ()), transitions))


def last_satisfies(automaton: Automaton, condition: ast.LastPredicate) -> Automaton:
    """The complex events whose last position marked with a variable satisfies a predicate."""
    holds = conjuncts(condition.predicate)
    fails = frozenset({ast.IsTrue(condition.predicate, negated=True)})

    def after(memory: bool, t: Transition) -> list[tuple[bool, Guard]]:
        bound = t.marks if condition.variable is None else condition.variable in t.marks
        return [(True, holds), (False, fails)] if bound else [(memory, frozenset())]

    return remembering(automaton, condition.if_unbound, after, lambda memory: memory)
