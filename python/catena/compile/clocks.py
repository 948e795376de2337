"""Clocks settled: as few as need be, and whether runs that give one result agree on them.

A formula's operators each bring a clock of their own (automaton.py). The engine keeps runs apart by
the times that their clocks show, so every clock less is fewer runs to keep. Two clocks may be one:

    A ;[I] B ;[J] C                     the first is done with where the second begins, at the B
    ((A ; B WITHIN 5 s) ; C WITHIN 9 s)        both are reset by the A and show the same

A clock is *live* in a state if some run from there checks it before it is reset. Nothing depends on
a clock that is not live, so resets of clocks that are not live afterwards are dropped.

Results are sets, and several runs may lead to one result: they start at the same row and mark the
same rows with the same variables. If such runs always show the same on all clocks live in both, the
engine may keep them together, and a result comes out once: the automaton has *synchronous resets*
(paper 000, section 5). If not, as in

    A ; PROJECT[](B) ;[I] C       several Bs, with different times, give one result

duplicates must be removed. Deciding it exactly takes clock regions (Theorem 5.4, PSPACE); here it
is decided as if every check might hold, which errs on one side only: what is called synchronous is.

Both questions are one. Let two runs that may give one result be read in step; what they do on a row
are two transitions *in step*. Transitions that are in step with each other, directly or by way of
others, are a *class*. Clock a of one run and clock b of the other part ways on a row where one is
reset and the other is not, and it matters if the other is live afterwards. So a and b are in
*conflict* if a class has a transition that resets a and one after which b is live that does not
reset b. A clock in conflict with itself is what synchronous resets forbid; without such a clock
every class can agree on its resets, as resets of clocks not live afterwards may be added freely.
Clocks not in conflict are given one number: since a run is in step with itself, that is right;
since it is in step with others, what was synchronous stays so.

Invariant: a settled automaton has the same complex events; if it is synchronous, transitions in
step reset the same clocks, and else no clock that is not live. Cost: the pairs of transitions in
step, at most `PAIR_COUNT_MAX`; with more of them, every transition is looked at by itself and the
automaton does not count as synchronous.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from typing import Final, TypeAlias

from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_CLOCKS,
    Automaton,
    Check,
    Clock,
    ClockKind,
    Clocks,
    Guard,
    Transition,
    contradicts_itself,
    with_transitions,
)
from catena.query import ast
from catena.query.format import format_interval

PAIR_COUNT_MAX: Final = 200_000
"""The pairs of transitions that are looked at."""
MONOTONIC_CLOCKS_MAX: Final = 8
"""The clocks that chains of runs may be ordered by; the engine's limit."""

Step: TypeAlias = tuple[Transition, Transition]
"""What two runs do on one row."""

_PREFIXES: Final = {ClockKind.TIME: "t", ClockKind.ROWS: "r", ClockKind.ATTRIBUTE: "a"}


def settled(automaton: Automaton) -> Automaton:
    """The automaton with as few clocks as were found, numbered from 0."""
    return with_transitions(automaton, settling(automaton).values())


def settling(given: Automaton) -> dict[Transition, Transition]:
    """By transition of an automaton, what it is in the settled one."""
    idle = _idle_resets_dropped(given)
    automaton = with_transitions(given, idle.values())
    if not automaton.clocks:
        return idle
    steps = steps_together(automaton)
    classes = _classes(automaton, steps or ())
    conflicts = _conflicts(automaton, classes)
    resets = {t: t.resets for t in automaton.transitions}
    if steps is not None and _is_synchronous(conflicts):
        resets = {t: _resets_of(several) for several in classes for t in several}
    shared = _shared(automaton.clocks, conflicts)
    return {
        t: replace(
            kept,
            checks=frozenset((shared[clock], interval) for clock, interval in kept.checks),
            resets=frozenset(shared[clock] for clock in resets[kept]),
        )
        for t, kept in idle.items()
    }


def has_synchronous_resets(automaton: Automaton) -> bool:
    """True only if runs that may give one result reset the same clocks, as far as these are live.

    Of a settled automaton: if they reset the same clocks.
    """
    steps = steps_together(automaton)
    if steps is None:
        return not automaton.clocks
    return _is_synchronous(_conflicts(automaton, _classes(automaton, steps)))


