"""The plan: what a query is to the engine. The whole pipeline from text on one screen.

    text -parse-> AST -check-> AST -normalize-> LP normal form -build-> automaton -> Plan

A plan is immutable, knows nothing of any data's types, and has a text form, which golden tests and
`explain` print and whose hash a snapshot carries: two queries with the same plan can read each
other's snapshots.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Final, Protocol, TypeAlias

from catena import _core
from catena.compile.automaton import ColumnNames, build, dead_part
from catena.compile.cea import (
    FINAL,
    INITIAL,
    NO_CHECKS,
    NO_CLOCKS,
    NO_CONDITIONS,
    NO_FORBIDS,
    NO_UPDATES,
    Automaton,
    Checks,
    Clock,
    ClockKind,
    Clocks,
    Conditions,
    Forbids,
    Guard,
    Scope,
    Transition,
    Updates,
    project,
    show,
)
from catena.compile.clocks import (
    check_order,
    clock_text,
    has_synchronous_resets,
    is_monotonic,
    settled,
)
from catena.compile.outputs import Output, output_columns, outputs_of
from catena.compile.plan_text import (
    absence_lines,
    counted,
    guard_text,
    transition_lines,
    unit_text,
)
from catena.compile.registers import (
    Held,
    has_synchronous_updates,
    read_registers,
    remembered,
)
from catena.compile.selection import COMPARING
from catena.compile.ties import tied
from catena.errors import CatenaError, CatenaLimitError, error_at
from catena.query import ast
from catena.query.check import check
from catena.query.format import format_expression, format_formula, format_window
from catena.query.normalize import map_expression, normalize, subexpressions, subformulas
from catena.query.parse import parse

PLAN_VERSION: Final = 1
ATTRIBUTE_CLOCKS_MAX: Final = 6
"""The attributes that may be clocks inside a formula; the engine's limit."""

CORE_STRATEGIES: Final = {
    ast.Strategy.NEXT: _core.Strategy.NEXT,
    ast.Strategy.LAST: _core.Strategy.LAST,
    ast.Strategy.MAX: _core.Strategy.MAX,
}
"""Those that the core evaluates in a way of their own."""


ClockBound: TypeAlias = tuple[ClockKind, str | None, ast.Interval]
"""An interval of what clocks of a kind, over a column if that is an attribute's, may show."""

Action: TypeAlias = tuple[Checks, Clocks, Conditions, Updates, Forbids]
"""What a transition asks of clocks and does to them, and the same of registers."""


@dataclass(frozen=True)
class Settings:
    """What a query needs to know beside its text."""

    type: str = "type"
    time: str | None = None
    stream: str | None = None
    time_unit: ast.Unit | None = None


