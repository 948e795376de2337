"""Automata with clocks run by brute force: every run by itself, with the rows its clocks were reset
at.

What the compiler makes can so be compared with the oracle without the engine's evaluation; the
engine only says which rows satisfy which guards.
"""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, NamedTuple

from paths import Rows, table_of

from catena.compile.cea import FINAL, INITIAL, Automaton, Check, Clock, ClockKind, Guard, Transition
from catena.compile.outputs import PositionsOutput
from catena.compile.plan import Plan, Settings
from catena.engine import Engine, Limits
from catena.matches import Matches
from catena.query import ast
from oracle import ComplexEvent


class Run(NamedTuple):
    """A run on its way: where it started and is, its marks, and when its clocks were reset."""

    start: int
    state: int
    marks: frozenset[tuple[str, int]]
    clocks: frozenset[tuple[Clock, int]]


def complex_events(automaton: Automaton, rows: Rows, time: str = "ts") -> set[ComplexEvent]:
    """What the runs of an automaton give."""
    return {
        ComplexEvent(run.start, end, run.marks)
        for end, runs in enumerate(runs_by_row(automaton, rows, time))
        for run in runs
        if run.state == FINAL
    }


def runs_by_row(automaton: Automaton, rows: Rows, time: str = "ts") -> Iterator[list[Run]]:
    """The runs after each row, those that ended there included."""
    leaving, satisfied = automaton.leaving(), rows_by_guard(automaton, rows)
    runs: list[Run] = []
    observer = INITIAL
    for position in range(len(rows)):
        waiting = Run(position, observer, frozenset(), frozenset())
        going = []
        for run in [*(run for run in runs if run.state != FINAL), waiting]:
            for t in leaving[run.state]:
                if position not in satisfied[t.guard]:
                    continue
                if t.target in automaton.observers:
                    observer = t.target
                elif all(holds(check, run, rows, position, time) for check in t.checks):
                    going.append(after(run, t, position))
        runs = list(dict.fromkeys(going))
        yield runs


def after(run: Run, t: Transition, position: int) -> Run:
    """The run after a transition."""
    resets = {**dict(run.clocks), **dict.fromkeys(t.resets, position)}
    marks = run.marks | {(variable, position) for variable in t.marks}
    return Run(run.start, t.target, marks, frozenset(resets.items()))


def holds(check: Check, run: Run, rows: Rows, position: int, time: str) -> bool:
    """Whether a check holds of a run's clocks; every clock checked has been reset."""
    clock, interval = check
    reset = dict(run.clocks)[clock]
    match clock.kind:
        case ClockKind.ROWS:
            passed = position - reset
        case ClockKind.TIME:
            passed = rows[position][time] - rows[reset][time]
        case ClockKind.ATTRIBUTE:
            passed = rows[position][clock.column] - rows[reset][clock.column]
    return lies_in(Fraction(passed), interval)


def lies_in(amount: Fraction, interval: ast.Interval) -> bool:
    low, high = interval.low, interval.high
    if low is not None and (amount < low.amount or (interval.low_open and amount == low.amount)):
        return False
    return (
        high is None or amount < high.amount or (not interval.high_open and amount == high.amount)
    )


def rows_by_guard(automaton: Automaton, rows: Rows) -> dict[Guard, set[int]]:
    """By guard, the rows that satisfy it: the engine runs an automaton with one transition each."""
    guards = list(dict.fromkeys(t.guard for t in automaton.transitions))
    names = {f"g{i}": guard for i, guard in enumerate(guards)}
    judging = Automaton(
        2, tuple(Transition(INITIAL, g, frozenset({name}), FINAL) for name, g in names.items())
    )
    query = ast.Query(ast.Strategy.ALL, (), (), ast.AnyEvent())
    outputs = tuple(PositionsOutput(name, name) for name in names)
    plan = Plan("", Settings(), query, ast.AnyEvent(), judging, tuple(names), outputs)
    satisfied: dict[Guard, set[int]] = {guard: set() for guard in guards}
    for match in Matches(plan, lambda: pieces(plan, rows)):
        for name, guard in names.items():
            satisfied[guard].update(match[name])
    return satisfied


def pieces(plan: Plan, rows: Rows) -> Iterator[Any]:
    engine = Engine(plan, Limits(), "error")
    for batch in table_of(rows).select(plan.columns).combine_chunks().to_batches():
        yield engine.push(batch)
