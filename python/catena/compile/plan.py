"""The plan: what a query is to the engine. The whole pipeline from text on one screen.

    text -parse-> AST -check-> AST -normalize-> LP normal form -build-> automaton -> Plan

A plan is immutable, knows nothing of any data's types, and has a text form, which golden tests and
`explain` print and whose hash a snapshot carries: two queries with the same plan can read each
other's snapshots.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import Final, TypeAlias

from catena import _core
from catena.compile.automaton import ColumnNames, build, comparing_clocks, dead_part
from catena.compile.cea import (
    NO_CHECKS,
    NO_CLOCKS,
    Automaton,
    Checks,
    Clock,
    ClockKind,
    Clocks,
    Guard,
    Transition,
    project,
    show,
)
from catena.compile.clocks import (
    action_text,
    check_order,
    clock_text,
    has_synchronous_resets,
    settled,
)
from catena.compile.outputs import Output, output_columns, outputs_of
from catena.compile.selection import COMPARING
from catena.errors import CatenaError, error_at
from catena.query import ast
from catena.query.check import check
from catena.query.format import format_expression, format_formula, format_window
from catena.query.normalize import normalize, subexpressions, subformulas
from catena.query.parse import parse

PLAN_VERSION: Final = 1


ClockBound: TypeAlias = tuple[ClockKind, str | None, ast.Interval]
"""An interval of what clocks of a kind, over a column if that is an attribute's, may show."""


@dataclass(frozen=True)
class Settings:
    """What a query needs to know beside its text."""

    type: str = "type"
    time: str | None = None
    stream: str | None = None
    time_unit: ast.Unit | None = None


