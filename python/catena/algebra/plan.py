"""The plan of an algebra: its expression with predicates, columns and what the core takes of it.

A plan is immutable and knows nothing of any data's types. Its text form has a hash, which a
snapshot carries.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from catena import _core
from catena.algebra.expressions import (
    Conjunction,
    Disjunction,
    Empty,
    Expression,
    Negation,
    Primitive,
    Restriction,
    Sequence,
    checked,
    primitives,
    subexpressions,
)
from catena.algebra.text import format, parse
from catena.compile.automaton import equals
from catena.compile.cea import Guard
from catena.compile.plan import Settings
from catena.compile.plan_text import guard_text, unit_text
from catena.engine import Limits, core_errors
from catena.errors import CatenaError, error_at
from catena.query import ast
from catena.query.check import check_predicate
from catena.query.normalize import subexpressions as parts_of
from catena.query.parse import parse_predicate

PLAN_VERSION: Final = 1

_OPS: Final[dict[type[Expression], _core.EventOp]] = {
    Disjunction: _core.EventOp.DISJUNCTION,
    Conjunction: _core.EventOp.CONJUNCTION,
    Negation: _core.EventOp.NEGATION,
    Sequence: _core.EventOp.SEQUENCE,
    Restriction: _core.EventOp.RESTRICTION,
}


@dataclass(frozen=True)
class Predicate:
    """A predicate with the text that it stands in."""

    expression: ast.Expression
    text: str


@dataclass(frozen=True)
class AlgebraPlan:
    """A compiled event expression."""

    text: str
    expression: Expression
    settings: Settings
    defined: Mapping[str, Predicate]
    with_rows: bool
    keys: tuple[str, ...]
    limits: Limits

    @cached_property
    def primitives(self) -> tuple[str, ...]:
        """The names of the primitives, by number."""
        return primitives(self.expression)

    @cached_property
    def guards(self) -> tuple[tuple[Guard, str], ...]:
        """What a row must satisfy to be an occurrence, by primitive, and where that is written."""
        guards: list[tuple[Guard, str]] = []
        for name in self.primitives:
            if name in self.defined:
                predicate = self.defined[name]
                guards.append((frozenset({predicate.expression}), predicate.text))
            else:
                guards.append((frozenset({equals(self.settings.type, name)}), self.text))
        return tuple(guards)

    @property
    def asks_for_type(self) -> bool:
        """True if a primitive is an event type."""
        return any(name not in self.defined for name in self.primitives)

    @cached_property
    def read_columns(self) -> tuple[str, ...]:
        """The columns whose values predicates read, and the time."""
        named = (
            part.name
            for guard, _ in self.guards
            for predicate in guard
            for part in parts_of(predicate)
            if isinstance(part, ast.Attribute)
        )
        return tuple(dict.fromkeys([*named, *self.order_columns]))

    @property
    def part_keys(self) -> tuple[str, ...]:
        """The columns that the stream is partitioned by."""
        return self.keys

    @property
    def kept_columns(self) -> tuple[str, ...]:
        """The columns whose values instances show beside their times: the key."""
        return self.keys

    @property
    def order_columns(self) -> tuple[str, ...]:
        """The time column, if there is one."""
        return (self.settings.time,) if self.settings.time is not None else ()

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """All columns that a batch must have."""
        return tuple(dict.fromkeys([*self.read_columns, *self.keys]))

    @cached_property
    def limits_of_time(self) -> tuple[ast.Bound, ...]:
        """The distinct lengths of restrictions, by number."""
        found = (p.limit for p in subexpressions(self.expression) if isinstance(p, Restriction))
        return tuple(dict.fromkeys(found))

    @property
    def measures_by_units(self) -> bool:
        """True if a restriction is a duration that has a unit."""
        return any(limit.unit is not None for limit in self.limits_of_time)

    @cached_property
    def core(self) -> _core.EventExpression:
        """The expression as the detector takes it; raises CatenaLimitError if it is too large."""
        number_of = {name: i for i, name in enumerate(self.primitives)}
        limit_of = {limit: i for i, limit in enumerate(self.limits_of_time)}
        empty = len(number_of)
        nodes: list[tuple[_core.EventOp, int, int, int]] = []
        waiting: list[int] = []  # Sources that wait for their operator.
        for part in subexpressions(self.expression):
            match part:
                case Primitive():
                    waiting.append(number_of[part.name])
                    continue
                case Empty():
                    waiting.append(empty)
                    continue
                case Restriction():
                    nodes.append((_OPS[Restriction], waiting.pop(), 0, limit_of[part.limit]))
                case _:
                    right, left = waiting.pop(), waiting.pop()
                    nodes.append((_OPS[type(part)], left, right, 0))
            waiting.append(empty + len(nodes))
        with core_errors():
            return _core.EventExpression(
                primitive_count=len(number_of),
                nodes=nodes,
                root=waiting[0],
                interval_count=len(limit_of),
                with_rows=self.with_rows,
                bytes_max=self.limits.detector_bytes_max,
            )

    def to_text(self) -> str:
        """The plan's canonical text."""
        lines = [
            f"algebra {PLAN_VERSION}",
            f"columns type={self.settings.type} time={self.settings.time} "
            f"unit={unit_text(self.settings.time_unit)}",
            f"instances {'rows' if self.with_rows else 'times'}",
            f"partition {', '.join(self.keys) or 'none'}",
            f"expression {format(self.expression)}",
            *(
                f"primitive {name}: {guard_text(guard)}"
                for name, (guard, _) in zip(self.primitives, self.guards, strict=True)
            ),
        ]
        return "\n".join(lines) + "\n"

    @cached_property
    def hash(self) -> str:
        """A fingerprint of the plan's text."""
        return hashlib.sha256(self.to_text().encode()).hexdigest()


