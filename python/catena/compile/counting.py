"""Clocks that count rows, made part of the states.

What a clock of rows shows is a small number as long as it matters, so a state may carry it:

    (B ; C WITHIN 3 EVENTS)     i -B-> m0,   m0 -true-> m1,   m0 -C-> f,   m1 -C-> f

Where sets of states must tell all, as in what must be absent (complement.py), clocks are out of
reach but these states are not: those that have waited less stand for those that have waited more.

Invariant: the complex events are the same, and no transition checks or resets a clock of rows.
Cost: the states times the rows that each of their live clocks can show, `STATE_COUNT_MAX` at most.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TypeAlias

from catena.compile.cea import (
    FINAL,
    INITIAL,
    Automaton,
    Check,
    Clock,
    ClockKind,
    Transition,
    trimmed,
    with_transitions,
)
from catena.compile.clocks import live_clocks
from catena.compile.watching import Numbering

_Shown: TypeAlias = frozenset[tuple[Clock, int]]
"""The rows since the last reset of each clock of rows that is live."""


def rows_counted(automaton: Automaton) -> Automaton:
    """The automaton without clocks that count rows."""
    if not any(clock.kind is ClockKind.ROWS for clock in automaton.clocks):
        return automaton
    return _Counting(automaton).run()


class _Counting:
    def __init__(self, automaton: Automaton) -> None:
        self._leaving = automaton.leaving()
        self._live = live_clocks(automaton)
        self._enough: dict[Clock, int] = {}
        for t in automaton.transitions:
            for clock, rows in _most_rows(t):
                self._enough[clock] = max(rows + 1, self._enough.get(clock, 0))
        self._states: Numbering[tuple[int, _Shown]] = Numbering(
            "WITHIN n EVENTS inside what must be absent",
            "make n or the formula smaller",
            [(INITIAL, frozenset()), (FINAL, frozenset())],
        )

    def run(self) -> Automaton:
        transitions = [
            replace(made, source=number)
            for number, (state, shown) in enumerate(self._states)
            for t in self._leaving[state]
            for made in self._counted(t, shown)
        ]
        return trimmed(with_transitions(Automaton(len(self._states), ()), transitions))

    def _counted(self, t: Transition, shown: _Shown) -> Iterator[Transition]:
        """The transition with counts in place of clocks, if its checks hold."""
        passed = {clock: rows + 1 for clock, rows in shown}
        if any(passed[clock] > rows for clock, rows in _most_rows(t)):
            return
        passed.update((clock, 0) for clock in t.resets)
        after = frozenset(
            (clock, min(rows, self._enough[clock]))
            for clock, rows in passed.items()
            if clock in self._live[t.target] and clock.kind is ClockKind.ROWS
        )
        yield replace(
            t,
            target=self._states.number((t.target, after)),
            checks=frozenset(check for check in t.checks if not _counts_rows(check)),
            resets=frozenset(clock for clock in t.resets if clock.kind is not ClockKind.ROWS),
        )


def _counts_rows(check: Check) -> bool:
    return check[0].kind is ClockKind.ROWS


def _most_rows(t: Transition) -> Iterator[tuple[Clock, int]]:
    """The rows that clocks may show at most: WITHIN n EVENTS asks for nothing else."""
    for clock, interval in filter(_counts_rows, t.checks):
        assert interval.low is None and interval.high is not None and not interval.high_open
        yield clock, int(interval.high.amount)
