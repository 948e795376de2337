"""Running a program: rows in, in bulk and in any order, and increments out (Definitions 24 to 28).

A run holds progress values and, in an engine, a buffer per stream that is read. `push` appends
rows, raises progress, and evaluates each component once, inputs first: what has become final since
is passed on, exactly once, and what no later result needs is cut from the buffers.

A recursive component takes steps. From what is complete up to P, all candidates up to the greatest
progress T that the inputs allow are computed; those that are already right are the ones up to the
first step of the propagation functions that reaches a candidate. They are passed on, and so forth
until no candidate is left. Steps that reach nothing cost an addition, not a query.
"""

from __future__ import annotations

import datetime
import math
from base64 import b64decode, b64encode
from collections.abc import Iterable, Mapping
from fractions import Fraction
from typing import Any, Generic, Literal, Protocol, TypeVar

import pyarrow as pa

from catena.errors import CatenaDataError, CatenaError, CatenaLimitError
from catena.queries import Stream as PatternRun
from catena.tsa.bounds import GREATEST, LEAST, Bound
from catena.tsa.formulas import TOP
from catena.tsa.increments import FAR, Increment, Thresholds, tick
from catena.tsa.patterns import PatternStream
from catena.tsa.programs import Component, Program
from catena.tsa.progress import NEVER
from catena.tsa.relations import Stream
from catena.tsa.rows import no_rows, outside
from catena.tsa.temporal import TICKS, ticks_of
from catena.tsa.terms import exact

STEPS_MAX = 1_000_000
"""Steps of a recursion in one push."""

Rows = TypeVar("Rows")


class Engine(Protocol[Rows]):
    """What a run asks of the engine that holds its buffers."""

    def open(self, stream: Stream) -> None:
        """Makes an empty buffer."""

    def read(self, stream: Stream, rows: Any) -> Rows:
        """Rows that a user gives."""
        ...

    def append(self, stream: Stream, rows: Rows) -> None:
        """Adds rows to a buffer."""

    def cut(self, stream: Stream, after: Mapping[str, int]) -> None:
        """Keeps the rows all times of which are after these ticks, sooner or later."""

    def prepare(self, increment: Increment) -> object:
        """Compiles an increment expression."""

    def evaluate(self, prepared: Any, thresholds: Thresholds) -> Rows:
        """Executes a compiled increment expression."""
        ...

    def violations(self, stream: Stream, rows: Rows) -> int:
        """How many rows do not satisfy the stream's temporal relations."""
        ...

    def least(self, rows: Rows, name: str) -> int | None:
        """The least value of an attribute; None if there are no rows."""

    def up_to(self, rows: Rows, ends: Iterable[tuple[str, int]]) -> Rows:
        """The rows of which some attribute is up to its tick."""
        ...

    def split(self, rows: Rows, ends: Iterable[tuple[str, int]]) -> tuple[int, Rows]:
        """How many rows some attribute of which is up to its tick there are; and the others."""
        ...

    def joined(self, stream: Stream, rows: list[Rows]) -> Rows:
        """All rows of several results."""
        ...

    def arrow(self, rows: Rows) -> pa.Table:
        """Rows as an Arrow table, times as ticks."""
        ...

    def rows(self, stream: Stream, table: pa.Table) -> Rows:
        """An Arrow table, times as ticks, as rows."""
        ...

    def result(self, stream: Stream, rows: Rows) -> Any:
        """What a user gets for rows of a stream."""

    def count(self, stream: Stream) -> int:
        """The rows in a buffer."""
        ...


def before(value: Any) -> Bound:
    """The progress of a stream that has all rows before a time, but perhaps not all at it."""
    return Bound(_bound(value).value, False)


def _bound(value: Any) -> Bound:
    """A progress that a user gives, in units of its time line."""
    if isinstance(value, Bound):
        return value
    if isinstance(value, float) and math.isinf(value):
        return Bound(value)
    if isinstance(value, float | Fraction):
        return Bound(exact(value))
    ticks = ticks_of(value)
    if ticks is None:
        raise CatenaDataError(f"{value!r} is no progress", hint="a time, or tsa.before(time)")
    per_unit = TICKS["timestamp"] if isinstance(value, datetime.datetime) else 1
    return Bound(exact(Fraction(ticks, per_unit)))