@dataclass(frozen=True)
class Plan:
    """A compiled query."""

    text: str
    settings: Settings
    query: ast.Query
    normal_form: ast.Formula
    automaton: Automaton
    variables: tuple[str, ...]
    outputs: tuple[Output, ...]

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        """The distinct guards of the automaton, then that of FROM if there is one."""
        guards = dict.fromkeys(t.guard for t in self.automaton.transitions if t.guard)
        if self.row_guard is not None:
            guards[self.row_guard] = None
        return tuple(guards)

    @cached_property
    def row_guard(self) -> Guard | None:
        """What a row must satisfy to take part at all: being of a stream that FROM names."""
        if self.settings.stream is None or not self.query.streams:
            return None
        values = tuple(ast.Literal(name) for name in self.query.streams)
        return frozenset({ast.InSet(ast.Attribute(self.settings.stream), values)})

    @cached_property
    def keys(self) -> tuple[str, ...]:
        """The attributes of PARTITION BY, in order and without repetition."""
        return tuple(dict.fromkeys(name for group in self.query.partition for name in group))

    @cached_property
    def limit(self) -> int | None:
        """The number of matches reported per row that ends some."""
        if self.query.strategy is ast.Strategy.ANY:
            return 1
        return self.query.limit

    @cached_property
    def read_columns(self) -> tuple[str, ...]:
        """The columns whose values predicates and clocks read."""
        names = dict.fromkeys(
            e.name
            for guard in self.guards
            for predicate in sorted(guard, key=format_expression)
            for e in subexpressions(predicate)
            if isinstance(e, ast.Attribute)
        )
        window = self.query.window
        clock = [window.attribute] if isinstance(window, ast.AttributeWindow) else []
        time = [self.settings.time] if self.settings.time else []
        return tuple(dict.fromkeys([*names, *time, *clock]))

    @cached_property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns whose values matches show, so that rows must be kept while matches are
        open."""
        time = [self.settings.time] if self.settings.time else []
        return tuple(dict.fromkeys([*time, *self.keys, *output_columns(self.outputs)]))

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that a batch must have."""
        return tuple(dict.fromkeys([*self.read_columns, *self.kept_columns]))

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """The automaton's clocks, by number."""
        return self.automaton.clocks

    @cached_property
    def bounds(self) -> tuple[ClockBound, ...]:
        """The distinct intervals of the automaton's checks, with what they are intervals of."""
        return tuple(
            dict.fromkeys(
                (clock.kind, clock.column, interval)
                for t in self.automaton.transitions
                for clock, interval in sorted(t.checks, key=check_order)
            )
        )

    @cached_property
    def has_synchronous_resets(self) -> bool:
        """True if runs that give one result are known to agree on their clocks."""
        return has_synchronous_resets(self.automaton)

    @cached_property
    def cea(self) -> _core.Cea:
        """The automaton as the engine takes it."""
        guard_ids = {guard: i for i, guard in enumerate(self.guards)}
        variable_ids = {name: i for i, name in enumerate(self.variables)}
        marks = dict.fromkeys([frozenset[str](), *(t.marks for t in self.automaton.transitions)])
        mark_ids = {names: i for i, names in enumerate(marks)}
        action_ids = {action: i for i, action in enumerate(self._actions)}
        return _core.Cea(
            state_count=self.automaton.state_count,
            initial=[0],
            final=[1],
            transitions=[
                (
                    t.source,
                    guard_ids[t.guard] if t.guard else None,
                    mark_ids[t.marks],
                    t.target,
                    t.is_marked,
                    action_ids[t.checks, t.resets],
                )
                for t in self.automaton.transitions
            ],
            marks=[sorted(variable_ids[name] for name in names) for names in marks],
            variable_count=len(self.variables),
            guard_count=len(self.guards),
            observers=sorted(self.automaton.observers),
            clock_kinds=[clock.kind.value for clock in self.clocks],
            interval_count=len(self.bounds),
            actions=[self._action(checks, resets) for checks, resets in self._actions],
        )

    @cached_property
    def _actions(self) -> tuple[tuple[Checks, Clocks], ...]:
        """What transitions do with clocks, each once; first of all nothing."""
        found = ((t.checks, t.resets) for t in self.automaton.transitions)
        return tuple(dict.fromkeys([(NO_CHECKS, NO_CLOCKS), *found]))

    def _action(self, checks: Checks, resets: Clocks) -> tuple[list[tuple[int, int]], list[int]]:
        bound_ids = {bound: i for i, bound in enumerate(self.bounds)}
        asked = [
            (clock.number, bound_ids[clock.kind, clock.column, interval])
            for clock, interval in sorted(checks, key=check_order)
        ]
        return asked, sorted(clock.number for clock in resets)

    def to_text(self) -> str:
        """The plan's canonical text."""
        query = self.query
        lines = [
            f"plan {PLAN_VERSION}",
            f"columns type={self.settings.type} time={self.settings.time} "
            f"stream={self.settings.stream} unit={unit_text(self.settings.time_unit)}",
            f"strategy {query.strategy.value}",
            f"window {format_window(query.window) if query.window else 'none'}",
            f"partition {', '.join(self.keys) or 'none'}",
            f"consume {query.consume.value}",
            f"limit {query.limit or 'none'}",
            f"variables {', '.join(self.variables) or 'none'}",
            f"kept {', '.join(self.kept_columns) or 'none'}",
            *(f"guard {i}: {guard_text(guard)}" for i, guard in enumerate(self.guards)),
            *(f"clock {clock_text(clock)}: {counted(clock)}" for clock in self.clocks),
            f"states {self.automaton.state_count}",
            *([f"observers {self.observers_text}"] if self.automaton.observers else []),
            *self.transition_lines(),
        ]
        return "\n".join(lines) + "\n"

    @property
    def observers_text(self) -> str:
        """The numbers of the observers."""
        return ", ".join(map(str, sorted(self.automaton.observers)))

    def transition_lines(self) -> list[str]:
        """One line per transition: `0 -> 2  [type = 'T'] {x}`; `0 ~> 3  [...]` if it watches.

        With clocks: `0 -> 2  [type = 'T'] {x} when t0 <= 5 s reset t1`.
        """
        return [
            self._transition_line(t)
            for t in sorted(
                self.automaton.transitions,
                key=lambda t: (
                    *(t.source, t.target, guard_text(t.guard), sorted(t.marks)),
                    action_text(t),
                ),
            )
        ]

    def _transition_line(self, t: Transition) -> str:
        if t.target in self.automaton.observers:
            return f"{t.source} ~> {t.target}  [{guard_text(t.guard)}]"
        marks = "hidden" if t.hides else ", ".join(sorted(t.marks))
        return f"{t.source} -> {t.target}  [{guard_text(t.guard)}] {{{marks}}}{action_text(t)}"

    @cached_property
    def hash(self) -> str:
        """A fingerprint of the plan's text."""
        return hashlib.sha256(self.to_text().encode()).hexdigest()


