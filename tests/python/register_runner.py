"""Automata with tracks run by brute force, and by the engine: every run by itself, with the rows
that its clocks were reset at and those appended to its tracks.

So operations on automata are shown right without the language. The engine says which rows satisfy
which guards, as in clock_runner.py; a condition compares an attribute of the row with one of the
last row of a track.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from clock_runner import lies_in, pieces, rows_by_guard
from paths import Rows

from catena.compile.cea import FINAL, INITIAL, Automaton, Clock, ClockKind, Transition, project
from catena.compile.clocks import settled
from catena.compile.outputs import PositionsOutput
from catena.compile.plan import Plan, Settings
from catena.compile.registers import remembered
from catena.matches import Matches
from catena.query import ast
from oracle import ComplexEvent

OPERATORS = {
    ast.CompareOp.EQ: lambda a, b: a == b,
    ast.CompareOp.LT: lambda a, b: a < b,
    ast.CompareOp.GT: lambda a, b: a > b,
}


class Run(NamedTuple):
    """A run on its way: where it started and is, its marks, clocks and the last rows of tracks."""

    start: int
    state: int
    marks: frozenset[tuple[str, int]]
    clocks: frozenset[tuple[Clock, int]]
    tracks: frozenset[tuple[str, int]]


def by_brute_force(automaton: Automaton, rows: Rows) -> set[ComplexEvent]:
    """What the runs of an automaton give that follows no absence."""
    assert not any(t.follows or t.forbids for t in automaton.transitions)
    return set(_ends(automaton, rows))


def _ends(automaton: Automaton, rows: Rows) -> Iterator[ComplexEvent]:
    leaving, satisfied = automaton.leaving(), rows_by_guard(automaton, rows)
    nothing: frozenset[tuple[str, int]] = frozenset()
    runs: set[Run] = set()
    for at in range(len(rows)):
        going = set()
        for run in {*runs, Run(at, INITIAL, nothing, frozenset(), nothing)}:
            for t in leaving[run.state]:
                if at in satisfied[t.guard] and _may_make(run, t, rows, at):
                    going.add(_after(run, t, at))
        runs = {run for run in going if run.state != FINAL}
        yield from (ComplexEvent(r.start, at, r.marks) for r in going if r.state == FINAL)


def _may_make(run: Run, t: Transition, rows: Rows, at: int) -> bool:
    clocks, tracks = dict(run.clocks), dict(run.tracks)

    def passed(clock: Clock) -> int:
        reset = clocks[clock]
        return at - reset if clock.kind is ClockKind.ROWS else rows[at]["ts"] - rows[reset]["ts"]

    def is_met(condition: ast.Expression) -> bool:
        assert isinstance(condition, ast.Comparison)
        row, recall = condition.left, condition.right
        assert isinstance(row, ast.Attribute) and isinstance(recall, ast.Recall)
        assert isinstance(recall.value, ast.Attribute) and recall.what == "last"
        if recall.variable not in tracks:
            return False
        values = rows[at][row.name], rows[tracks[recall.variable]][recall.value.name]
        return None not in values and OPERATORS[condition.op](*values)

    checks = all(lies_in(passed(clock), interval) for clock, interval in t.checks)
    return checks and all(map(is_met, t.conditions))


def _after(run: Run, t: Transition, at: int) -> Run:
    return Run(
        run.start,
        t.target,
        run.marks | {(variable, at) for variable in t.marks},
        frozenset({**dict(run.clocks), **dict.fromkeys(t.resets, at)}.items()),
        frozenset({**dict(run.tracks), **{a.track: at for a in t.appends}}.items()),
    )


def by_engine(automaton: Automaton, rows: Rows) -> set[ComplexEvent]:
    """What the engine makes of an automaton; each complex event comes once."""
    variables = tuple(sorted({mark for t in automaton.transitions for mark in t.marks}))
    remembering = remembered(automaton)
    plan = Plan(
        text="",
        settings=Settings(time="ts"),
        query=ast.Query(ast.Strategy.ALL, (), (), ast.AnyEvent()),
        normal_form=ast.AnyEvent(),
        automaton=settled(remembering.automaton),
        variables=variables,
        outputs=tuple(PositionsOutput(name, name) for name in variables),
        registers=remembering.registers,
        absences=tuple(project(settled(absence), ()) for absence in remembering.absences),
    )
    found = [
        ComplexEvent(m.start, m.end, frozenset((x, p) for x in variables for p in m[x]))
        for m in Matches(plan, lambda: pieces(plan, rows))
    ]
    assert len(found) == len(set(found))
    return set(found)