class ReadsColumns(Protocol):
    """What the columns of a stream must be told of whoever reads them."""

    @property
    def text(self) -> str: ...
    @property
    def settings(self) -> Settings: ...
    @property
    def keys(self) -> tuple[str, ...]:
        """The columns of the keys, the first of `part_keys`."""
        ...

    @property
    def part_keys(self) -> tuple[str, ...]:
        """The columns that the core divides the stream by."""

    @property
    def read_columns(self) -> tuple[str, ...]:
        """The columns whose values predicates and clocks read."""

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns whose values results show."""

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The columns whose values must not fall."""

    @property
    def measures_by_units(self) -> bool:
        """True if the time is compared with durations that have a unit."""


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
    registers: tuple[Held, ...] = ()
    ties: tuple[str, ...] = ()
    """Attributes in which all events of a match are equal, so that parts may be told apart by
    them; a row with a null or NaN there takes no part."""
    absences: tuple[Automaton, ...] = ()
    """What runs pass over and the engine follows, by number."""

    def __reduce__(self) -> tuple[Any, ...]:
        """A plan goes to other processes without what has been worked out from it."""
        return Plan, tuple(getattr(self, field.name) for field in fields(self))

    @property
    def events_held(self) -> tuple[Held, ...]:
        """The registers that hold something of events."""
        return tuple(held for held in self.registers if held.what != "begun")

    @cached_property
    def guards(self) -> tuple[Guard, ...]:
        """The distinct guards of the automaton, then that of FROM if there is one."""
        guards = dict.fromkeys(t.guard for t in self._transitions if t.guard)
        if self.row_guard is not None:
            guards[self.row_guard] = None
        return tuple(guards)

    @cached_property
    def _transitions(self) -> tuple[Transition, ...]:
        return tuple(t for machine in self.machines for t in machine.transitions)

    @property
    def machines(self) -> tuple[Automaton, ...]:
        """The automaton, the operands of the scopes in it, and the absences."""
        return (*self.automaton.machines, *self.absences)

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
    def part_keys(self) -> tuple[str, ...]:
        """The attributes that the engine divides the stream by, ties last."""
        return self.keys + self.ties

    @cached_property
    def consume(self) -> ast.Consume:
        """What the engine's parts are told to consume: all of them are one part of the query's
        where only ties divide them."""
        if self.ties and self.query.consume is ast.Consume.PARTITION:
            return ast.Consume.ANY
        return self.query.consume

    @cached_property
    def limit(self) -> int | None:
        """The number of matches reported per row that ends some."""
        if self.query.strategy is ast.Strategy.ANY:
            return 1
        return self.query.limit

    @cached_property
    def read_columns(self) -> tuple[str, ...]:
        """The columns whose values predicates, registers and clocks read."""
        predicates = (p for guard in self.guards for p in sorted(guard, key=format_expression))
        held = (register.value for register in self.registers if register.value is not None)
        updates = (value for _, value in self.updates)
        names = dict.fromkeys(
            e.name
            for expression in (*predicates, *self.conditions, *updates, *held)
            for e in subexpressions(expression)
            if isinstance(e, ast.Attribute)
        )
        window = self.query.window
        clock = [window.attribute] if isinstance(window, ast.AttributeWindow) else []
        time = [self.settings.time] if self.settings.time else []
        return tuple(dict.fromkeys([*names, *self.ties, *time, *clock, *self.attribute_clocks]))

    @cached_property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns whose values matches show, so that rows must be kept while matches are
        open."""
        time = [self.settings.time] if self.settings.time else []
        return tuple(dict.fromkeys([*time, *self.keys, *output_columns(self.outputs)]))

    @cached_property
    def order_columns(self) -> tuple[str, ...]:
        """The columns whose values must not fall: the time, and attributes that are clocks."""
        window = self.query.window
        time = [self.settings.time] if self.settings.time else []
        clock = [window.attribute] if isinstance(window, ast.AttributeWindow) else []
        return tuple(dict.fromkeys([*time, *clock, *self.attribute_clocks]))

    @cached_property
    def measures_by_units(self) -> bool:
        """True if the window is a duration that has a unit."""
        window = self.query.window
        return isinstance(window, ast.TimeWindow) and window.bound.unit is not None

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that a batch must have."""
        return tuple(dict.fromkeys([*self.read_columns, *self.kept_columns]))

    @cached_property
    def clocks(self) -> tuple[Clock, ...]:
        """The automaton's clocks, by number, and then those of the scopes in it and absences."""
        return tuple(clock for machine in self.machines for clock in machine.clocks)

    @cached_property
    def compares_runs(self) -> bool:
        """True if a strategy compares runs that have clocks or registers while rows are read."""
        has_words = bool(self.clocks or self.registers or self.conditions)
        compares = self.query.strategy in COMPARING
        return bool(self.automaton.scopes) or (compares and has_words)

    @cached_property
    def attribute_clocks(self) -> tuple[str, ...]:
        """The attributes that clocks follow."""
        return tuple(dict.fromkeys(clock.column for clock in self.clocks if clock.column))

    @cached_property
    def bounds(self) -> tuple[ClockBound, ...]:
        """The distinct intervals of the automaton's checks, with what they are intervals of."""
        return tuple(
            dict.fromkeys(
                (clock.kind, clock.column, interval)
                for t in self._transitions
                for clock, interval in sorted(t.checks, key=check_order)
            )
        )

    @cached_property
    def has_synchronous_resets(self) -> bool:
        """True if runs that give one result are known to agree on their clocks."""
        return has_synchronous_resets(self.automaton)

    @cached_property
    def has_synchronous_updates(self) -> bool:
        """True if runs that give one result are known to agree on their registers."""
        return has_synchronous_updates(self.automaton)

    @cached_property
    def conditions(self) -> tuple[ast.Expression, ...]:
        """The distinct conditions over registers, in an order of their own."""
        found = {c for t in self._transitions for c in t.conditions.union(*t.forbids)}
        return tuple(sorted(found, key=format_expression))

    @cached_property
    def updates(self) -> tuple[tuple[int, ast.Expression], ...]:
        """The distinct updates, registers with what they are set to, in an order of their own."""
        found = {update for t in self._transitions for update in t.updates}
        return tuple(sorted(found, key=lambda update: (update[0], format_expression(update[1]))))

    @cached_property
    def _lent(self) -> tuple[Automaton, ...]:
        """The operands of scopes that are lent registers, and those of the scopes in them."""
        lent = (ask.scope.operand for t in self._transitions for ask in t.asks if ask.lends)
        return tuple(dict.fromkeys(inside for operand in lent for inside in operand.machines))

    @cached_property
    def _replayed_absences(self) -> frozenset[int]:
        """The numbers of the absences in those, and in these."""
        found: set[int] = set()
        pending = list(self._lent)
        while pending:
            more = _absences_followed(pending.pop()) - found
            found |= more
            pending += [self.absences[number] for number in more]
        return frozenset(found)

    @cached_property
    def _replayed(self) -> tuple[Transition, ...]:
        """The transitions of all of these: of them the engine may have to read rows again."""
        absences = (self.absences[number] for number in sorted(self._replayed_absences))
        return tuple(t for machine in (*self._lent, *absences) for t in machine.transitions)

    @cached_property
    def history(self) -> tuple[str, ...]:
        """The attributes that rows keep of themselves to be read again."""
        read = (e for t in self._replayed for e in _expressions(t))
        parts = (part for expression in read for part in subexpressions(expression))
        return tuple(sorted({part.name for part in parts if isinstance(part, ast.Attribute)}))

    @cached_property
    def program_registers(self) -> tuple[Held, ...]:
        """The registers, and then those that stand for the attributes of a row that is read
        again."""
        kept = (Held("row", "last", ast.Attribute(name)) for name in self.history)
        return (*self.registers, *kept)

    @cached_property
    def program_conditions(self) -> tuple[ast.Expression, ...]:
        """The conditions, and then those asked of rows that are read again."""
        found = {self._again(c) for t in self._replayed for c in t.conditions.union(*t.forbids)}
        more = found - set(self.conditions)
        return (*self.conditions, *sorted(more, key=format_expression))

    @cached_property
    def program_updates(self) -> tuple[tuple[int, ast.Expression], ...]:
        """The same of updates; in the end what a row keeps of itself."""
        found = {(n, self._again(value)) for t in self._replayed for n, value in t.updates}
        more = sorted(found - set(self.updates), key=lambda u: (u[0], format_expression(u[1])))
        kept = (
            (len(self.registers) + i, ast.Attribute(name)) for i, name in enumerate(self.history)
        )
        return (*self.updates, *more, *kept)

    def _again(self, expression: ast.Expression) -> ast.Expression:
        """An expression with what is kept of a row in place of the row."""
        if isinstance(expression, ast.Attribute):
            return ast.Register(len(self.registers) + self.history.index(expression.name))
        return map_expression(expression, self._again)

    @cached_property
    def is_monotonic(self) -> bool:
        """True if all clocks are bounded from above and runs may be kept in chains."""
        alone = not self.compares_runs and not self.conditions
        return alone and is_monotonic(self.automaton)

    @cached_property
    def cea(self) -> _core.Cea:
        """The automaton as the engine takes it."""
        return self._machine(self.automaton)

    def _machine(self, automaton: Automaton, reads_again: bool = False) -> _core.Cea:
        """An automaton as the engine takes it, over rows as they come or over rows that are read
        again; guards, bounds, conditions and updates are numbered for all alike."""
        guard_ids = {guard: i for i, guard in enumerate(self.guards)}
        variable_ids = {name: i for i, name in enumerate(self.variables)}
        marks = dict.fromkeys([frozenset[str](), *(t.marks for t in automaton.transitions)])
        mark_ids = {names: i for i, names in enumerate(marks)}
        action_ids = {action: i for i, action in enumerate(_actions(automaton))}
        asks = dict.fromkeys([(), *(t.asks for t in automaton.transitions)])
        ask_ids = {asked: i for i, asked in enumerate(asks)}
        scope_ids = {scope: i for i, scope in enumerate(automaton.scopes)}
        numbers = range(len(self.absences) if automaton is self.automaton else 0)
        return _core.Cea(
            state_count=automaton.state_count,
            initial=[INITIAL],
            final=[FINAL],
            transitions=[
                (
                    t.source,
                    guard_ids[t.guard] if t.guard else None,
                    mark_ids[t.marks],
                    t.target,
                    t.is_marked,
                    action_ids[_action_of(t)],
                    ask_ids[t.asks],
                )
                for t in automaton.transitions
            ],
            marks=[sorted(variable_ids[name] for name in names) for names in marks],
            variable_count=len(self.variables),
            guard_count=len(self.guards),
            observers=sorted(automaton.observers),
            clock_kinds=[self._kind_of(clock) for clock in automaton.clocks],
            interval_count=len(self.bounds),
            actions=[self._clock_action(checks, resets) for checks, resets, *_ in action_ids],
            is_monotonic=automaton is self.automaton and self.is_monotonic,
            register_count=len(self.registers),
            condition_reads=[self._registers_read(c) for c in self.program_conditions],
            update_reads=[self._registers_read(value) for _, value in self.program_updates],
            register_actions=[
                self._register_action(asked, made, forbids, reads_again)
                for _, _, asked, made, forbids in action_ids
            ],
            history=list(range(len(self.program_updates)))[
                len(self.program_updates) - len(self.history) :
            ],
            scopes=[self._scope(scope, automaton, reads_again) for scope in scope_ids],
            asks=[
                [(scope_ids[a.scope], a.place, [outside for _, outside in a.lends]) for a in asked]
                for asked in asks
            ],
            absences=list(map(self._absence, numbers)),
            condition_follows=[_followed(condition) for condition in self.program_conditions],
            update_follows=[_followed(value) for _, value in self.program_updates],
        )

    def _kind_of(self, clock: Clock) -> int:
        """What a clock measures, as the engine numbers it: attributes come one after the other."""
        first = clock.kind.value
        return first + self.attribute_clocks.index(clock.column) if clock.column else first

    def _registers_read(self, expression: ast.Expression) -> list[int]:
        """Those of a run."""
        return sorted(n for n in read_registers(expression) if n < len(self.registers))

    def _scope(
        self, scope: Scope, automaton: Automaton, reads_again: bool
    ) -> tuple[_core.Strategy, _core.Cea, list[int], _core.Cea | None]:
        opening = (ask for t in automaton.transitions for ask in t.asks if ask.scope is scope)
        lent = next(([inside for inside, _ in ask.lends] for ask in opening if ask.opens), [])
        operand = self._machine(scope.operand, reads_again)
        again = self._machine(scope.operand, True) if lent else None
        return CORE_STRATEGIES[scope.strategy], operand, lent, again

    def _absence(self, number: int) -> tuple[_core.Cea, _core.Cea | None]:
        operand = self.absences[number]
        again = self._machine(operand, True) if number in self._replayed_absences else None
        return self._machine(operand), again

    def _register_action(
        self, conditions: Conditions, updates: Updates, forbids: Forbids, reads_again: bool
    ) -> tuple[list[int], list[tuple[int, int]], list[list[int]]]:
        def change(expression: ast.Expression) -> ast.Expression:
            return self._again(expression) if reads_again else expression

        def numbers(asked: Conditions) -> list[int]:
            return sorted(self.program_conditions.index(change(c)) for c in asked)

        places = self.program_updates.index
        made = sorted((number, places((number, change(value)))) for number, value in updates)
        return numbers(conditions), made, sorted(map(numbers, forbids))

    def _clock_action(
        self, checks: Checks, resets: Clocks
    ) -> tuple[list[tuple[int, int]], list[int]]:
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
            *([f"ties {', '.join(self.ties)}"] if self.ties else []),
            f"consume {query.consume.value}",
            f"limit {query.limit or 'none'}",
            f"variables {', '.join(self.variables) or 'none'}",
            f"kept {', '.join(self.kept_columns) or 'none'}",
            *(f"guard {i}: {guard_text(guard)}" for i, guard in enumerate(self.guards)),
            *(f"clock {clock_text(clock)}: {counted(clock)}" for clock in self.automaton.clocks),
            *(f"register ${i}: {held.text}" for i, held in enumerate(self.registers)),
            *([f"history {', '.join(self.history)}"] if self.history else []),
            f"states {self.automaton.state_count}",
            *([f"observers {self.observers_text}"] if self.automaton.observers else []),
            *transition_lines(self.automaton),
            *absence_lines(self.absences),
        ]
        return "\n".join(lines) + "\n"

    @property
    def observers_text(self) -> str:
        """The numbers of the observers."""
        return ", ".join(map(str, sorted(self.automaton.observers)))

    @cached_property
    def hash(self) -> str:
        """A fingerprint of the plan's text."""
        return hashlib.sha256(self.to_text().encode()).hexdigest()


