"""Expressions as ibis tables, and increments as SQL text with places for their limits.

ibis writes the SQL of both engines. Times are integers, so what it must translate is arithmetic,
comparisons, joins and groups. A limit is a call of the function `tsa_limit(i)`, which exists in no
engine: the text is compiled once, and each execution puts numbers in its place.

Rows are sets. Streams may hold equal rows, and projections make some, so below an aggregation that
counts, and at the end, equal rows are put together; where a union, difference or group has done so
already, or only least and greatest values are asked for, they are not.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any, TypeAlias

import ibis

from catena.tsa.increments import Increment, Slot, Thresholds
from catena.tsa.relations import (
    AntiJoin,
    Difference,
    Grouping,
    Imbed,
    Product,
    Projection,
    Relation,
    Renaming,
    Selection,
    SemiJoin,
    Stream,
    Union,
    leaves_of,
)
from catena.tsa.temporal import ticks_of
from catena.tsa.values import Aggregate, Attribute, Call, Given, Kind, Value

Table: TypeAlias = Any
"""An ibis table or column: ibis has types, but not for what is looked up by name."""

IBIS_TYPES: Mapping[Kind, str] = {
    "boolean": "boolean",
    "int64": "int64",
    "float64": "float64",
    "string": "string",
    "datetime": "int64",
    "time": "int64",
    "timestamp": "int64",
}
_LIMIT = re.compile(r"TSA_LIMIT\((?:CAST\()?(\d+)(?: AS \w+\))?\)", re.IGNORECASE)


@ibis.udf.scalar.builtin(name="tsa_limit")  # type: ignore[untyped-decorator]
def _limit(place: int) -> int:
    raise AssertionError("replaced by a number before any engine sees it")


def buffer_name(stream: Stream) -> str:
    """The table that holds a stream's rows."""
    return f"tsa_{stream.name}"


def buffer(stream: Stream) -> Table:
    """The ibis table of a stream's rows."""
    columns = {name: IBIS_TYPES[kind] for name, kind in stream.kinds.items()}
    return ibis.table(columns, name=buffer_name(stream))


@dataclass(frozen=True)
class Lowered:
    """An ibis table; and whether it may have equal rows."""

    table: Table
    may_repeat: bool

    def distinct(self) -> Table:
        return self.table.distinct() if self.may_repeat else self.table


LeafTable: TypeAlias = Callable[[int, Stream], Table]
"""The rows of the i-th occurrence of a stream in an expression."""


def lower(relation: Relation, leaf: LeafTable, first: int = 0) -> Lowered:
    """An expression as an ibis table; its leaves are counted from `first`."""
    match relation:
        case Stream():
            return Lowered(leaf(first, relation), True)
        case Product() | Union() | Difference() | SemiJoin() | AntiJoin():
            left = lower(relation.left, leaf, first)
            right = lower(relation.right, leaf, first + len(leaves_of(relation.left)))
            return _both(relation, left, right)
        case Selection(input, condition):
            inner = lower(input, leaf, first)
            return Lowered(inner.table.filter(value(condition, inner.table)), inner.may_repeat)
        case Imbed(input, name, computed):
            inner = lower(input, leaf, first)
            column = value(computed, inner.table).cast(IBIS_TYPES[relation.schema.attributes[name]])
            return Lowered(inner.table.mutate(**{name: column}), inner.may_repeat)
        case Projection(input, names):
            inner = lower(input, leaf, first)
            return Lowered(inner.table.select(*names), True)
        case Renaming(input, names):
            inner = lower(input, leaf, first)
            return Lowered(inner.table.rename({new: old for old, new in names}), inner.may_repeat)
        case Grouping():
            return _grouped(relation, lower(relation.input, leaf, first))
    raise AssertionError(f"{relation} is no expression")


def _both(relation: Relation, left: Lowered, right: Lowered) -> Lowered:
    may_repeat = left.may_repeat or right.may_repeat
    match relation:
        case Product():
            return Lowered(left.table.cross_join(right.table), may_repeat)
        case Union():
            aligned = right.table.select(*relation.columns)
            return Lowered(left.table.union(aligned, distinct=True), False)
        case Difference():
            aligned = right.table.select(*relation.columns)
            return Lowered(left.table.difference(aligned, distinct=True), False)
    assert isinstance(relation, SemiJoin | AntiJoin)
    condition = _pair_value(relation.condition, left.table, right.table)
    join = left.table.semi_join if isinstance(relation, SemiJoin) else left.table.anti_join
    return Lowered(join(right.table, condition), left.may_repeat)


