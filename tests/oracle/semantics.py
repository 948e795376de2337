"""The meaning of a formula: SPEC section 3, row by row of its table, by brute force.

`complex_events(phi, rows)` computes [[phi]](S) bottom up as a plain set. A term such as `x.temp`
reads the last event bound to x so far in the run, which may stand left of the formula that is being
evaluated. So every formula is evaluated under an *environment*: the marks made to its left. A
sequence hands its own environment plus the marks of C1 to its right side, an iteration does so from
one repetition to the next. A run reads each row once, so its marks are its bindings, in order of
position, after those of the environment: a rival of NEXT, LAST or MAX that the environment is only
lent to may begin before it. `conditions` says what terms make of them, `runs` has the same meaning
by another way.

Example: in `T AS x ; (H FILTER x.temp < 40)`, `H FILTER x.temp < 40` is evaluated once for every
position that x can have, and not once for the whole stream.

Cost: as many set members as there are complex events, also of subformulas: exponential in the
number of rows under `+`. A budget on the joins made turns a case that explodes into `OverBudget`.
"""

from __future__ import annotations

import datetime
from collections import defaultdict
from collections.abc import Iterable
from collections.abc import Sequence as Rows
from typing import NamedTuple, TypeAlias

from . import formulas as f
from .conditions import holds
from .predicates import Row, Value

Mark: TypeAlias = tuple[str, int]
Marks: TypeAlias = frozenset[Mark]
Environment: TypeAlias = tuple[Mark, ...]
"""Marks in the order in which they were made."""
DEFAULT_BUDGET = 200_000


class ComplexEvent(NamedTuple):
    """C = (start, end, marks); marks are (variable, position) pairs."""

    start: int
    end: int
    marks: Marks

    def positions(self) -> frozenset[int]:
        """The marked positions, whatever their variables."""
        return frozenset(position for _, position in self.marks)


Events: TypeAlias = frozenset[ComplexEvent]


class OverBudget(Exception):
    """The case has too many complex events for brute force; tests skip it."""


def complex_events(
    formula: f.Formula,
    rows: Rows[Row],
    type: str = "type",
    time: str | None = None,
    stream: str | None = None,
    budget: int = DEFAULT_BUDGET,
) -> Events:
    """[[formula]](rows), with positions in `rows`; `type`, `time` and `stream` name columns."""
    return Evaluator(rows, type, time, stream, budget).events(formula, ())


# ---------------------------------------------------------------------------------------------
# Time


NANOSECONDS = {
    "ns": 1,
    "us": 10**3,
    "ms": 10**6,
    **dict.fromkeys(("s", "sec", "second", "seconds"), 10**9),
    **dict.fromkeys(("m", "min", "minute", "minutes"), 60 * 10**9),
    **dict.fromkeys(("h", "hour", "hours"), 3600 * 10**9),
    **dict.fromkeys(("d", "day", "days"), 86400 * 10**9),
}


def elapsed(earlier: Value, later: Value) -> f.Number:
    """later - earlier: in the column's unit for numbers, in nanoseconds for datetimes."""
    difference: f.Number | datetime.timedelta = later - earlier
    if isinstance(difference, datetime.timedelta):
        return difference // datetime.timedelta(microseconds=1) * 1000
    return difference


def scaled(bound: f.Number, unit: str | None) -> f.Number:
    """A bound in what `elapsed` gives: a unit goes with datetimes, no unit with numbers."""
    return bound if unit is None else bound * NANOSECONDS[unit]


def in_interval(span: f.Number, interval: f.Interval) -> bool:
    """Whether a span of time lies in the interval."""
    if interval.low is not None:
        low = scaled(interval.low, interval.unit)
        if span < low or (interval.low_open and span == low):
            return False
    if interval.high is not None:
        high = scaled(interval.high, interval.unit)
        if span > high or (interval.high_open and span == high):
            return False
    return True


def inside(
    event: ComplexEvent,
    window: f.Window | f.Interval,
    rows: Rows[Row],
    time: str | None,
) -> bool:
    """Whether a complex event lies in a window; with a null on its clock it does not."""
    if isinstance(window, f.Events):
        return event.end - event.start + 1 <= window.count
    clock = window.attribute if isinstance(window, f.AttributeSpan) else time
    assert clock is not None, "a window in time needs a time column"
    first, last = rows[event.start].get(clock), rows[event.end].get(clock)
    if first is None or last is None:
        return False
    span = elapsed(first, last)
    match window:
        case f.Interval():
            return in_interval(span, window)
        case f.Duration(length, unit):
            return span <= scaled(length, unit)
        case f.AttributeSpan(length):
            return span <= length


# ---------------------------------------------------------------------------------------------
# Selection strategies