def is_monotonic(automaton: Automaton) -> bool:
    """True if the engine may keep runs in chains instead of by their clocks (paper 000, section 6).

    Of a settled automaton: intervals only bound from above; transitions in step make the same
    checks and resets, so that sets of states need no clocks to tell them apart; and what touches a
    clock is marked, so that a reader of results finds a mark between any two gates.
    """
    steps = steps_together(automaton)
    if steps is None or not 0 < len(automaton.clocks) <= MONOTONIC_CLOCKS_MAX:
        return False
    live = live_clocks(automaton)
    outside = automaton.observers | {INITIAL}
    return (
        all(_bounds_from_above(interval) for t in automaton.transitions for _, interval in t.checks)
        and all(a.checks == b.checks and a.resets == b.resets for a, b in steps)
        and all(
            t.marks or t.source in outside or t.target == FINAL
            for t in automaton.transitions
            if t.checks or t.resets & live[t.target]
        )
    )


def _bounds_from_above(interval: ast.Interval) -> bool:
    low = interval.low
    return low is None or (low.amount == 0 and not interval.low_open)


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


def live_clocks(automaton: Automaton) -> dict[int, Clocks]:
    """By state, the clocks that some run from there checks before it resets them."""
    entering: dict[int, list[Transition]] = {}
    for t in automaton.transitions:
        entering.setdefault(t.target, []).append(t)
    live: dict[int, Clocks] = dict.fromkeys(range(automaton.state_count), NO_CLOCKS)
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


def _idle_resets_dropped(automaton: Automaton) -> dict[Transition, Transition]:
    """The transitions without resets of clocks that are not live afterwards."""
    live = live_clocks(automaton)
    assert not live[INITIAL], "a clock is checked that was never reset"
    return {t: replace(t, resets=t.resets & live[t.target]) for t in automaton.transitions}


# ---------------------------------------------------------------------------------------------
# Runs in step


def steps_together(automaton: Automaton) -> list[Step] | None:
    """What two runs may do on one row that start together and set the same marks; None if too much.

    A run in step with itself is among them.
    """
    leaving = automaton.leaving()
    goes_with: dict[tuple[Guard, Guard], bool] = {}
    pending = [(state, state) for state in sorted(automaton.observers | {INITIAL})]
    seen = set(pending)
    steps: list[Step] = []
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
) -> Iterator[Step]:
    for a, b in product(left, right):
        if a.marks != b.marks:
            continue
        guards = a.guard, b.guard
        if guards not in goes_with:
            goes_with[guards] = not contradicts_itself(a.guard | b.guard)
        if goes_with[guards]:
            yield a, b


def _classes(automaton: Automaton, steps: Iterable[Step]) -> list[list[Transition]]:
    """All transitions in classes: those in step, directly or by way of others."""
    leader = {t: t for t in automaton.transitions}

    def first_of(t: Transition) -> Transition:
        while leader[t] is not t:
            leader[t] = leader[leader[t]]
            t = leader[t]
        return t

    for one, other in steps:
        leader[first_of(other)] = first_of(one)
    classes: dict[Transition, list[Transition]] = {}
    for t in automaton.transitions:
        classes.setdefault(first_of(t), []).append(t)
    return list(classes.values())


def _resets_of(several: Iterable[Transition]) -> Clocks:
    return NO_CLOCKS.union(*(t.resets for t in several))


def _conflicts(
    automaton: Automaton, classes: Iterable[Sequence[Transition]]
) -> dict[Clock, set[Clock]]:
    """By clock, those that some transition keeps for later while one of its class resets it, or
    the other way round."""
    live = live_clocks(automaton)
    found: dict[Clock, set[Clock]] = {clock: set() for clock in automaton.clocks}
    for several in classes:
        kept = NO_CLOCKS.union(*(live[t.target] - t.resets for t in several))
        for clock in _resets_of(several):
            found[clock] |= kept
            for other in kept:
                found[other].add(clock)
    return found


def _is_synchronous(conflicts: dict[Clock, set[Clock]]) -> bool:
    return not any(clock in others for clock, others in conflicts.items())


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