def _action_of(t: Transition) -> Action:
    return t.checks, t.resets, t.conditions, t.updates, t.forbids


def _expressions(t: Transition) -> Iterator[ast.Expression]:
    """What a transition asks of registers and the row, and sets registers to."""
    yield from t.conditions.union(*t.forbids)
    yield from (value for _, value in t.updates)


def _absences_followed(automaton: Automaton) -> set[int]:
    """The numbers of the absences whose open matches runs hold."""
    parts = (p for t in automaton.transitions for e in _expressions(t) for p in subexpressions(e))
    return {part.absence for part in parts if isinstance(part, ast.Begun)}


def _followed(expression: ast.Expression) -> tuple[int, int | None, int | None] | None:
    """What a condition or an update has to do with open matches of an absence: which absence, the
    state where matches start, if any do, and the register that holds those before the row."""
    begun = expression.operand if isinstance(expression, ast.Ends) else expression
    if not isinstance(begun, ast.Begun):
        return None
    before = begun.before.number if isinstance(begun.before, ast.Register) else None
    return begun.absence, begun.entry, before


def _actions(automaton: Automaton) -> tuple[Action, ...]:
    """What transitions do with clocks and registers, each once; first of all nothing."""
    nothing: Action = (NO_CHECKS, NO_CLOCKS, NO_CONDITIONS, NO_UPDATES, NO_FORBIDS)
    return tuple(dict.fromkeys([nothing, *map(_action_of, automaton.transitions)]))