def select(strategy: str, events: Iterable[ComplexEvent]) -> Events:
    """The complex events that a strategy leaves; those of different ends never meet."""
    events = frozenset(events)
    if strategy == "ALL":
        return events
    if strategy == "STRICT":
        return frozenset(event for event in events if has_no_gap(event))
    rivals: dict[int, set[frozenset[int]]] = defaultdict(set)
    for event in events:
        rivals[event.end].add(event.positions())
    beaten = {
        (end, one)
        for end, sets in rivals.items()
        for one in sets
        if any(beats(strategy, other, one) for other in sets)
    }
    return frozenset(event for event in events if (event.end, event.positions()) not in beaten)


def has_no_gap(event: ComplexEvent) -> bool:
    """Whether the marked positions follow each other without a gap."""
    positions = event.positions()
    return not positions or max(positions) - min(positions) + 1 == len(positions)


def beats(strategy: str, winner: frozenset[int], loser: frozenset[int]) -> bool:
    """Whether the set of marked positions `winner` beats `loser` under NEXT, LAST or MAX."""
    if winner == loser:
        return False
    match strategy:
        case "NEXT":
            return min(winner ^ loser) in winner
        case "LAST":
            return max(winner ^ loser) in winner
        case "MAX":
            return loser < winner
    raise ValueError(f"not a strategy: {strategy}")


# ---------------------------------------------------------------------------------------------
# Formulas


class Evaluator:
    """One stream, and the sets computed for it so far by (subformula, environment)."""

    def __init__(
        self, rows: Rows[Row], type: str, time: str | None, stream: str | None, budget: int
    ) -> None:
        self.rows = rows
        self.type = type
        self.time = time
        self.stream = stream
        self.budget = budget
        self.known: dict[tuple[f.Formula, Environment], Events] = {}

    def events(self, formula: f.Formula, environment: Environment) -> Events:
        """[[formula]] under the marks made to its left."""
        read = f.term_variables(formula)
        key = formula, tuple(mark for mark in environment if mark[0] in read)
        if key not in self.known:
            self.known[key] = frozenset(self.meaning(*key))
        return self.known[key]

    def meaning(self, formula: f.Formula, environment: Environment) -> Iterable[ComplexEvent]:
        """The table of SPEC section 3."""
        match formula:
            case f.Type() | f.StreamType() | f.AnyType():
                return self.atom(formula)
            case f.Or(left, right):
                return self.events(left, environment) | self.events(right, environment)
            case f.And(left, right):
                return self.events(left, environment) & self.events(right, environment)
            case f.Sequence(left, right, interval):
                return self.joined(left, right, environment, interval, adjacent=False)
            case f.Adjacent(left, right, interval):
                return self.joined(left, right, environment, interval, adjacent=True)
            case f.SequenceNot(left, absent, right, interval):
                return self.joined_without(left, absent, right, environment, interval)
            case f.Arrow(left, right):
                return self.events(f.SequenceNot(left, right, right), environment)
            case f.Plus(body, interval):
                return self.repeated(body, environment, interval, adjacent=False)
            case f.AdjacentPlus(body, interval):
                return self.repeated(body, environment, interval, adjacent=True)
            case f.Unless(body, absent):
                return self.unless(body, absent, environment)
        return self.restricted(formula, self.events(formula.body, environment), environment)

    def restricted(
        self, formula: f.Formula, events: Events, environment: Environment
    ) -> Iterable[ComplexEvent]:
        """The operators that look at one set only: what is left of it, or made of it."""
        match formula:
            case f.As(_, variable):
                return (marked(event, variable) for event in events)
            case f.Filter(_, condition):
                return (e for e in events if self.satisfied(condition, e, environment))
            case f.Project(variables, _):
                return (projected(event, variables) for event in events)
            case f.Within(_, window):
                return (e for e in events if inside(e, window, self.rows, self.time))
            case f.Select(strategy, _):
                return select(strategy, events)
        raise TypeError(f"not a formula: {formula!r}")

    def atom(self, formula: f.Type | f.StreamType | f.AnyType) -> Iterable[ComplexEvent]:
        """`R`, `S > R`, `ANY`: every row of that type."""
        for position, row in enumerate(self.rows):
            if isinstance(formula, f.StreamType):
                assert self.stream is not None, "`stream > type` needs a stream column"
                if row.get(self.stream) != formula.stream:
                    continue
            if isinstance(formula, f.AnyType) or row.get(self.type) == formula.name:
                yield ComplexEvent(position, position, frozenset({(formula.name, position)}))

    def follows(
        self, first: ComplexEvent, second: ComplexEvent, interval: f.Interval | None, adjacent: bool
    ) -> bool:
        """Whether `second` may come after `first`: order, adjacency, time between."""
        if adjacent and second.start != first.end + 1:
            return False
        if second.start <= first.end:
            return False
        if interval is None:
            return True
        assert self.time is not None, "an interval needs a time column"
        times = self.rows[first.end][self.time], self.rows[second.start][self.time]
        return in_interval(elapsed(*times), interval)

    def continued(
        self,
        first: ComplexEvent,
        right: f.Formula,
        environment: Environment,
        interval: f.Interval | None,
        adjacent: bool,
    ) -> Iterable[ComplexEvent]:
        """The C2 of `right` that may come after C1 = `first`, evaluated under C1's marks too."""
        for second in self.events(right, extended(environment, first.marks)):
            self.budget -= 1
            if self.budget < 0:
                raise OverBudget
            if self.follows(first, second, interval, adjacent):
                yield second

    def joined(
        self,
        left: f.Formula,
        right: f.Formula,
        environment: Environment,
        interval: f.Interval | None,
        adjacent: bool,
    ) -> Iterable[ComplexEvent]:
        """`phi ; psi` and `phi : psi`."""
        for first in self.events(left, environment):
            for second in self.continued(first, right, environment, interval, adjacent):
                yield union(first, second)

    def joined_without(
        self,
        left: f.Formula,
        absent: f.Formula,
        right: f.Formula,
        environment: Environment,
        interval: f.Interval | None,
    ) -> Iterable[ComplexEvent]:
        """`phi ; NOT (chi) ; psi`: no D of chi strictly between; chi sees the marks of C1."""
        for first in self.events(left, environment):
            between = self.events(absent, extended(environment, first.marks))
            for second in self.continued(first, right, environment, interval, adjacent=False):
                if not any(first.end < d.start and d.end < second.start for d in between):
                    yield union(first, second)

    def repeated(
        self,
        body: f.Formula,
        environment: Environment,
        interval: f.Interval | None,
        adjacent: bool,
    ) -> Events:
        """`phi +` and `phi :+`: add one repetition at a time until nothing new comes."""
        reached = set(self.events(body, environment))
        fresh = list(reached)
        while fresh:
            first = fresh.pop()
            for second in self.continued(first, body, environment, interval, adjacent):
                longer = union(first, second)
                if longer not in reached:
                    reached.add(longer)
                    fresh.append(longer)
        return frozenset(reached)

    def unless(
        self, body: f.Formula, absent: f.Formula, environment: Environment
    ) -> Iterable[ComplexEvent]:
        """`phi UNLESS chi`: no D of chi inside C; chi sees what C has bound before D begins."""
        for event in self.events(body, environment):
            if not any(self.blocks(absent, start, event, environment) for start in rows_of(event)):
                yield event

    def blocks(
        self, absent: f.Formula, start: int, event: ComplexEvent, environment: Environment
    ) -> bool:
        """Whether some D of the absent formula begins at `start` and ends inside the event."""
        before = frozenset(mark for mark in event.marks if mark[1] < start)
        found = self.events(absent, extended(environment, before))
        return any(d.start == start and d.end <= event.end for d in found)

    def satisfied(
        self, condition: f.Condition, event: ComplexEvent, environment: Environment
    ) -> bool:
        """Whether the bindings of the run so far, the event's among them, satisfy the condition."""

        def history(variable: str) -> list[int]:
            before = [position for name, position in environment if name == variable]
            return before + bound_to(variable, event.marks)

        return holds(condition, self.rows, history, lambda x: bound_to(x, event.marks))


