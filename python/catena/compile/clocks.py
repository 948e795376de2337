"""Clocks settled: as few as need be, and whether runs that give one result agree on them.

A formula's operators each bring a clock of their own (automaton.py). The engine keeps runs apart by
the times that their clocks show, so every clock less is fewer runs to keep. Two clocks may be one:

    A ;[I] B ;[J] C        the first clock is done with where B is read, the second begins there
    ((A ; B) WITHIN 5 s ; C) WITHIN 9 s       both are reset by the A, and show the same

A clock is *live* in a state if some run from there checks it before it is reset. Nothing depends on
a clock that is not live, so resets of clocks that are not live afterwards are dropped.

Results are sets, and several runs may lead to one result: they start at the same row and mark the
same rows with the same variables. If such runs always show the same on all clocks live in both, the
engine may keep them together, and a result comes out once: the automaton has *synchronous resets*
(paper 000, section 5). If not, as in

    A ; PROJECT[](B) ;[I] C       several Bs, with different times, give one result

duplicates must be removed. Deciding it exactly takes clock regions (Theorem 5.4, PSPACE); here it
is decided as if every check might hold, which errs on one side only: what is called synchronous is.

Both questions are one. Let two runs that give one result be read in step; they are in a *pair* of
states, in the beginning the same. Clock a of one run and clock b of the other part ways exactly on
a row where one of them is reset and the other one is not, and it matters if afterwards a is live in
the one and b in the other: then a and b are in *conflict*. For a = b that is what synchronous
resets forbid. Clocks without a conflict are given one number: as a run goes in step with itself,
that is right; as it goes in step with others, that leaves synchronous what was.

Invariant: a settled automaton has the same complex events, and is synchronous if it was. Cost: the
pairs of transitions that go in step, at most `PAIR_COUNT_MAX`; with more of them, only runs in step
with themselves are looked at and the automaton does not count as synchronous.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

from catena.compile.cea import (
    FINAL,
    INITIAL,
    Automaton,
    Check,
    Clock,
    ClockKind,
    Guard,
    Transition,
    contradicts_itself,
    with_transitions,
)
from catena.query.format import format_interval

PAIR_COUNT_MAX: Final = 200_000
"""The pairs of transitions that are looked at."""

_Step: TypeAlias = tuple[Transition, Transition]
"""What two runs do on one row."""

_PREFIXES: Final = {ClockKind.TIME: "t", ClockKind.ROWS: "r", ClockKind.ATTRIBUTE: "a"}


def settled(automaton: Automaton) -> Automaton:
    """The automaton with as few clocks as were found, numbered from 0, and without idle resets."""
    automaton = _without_idle_resets(automaton)
    if not automaton.clocks:
        return automaton
    steps = _steps(automaton)
    alone = [(t, t) for t in automaton.transitions]
    shared = _shared(automaton.clocks, _conflicts(automaton, alone if steps is None else steps))
    return with_transitions(
        automaton,
        (
            replace(
                t,
                checks=frozenset((shared[clock], interval) for clock, interval in t.checks),
                resets=frozenset(shared[clock] for clock in t.resets),
            )
            for t in automaton.transitions
        ),
    )


def has_synchronous_resets(automaton: Automaton) -> bool:
    """True only if runs that give one result agree on all clocks live in both."""
    if not automaton.clocks:
        return True
    steps = _steps(automaton)
    if steps is None:
        return False
    conflicts = _conflicts(automaton, steps)
    return not any(clock in others for clock, others in conflicts.items())


def clock_text(clock: Clock) -> str:
    """A clock's name: `t0`; `r1` if it counts rows, `a2` if it follows an attribute."""
    return f"{_PREFIXES[clock.kind]}{clock.number}"


def action_text(t: Transition) -> str:
    """What a transition does with clocks: ` when t0 <= 5 s, t1 in [1 s, 2 s) reset t1`."""
    checks = ", ".join(map(_check_text, sorted(t.checks, key=check_order)))
    resets = ", ".join(map(clock_text, sorted(t.resets, key=lambda clock: clock.number)))
    return (f" when {checks}" if checks else "") + (f" reset {resets}" if resets else "")