def compile_expression(
    given: str | Expression,
    settings: Settings,
    *,
    define: Mapping[str, str] | None,
    with_rows: bool,
    by: str | Iterable[str],
    limits: Limits,
) -> AlgebraPlan:
    """The plan of an expression; raises CatenaError with position and hint."""
    text = format(checked(given)) if isinstance(given, Expression) else given
    expression = parse(text)
    _check_time(expression, settings, text)
    plan = AlgebraPlan(
        text=text,
        expression=checked(expression),
        settings=settings,
        defined=_predicates(define),
        with_rows=with_rows,
        keys=_keys(by),
        limits=limits,
    )
    assert plan.core is not None  # Too large an expression is refused here.
    return plan


def _check_time(expression: Expression, settings: Settings, text: str) -> None:
    for part in subexpressions(expression):
        if isinstance(part, Restriction) and part.limit.unit is not None and not settings.time:
            raise error_at(
                text,
                part.limit.span,
                "a restriction to a duration needs a time column",
                hint="pass time='...' with the column's name; a number without a unit counts rows",
            )


def _predicates(define: Mapping[str, str] | None) -> dict[str, Predicate]:
    if define is None:
        return {}
    if not isinstance(define, Mapping):
        raise CatenaError(f"define is {define!r}", hint="pass {name: predicate}")
    return {name: _predicate(name, text) for name, text in define.items()}


def _predicate(name: Any, text: Any) -> Predicate:
    if not isinstance(name, str) or not isinstance(text, str):
        raise CatenaError(
            f"define has {name!r}: {text!r}", hint="give each name a predicate such as 'value > 3'"
        )
    try:
        expression = parse_predicate(text)
        check_predicate(expression, text)
    except CatenaError as error:
        error.message = f"in the predicate of {name}: {error.message}"
        raise
    return Predicate(expression, text)


def _keys(by: str | Iterable[str]) -> tuple[str, ...]:
    names = (by,) if isinstance(by, str) else tuple(by)
    for name in names:
        if not isinstance(name, str):
            raise CatenaError(f"by has {name!r}", hint="by is a list of column names")
    return tuple(dict.fromkeys(names))