def counted(clock: Clock) -> str:
    """What a clock counts in."""
    return f"attribute {clock.column}" if clock.column else clock.kind.name.lower()


def unit_text(unit: ast.Unit | None) -> str:
    """The unit's name, or `none`."""
    return "none" if unit is None else unit.value


def guard_text(guard: Guard) -> str:
    """A guard as a predicate."""
    parts = sorted(guard, key=format_expression)
    if not parts:
        return "true"
    whole = parts[0]
    for part in parts[1:]:
        whole = ast.LogicalAnd(whole, part)
    return format_expression(whole)


def compile_query(text: str, settings: Settings) -> Plan:
    """The plan of a query's text; raises CatenaError with position and hint."""
    query = parse(text)
    check(query, text)
    _check_clauses(query, settings, text)
    normal_form = normalize(query.formula, text)
    names = ColumnNames(settings.type, settings.stream)
    chosen = normal_form
    if query.strategy is ast.Strategy.STRICT:
        chosen = ast.Select(ast.Strategy.STRICT, normal_form, span=query.formula.span)
    whole = build(chosen, names, text)
    if whole.is_empty:
        raise _never_matches(query, chosen, names, text)
    outputs = outputs_of(query, whole, text)
    variables = tuple(dict.fromkeys(v for output in outputs for v in output.variables))
    compares = query.strategy in COMPARING
    if compares and whole.clocks:
        raise comparing_clocks(text, query.formula.span, query.strategy)
    return Plan(
        text=text,
        settings=settings,
        query=query,
        normal_form=normal_form,
        automaton=settled((show if compares else project)(whole, variables)),
        variables=variables,
        outputs=outputs,
    )


def _check_clauses(query: ast.Query, settings: Settings, text: str) -> None:
    if isinstance(query.window, ast.TimeWindow) and settings.time is None:
        raise _no_time(text, query.window.span, "a window of time")
    for formula in subformulas(query.formula):
        match formula:
            case ast.Within(limit=ast.AttributeWindow() as window):
                raise error_at(
                    text,
                    window.span,
                    "an attribute as the clock of WITHIN inside a formula is not supported yet",
                    hint="write it after the whole formula, or give a time or n EVENTS",
                )
            case ast.Within(limit=ast.TimeWindow() | ast.Interval() as bound):
                pass
            case (
                ast.Sequence(interval=ast.Interval() as bound)
                | ast.Iteration(interval=ast.Interval() as bound)
            ):
                pass
            case _:
                continue
        if settings.time is None:
            raise _no_time(text, bound.span, "a time bound")


def _no_time(text: str, span: ast.Span, what: str) -> CatenaError:
    return error_at(
        text,
        span,
        f"{what} needs a time column",
        hint="pass time='...' with the column's name, or write WITHIN n EVENTS",
    )


def _never_matches(
    query: ast.Query, normal_form: ast.Formula, names: ColumnNames, text: str
) -> Exception:
    part = dead_part(normal_form, names, text)
    span = query.formula.span if part is None else part.span
    if span == ast.NOWHERE:
        span = query.formula.span
    shown = "this formula" if part is None else format_formula(part)
    compares = part is not None and any(
        isinstance(f, ast.Select) and f.strategy is not ast.Strategy.STRICT
        for f in subformulas(part)
    )
    hint = "AND keeps what both sides match with equal marks; a filter must be satisfiable"
    if compares:
        hint = "NEXT, LAST and MAX compare with all matches of the stream, also with earlier ones"
    return error_at(text, span, f"{shown} can never match", hint=hint)