def check_order(check: Check) -> tuple[int, str]:
    """Sorts checks: by clock, then by the interval's text."""
    return check[0].number, format_interval(check[1])


def _check_text(check: Check) -> str:
    clock, interval = clock_text(check[0]), format_interval(check[1])
    if interval[1] in "<>=":
        return f"{clock} {interval[1:-1]}"
    return f"{clock} in {interval}"


# ---------------------------------------------------------------------------------------------
# Live clocks


def live_clocks(automaton: Automaton) -> dict[int, frozenset[Clock]]:
    """By state, the clocks that some run from there checks before it resets them."""
    entering: dict[int, list[Transition]] = {}
    for t in automaton.transitions:
        entering.setdefault(t.target, []).append(t)
    live: dict[int, frozenset[Clock]] = dict.fromkeys(range(automaton.state_count), frozenset())
    pending = list(range(automaton.state_count))
    for t in automaton.transitions:
        live[t.source] |= {clock for clock, _ in t.checks}
    while pending:
        state = pending.pop()
        for t in entering.get(state, ()):
            more = live[t.source] | (live[state] - t.resets)
            if more != live[t.source]:
                live[t.source] = more
                pending.append(t.source)
    return live


def _without_idle_resets(automaton: Automaton) -> Automaton:
    live = live_clocks(automaton)
    assert not live[INITIAL], "a clock is checked that was never reset"
    return with_transitions(
        automaton, (replace(t, resets=t.resets & live[t.target]) for t in automaton.transitions)
    )


# ---------------------------------------------------------------------------------------------
# Runs in step


def _steps(automaton: Automaton) -> list[_Step] | None:
    """What two runs may do on one row that start together and set the same marks; None if too much.

    A run in step with itself is among them.
    """
    leaving = automaton.leaving()
    goes_with: dict[tuple[Guard, Guard], bool] = {}
    pending = [(state, state) for state in sorted(automaton.observers | {INITIAL})]
    seen = set(pending)
    steps: list[_Step] = []
    while pending:
        one, other = pending.pop()
        for step in _together(leaving[one], leaving[other], goes_with):
            first, second = step[0].target, step[1].target
            if first in automaton.observers or second in automaton.observers:
                continue
            if len(steps) == PAIR_COUNT_MAX:
                return None
            steps.append(step)
            pair = min(first, second), max(first, second)
            if pair not in seen and FINAL not in pair:
                seen.add(pair)
                pending.append(pair)
    return steps


def _together(
    left: Sequence[Transition],
    right: Sequence[Transition],
    goes_with: dict[tuple[Guard, Guard], bool],
) -> Iterator[_Step]:
    for a, b in product(left, right):
        if a.marks != b.marks:
            continue
        guards = a.guard, b.guard
        if guards not in goes_with:
            goes_with[guards] = not contradicts_itself(a.guard | b.guard)
        if goes_with[guards]:
            yield a, b


def _conflicts(automaton: Automaton, steps: Sequence[_Step]) -> dict[Clock, set[Clock]]:
    """By clock, the clocks that it differs from in runs in step, both live."""
    live = live_clocks(automaton)
    found: dict[Clock, set[Clock]] = {clock: set() for clock in automaton.clocks}
    for a, b in steps:
        for one, other in ((a, b), (b, a)):
            there = live[other.target]
            for clock in live[one.target]:
                apart = there - other.resets if clock in one.resets else there & other.resets
                found[clock] |= apart
    return found


def _shared(clocks: Sequence[Clock], conflicts: dict[Clock, set[Clock]]) -> dict[Clock, Clock]:
    """By clock, the one that stands for it: the first of those of its kind without a conflict."""
    groups: list[list[Clock]] = []
    for clock in clocks:
        for group in groups:
            first = group[0]
            same_kind = (first.kind, first.column) == (clock.kind, clock.column)
            if same_kind and not conflicts[clock].intersection(group):
                group.append(clock)
                break
        else:
            groups.append([clock])
    shared: dict[Clock, Clock] = {}
    for number, group in enumerate(groups):
        measures = tuple(dict.fromkeys(words for clock in group for words in clock.measures))
        stands = replace(group[0], number=number, measures=measures)
        shared.update(dict.fromkeys(group, stands))
    return shared