def compile_query(text: str, settings: Settings) -> Plan:
    """The plan of a query's text; raises CatenaError with position and hint."""
    query = parse(text)
    check(query, text)
    _check_clauses(query, settings, text)
    normal_form = normalize(query.formula)
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
    remembering = remembered((show if compares else project)(whole, variables))
    if remembering.automaton.is_empty:
        raise _never_matches(query, chosen, names, text)
    ties: tuple[str, ...] = ()
    if _may_divide(query):
        remembering, ties = tied(remembering)
    automaton = settled(remembering.automaton)
    plan = Plan(
        text=text,
        settings=settings,
        query=query,
        normal_form=normal_form,
        automaton=automaton,
        variables=variables,
        outputs=outputs,
        registers=remembering.registers,
        ties=ties,
        absences=tuple(project(settled(absence), ()) for absence in remembering.absences),
    )
    _check_attribute_clocks(plan)
    return plan


def _may_divide(query: ast.Query) -> bool:
    """Whether the parts of a query may be divided further without changing what it means."""
    counts_rows = isinstance(query.window, ast.EventsWindow)
    consumes_parts = query.consume is ast.Consume.PARTITION and query.partition
    return not (counts_rows or consumes_parts)


def _check_attribute_clocks(plan: Plan) -> None:
    if len(plan.attribute_clocks) > ATTRIBUTE_CLOCKS_MAX:
        raise CatenaLimitError(
            f"{len(plan.attribute_clocks)} attributes are clocks of WITHIN inside the formula, "
            f"at most {ATTRIBUTE_CLOCKS_MAX} may be",
            hint="measure some of the parts by time, or by the same attribute",
        )


def _check_clauses(query: ast.Query, settings: Settings, text: str) -> None:
    if isinstance(query.window, ast.TimeWindow) and settings.time is None:
        raise _no_time(text, query.window.span, "a window of time")
    for formula in subformulas(query.formula):
        match formula:
            case ast.Within(limit=ast.TimeWindow() | ast.Interval() as bound):
                pass
            case (
                ast.Sequence(interval=ast.Interval() as bound)
                | ast.AbsentBetween(interval=ast.Interval() as bound)
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
    if isinstance(part, ast.Unless):
        hint = "every match of its left side has one of its right side inside"
    elif compares:
        hint = "NEXT, LAST and MAX compare with all matches of the stream, also with earlier ones"
    return error_at(text, span, f"{shown} can never match", hint=hint)