def _grouped(relation: Grouping, inner: Lowered) -> Lowered:
    counts = any(aggregate.function not in ("min", "max") for _, aggregate in relation.aggregates)
    table = inner.distinct() if counts else inner.table
    kinds = relation.schema.attributes
    aggregates = {
        name: _aggregated(aggregate, table).cast(IBIS_TYPES[kinds[name]])
        for name, aggregate in relation.aggregates
    }
    keys = [table[name] for name in relation.names]
    if not aggregates:
        return Lowered(table.select(*keys).distinct(), False)
    if not keys:
        total = table.aggregate(tsa_rows=table.count(), **aggregates)
        return Lowered(total.filter(total.tsa_rows > 0).drop("tsa_rows"), False)
    return Lowered(table.group_by(keys).aggregate(**aggregates), False)


def _aggregated(aggregate: Aggregate, table: Table) -> Table:
    if aggregate.argument is None:
        return table.count()
    return getattr(value(aggregate.argument, table), aggregate.function)()


def value(given: Value, table: Table) -> Table:
    """A value as a column of a table."""
    return _value(given, lambda name: table[name])


def _pair_value(given: Value, left: Table, right: Table) -> Table:
    """A condition over two tables with different names."""
    return _value(given, lambda name: left[name] if name in left.columns else right[name])


_OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": lambda a, b: a.cast("float64") / b,
    "<": lambda a, b: a < b,
    "<=": lambda a, b: a <= b,
    "=": lambda a, b: a == b,
    ">=": lambda a, b: a >= b,
    ">": lambda a, b: a > b,
    "!=": lambda a, b: a != b,
    "and": lambda a, b: a & b,
    "or": lambda a, b: a | b,
    "floor": lambda a, b: a - _modulo(a, b),
    "ceil": lambda a, b: a + (b - 1) - _modulo(a + (b - 1), b),
}


def _modulo(a: Any, b: Any) -> Any:
    """The remainder that is never negative, from one that has the dividend's sign."""
    return ((a % b) + b) % b


def _value(given: Value, column: Callable[[str], Table]) -> Table:
    match given:
        case Attribute(name):
            return column(name)
        case Given(constant):
            ticks = ticks_of(constant)
            if constant is None:
                return ibis.null()
            if ticks is not None:
                return ibis.literal(ticks, type="int64")
            return ibis.literal(constant)
        case Call(function, arguments):
            parts = [_value(each, column) for each in arguments]
            return _called(function, parts)
    raise AssertionError(f"{given!r} is no value")


def _called(function: str, parts: list[Table]) -> Table:
    match function:
        case "not":
            return ~parts[0]
        case "is null":
            return parts[0].isnull()
        case "least":
            return ibis.least(*parts)
        case "greatest":
            return ibis.greatest(*parts)
    return _OPERATORS[function](parts[0], parts[1])


@dataclass(frozen=True)
class Statement:
    """SQL with places for the limits of an increment."""

    text: str
    slots: tuple[Slot, ...]

    def with_limits(self, thresholds: Thresholds) -> str:
        """The text of one execution."""
        return _LIMIT.sub(lambda found: str(thresholds[self.slots[int(found[1])]]), self.text)


def increment_statement(increment: Increment, dialect: str) -> Statement:
    """An increment expression (Definition 27) as SQL: σ[ΔH ∧ ¬ΔH'](E), inputs limited."""
    places = {slot: i for i, slot in enumerate(increment.slots)}

    def lowered(number: int, relation: Relation) -> Lowered:
        def leaf(occurrence: int, stream: Stream) -> Table:
            table = buffer(stream)
            limits = []
            for name in stream.kinds:
                low, high = (Slot(side, name, number, occurrence) for side in ("low", "high"))
                limits += [table[name] > _limit(places[low])] if low in places else []
                limits += [table[name] <= _limit(places[high])] if high in places else []
            return table.filter(*limits) if limits else table

        return lower(relation, leaf)

    parts = [lowered(i, query.relation) for i, query in enumerate(increment.queries)]
    columns = list(increment.stream.kinds)
    if len(parts) == 1:
        [part] = parts
        whole = Lowered(part.table.select(*columns), part.may_repeat)
    else:
        tables = [part.table.select(*columns) for part in parts]
        whole = Lowered(reduce(lambda a, b: a.union(b, distinct=True), tables), False)
    names = increment.stream.progressing
    table = whole.table
    final = reduce(lambda a, b: a | b, [table[n] <= _limit(places[Slot("new", n)]) for n in names])
    unseen = [table[n] > _limit(places[Slot("old", n)]) for n in names]
    result = Lowered(table.filter(final, *unseen), whole.may_repeat).distinct()
    return Statement(sql(result, dialect), increment.slots)


def sql(table: Table, dialect: str) -> str:
    """The SQL of a table, in the dialect of an engine."""
    if dialect == "pyspark":
        _ = ibis.pyspark  # Its options are there once it has been asked for.
    return str(ibis.to_sql(table, dialect=dialect))