# ---------------------------------------------------------------------------------------------
# Complex events and marks


def extended(environment: Environment, marks: Marks) -> Environment:
    """The environment to the right of what makes these marks."""
    return (*environment, *sorted(marks, key=lambda mark: mark[::-1]))


def bound_to(variable: str, marks: Marks) -> list[int]:
    """The positions bound to a variable, in order. A run reads each row once, from left to right,
    so the marks are the history of its bindings."""
    return sorted(position for name, position in marks if name == variable)


def rows_of(event: ComplexEvent) -> range:
    """The rows from start to end."""
    return range(event.start, event.end + 1)


def of_variables(marks: Marks, variables: frozenset[str]) -> Marks:
    """The marks of the given variables."""
    return frozenset(mark for mark in marks if mark[0] in variables)


def union(first: ComplexEvent, second: ComplexEvent) -> ComplexEvent:
    """C1 u C2."""
    return ComplexEvent(first.start, second.end, first.marks | second.marks)


def marked(event: ComplexEvent, variable: str) -> ComplexEvent:
    """C with (variable, p) added for every marked position p."""
    added = frozenset((variable, position) for position in event.positions())
    return event._replace(marks=event.marks | added)


def projected(event: ComplexEvent, variables: Iterable[str]) -> ComplexEvent:
    """C with the marks of the given variables only."""
    return event._replace(marks=of_variables(event.marks, frozenset(variables)))
