"""The meaning of a formula a second time: runs, read from left to right, with registers.

`semantics` computes sets of complex events and reads bindings off their marks. Here nothing is read
off a complex event: a run starts at a row with the registers as they are, writes them as it goes,
and ends with what they hold then. That both ways give the same complex events shows that marks say
all there is to know about bindings, whatever is nested in whatever.

A register holds all the events that were bound to its variable, oldest first. Scopes are what the
registers show: `phi AS x` writes x when phi ends; PROJECT puts back what it hides; NOT, `->` and
UNLESS look at runs whose writes are then forgotten.

Example: `(A AS x FILTER x.v > prev(x).v)+` over the values 1 3 2 has a run that ends with x holding
rows 0 and 1. Row 2 cannot continue it, since at that row x holds 0, 1, 2 and 2 > 3 fails.

Cost: one run at a time, none shared; much slower than `semantics`.
"""

from __future__ import annotations

from collections.abc import Iterator
from collections.abc import Sequence as Rows
from typing import NamedTuple, TypeAlias

from . import formulas as f
from .conditions import holds
from .predicates import Row
from .semantics import (
    DEFAULT_BUDGET,
    ComplexEvent,
    Marks,
    OverBudget,
    elapsed,
    in_interval,
    inside,
    select,
)

Registers: TypeAlias = dict[str, tuple[int, ...]]
LENT = -1
"""In a register, after the events that a rival of a strategy is lent: it may begin before them."""


class Run(NamedTuple):
    """A complex event that a run made, and what its registers hold at the end."""

    event: ComplexEvent
    registers: Registers


def complex_events_by_runs(
    formula: f.Formula,
    rows: Rows[Row],
    type: str = "type",
    time: str | None = None,
    stream: str | None = None,
    budget: int = DEFAULT_BUDGET,
) -> frozenset[ComplexEvent]:
    """What `complex_events` gives, by enumerating runs."""
    walker = Walker(rows, type, time, stream, budget)
    starts = range(len(rows))
    return frozenset(run.event for at in starts for run in walker.runs(formula, at, {}))


def written(registers: Registers, variable: str, positions: set[int]) -> Registers:
    """The registers after the variable was bound to further positions; twice to one is once."""
    held = registers.get(variable, ())
    own = held[held.index(LENT) + 1 :] if LENT in held else held
    lent = held[: len(held) - len(own)]
    return {**registers, variable: (*lent, *sorted({*own, *positions}))}


def history(registers: Registers, variable: str) -> tuple[int, ...]:
    """The positions bound to a variable, in order."""
    return tuple(position for position in registers.get(variable, ()) if position != LENT)