class Run(Generic[Rows]):
    """A program at work. `progress` and `buffered` tell how far it is and what it holds."""

    def __init__(self, program: Program, engine: Engine[Rows], static: Mapping[str, Any]) -> None:
        self.program = program
        self.engine = engine
        self.progress: dict[str, Bound] = {}
        """Progress values by stream bound identifier, "Smoke:time"."""
        self.late_count = 0
        """Rows that came too late and were dropped."""
        self.steps_max = STEPS_MAX
        self._patterns: dict[str, PatternRun] = {}
        self._prepared: dict[str, object] = {}
        for stream in program.streams.values():
            for name in stream.progressing:
                self.progress[stream.bound(name)] = LEAST
            if stream.name in program.consumed:
                engine.open(stream)
        self._prepare()
        self._fill_static(static)

    def _prepare(self) -> None:
        for component in self.program.components:
            for increment in component.increments:
                for name in increment.stream.progressing:
                    self.progress[increment.stream.bound(name)] = LEAST
                self._prepared[increment.stream.name] = self.engine.prepare(increment)
            if component.pattern is not None:
                stream = component.pattern
                self._patterns[stream.name] = stream.pattern.stream()
        self._keeps = {
            stream.name: {n: f for n, f in self.program.keep(stream).items() if f != NEVER}
            for stream in self.program.streams.values()
            if not stream.is_static
        }

    def _fill_static(self, static: Mapping[str, Any]) -> None:
        for stream in self.program.inputs:
            if stream.is_static:
                if stream.name not in static:
                    raise CatenaError(
                        f"the static relation {stream.name} has no rows",
                        hint=f'program.run(static={{"{stream.name}": rows}})',
                    )
                rows = self._checked(stream, static[stream.name])
                self.engine.append(stream, rows)

    def push(
        self,
        rows: Mapping[str, Any] | None = None,
        progress: Mapping[str, Any] | None = None,
        *,
        on_late: Literal["error", "drop"] = "error",
    ) -> dict[str, Any]:
        """Rows of input streams, and up to where each of them is complete now.

        Gives the rows that have become final, by stream. `progress` is a time per stream, or, for
        a stream that progresses on several attributes, a mapping of attributes to times; all rows
        up to it are taken to have come. `tsa.before(t)` is up to but without t.
        """
        self._take(rows or {}, progress or {}, on_late)
        return self._evaluate()

    def finish(self, rows: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """The last rows: everything that is not final yet is now."""
        self._take(rows or {}, {}, "error")
        for stream in self.program.inputs:
            for name in stream.progressing:
                self.progress[stream.bound(name)] = GREATEST
        return self._evaluate()

    def _take(self, rows: Mapping[str, Any], progress: Mapping[str, Any], on_late: str) -> None:
        """Checks everything, and then takes it in."""
        read = {}
        for name, given in rows.items():
            stream = self._input(name)
            read[name] = self._not_late(stream, self._checked(stream, given), on_late)
        raised = self._raised(progress)
        for name, checked in read.items():
            self.engine.append(self._input(name), checked)
        self.progress.update(raised)

    def saved(self) -> dict[str, Any]:
        """Progress, and what patterns remember, as what JSON can hold; buffers are the engine's."""
        bounds = {name: [str(bound.value), bound.closed] for name, bound in self.progress.items()}
        patterns = {
            name: b64encode(pattern.snapshot()).decode() for name, pattern in self._patterns.items()
        }
        return {"progress": bounds, "patterns": patterns, "late_count": self.late_count}

    def restore(self, saved: Mapping[str, Any]) -> None:
        """Takes up what `saved` gave; the engine's buffers must be those of that moment."""
        for name, (value, closed) in saved["progress"].items():
            infinite = value in ("inf", "-inf")
            self.progress[name] = Bound(float(value) if infinite else exact(value), closed)
        for name, text in saved["patterns"].items():
            stream = self.program.streams[name]
            assert isinstance(stream, PatternStream)
            self._patterns[name] = stream.pattern.restore(b64decode(text))
        self.late_count = saved["late_count"]

    @property
    def buffered(self) -> dict[str, int]:
        """The rows held, by stream."""
        return {
            name: self.engine.count(stream)
            for name, stream in self.program.streams.items()
            if name in self.program.consumed
        }

    def _input(self, name: str) -> Stream:
        for stream in self.program.inputs:
            if stream.name == name and not stream.is_static:
                return stream
        names = ", ".join(s.name for s in self.program.inputs if not s.is_static)
        raise CatenaDataError(f"{name} is no input stream", hint=f"input streams: {names}")

    def _checked(self, stream: Stream, given: Any) -> Rows:
        rows = self.engine.read(stream, given)
        count = 0 if stream.relations == TOP else self.engine.violations(stream, rows)
        if count:
            raise CatenaDataError(
                f"{stream.name}: {count} rows do not satisfy {stream.relations}",
                hint="mend the rows, or weaken the stream's definition",
            )
        return rows

    def _not_late(self, stream: Stream, rows: Rows, on_late: str) -> Rows:
        """Rows up to the stream's progress have been promised not to come any more."""
        ends = [
            (name, tick(self.progress[stream.bound(name)], stream, name))
            for name in stream.progressing
        ]
        if all(end == -FAR for _, end in ends):
            return rows
        late, kept = self.engine.split(rows, ends)
        if late and on_late == "error":
            limits = " or ".join(f"{n} up to {self.progress[stream.bound(n)]}" for n, _ in ends)
            raise CatenaDataError(
                f"{stream.name}: {late} rows came too late: all rows with {limits} had come",
                hint='give lower progress, or push(..., on_late="drop")',
            )
        self.late_count += late
        return kept

    def _raised(self, progress: Mapping[str, Any]) -> dict[str, Bound]:
        raised: dict[str, Bound] = {}
        for name, given in progress.items():
            stream = self._input(name)
            ends = given if isinstance(given, Mapping) else {stream.progressing[0]: given}
            if not isinstance(given, Mapping) and len(stream.progressing) > 1:
                raise CatenaDataError(
                    f"{name} progresses on {', '.join(stream.progressing)}",
                    hint="say on which: {attribute: time}",
                )
            for attribute, value in ends.items():
                if attribute not in stream.progressing:
                    raise CatenaDataError(f"{name} does not progress on '{attribute}'")
                bound = stream.bound(attribute)
                raised[bound] = max(self.progress[bound], _bound(value))
        return raised

    def _evaluate(self) -> dict[str, Any]:
        found: dict[str, Rows] = {}
        for component in self.program.components:
            if component.pattern is not None:
                self._match(component.pattern, found)
            elif component.is_recursive:
                self._recur(component, found)
            else:
                [increment] = component.increments
                new = component.next(self.progress)
                found[increment.stream.name] = self._pass(increment, new)
        self._cut()
        return {
            stream.name: self.engine.result(stream, found[stream.name])
            for stream in self.program.outputs
        }

    def _candidates(self, increment: Increment, new: Mapping[str, Bound]) -> Rows:
        thresholds = increment.thresholds(self.progress, new)
        return self.engine.evaluate(self._prepared[increment.stream.name], thresholds)

    def _keep_rows(self, stream: Stream, rows: Rows) -> None:
        if stream.name in self.program.consumed:
            self.engine.append(stream, rows)

    def _pass(self, increment: Increment, new: Mapping[str, Bound]) -> Rows:
        if all(self.progress[bound] == new[bound] for bound in new):
            return self.engine.rows(increment.stream, no_rows(increment.stream.kinds))
        rows = self._candidates(increment, new)
        self._keep_rows(increment.stream, rows)
        self.progress.update(new)
        return rows

    def _match(self, stream: PatternStream, found: dict[str, Rows]) -> None:
        """Hands rows that are complete to the pattern, in order of time."""
        source = stream.source.stream
        table = outside(source.kinds, self.engine.arrow(found[source.name]))
        order = [(stream.time, "ascending")]
        order += [(name, "ascending") for name in source.kinds if name != stream.time]
        matches = self._patterns[stream.name].push(table.sort_by(order)).to_arrow()
        columns = {"start": "start_time", "end": "end_time"}
        chosen = {name: columns.get(name, name) for name in stream.kinds}
        for name, column in chosen.items():
            if column not in matches.column_names:
                raise CatenaError(
                    f"{stream.name}: a match has no '{name}'",
                    hint=f"it has {', '.join(matches.column_names)}",
                )
        renamed = pa.table([matches.column(c) for c in chosen.values()], names=list(chosen))
        rows = self.engine.read(stream, renamed)
        self._keep_rows(stream, rows)
        found[stream.name] = rows
        self.progress[stream.bound("end")] = self.progress[source.bound(stream.time)]

    def _recur(self, component: Component, found: dict[str, Rows]) -> None:
        own = component.propagation
        top = component.settled(self.progress, dict.fromkeys(own, GREATEST))
        assert top is not None, "recursion goes into the future"
        passed: dict[str, list[Rows]] = {i.stream.name: [] for i in component.increments}
        for _ in range(self.steps_max):
            candidates = [self._candidates(each, top) for each in component.increments]
            first = self._first(component, candidates)
            if not first:
                break
            now = self._stepped(component, first, top)
            for increment, rows in zip(component.increments, candidates, strict=True):
                stream = increment.stream
                ends = [(n, tick(now[stream.bound(n)], stream, n)) for n in stream.progressing]
                final = self.engine.up_to(rows, ends)
                self._keep_rows(stream, final)
                passed[stream.name].append(final)
            self.progress.update(now)
        else:
            raise CatenaLimitError(
                f"the recursion took more than {self.steps_max} steps",
                hint="a recursion without end never finishes; push progress instead of calling "
                "finish(), or raise run.steps_max",
            ).with_amounts(self.steps_max + 1, self.steps_max)
        self.progress.update(top)
        for increment in component.increments:
            stream = increment.stream
            found[stream.name] = self.engine.joined(stream, passed[stream.name])

    def _first(self, component: Component, candidates: list[Rows]) -> dict[str, Bound]:
        """The least value of each progressing attribute among the candidates."""
        first: dict[str, Bound] = {}
        for increment, rows in zip(component.increments, candidates, strict=True):
            stream = increment.stream
            for name in stream.progressing:
                least = self.engine.least(rows, name)
                if least is not None:
                    unit = TICKS[stream.kinds[name]]
                    first[stream.bound(name)] = Bound(exact(Fraction(least, unit)))
        return first

    def _stepped(
        self, component: Component, first: Mapping[str, Bound], top: Mapping[str, Bound]
    ) -> dict[str, Bound]:
        """The progress after the first step that reaches a candidate.

        Before the first row there is no progress to step from: any that is before all candidates
        and does not fall will do, since the earliest row of all depends on no other.
        """
        now = {bound: self.progress[bound] for bound in component.propagation}
        if any(bound == LEAST for bound in now.values()):
            start = min(first.values()).value - 1
            begun = component.settled(self.progress, dict.fromkeys(now, Bound(start)))
            assert begun is not None, "recursion goes into the future"
            now = {bound: max(now[bound], begun[bound]) for bound in now}
        while not any(now[bound] >= least for bound, least in first.items()):
            stepped = component.next(self.progress | now)
            now = {bound: min(stepped[bound], top[bound]) for bound in now}
        return now

    def _cut(self) -> None:
        for name, functions in self._keeps.items():
            stream = self.program.streams[name]
            if functions and name in self.program.consumed:
                after = {n: tick(f.at(self.progress), stream, n) for n, f in functions.items()}
                self.engine.cut(stream, after)