class Walker:
    """The runs over one stream."""

    def __init__(
        self, rows: Rows[Row], type: str, time: str | None, stream: str | None, budget: int
    ) -> None:
        self.rows = rows
        self.type = type
        self.time = time
        self.stream = stream
        self.budget = budget

    def runs(self, formula: f.Formula, at: int, registers: Registers) -> Iterator[Run]:
        """The runs of the formula that begin at row `at`, given what is bound before it."""
        for run in self.steps(formula, at, registers):
            self.budget -= 1
            if self.budget < 0:
                raise OverBudget
            yield run

    def steps(self, formula: f.Formula, at: int, registers: Registers) -> Iterator[Run]:
        match formula:
            case f.Type() | f.StreamType() | f.AnyType():
                yield from self.atom(formula, at, registers)
            case f.Or(left, right):
                yield from self.runs(left, at, registers)
                yield from self.runs(right, at, registers)
            case f.And(left, right):
                yield from self.common(left, right, at, registers)
            case f.Sequence(left, right, interval):
                for first in self.runs(left, at, registers):
                    yield from self.then(first, right, interval, adjacent=False)
            case f.Adjacent(left, right, interval):
                for first in self.runs(left, at, registers):
                    yield from self.then(first, right, interval, adjacent=True)
            case f.SequenceNot(left, absent, right, interval):
                for first in self.runs(left, at, registers):
                    yield from self.then(first, right, interval, adjacent=False, absent=absent)
            case f.Arrow(left, right):
                for first in self.runs(left, at, registers):
                    yield from self.then(first, right, None, adjacent=False, absent=right)
            case f.Plus(body, interval):
                yield from self.repeated(body, at, registers, interval, adjacent=False)
            case f.AdjacentPlus(body, interval):
                yield from self.repeated(body, at, registers, interval, adjacent=True)
            case _:
                for run in self.runs(formula.body, at, registers):
                    yield from self.left_of(formula, run, registers)

    def left_of(self, formula: f.Formula, run: Run, before: Registers) -> Iterator[Run]:
        """What an operator around one formula makes of a run of it; nothing where it stops it."""
        event, registers = run
        match formula:
            case f.As(_, variable):
                marks = frozenset((variable, position) for position in event.positions())
                after = written(registers, variable, set(event.positions())) if marks else registers
                yield Run(event._replace(marks=event.marks | marks), after)
            case f.Filter(_, condition):
                if self.satisfied(condition, run):
                    yield run
            case f.Project(kept, _):
                marks = frozenset(mark for mark in event.marks if mark[0] in kept)
                shown = {name: held for name, held in registers.items() if name in kept}
                hidden = {name: held for name, held in before.items() if name not in kept}
                yield Run(event._replace(marks=marks), {**shown, **hidden})
            case f.Within(_, window):
                if inside(event, window, self.rows, self.time):
                    yield run
            case f.Unless(_, absent):
                if not any(self.is_inside(absent, at, event, before) for at in span(event)):
                    yield run
            case f.Select(strategy, body):
                if self.is_selected(strategy, body, event, before):
                    yield run

    def atom(
        self, formula: f.Type | f.StreamType | f.AnyType, at: int, registers: Registers
    ) -> Iterator[Run]:
        row = self.rows[at]
        if isinstance(formula, f.StreamType) and row.get(self.stream or "") != formula.stream:
            return
        if isinstance(formula, f.AnyType) or row.get(self.type) == formula.name:
            event = ComplexEvent(at, at, frozenset({(formula.name, at)}))
            yield Run(event, written(registers, formula.name, {at}))

    def common(
        self, left: f.Formula, right: f.Formula, at: int, registers: Registers
    ) -> Iterator[Run]:
        """`phi AND psi`: the two runs agree on the complex event, and so on the registers."""
        for one in self.runs(left, at, registers):
            for other in self.runs(right, at, registers):
                if one.event == other.event:
                    assert one.registers == other.registers
                    yield one

    def then(
        self,
        first: Run,
        right: f.Formula,
        interval: f.Interval | None,
        adjacent: bool,
        absent: f.Formula | None = None,
    ) -> Iterator[Run]:
        """The first run continued by one of `right`, with no run of `absent` in between."""
        end = first.event.end
        for at in range(end + 1, min(end + 2, len(self.rows)) if adjacent else len(self.rows)):
            if not self.in_time(end, at, interval):
                continue
            if absent is not None and self.occurs(absent, end, at, first.registers):
                return
            for second in self.runs(right, at, first.registers):
                marks = first.event.marks | second.event.marks
                event = ComplexEvent(first.event.start, second.event.end, marks)
                yield Run(event, second.registers)

    def in_time(self, end: int, start: int, interval: f.Interval | None) -> bool:
        if interval is None:
            return True
        assert self.time is not None, "an interval needs a time column"
        times = self.rows[end][self.time], self.rows[start][self.time]
        return in_interval(elapsed(*times), interval)

    def occurs(self, absent: f.Formula, after: int, before: int, registers: Registers) -> bool:
        """Whether a run of the absent formula lies strictly between two rows."""
        return any(
            run.event.end < before
            for at in range(after + 1, before)
            for run in self.runs(absent, at, registers)
        )

    def repeated(
        self,
        body: f.Formula,
        at: int,
        registers: Registers,
        interval: f.Interval | None,
        adjacent: bool,
    ) -> Iterator[Run]:
        pending = list(self.runs(body, at, registers))
        while pending:
            run = pending.pop()
            yield run
            pending.extend(self.then(run, body, interval, adjacent))

    def satisfied(self, condition: f.Condition, run: Run) -> bool:
        def marked(variable: str) -> list[int]:
            return [position for name, position in run.event.marks if name == variable]

        return holds(condition, self.rows, lambda x: history(run.registers, x), marked)

    def is_inside(self, absent: f.Formula, at: int, event: ComplexEvent, before: Registers) -> bool:
        """Whether a run of the absent formula from row `at` on ends inside the event."""
        registers = registers_at(at, event.marks, before)
        return any(run.event.end <= event.end for run in self.runs(absent, at, registers))

    def is_selected(
        self, strategy: str, body: f.Formula, event: ComplexEvent, before: Registers
    ) -> bool:
        """Whether no rival over the whole stream, with the same registers before, beats it."""
        if strategy in ("ALL", "STRICT"):
            return event in select(strategy, [event])
        starts = range(event.end + 1)
        lent = {name: (*(p for p in held if p != LENT), LENT) for name, held in before.items()}
        rivals = [run.event for at in starts for run in self.runs(body, at, lent)]
        return event in select(strategy, rivals)


def span(event: ComplexEvent) -> range:
    return range(event.start, event.end + 1)


def registers_at(row: int, marks: Marks, before: Registers) -> Registers:
    """The registers while a run is under way: what was bound before the row."""
    registers = before
    for name, position in sorted(marks):
        if position < row:
            registers = written(registers, name, {position})
    return registers
